// Contact problems from any bytes: an Error or a problem that the certificate accepts. Bytes that begin like HDF5 are
// read as FCLIB, others as Siconos' text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/residuals.hpp"
#include "touchstone/contact/validate.hpp"
#include "touchstone/io/fclib.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const touchstone::ContactProblem problem = bytes.starts_with("\x89HDF")
                                                   ? touchstone::parse_fclib(bytes, "fuzz.hdf5").problem
                                                   : touchstone::parse_siconos_text(bytes, "fuzz.dat").problem;
    if (!touchstone::validate_data(problem).usable()) std::abort();
    touchstone::certify(problem, touchstone::VectorX::Ones(problem.nrow()));
  } catch (const touchstone::Error&) {
  }
  return 0;
}

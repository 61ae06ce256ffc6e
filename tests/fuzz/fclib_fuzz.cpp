// Contact problems from any bytes: an Error or a problem that the certificate accepts. Bytes that begin like HDF5 are
// read as FCLIB, others as Siconos' text. The seeds in HDF5 are written at the start, into the first folder of the
// command line: the layout of a file depends on the version of the library, and HDF5 is not for diffs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/residuals.hpp"
#include "touchstone/contact/validate.hpp"
#include "touchstone/io/fclib.hpp"

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  using touchstone::FclibForm;
  for (int i = 1; i < *count; ++i) {
    const std::filesystem::path folder = (*words)[i];
    if (!std::filesystem::is_directory(folder)) continue;
    const touchstone::RecordedProblem cube{.problem = touchstone::make_cube({1.0, 0.0, 0.0}), .title = "cube"};
    write_fclib(folder / "seed-local.hdf5", cube, FclibForm::kLocal);
    write_fclib(folder / "seed-global.hdf5", cube, FclibForm::kGlobal);
    break;
  }
  return 0;
}

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

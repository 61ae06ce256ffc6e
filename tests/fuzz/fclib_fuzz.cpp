// Contact problems from any bytes: an Error or a problem that the certificate accepts.
//
// Siconos' text is taken as it comes. HDF5 is not: on damaged metadata the library itself may crash, which is beyond us
// (docs/contact.md). So bytes become a sound file whose data sets are wrong: missing, of other types and sizes, with
// other values. Cut files are the business of tests/io/fclib_test.cpp.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <hdf5.h>
#include <unistd.h>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/validate.hpp"
#include "touchstone/io/fclib.hpp"

namespace {

using touchstone::FclibForm;

// A sound file, as bytes.
std::string good_file(FclibForm form) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("touchstone-fuzz-" + std::to_string(getpid()) + ".hdf5");
  const touchstone::RecordedProblem cube{.problem = touchstone::make_cube({1.0, 0.0, 0.0}), .title = "cube"};
  write_fclib(file, cube, form);
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  std::filesystem::remove(file);
  return bytes;
}

// Takes the bytes of the input one after the other; zeros when they are used up.
struct Bytes {
  const std::uint8_t* data;
  std::size_t left;
  std::uint8_t next() {
    if (left == 0) return 0;
    --left;
    return *data++;
  }
};

const char* const kNames[] = {"spacedim", "W",         "W/m",       "W/n",        "W/nz",       "W/nzmax", "W/p",
                              "W/i",      "W/x",       "vectors/q", "vectors/mu", "M",          "M/m",     "M/nz",
                              "M/p",      "M/i",       "M/x",       "H/m",        "H/n",        "H/p",     "H/i",
                              "H/x",      "vectors/f", "vectors/w", "vectors",    "info/title", "info"};

// Replaces a data set by one of another type, size and content, or leaves it out.
void damage(hid_t file, const std::string& root, Bytes& input) {
  const std::string path = root + kNames[input.next() % std::size(kNames)];
  const hid_t types[] = {H5T_NATIVE_INT,   H5T_NATIVE_DOUBLE, H5T_NATIVE_LLONG,
                         H5T_NATIVE_FLOAT, H5T_C_S1,          H5T_NATIVE_SCHAR};
  const std::uint8_t kind = input.next();
  const hsize_t count = input.next();
  H5Ldelete(file, path.c_str(), H5P_DEFAULT);
  if (kind % 8 == 7) return;
  const hid_t type = types[kind % std::size(types)];
  std::vector<std::uint8_t> values(static_cast<std::size_t>(count) * H5Tget_size(type));
  for (std::uint8_t& value : values) value = input.next();
  const hid_t space = count == 0 ? H5Screate(H5S_NULL) : H5Screate_simple(1, &count, nullptr);
  const hid_t set = H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (set >= 0 && count > 0) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
}

std::string damaged_file(Bytes input) {
  static std::string local = good_file(FclibForm::kLocal), global = good_file(FclibForm::kGlobal);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const bool is_local = input.next() % 2 == 0;
  std::string& good = is_local ? local : global;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 16, 0);
  H5Pset_file_image(access, good.data(), good.size());
  const hid_t file = H5Fopen("fuzz-image", H5F_ACC_RDWR, access);
  for (int edits = input.next() % 4; edits >= 0; --edits) {
    damage(file, is_local ? "/fclib_local/" : "/fclib_global/", input);
  }
  H5Fflush(file, H5F_SCOPE_LOCAL);
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  std::string bytes(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  H5Fget_file_image(file, bytes.data(), bytes.size());
  H5Fclose(file);
  H5Pclose(access);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kHdf5 = "H";  // the first byte of inputs that are instructions for damaged_file
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const touchstone::ContactProblem problem =
        bytes.starts_with(kHdf5) ? touchstone::parse_fclib(damaged_file({data + 1, size - 1}), "fuzz.hdf5").problem
                                 : touchstone::parse_siconos_text(bytes, "fuzz.dat").problem;
    if (!touchstone::validate_data(problem).usable()) std::abort();
    touchstone::certify(problem, touchstone::VectorX::Ones(problem.nrow()));
  } catch (const touchstone::Error&) {
  }
  return 0;
}

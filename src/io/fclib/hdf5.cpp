#include "touchstone/io/fclib/hdf5.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"

namespace touchstone::hdf5 {
namespace {

constexpr std::size_t kMaxCompression = 1024;  // HDF5's deflate filter cannot do better
constexpr std::size_t kWidestNumber = 16;      // bytes
constexpr const char* kRewrite = "write the file again; it may be truncated or damaged";

const char* kind_name(H5T_class_t kind) {
  switch (kind) {
    case H5T_INTEGER:
      return "integers";
    case H5T_FLOAT:
      return "floating-point numbers";
    case H5T_STRING:
      return "text";
    default:
      return "another type";
  }
}

// What prints the errors of HDF5 when nobody is silent.
struct Printer {
  std::mutex mutex;
  int silenced = 0;
  H5E_auto2_t function = nullptr;
  void* data = nullptr;
};

// HDF5 registers what it does at the end of the process when it is opened, so this handler runs first.
bool open_library() {
  hbool_t per_thread = 0;
  H5open();
  H5is_library_threadsafe(&per_thread);
  std::atexit([] { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); });
  return per_thread != 0;
}

Printer& current_printer() {
  static const bool per_thread = open_library();
  static Printer of_process;
  thread_local Printer of_thread;
  return per_thread ? of_thread : of_process;
}

}  // namespace

Silence::Silence() {
  Printer& printer = current_printer();
  const std::lock_guard lock(printer.mutex);
  if (printer.silenced++ > 0) return;
  H5Eget_auto2(H5E_DEFAULT, &printer.function, &printer.data);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Silence::~Silence() {
  Printer& printer = current_printer();
  const std::lock_guard lock(printer.mutex);
  if (--printer.silenced == 0) H5Eset_auto2(H5E_DEFAULT, printer.function, printer.data);
}

bool Handle::close_now() {
  const hid_t id = std::exchange(id_, H5I_INVALID_HID);
  if (id < 0) return true;
  const Silence silence;
  return close_(id) >= 0;
}

Handle open_dataset(hid_t file, const std::string& path) {
  constexpr hsize_t kLargestChunk = 256U << 20U;  // bytes; HDF5 reads a chunk as a whole
  constexpr int kMostDimensions = 8;
  // Every link on the way must exist before the next may be asked for.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    H5L_info_t link{};
    if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0 || H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0 ||
        link.type != H5L_TYPE_HARD)
      return {};
    if (end == std::string::npos) break;
  }
  Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return {};
  const Handle layout(H5Dget_create_plist(dataset.get()), H5Pclose), type(H5Dget_type(dataset.get()), H5Tclose);
  if (!layout || !type || H5Pget_external_count(layout.get()) != 0) return {};
  const H5D_layout_t kind = H5Pget_layout(layout.get());
  if (kind != H5D_COMPACT && kind != H5D_CONTIGUOUS && kind != H5D_CHUNKED) return {};
  if (kind == H5D_CHUNKED) {
    std::array<hsize_t, kMostDimensions> size{};
    const int dimensions = H5Pget_chunk(layout.get(), kMostDimensions, size.data());
    hsize_t bytes = H5Tget_size(type.get());
    if (dimensions < 1 || dimensions > kMostDimensions || bytes == 0) return {};
    for (int i = 0; i < dimensions; ++i) {
      const hsize_t length = size[static_cast<std::size_t>(i)];
      if (length == 0 || length > kLargestChunk / bytes) return {};
      bytes *= length;
    }
  }
  return dataset;
}

Reader::Reader(std::string_view bytes, std::string name) : name_(std::move(name)), bytes_(bytes.size()) {
  constexpr std::size_t kIncrement = 1 << 16;
  const Silence silence;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!access || bytes.empty() || H5Pset_fapl_core(access.get(), kIncrement, 0) < 0 ||
      // HDF5 copies the image; its interface merely lacks a const.
      H5Pset_file_image(access.get(), const_cast<char*>(bytes.data()), bytes.size()) < 0) {
    fail("", "the file cannot be opened as HDF5", kRewrite);
  }
  // Any name will do, but that of a file that exists is refused.
  file_ = Handle(H5Fopen("touchstone-image-in-memory", H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file_) fail("", "this is no complete HDF5 file", kRewrite);
}

void Reader::fail(const std::string& path, const std::string& message, const std::string& remedy) const {
  throw InputError({.where = {name_, 0, path}, .message = message, .remedy = remedy});
}

bool Reader::has(const std::string& path) const {
  const Silence silence;
  // Every link on the way must exist before the next may be asked for.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (H5Lexists(file_.get(), part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) return true;
  }
}

Handle Reader::open(const std::string& path, H5T_class_t kind, const char* what, std::size_t& count) const {
  const Silence silence;
  if (!has(path)) fail(path, "it is missing", fmt::format("the file must have {} here", what));
  Handle dataset = open_dataset(file_.get(), path);
  if (!dataset) fail(path, "it cannot be opened as a data set of this file", kRewrite);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  if (!type || !space) fail(path, "its type or size cannot be read", kRewrite);
  const H5T_class_t found = H5Tget_class(type.get());
  if (found != kind) fail(path, fmt::format("it holds {}, expected {}", kind_name(found), kind_name(kind)), kRewrite);
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  const std::size_t size = H5Tget_size(type.get());
  if (points < 0 || size == 0) fail(path, "its size cannot be read", kRewrite);
  // HDF5 would make room for whatever one entry claims to be.
  if (kind == H5T_STRING ? size / kMaxCompression > bytes_ : size > kWidestNumber)
    fail(path, fmt::format("one entry claims to have {} bytes", size), kRewrite);
  count = static_cast<std::size_t>(points);
  const hsize_t stored = H5Dget_storage_size(dataset.get());
  if (stored > bytes_ || count / kMaxCompression > bytes_ / size)
    fail(path, fmt::format("it claims {} entries, more than a file of {} bytes can hold", count, bytes_), kRewrite);
  if (count > 0 && stored == 0)
    fail(path, fmt::format("it has room for {} entries, but none was written", count), kRewrite);
  return dataset;
}

std::vector<int> Reader::integers(const std::string& path) const {
  const Silence silence;
  std::size_t count = 0;
  const Handle dataset = open(path, H5T_INTEGER, "integers", count);
  // Read wide and narrowed with a check, for HDF5 clips silently.
  std::vector<long long> wide(count);
  if (count > 0 && H5Dread(dataset.get(), H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, wide.data()) < 0)
    fail(path, "its values cannot be read", kRewrite);
  std::vector<int> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    values[k] = static_cast<int>(wide[k]);
    if (values[k] != wide[k]) fail(path, fmt::format("entry {} is {}, too large for 32 bits", k, wide[k]), kRewrite);
  }
  return values;
}

std::vector<double> Reader::numbers(const std::string& path) const {
  const Silence silence;
  std::size_t count = 0;
  const Handle dataset = open(path, H5T_FLOAT, "numbers", count);
  std::vector<double> values(count);
  if (count > 0 && H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    fail(path, "its values cannot be read", kRewrite);
  return values;
}

int Reader::integer(const std::string& path) const {
  const std::vector<int> values = integers(path);
  if (values.size() != 1) fail(path, fmt::format("it has {} entries, expected 1", values.size()), kRewrite);
  return values[0];
}

std::string Reader::text(const std::string& path) const {
  const Silence silence;
  if (!has(path)) return {};
  std::size_t count = 0;
  const Handle dataset = open(path, H5T_STRING, "text", count);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  // Variable-length text would bring memory that HDF5 owns; FCLIB does not write it.
  if (count != 1 || H5Tis_variable_str(type.get()) != 0) return {};
  std::string value(H5Tget_size(type.get()), '\0');
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
    fail(path, "its text cannot be read", kRewrite);
  value.resize(std::min(value.size(), value.find('\0')));
  return value;
}

Writer::Writer(const std::filesystem::path& file) : name_(file.string()) {
  const Silence silence;
  constexpr std::size_t kIncrement = 1 << 16;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (H5Pset_fapl_core(access.get(), kIncrement, 0) >= 0)
    file_ = Handle(H5Fcreate("touchstone-new-file-in-memory", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file_) throw Error({name_, 0, ""}, "the file cannot be made; there may be too little memory");
}

void Writer::save() {
  const Silence silence;
  ssize_t size = H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(file_.get(), nullptr, 0);
  std::string bytes(static_cast<std::size_t>(std::max<ssize_t>(size, 0)), '\0');
  if (size > 0) size = H5Fget_file_image(file_.get(), bytes.data(), bytes.size());
  if (size <= 0) throw Error({name_, 0, ""}, "the file cannot be made; there may be too little memory");
  write_file(name_, bytes);
}

void Writer::group(const std::string& path) {
  const Silence silence;
  const Handle created(H5Gcreate2(file_.get(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!created) throw Error({name_, 0, path}, "the group cannot be created");
}

void Writer::write(const std::string& path, hid_t file_type, hid_t memory_type, std::size_t count, const void* values) {
  const Silence silence;
  const hsize_t size = count;
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Handle dataset(
      H5Dcreate2(file_.get(), path.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  if (!space || !dataset ||
      (count > 0 && H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)) {
    throw Error({name_, 0, path}, "the values cannot be written; the disk may be full");
  }
}

void Writer::integers(const std::string& path, const std::vector<int>& values) {
  write(path, H5T_STD_I32LE, H5T_NATIVE_INT, values.size(), values.data());
}

void Writer::numbers(const std::string& path, const std::vector<double>& values) {
  write(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.size(), values.data());
}

void Writer::text(const std::string& path, const std::string& value) {
  const Silence silence;
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  if (!type || !space || H5Tset_size(type.get(), value.size() + 1) < 0)
    throw Error({name_, 0, path}, "the text cannot be written");
  const Handle dataset(
      H5Dcreate2(file_.get(), path.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  if (!dataset || H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.c_str()) < 0)
    throw Error({name_, 0, path}, "the text cannot be written; the disk may be full");
}

}  // namespace touchstone::hdf5

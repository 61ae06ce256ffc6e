#include "touchstone/gpu/model_arrays.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace touchstone::gpu {
namespace {

constexpr char kMagic[8] = {'T', 'S', 'A', 'R', 'R', 'A', 'Y', '9'};
constexpr std::uint64_t kSignature = arrays_signature();
constexpr std::uint64_t kLargest = 1ull << 28;  // entries of an array

class Writer {
 public:
  Writer(std::string path, std::ostream& file) : path_(std::move(path)), file_(file) {}
  void bytes(const void* data, std::size_t size) {
    file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (!file_) throw std::runtime_error("cannot write '" + path_ + "'");
  }
  template <typename T>
  void array(const std::vector<T>& values) {
    const std::uint64_t count = values.size();
    bytes(&count, sizeof count);
    bytes(values.data(), values.size() * sizeof(T));
  }

 private:
  std::string path_;
  std::ostream& file_;
};

class Reader {
 public:
  Reader(std::string path, std::istream& file) : path_(std::move(path)), file_(file) {
    if (!file_) throw std::runtime_error("cannot open '" + path_ + "'");
  }
  void bytes(void* data, std::size_t size) {
    file_.read(static_cast<char*>(data), static_cast<std::streamsize>(size));
    if (!file_) throw std::runtime_error("'" + path_ + "' ends too early; write it again (write_model_arrays)");
  }
  template <typename T>
  void array(std::vector<T>& values) {
    std::uint64_t count = 0;
    bytes(&count, sizeof count);
    if (count > kLargest) throw std::runtime_error("'" + path_ + "' is damaged: an array with too many entries");
    values.resize(count);
    bytes(values.data(), values.size() * sizeof(T));
  }

 private:
  std::string path_;
  std::istream& file_;
};

void write(const ModelArrays& arrays, Writer& writer) {
  writer.bytes(kMagic, sizeof kMagic);
  writer.bytes(&kSignature, sizeof kSignature);
  writer.bytes(&arrays.sizes, sizeof arrays.sizes);
  writer.bytes(&arrays.settings, sizeof arrays.settings);
#define TOUCHSTONE_FIELD(name) writer.array(arrays.name);
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
}

ModelArrays read(const std::string& path, Reader& reader) {
  char magic[sizeof kMagic];
  std::uint64_t signature = 0;
  reader.bytes(magic, sizeof magic);
  reader.bytes(&signature, sizeof signature);
  if (std::memcmp(magic, kMagic, sizeof kMagic) != 0 || signature != kSignature)
    throw std::runtime_error("'" + path +
                             "' holds no model arrays of this version; write it again (write_model_arrays)");
  ModelArrays arrays;
  reader.bytes(&arrays.sizes, sizeof arrays.sizes);
  reader.bytes(&arrays.settings, sizeof arrays.settings);
#define TOUCHSTONE_FIELD(name) reader.array(arrays.name);
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  return arrays;
}

}  // namespace

ModelView view_of(const ModelArrays& arrays) {
  ModelView view;
  view.sizes = arrays.sizes;
  view.settings = arrays.settings;
#define TOUCHSTONE_FIELD(name) view.name = arrays.name.data();
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  use_own_wrench(arrays, view);
  return view;
}

void write_model_arrays(const ModelArrays& arrays, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  Writer writer(path, file);
  write(arrays, writer);
}

ModelArrays read_model_arrays(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Reader reader(path, file);
  return read(path, reader);
}

std::string pack_model_arrays(const ModelArrays& arrays) {
  std::ostringstream bytes;
  Writer writer("memory", bytes);
  write(arrays, writer);
  return bytes.str();
}

ModelArrays unpack_model_arrays(const std::string& bytes) {
  std::istringstream stream(bytes);
  Reader reader("memory", stream);
  return read("memory", reader);
}

}  // namespace touchstone::gpu

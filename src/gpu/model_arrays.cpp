#include "touchstone/gpu/model_arrays.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace touchstone::gpu {
namespace {

constexpr char kMagic[8] = {'T', 'S', 'A', 'R', 'R', 'A', 'Y', '2'};
constexpr std::uint64_t kLargest = 1ull << 28;  // entries of an array

class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(path, std::ios::binary) {}
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
  std::ofstream file_;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) throw std::runtime_error("cannot open '" + path + "'");
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
  std::ifstream file_;
};

}  // namespace

ModelView view_of(const ModelArrays& arrays) {
  ModelView view;
  view.sizes = arrays.sizes;
  view.settings = arrays.settings;
#define TOUCHSTONE_FIELD(name) view.name = arrays.name.data();
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  return view;
}

void write_model_arrays(const ModelArrays& arrays, const std::string& path) {
  Writer writer(path);
  writer.bytes(kMagic, sizeof kMagic);
  writer.bytes(&arrays.sizes, sizeof arrays.sizes);
  writer.bytes(&arrays.settings, sizeof arrays.settings);
#define TOUCHSTONE_FIELD(name) writer.array(arrays.name);
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
}

ModelArrays read_model_arrays(const std::string& path) {
  Reader reader(path);
  char magic[sizeof kMagic];
  reader.bytes(magic, sizeof magic);
  if (std::memcmp(magic, kMagic, sizeof kMagic) != 0)
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

}  // namespace touchstone::gpu

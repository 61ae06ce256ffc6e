// The fields of each element (model/fields.hpp) in both directions: value(archive, element), where the archive is a
// Writer (element const) or a Reader.
#include "touchstone/model/serialize.hpp"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/hash.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/fields.hpp"

namespace touchstone {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::string_view kModelMagic = "touchstone-model";
constexpr std::int32_t kFormat = 5;  // raise it when a field comes, goes or changes

class Writer {
 public:
  void bytes(const void* data, std::size_t size) { text_.append(static_cast<const char*>(data), size); }
  void size(std::size_t& count) { bytes(&count, sizeof count); }
  std::string take() { return std::move(text_); }

  // What was written already and may be shared, by number.
  std::vector<const void*>& shared(const TriangleMesh* /*kind*/) { return meshes_; }
  std::vector<const void*>& shared(const HeightField* /*kind*/) { return height_fields_; }

 private:
  std::string text_;
  std::vector<const void*> meshes_, height_fields_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  void bytes(void* data, std::size_t size) {
    if (size > text_.size()) fail();
    std::memcpy(data, text_.data(), size);
    text_.remove_prefix(size);
  }
  // Every entry takes a byte at least, so a damaged count cannot ask for absurd memory.
  void size(std::size_t& count) {
    bytes(&count, sizeof count);
    if (count > text_.size()) fail();
  }
  bool at_end() const { return text_.empty(); }
  [[noreturn]] static void fail() {
    throw Error(
        {.where = {}, .message = "the bytes are not a whole model", .remedy = "they may be cut off or damaged"});
  }

  std::vector<std::shared_ptr<const TriangleMesh>>& shared(const TriangleMesh* /*kind*/) { return meshes_; }
  std::vector<std::shared_ptr<const HeightField>>& shared(const HeightField* /*kind*/) { return height_fields_; }

 private:
  std::string_view text_;
  std::vector<std::shared_ptr<const TriangleMesh>> meshes_;
  std::vector<std::shared_ptr<const HeightField>> height_fields_;
};

template <typename Archive>
constexpr bool kReads = std::is_same_v<Archive, Reader>;

// --- plain values ---

template <typename Archive, typename T>
std::enable_if_t<std::is_arithmetic_v<std::remove_const_t<T>> || std::is_enum_v<std::remove_const_t<T>>> value(
    Archive& archive, T& x) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, bool>) {
    std::uint8_t byte = kReads<Archive> ? 0 : static_cast<std::uint8_t>(x);
    archive.bytes(&byte, 1);
    if constexpr (kReads<Archive>) x = byte != 0;
  } else {
    archive.bytes(&x, sizeof x);
  }
}

template <typename Archive, typename Derived>
void matrix(Archive& archive, Derived& m) {
  for (Eigen::Index i = 0; i < m.size(); ++i) value(archive, m.data()[i]);
}

template <typename Archive>
void text(Archive& archive, std::conditional_t<kReads<Archive>, std::string&, const std::string&> s) {
  std::size_t size = s.size();
  archive.size(size);
  if constexpr (kReads<Archive>) {
    s.resize(size);
    archive.bytes(s.data(), size);
  } else {
    archive.bytes(s.data(), size);
  }
}

template <typename Archive, typename T>
std::enable_if_t<std::is_same_v<std::remove_const_t<T>, std::string>> value(Archive& archive, T& s) {
  text(archive, s);
}

template <typename Archive, typename T>
std::enable_if_t<std::is_same_v<std::remove_const_t<T>, VectorX>> value(Archive& archive, T& v) {
  auto size = static_cast<std::size_t>(v.size());
  archive.size(size);
  if constexpr (kReads<Archive>) v.resize(static_cast<Eigen::Index>(size));
  matrix(archive, v);
}

template <typename T>
constexpr bool kFixedMatrix =
    std::is_same_v<T, Vector2> || std::is_same_v<T, Vector3> || std::is_same_v<T, Vector6> ||
    std::is_same_v<T, Matrix3> || std::is_same_v<T, Eigen::Vector4d> || std::is_same_v<T, Eigen::Vector3i>;

template <typename Archive, typename T>
std::enable_if_t<kFixedMatrix<std::remove_const_t<T>>> value(Archive& archive, T& m) {
  matrix(archive, m);
}

template <typename Archive, typename T>
std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Quaternion>> value(Archive& archive, T& q) {
  matrix(archive, q.coeffs());
}

template <typename Archive, typename T>
std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Vec3>> value(Archive& archive, T& v) {
  double xyz[3] = {v.x(), v.y(), v.z()};
  archive.bytes(xyz, sizeof xyz);
  if constexpr (kReads<Archive>) v = Vec3(xyz[0], xyz[1], xyz[2]);
}

template <typename Archive, typename T, std::size_t N>
void value(Archive& archive, std::array<T, N>& a) {
  for (T& x : a) value(archive, x);
}
template <typename Archive, typename T, std::size_t N>
void value(Archive& archive, const std::array<T, N>& a) {
  for (const T& x : a) value(archive, x);
}

template <typename Archive, typename T>
std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Mat3>> value(Archive& archive, T& m) {
  value(archive, m.c0);
  value(archive, m.c1);
  value(archive, m.c2);
}

// --- structs and lists of them ---

template <typename Archive, typename T>
std::enable_if_t<HasFields<std::remove_const_t<T>>> value(Archive& archive, T& element);

template <typename Archive, typename T>
void value(Archive& archive, std::vector<T>& list);
template <typename Archive, typename T>
void value(Archive& archive, const std::vector<T>& list);
template <typename Archive, typename T>
void value(Archive& archive, std::shared_ptr<const T>& pointer);
template <typename Archive, typename T>
void value(Archive& archive, const std::shared_ptr<const T>& pointer);

template <typename Archive, typename T>
std::enable_if_t<HasFields<std::remove_const_t<T>>> value(Archive& archive, T& element) {
  for_each_field<std::remove_const_t<T>>([&](auto field) { value(archive, element.*field.member); });
}

template <typename Archive, typename T>
void value(Archive& archive, std::vector<T>& list) {
  std::size_t size = list.size();
  archive.size(size);
  if constexpr (kReads<Archive>) list.resize(size);
  for (T& element : list) value(archive, element);
}
template <typename Archive, typename T>
void value(Archive& archive, const std::vector<T>& list) {
  std::size_t size = list.size();
  archive.size(size);
  for (const T& element : list) value(archive, element);
}

// A mesh that many shapes use is written once: 0 for none, k for the k-th that was seen, k = count + 1 for a new one.
template <typename Archive, typename T>
void value(Archive& archive, const std::shared_ptr<const T>& pointer) {
  auto& seen = archive.shared(pointer.get());
  std::size_t number = 0;
  if (pointer != nullptr) {
    while (number < seen.size() && seen[number] != pointer.get()) ++number;
    ++number;
  }
  archive.bytes(&number, sizeof number);
  if (number != seen.size() + 1) return;
  seen.push_back(pointer.get());
  value(archive, *pointer);
}
template <typename Archive, typename T>
void value(Archive& archive, std::shared_ptr<const T>& pointer) {
  auto& seen = archive.shared(pointer.get());
  std::size_t number = 0;
  archive.bytes(&number, sizeof number);
  if (number > seen.size() + 1) Reader::fail();
  if (number == seen.size() + 1) {
    auto fresh = std::make_shared<T>();
    seen.push_back(fresh);
    value(archive, *fresh);
  }
  if (number > 0) pointer = seen[number - 1];
}

}  // namespace

bool same_elements(const Model& a, const Model& b) { return same_value(a, b); }

std::uint64_t hash_elements(const Model& model) { return hash_value(model); }

std::string serialize(const Model& model) {
  Writer writer;
  writer.bytes(kModelMagic.data(), kModelMagic.size());
  writer.bytes(&kFormat, sizeof kFormat);
  value(writer, model);
  std::string bytes = writer.take();
  const std::uint64_t hash = fnv1a(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  return bytes;
}

ModelPtr deserialize_model(std::string_view bytes) {
  std::uint64_t hash = 0;
  if (bytes.size() < sizeof hash) Reader::fail();
  std::memcpy(&hash, bytes.data() + bytes.size() - sizeof hash, sizeof hash);
  bytes.remove_suffix(sizeof hash);
  Reader reader(bytes);
  std::string magic(kModelMagic.size(), ' ');
  reader.bytes(magic.data(), magic.size());
  std::int32_t format = 0;
  reader.bytes(&format, sizeof format);
  if (magic != kModelMagic) Reader::fail();
  if (format != kFormat) {
    throw Error({.where = {},
                 .message = fmt::format("the model has format {}, this version reads {}", format, kFormat),
                 .remedy = "use the version that wrote it"});
  }
  if (hash != fnv1a(bytes.data(), bytes.size())) Reader::fail();
  Model elements;
  value(reader, elements);
  if (!reader.at_end()) Reader::fail();
  ModelBuilder builder(elements);
  builder.set_allow_massless(true);
  auto model = std::make_shared<Model>(*builder.build());
  bool fits = true;
  for_each_field<Parameters>([&](auto field) {
    fits = fits && (elements.defaults.*field.member).size() == (model->defaults.*field.member).size();
  });
  if (!fits) Reader::fail();
  model->defaults = elements.defaults;
  model->warnings = elements.warnings;
  return model;
}

}  // namespace touchstone

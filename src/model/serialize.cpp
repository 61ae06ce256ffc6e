// One list of fields for each element serves both directions: fields(archive, element), where the archive is a Writer
// (element const) or a Reader.
#include "touchstone/model/serialize.hpp"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/hash.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::string_view kModelMagic = "touchstone-model";
constexpr std::int32_t kFormat = 2;  // raise it when a field comes, goes or changes

template <typename Archive, typename... Fields>
void all(Archive& archive, Fields&... fields) {
  (value(archive, fields), ...);
}

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
constexpr bool kFixedMatrix = std::is_same_v<T, Vector2> || std::is_same_v<T, Vector3> || std::is_same_v<T, Matrix3> ||
                              std::is_same_v<T, Eigen::Vector4d> || std::is_same_v<T, Eigen::Vector3i>;

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

// --- structs: declared here, listed below ---

template <typename Archive, typename T>
auto value(Archive& archive, T& element) -> decltype(fields(archive, element)) {
  return fields(archive, element);
}

template <typename Archive, typename T>
void value(Archive& archive, std::vector<T>& list);
template <typename Archive, typename T>
void value(Archive& archive, const std::vector<T>& list);
template <typename Archive, typename T>
void value(Archive& archive, std::shared_ptr<const T>& pointer);
template <typename Archive, typename T>
void value(Archive& archive, const std::shared_ptr<const T>& pointer);

// A template over both constnesses of an element.
#define TOUCHSTONE_FIELDS(Type, ...)                                                              \
  template <typename Archive, typename T>                                                         \
  std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Type>> fields(Archive& archive, T& e) { \
    all(archive, __VA_ARGS__);                                                                    \
  }

TOUCHSTONE_FIELDS(Transform, e.position, e.rotation)
TOUCHSTONE_FIELDS(Mat3, e.c0, e.c1, e.c2)
TOUCHSTONE_FIELDS(MassProperties, e.mass, e.com, e.inertia)
TOUCHSTONE_FIELDS(BodyInertia, e.com, e.inertia, e.mass)
TOUCHSTONE_FIELDS(Origin, e.file, e.line, e.element)
TOUCHSTONE_FIELDS(Warning, e.origin, e.message)
TOUCHSTONE_FIELDS(Impedance, e.solref, e.solimp)
TOUCHSTONE_FIELDS(Body, e.name, e.parent, e.pose, e.inertia, e.gravity_compensation, e.mocap, e.fixed_base, e.origin)
TOUCHSTONE_FIELDS(Joint, e.name, e.body, e.type, e.axis, e.anchor, e.pitch, e.reference, e.limited, e.range,
                  e.limit_margin, e.limit_impedance, e.stiffness, e.spring_reference, e.damping, e.armature, e.friction,
                  e.friction_impedance, e.actuator_force_limited, e.actuator_force_range,
                  e.actuator_gravity_compensation, e.velocity_limit, e.effort_limit, e.group, e.origin)
TOUCHSTONE_FIELDS(Material, e.friction, e.restitution, e.stiffness, e.dissipation, e.impedance, e.mixing, e.priority)
TOUCHSTONE_FIELDS(TriangleMesh, e.name, e.file, e.vertices, e.triangles)
TOUCHSTONE_FIELDS(HeightField, e.name, e.rows, e.columns, e.radius_x, e.radius_y, e.elevation, e.base, e.values)
TOUCHSTONE_FIELDS(Shape, e.type, e.size, e.mesh, e.height_field, e.mesh_collision, e.pieces)
TOUCHSTONE_FIELDS(ShapeElement, e.name, e.body, e.pose, e.shape, e.contact_type, e.contact_affinity,
                  e.contact_dimension, e.margin, e.gap, e.material, e.color, e.visual_material, e.group, e.visual_only,
                  e.fixed_base, e.exclude_overlaps, e.origin)
TOUCHSTONE_FIELDS(VisualMaterial, e.name, e.color, e.texture_file, e.specular, e.shininess, e.reflectance, e.emission)
TOUCHSTONE_FIELDS(Site, e.name, e.body, e.pose, e.shape, e.color, e.group, e.origin)
TOUCHSTONE_FIELDS(ContactPair, e.name, e.shape_a, e.shape_b, e.contact_dimension, e.friction, e.impedance, e.margin,
                  e.gap, e.origin)
TOUCHSTONE_FIELDS(ContactExclusion, e.name, e.body_a, e.body_b, e.origin)
TOUCHSTONE_FIELDS(Tendon::Term, e.joint, e.coefficient)
TOUCHSTONE_FIELDS(Tendon, e.name, e.terms, e.limited, e.range, e.limit_margin, e.limit_impedance, e.stiffness,
                  e.spring_length, e.damping, e.armature, e.friction, e.friction_impedance, e.actuator_force_limited,
                  e.actuator_force_range, e.origin)
TOUCHSTONE_FIELDS(Equality, e.name, e.type, e.active, e.a, e.b, e.anchor_a, e.anchor_b, e.relative_pose, e.torque_scale,
                  e.polynomial, e.impedance, e.origin)
TOUCHSTONE_FIELDS(Actuator, e.name, e.transmission, e.target, e.reference_site, e.crank_length, e.gear, e.dynamics,
                  e.time_constant, e.gain_type, e.bias_type, e.gain, e.bias, e.damping_ratio, e.control_limited,
                  e.control_range, e.force_limited, e.force_range, e.activation_limited, e.activation_range,
                  e.early_activation, e.group, e.origin)
TOUCHSTONE_FIELDS(Sensor, e.name, e.type, e.object_type, e.object, e.reference_type, e.reference, e.noise, e.cutoff,
                  e.origin)
TOUCHSTONE_FIELDS(Keyframe, e.name, e.time, e.q, e.v, e.activation, e.control, e.mocap, e.origin)
TOUCHSTONE_FIELDS(SimulationOptions, e.time_step, e.integrator, e.cone, e.friction_impedance_ratio, e.magnetic_field,
                  e.contacts_enabled, e.gravity_enabled, e.limits_enabled, e.equalities_enabled, e.springs_enabled,
                  e.dampers_enabled, e.actuation_enabled, e.friction_loss_enabled, e.clamp_controls,
                  e.filter_parent_contacts, e.safe_references, e.implicit_damping, e.exclude_overlaps,
                  e.mujoco_contact_frames)
TOUCHSTONE_FIELDS(Parameters, e.gravity, e.body_inertia, e.body_gravity_compensation, e.joint_stiffness,
                  e.spring_reference, e.dof_armature, e.dof_damping, e.dof_friction, e.tendon_stiffness,
                  e.tendon_damping, e.tendon_armature, e.tendon_friction, e.tendon_spring_length, e.actuator_gain,
                  e.actuator_bias, e.shape_material)
// What the builder starts from, and the parameters, which may have been changed since.
TOUCHSTONE_FIELDS(Model, e.name, e.file, e.bodies, e.joints, e.shapes, e.sites, e.tendons, e.actuators, e.equalities,
                  e.sensors, e.keyframes, e.contact_pairs, e.contact_exclusions, e.visual_materials, e.warnings,
                  e.options, e.defaults)

#undef TOUCHSTONE_FIELDS

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
  const auto same_size = [](const auto& a, const auto& b) { return a.size() == b.size(); };
  const Parameters &given = elements.defaults, &built = model->defaults;
  const bool fits =
      same_size(given.body_inertia, built.body_inertia) &&
      same_size(given.body_gravity_compensation, built.body_gravity_compensation) &&
      same_size(given.joint_stiffness, built.joint_stiffness) &&
      same_size(given.spring_reference, built.spring_reference) && same_size(given.dof_armature, built.dof_armature) &&
      same_size(given.dof_damping, built.dof_damping) && same_size(given.dof_friction, built.dof_friction) &&
      same_size(given.tendon_stiffness, built.tendon_stiffness) &&
      same_size(given.tendon_damping, built.tendon_damping) &&
      same_size(given.tendon_armature, built.tendon_armature) &&
      same_size(given.tendon_friction, built.tendon_friction) &&
      same_size(given.tendon_spring_length, built.tendon_spring_length) &&
      same_size(given.actuator_gain, built.actuator_gain) && same_size(given.actuator_bias, built.actuator_bias) &&
      same_size(given.shape_material, built.shape_material);
  if (!fits) Reader::fail();
  model->defaults = given;
  model->warnings = elements.warnings;
  return model;
}

}  // namespace touchstone

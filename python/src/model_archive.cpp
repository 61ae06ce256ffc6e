// Models as bytes, for pickling. Each kind of element lists its fields once; the same list writes and reads. What is
// stored are the elements as given; reading builds the model anew, which also checks it.
#include <cstring>
#include <memory>
#include <type_traits>
#include <unordered_map>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {
namespace {

constexpr std::uint64_t kMagic = 0x314c444d'45545354;  // "TSTEMDL1"

class Archive {
 public:
  Archive() = default;
  explicit Archive(const std::string& bytes) : bytes_(bytes), reading_(true) {}
  bool reading() const { return reading_; }
  const std::string& bytes() const { return bytes_; }
  bool at_end() const { return position_ == bytes_.size(); }

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }

  // A shared object is written once; `list` gives its fields.
  template <typename T, typename List>
  void shared(std::shared_ptr<const T>& pointer, std::unordered_map<const void*, int>& numbers,
              std::vector<std::shared_ptr<const T>>& objects, List list) {
    int number = -1;
    if (!reading_ && pointer != nullptr) {
      number = numbers.try_emplace(pointer.get(), static_cast<int>(objects.size())).first->second;
    }
    field(number);
    if (number < 0) return;
    if (number > static_cast<int>(objects.size())) damaged();
    if (number == static_cast<int>(objects.size())) {
      auto object = reading_ ? std::make_shared<T>() : std::make_shared<T>(*pointer);
      list(*this, *object);
      objects.push_back(std::move(object));
    }
    if (reading_) pointer = objects[static_cast<std::size_t>(number)];
  }

  template <typename T>
  void plain(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof value);
  }

  void raw(void* data, std::size_t size) {
    if (size == 0) return;
    if (reading_) {
      if (size > bytes_.size() - position_) damaged();
      std::memcpy(data, bytes_.data() + position_, size);
      position_ += size;
    } else {
      bytes_.append(static_cast<const char*>(data), size);
    }
  }

  // The length of a list whose items take at least `item` bytes.
  std::size_t length(std::size_t size, std::size_t item) {
    auto n = static_cast<std::uint64_t>(size);
    plain(n);
    if (reading_ && n > (bytes_.size() - position_) / item) damaged();
    return static_cast<std::size_t>(n);
  }

  [[noreturn]] static void damaged() { throw Error("the pickled model is damaged, or of another version"); }

  std::unordered_map<const void*, int> mesh_numbers, field_numbers;
  std::vector<std::shared_ptr<const TriangleMesh>> meshes;
  std::vector<std::shared_ptr<const HeightField>> height_fields;

 private:
  template <typename T>
  void field(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      plain(value);
    } else {
      describe(*this, value);
    }
  }

  std::string bytes_;
  std::size_t position_ = 0;
  bool reading_ = false;
};

void describe(Archive& a, std::string& text) {
  text.resize(a.length(text.size(), 1));
  a.raw(text.data(), text.size());
}

void describe(Archive& a, VectorX& v) {
  v.resize(static_cast<Eigen::Index>(a.length(static_cast<std::size_t>(v.size()), sizeof(double))));
  a.raw(v.data(), static_cast<std::size_t>(v.size()) * sizeof(double));
}

template <int Rows, int Cols>
void describe(Archive& a, Eigen::Matrix<double, Rows, Cols>& m) {
  a.raw(m.data(), sizeof(double) * static_cast<std::size_t>(m.size()));
}

void describe(Archive& a, Eigen::Vector3i& v) { a.raw(v.data(), 3 * sizeof(int)); }

template <std::size_t N>
void describe(Archive& a, std::array<double, N>& values) {
  a.raw(values.data(), N * sizeof(double));
}

template <typename T>
void describe(Archive& a, std::vector<T>& list) {
  list.resize(a.length(list.size(), 1));
  for (T& item : list) a(item);
}

void describe(Archive& a, Transform& X) { a(X.position, X.rotation.coeffs()); }
void describe(Archive& a, Origin& o) { a(o.file, o.line, o.element); }
void describe(Archive& a, Warning& w) { a(w.origin, w.message); }
void describe(Archive& a, MassProperties& p) { a(p.mass, p.com, p.inertia); }
void describe(Archive& a, Impedance& i) { a(i.solref, i.solimp); }

void describe(Archive& a, Body& b) {
  a(b.name, b.parent, b.pose, b.inertia, b.gravity_compensation, b.mocap, b.origin);
}

void describe(Archive& a, Joint& j) {
  a(j.name, j.body, j.type, j.axis, j.anchor, j.pitch, j.reference, j.limited, j.range, j.limit_margin,
    j.limit_impedance, j.stiffness, j.spring_reference, j.damping, j.armature, j.friction, j.friction_impedance,
    j.actuator_force_limited, j.actuator_force_range, j.actuator_gravity_compensation, j.velocity_limit, j.effort_limit,
    j.group, j.origin);
}

void describe(Archive& a, TriangleMesh& m) { a(m.name, m.file, m.vertices, m.triangles); }
void describe(Archive& a, HeightField& h) {
  a(h.name, h.rows, h.columns, h.radius_x, h.radius_y, h.elevation, h.base, h.values);
}

void describe(Archive& a, std::shared_ptr<const TriangleMesh>& mesh) {
  a.shared(mesh, a.mesh_numbers, a.meshes, [](Archive& archive, TriangleMesh& m) { describe(archive, m); });
}

void describe(Archive& a, Shape& s) {
  a(s.type, s.size, s.mesh, s.mesh_collision, s.pieces);
  a.shared(s.height_field, a.field_numbers, a.height_fields,
           [](Archive& archive, HeightField& h) { describe(archive, h); });
}

void describe(Archive& a, Material& m) {
  a(m.friction, m.restitution, m.stiffness, m.dissipation, m.impedance, m.mixing, m.priority);
}

void describe(Archive& a, ShapeElement& s) {
  a(s.name, s.body, s.pose, s.shape, s.contact_type, s.contact_affinity, s.contact_dimension, s.margin, s.gap,
    s.material, s.color, s.visual_material, s.group, s.visual_only, s.origin);
}

void describe(Archive& a, VisualMaterial& m) {
  a(m.name, m.color, m.texture_file, m.specular, m.shininess, m.reflectance, m.emission);
}

void describe(Archive& a, Site& s) { a(s.name, s.body, s.pose, s.shape, s.color, s.group, s.origin); }

void describe(Archive& a, ContactPair& p) {
  a(p.name, p.shape_a, p.shape_b, p.contact_dimension, p.friction, p.impedance, p.margin, p.gap, p.origin);
}

void describe(Archive& a, ContactExclusion& e) { a(e.name, e.body_a, e.body_b, e.origin); }
void describe(Archive& a, Tendon::Term& t) { a(t.joint, t.coefficient); }

void describe(Archive& a, Tendon& t) {
  a(t.name, t.terms, t.limited, t.range, t.limit_margin, t.limit_impedance, t.stiffness, t.spring_length, t.damping,
    t.armature, t.friction, t.friction_impedance, t.actuator_force_limited, t.actuator_force_range, t.origin);
}

void describe(Archive& a, Equality& e) {
  a(e.name, e.type, e.active, e.a, e.b, e.anchor_a, e.anchor_b, e.relative_pose, e.torque_scale, e.polynomial,
    e.impedance, e.origin);
}

void describe(Archive& a, Actuator& u) {
  a(u.name, u.transmission, u.target, u.reference_site, u.crank_length, u.gear, u.dynamics, u.time_constant,
    u.gain_type, u.bias_type, u.gain, u.bias, u.damping_ratio, u.control_limited, u.control_range, u.force_limited,
    u.force_range, u.activation_limited, u.activation_range, u.early_activation, u.group, u.origin);
}

void describe(Archive& a, Sensor& s) {
  a(s.name, s.type, s.object_type, s.object, s.reference_type, s.reference, s.noise, s.cutoff, s.origin);
}

void describe(Archive& a, Keyframe& k) { a(k.name, k.time, k.q, k.v, k.activation, k.control, k.mocap, k.origin); }

void describe(Archive& a, SimulationOptions& o) {
  a(o.time_step, o.integrator, o.cone, o.friction_impedance_ratio, o.magnetic_field, o.contacts_enabled,
    o.gravity_enabled, o.limits_enabled, o.equalities_enabled, o.springs_enabled, o.dampers_enabled,
    o.actuation_enabled, o.friction_loss_enabled, o.clamp_controls, o.filter_parent_contacts, o.safe_references,
    o.implicit_damping);
}

// What is stored of a model.
struct Draft {
  std::string name, file;
  Vector3 gravity;
  SimulationOptions options;
  std::vector<Body> bodies;
  std::vector<Joint> joints;
  std::vector<ShapeElement> shapes;
  std::vector<Site> sites;
  std::vector<Tendon> tendons;
  std::vector<Actuator> actuators;
  std::vector<Equality> equalities;
  std::vector<Sensor> sensors;
  std::vector<Keyframe> keyframes;
  std::vector<ContactPair> pairs;
  std::vector<ContactExclusion> exclusions;
  std::vector<VisualMaterial> materials;
  std::vector<Warning> warnings;
};

void describe(Archive& a, Draft& d) {
  std::uint64_t magic = kMagic;
  a(magic);
  if (magic != kMagic) Archive::damaged();
  a(d.name, d.file, d.gravity, d.options, d.bodies, d.joints, d.shapes, d.sites, d.tendons, d.actuators, d.equalities,
    d.sensors, d.keyframes, d.pairs, d.exclusions, d.materials, d.warnings);
}

// build() gives this warning again (model/reference.cpp).
bool made_by_build(const Warning& warning) {
  return warning.message.find("; forward dynamics will not work") != std::string::npos;
}

}  // namespace

std::string serialize_model(const Model& m) {
  Draft draft{m.name,
              m.file,
              m.defaults.gravity,
              m.options,
              m.bodies,
              m.joints,
              m.shapes,
              m.sites,
              m.tendons,
              m.actuators,
              m.equalities,
              m.sensors,
              m.keyframes,
              m.contact_pairs,
              m.contact_exclusions,
              m.visual_materials,
              m.warnings};
  Archive archive;
  describe(archive, draft);
  return archive.bytes();
}

ModelPtr deserialize_model(const std::string& bytes) {
  Archive archive(bytes);
  Draft draft;
  describe(archive, draft);
  if (!archive.at_end()) Archive::damaged();
  ModelBuilder builder(draft.name);
  builder.set_file(draft.file);
  builder.set_gravity(draft.gravity);
  builder.set_allow_massless(true);  // the model was accepted once
  builder.options() = draft.options;
  for (std::size_t i = 0; i < draft.bodies.size(); ++i) {
    if (i == 0) {
      builder.body(0) = draft.bodies[0];
    } else {
      builder.add_body(draft.bodies[i]);
    }
  }
  for (Joint& e : draft.joints) builder.add_joint(std::move(e));
  for (ShapeElement& e : draft.shapes) builder.add_shape(std::move(e));
  for (Site& e : draft.sites) builder.add_site(std::move(e));
  for (Tendon& e : draft.tendons) builder.add_tendon(std::move(e));
  for (Actuator& e : draft.actuators) builder.add_actuator(std::move(e));
  for (Equality& e : draft.equalities) builder.add_equality(std::move(e));
  for (Sensor& e : draft.sensors) builder.add_sensor(std::move(e));
  for (Keyframe& e : draft.keyframes) builder.add_keyframe(std::move(e));
  for (ContactPair& e : draft.pairs) builder.add_contact_pair(std::move(e));
  for (ContactExclusion& e : draft.exclusions) builder.add_contact_exclusion(std::move(e));
  for (VisualMaterial& e : draft.materials) builder.add_visual_material(std::move(e));
  for (Warning& e : draft.warnings) {
    if (!made_by_build(e)) builder.add_warning(std::move(e));
  }
  return builder.build();
}

}  // namespace touchstone::python

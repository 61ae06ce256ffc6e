// ModelBuilder: equalities and the rules of contact.
#include <algorithm>
#include <charconv>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "builder.hpp"

namespace touchstone::python {
namespace {

Equality make_equality(EqualityType type, const std::string& name, bool active, const MaybeNumbers& softness) {
  Equality equality;
  equality.name = name;
  equality.type = type;
  equality.active = active;
  set_impedance(equality.impedance, softness, "softness");
  return equality;
}

int add_connect(ModelBuilder& b, const Reference& body_a, const Reference& body_b, const Numbers& anchor,
                const std::string& name, bool active, const MaybeNumbers& softness) {
  Equality equality = make_equality(EqualityType::kConnect, name, active, softness);
  equality.a = resolve(b.bodies(), body_a, "body");
  equality.b = resolve(b.bodies(), body_b, "body");
  equality.anchor_a = anchor.vector3("anchor");
  equality.anchor_b = world_pose(b, equality.b).inverse() * (world_pose(b, equality.a) * equality.anchor_a);
  return b.add_equality(std::move(equality));
}

int add_weld(ModelBuilder& b, const Reference& body_a, const Reference& body_b, const MaybeNumbers& anchor,
             double torque_scale, const std::string& name, bool active, const MaybeNumbers& softness) {
  Equality equality = make_equality(EqualityType::kWeld, name, active, softness);
  equality.a = resolve(b.bodies(), body_a, "body");
  equality.b = resolve(b.bodies(), body_b, "body");
  if (anchor) equality.anchor_a = anchor->vector3("anchor");
  equality.relative_pose = world_pose(b, equality.a).inverse() * world_pose(b, equality.b);
  equality.torque_scale = torque_scale;
  return b.add_equality(std::move(equality));
}

std::array<double, 5> polynomial_argument(const Numbers& polynomial) {
  const VectorX given = polynomial.vector("polynomial");
  if (given.size() < 1 || given.size() > 5) throw Error("polynomial has {} numbers; give 1 to 5", given.size());
  std::array<double, 5> coefficients{};
  for (Eigen::Index i = 0; i < given.size(); ++i) coefficients[static_cast<std::size_t>(i)] = given[i];
  return coefficients;
}

// A joint of a tree, or a coordinate of a loop joint: "pin", or "pin[1]" for its second one.
void set_side(const ModelBuilder& b, const Reference& reference, int& index, int& coordinate) {
  const std::string* name = std::get_if<std::string>(&reference);
  const auto is_joint = [&](const Joint& joint) { return joint.name == *name; };
  if (name == nullptr || std::any_of(b.joints().begin(), b.joints().end(), is_joint)) {
    index = resolve(b.joints(), reference, "joint");
    return;
  }
  std::string base = *name;
  int k = 0;
  const std::size_t open = base.rfind('[');
  if (open != std::string::npos && base.back() == ']') {
    const char* last = base.data() + base.size() - 1;
    if (std::from_chars(base.data() + open + 1, last, k).ptr != last) {
      throw Error("'{}': write the number of a coordinate between the brackets, from 0", *name);
    }
    base.resize(open);
  }
  for (std::size_t i = 0; i < b.loop_joints().size(); ++i) {
    if (b.loop_joints()[i].name != base) continue;
    index = static_cast<int>(i);
    coordinate = k;
    return;
  }
  throw Error("there is no joint or loop joint '{}'", *name);
}

int add_joint_coupling(ModelBuilder& b, const Reference& joint, const MaybeReference& driver, const Numbers& polynomial,
                       const std::string& name, bool active, const MaybeNumbers& softness) {
  Equality equality = make_equality(EqualityType::kJoint, name, active, softness);
  set_side(b, joint, equality.a, equality.coordinate_a);
  if (driver) set_side(b, *driver, equality.b, equality.coordinate_b);
  equality.polynomial = polynomial_argument(polynomial);
  return b.add_equality(std::move(equality));
}

int add_tendon_coupling(ModelBuilder& b, const Reference& tendon, const MaybeReference& driver,
                        const Numbers& polynomial, const std::string& name, bool active, const MaybeNumbers& softness) {
  Equality equality = make_equality(EqualityType::kTendon, name, active, softness);
  equality.a = resolve(b.tendons(), tendon, "tendon");
  if (driver) equality.b = resolve(b.tendons(), *driver, "tendon");
  equality.polynomial = polynomial_argument(polynomial);
  return b.add_equality(std::move(equality));
}

// One number for both directions of sliding; sliding, torsional, rolling as for shapes; or all five.
std::array<double, 5> pair_friction(const Numbers& numbers) {
  const VectorX f = numbers.vector("friction");
  const std::array<double, 5> defaults = ContactPair().friction;
  if (f.size() == 1) return {f[0], f[0], defaults[2], defaults[3], defaults[4]};
  if (f.size() == 3) return {f[0], f[0], f[1], f[2], f[2]};
  if (f.size() == 5) return {f[0], f[1], f[2], f[3], f[4]};
  throw Error("friction has {} numbers; give 1, 3 (sliding, torsional, rolling) or 5", f.size());
}

int add_contact_pair(ModelBuilder& b, const Reference& shape_a, const Reference& shape_b, const std::string& name,
                     const MaybeNumbers& friction, int contact_dimension, double margin, double gap,
                     const MaybeNumbers& softness) {
  ContactPair pair;
  pair.name = name;
  pair.shape_a = resolve(b.shapes(), shape_a, "shape");
  pair.shape_b = resolve(b.shapes(), shape_b, "shape");
  pair.contact_dimension = contact_dimension;
  if (friction) pair.friction = pair_friction(*friction);
  pair.margin = margin;
  pair.gap = gap;
  set_impedance(pair.impedance, softness, "softness");
  return b.add_contact_pair(std::move(pair));
}

int add_exclusion(ModelBuilder& b, const Reference& body_a, const Reference& body_b, const std::string& name) {
  ContactExclusion exclusion;
  exclusion.name = name;
  exclusion.body_a = resolve(b.bodies(), body_a, "body");
  exclusion.body_b = resolve(b.bodies(), body_b, "body");
  return b.add_contact_exclusion(std::move(exclusion));
}

void bind_equalities(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_connect", &add_connect, nb::arg("body_a"), nb::arg("body_b"), nb::arg("anchor"), nb::kw_only(),
           nb::arg("name") = "", nb::arg("active") = true, nb::arg("softness") = nb::none(),
           "Holds two bodies together at a point (in the frame of body_a, m): closes loops.")
      .def(
          "add_weld", &add_weld, nb::arg("body_a"), nb::arg("body_b"), nb::kw_only(), nb::arg("anchor") = nb::none(),
          nb::arg("torque_scale") = 1.0, nb::arg("name") = "", nb::arg("active") = true,
          nb::arg("softness") = nb::none(),
          "Holds two bodies in their relative pose at the reference configuration. anchor: where the pose is measured, "
          "in the frame of body_b, m; torque_scale: weight of the rotation against the translation, m.")
      .def("add_joint_coupling", &add_joint_coupling, nb::arg("joint"), nb::arg("driver").none(), nb::arg("polynomial"),
           nb::kw_only(), nb::arg("name") = "", nb::arg("active") = true, nb::arg("softness") = nb::none(),
           "joint = sum c_k driver^k (up to c_4), both from their references, rad or m. Without a driver (None) the "
           "joint is held at c_0. Either may be a coordinate of a loop joint: 'pin', or 'pin[1]' for its second one.")
      .def("add_tendon_coupling", &add_tendon_coupling, nb::arg("tendon"), nb::arg("driver").none(),
           nb::arg("polynomial"), nb::kw_only(), nb::arg("name") = "", nb::arg("active") = true,
           nb::arg("softness") = nb::none(), "The same for the lengths of tendons, m.");
}

void bind_contact_rules(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_contact_pair", &add_contact_pair, nb::arg("shape_a"), nb::arg("shape_b"), nb::kw_only(),
           nb::arg("name") = "", nb::arg("friction") = nb::none(), nb::arg("contact_dimension") = 3,
           nb::arg("margin") = 0.0, nb::arg("gap") = 0.0, nb::arg("softness") = nb::none(),
           "Two shapes that collide whatever their contact_type and contact_affinity, with numbers of their own. "
           "friction: sliding (-), or sliding, torsional (m), rolling (m), or five numbers as in MJCF; margin, gap: m.")
      .def("add_exclusion", &add_exclusion, nb::arg("body_a"), nb::arg("body_b"), nb::kw_only(), nb::arg("name") = "",
           "Two bodies that never collide.");
}

}  // namespace

Transform world_pose(const ModelBuilder& builder, int body) {
  Transform X;
  for (int i = body; i > 0; i = builder.bodies()[static_cast<std::size_t>(i)].parent) {
    X = builder.bodies()[static_cast<std::size_t>(i)].pose * X;
  }
  return X;
}

void bind_builder_relations(nb::class_<ModelBuilder>& builder) {
  bind_equalities(builder);
  bind_contact_rules(builder);
}

}  // namespace touchstone::python

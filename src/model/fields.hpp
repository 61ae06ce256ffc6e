// One list of the fields of each element of a model. Serialisation, copies, equality, hashing and Python go through it;
// a member that is not listed does not compile.
//
//   for_each_field<Joint>([&](auto field) { print(field.name, joint.*field.member); });
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "touchstone/base/hash.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

template <typename Owner, typename Type>
struct Field {
  const char* name;
  Type Owner::*member;
};

// Specialised below: `static constexpr std::tuple list` of Field.
template <typename Element>
struct FieldList;

template <typename Element>
concept HasFields = requires {
  FieldList<Element>::list;
};

template <HasFields Element, typename Visit>
constexpr void for_each_field(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, FieldList<Element>::list);
}

// --- the lists ---

namespace detail {

struct Anything {
  template <typename T>
  operator T() const;  // NOLINT: implicit on purpose
};

// How many members an aggregate has: with so many initialisers it can be made, with one more it cannot.
template <typename Element, typename... Given>
constexpr std::size_t member_count() {
  if constexpr (requires { Element{Given{}..., Anything{}}; }) {
    return member_count<Element, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

}  // namespace detail

// clang-format off
#define TOUCHSTONE_EXPAND(...) TOUCHSTONE_EXPAND_A(TOUCHSTONE_EXPAND_A(TOUCHSTONE_EXPAND_A(__VA_ARGS__)))
#define TOUCHSTONE_EXPAND_A(...) TOUCHSTONE_EXPAND_B(TOUCHSTONE_EXPAND_B(TOUCHSTONE_EXPAND_B(__VA_ARGS__)))
#define TOUCHSTONE_EXPAND_B(...) TOUCHSTONE_EXPAND_C(TOUCHSTONE_EXPAND_C(TOUCHSTONE_EXPAND_C(__VA_ARGS__)))
#define TOUCHSTONE_EXPAND_C(...) __VA_ARGS__
// clang-format on
#define TOUCHSTONE_PARENS ()
#define TOUCHSTONE_NEXT_FIELD() TOUCHSTONE_FIELD
#define TOUCHSTONE_FIELD(Type, field, ...) \
  Field<Type, decltype(Type::field)>{      \
      #field, &Type::field} __VA_OPT__(, TOUCHSTONE_NEXT_FIELD TOUCHSTONE_PARENS(Type, __VA_ARGS__))
#define TOUCHSTONE_SOME_FIELDS(Type, others, ...)                                                    \
  template <>                                                                                        \
  struct FieldList<Type> {                                                                           \
    static constexpr auto list = std::tuple{TOUCHSTONE_EXPAND(TOUCHSTONE_FIELD(Type, __VA_ARGS__))}; \
    static_assert(std::tuple_size_v<decltype(list)> + (others) == detail::member_count<Type>(),      \
                  "a member of " #Type                                                               \
                  " is not in its list of fields; add it, or count it among those "                  \
                  "that are not a file's");                                                          \
  };
#define TOUCHSTONE_FIELDS(Type, ...) TOUCHSTONE_SOME_FIELDS(Type, 0, __VA_ARGS__)

TOUCHSTONE_FIELDS(Transform, position, rotation)
TOUCHSTONE_FIELDS(MassProperties, mass, com, inertia)
TOUCHSTONE_FIELDS(BodyInertia, com, inertia, mass)
TOUCHSTONE_FIELDS(Origin, file, line, element)
TOUCHSTONE_FIELDS(Warning, origin, message)
TOUCHSTONE_FIELDS(Impedance, solref, solimp)
TOUCHSTONE_FIELDS(Body, name, parent, pose, inertia, gravity_compensation, mocap, fixed_base, sleep, origin)
TOUCHSTONE_FIELDS(Joint, name, body, type, axis, anchor, pitch, reference, limited, range, limit_margin,
                  limit_impedance, stiffness, spring_reference, damping, armature, friction, friction_impedance,
                  actuator_force_limited, actuator_force_range, actuator_gravity_compensation, velocity_limit,
                  effort_limit, group, origin)
TOUCHSTONE_FIELDS(Material, friction, restitution, stiffness, hertz, youngs_modulus, poisson_ratio, dissipation,
                  relaxation_time, impedance, mixing, priority)
TOUCHSTONE_FIELDS(TriangleMesh, name, file, vertices, triangles)
TOUCHSTONE_FIELDS(HeightField, name, rows, columns, radius_x, radius_y, elevation, base, values)
TOUCHSTONE_FIELDS(Shape, type, size, mesh, height_field, mesh_collision, pieces)
TOUCHSTONE_FIELDS(ShapeElement, name, body, pose, shape, contact_type, contact_affinity, contact_dimension, margin, gap,
                  material, surface_velocity, color, visual_material, group, visual_only, fixed_base, exclude_overlaps,
                  origin)
TOUCHSTONE_FIELDS(VisualMaterial, name, color, texture_file, specular, shininess, reflectance, emission)
TOUCHSTONE_FIELDS(Site, name, body, pose, shape, color, group, origin)
TOUCHSTONE_FIELDS(ContactPair, name, shape_a, shape_b, contact_dimension, friction, impedance, margin, gap, origin)
TOUCHSTONE_FIELDS(ContactExclusion, name, body_a, body_b, origin)
TOUCHSTONE_FIELDS(Tendon::Term, joint, coefficient)
TOUCHSTONE_FIELDS(Tendon, name, terms, limited, range, limit_margin, limit_impedance, stiffness, spring_length, damping,
                  armature, friction, friction_impedance, actuator_force_limited, actuator_force_range, origin)
TOUCHSTONE_FIELDS(Equality, name, type, active, a, b, anchor_a, anchor_b, relative_pose, torque_scale, polynomial,
                  coordinate_a, coordinate_b, impedance, origin)
TOUCHSTONE_FIELDS(LoopCoordinate, reference, limited, range, limit_margin, limit_impedance, stiffness, spring_reference,
                  damping, armature, friction, friction_impedance)
TOUCHSTONE_FIELDS(LoopJoint, name, type, active, body_a, body_b, frame_a, frame_b, length, pitch, coordinates,
                  impedance, origin)
TOUCHSTONE_FIELDS(Actuator, name, transmission, target, reference_site, crank_length, gear, dynamics, time_constant,
                  gain_type, bias_type, gain, bias, damping_ratio, control_limited, control_range, force_limited,
                  force_range, activation_limited, activation_range, early_activation, group, origin)
TOUCHSTONE_FIELDS(Sensor, name, type, object_type, object, reference_type, reference, noise, cutoff, origin)
TOUCHSTONE_FIELDS(Keyframe, name, time, q, v, activation, control, loop_q, mocap, origin)
TOUCHSTONE_FIELDS(SimulationOptions, time_step, integrator, cone, friction_impedance_ratio, magnetic_field,
                  sleep_tolerance, sleep_enabled, contacts_enabled, gravity_enabled, limits_enabled, equalities_enabled,
                  springs_enabled, dampers_enabled, actuation_enabled, friction_loss_enabled, clamp_controls,
                  filter_parent_contacts, safe_references, implicit_damping, exclude_overlaps, mujoco_contact_frames)
TOUCHSTONE_FIELDS(Parameters, gravity, body_inertia, body_gravity_compensation, joint_stiffness, spring_reference,
                  dof_armature, dof_damping, dof_friction, tendon_stiffness, tendon_damping, tendon_armature,
                  tendon_friction, tendon_spring_length, actuator_gain, actuator_bias, shape_material,
                  shape_surface_velocity)
// What the builder starts from, and the parameters, which may have been changed since. The rest is derived.
TOUCHSTONE_SOME_FIELDS(Model, 36, name, file, bodies, joints, shapes, sites, tendons, actuators, equalities,
                       loop_joints, sensors, keyframes, contact_pairs, contact_exclusions, visual_materials, warnings,
                       options, defaults)

#undef TOUCHSTONE_FIELDS
#undef TOUCHSTONE_SOME_FIELDS
#undef TOUCHSTONE_FIELD
#undef TOUCHSTONE_NEXT_FIELD
#undef TOUCHSTONE_PARENS
#undef TOUCHSTONE_EXPAND
#undef TOUCHSTONE_EXPAND_A
#undef TOUCHSTONE_EXPAND_B
#undef TOUCHSTONE_EXPAND_C

// --- what follows from them ---

template <HasFields Element>
void copy_fields(const Element& from, Element& to) {
  for_each_field<Element>([&](auto field) { to.*field.member = from.*field.member; });
}

// Field by field; not-a-number equals itself, meshes are compared by what is in them.
template <typename T>
bool same_value(const T& a, const T& b) {
  if constexpr (HasFields<T>) {
    bool same = true;
    for_each_field<T>([&](auto field) { same = same && same_value(a.*field.member, b.*field.member); });
    return same;
  } else if constexpr (std::is_floating_point_v<T>) {
    return a == b || (std::isnan(a) && std::isnan(b));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>) {
    return a == b;
  } else if constexpr (std::is_same_v<T, Quaternion>) {
    return same_value(a.coeffs(), b.coeffs());
  } else if constexpr (std::is_same_v<T, Vec3>) {
    return same_value(a.x(), b.x()) && same_value(a.y(), b.y()) && same_value(a.z(), b.z());
  } else if constexpr (std::is_same_v<T, Mat3>) {
    return same_value(a.c0, b.c0) && same_value(a.c1, b.c1) && same_value(a.c2, b.c2);
  } else if constexpr (requires {
                         a.get();
                         *a;
                       }) {
    return a == b || (a != nullptr && b != nullptr && same_value(*a, *b));
  } else {  // vectors, arrays and matrices
    if (a.size() != b.size()) return false;
    for (decltype(a.size()) i = 0; i < a.size(); ++i) {
      if (!same_value(a.data()[i], b.data()[i])) return false;
    }
    return true;
  }
}

// A number that is the same for values that same_value takes for equal.
template <typename T>
std::uint64_t hash_value(const T& x, std::uint64_t hash = kFnvStart) {
  if constexpr (HasFields<T>) {
    for_each_field<T>([&](auto field) { hash = hash_value(x.*field.member, hash); });
    return hash;
  } else if constexpr (std::is_floating_point_v<T>) {
    const T plain = std::isnan(x) ? T(std::numeric_limits<T>::quiet_NaN()) : x == T(0) ? T(0) : x;
    return fnv1a(&plain, sizeof plain, hash);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return fnv1a(&x, sizeof x, hash);
  } else if constexpr (std::is_same_v<T, Quaternion>) {
    return hash_value(x.coeffs(), hash);
  } else if constexpr (std::is_same_v<T, Vec3>) {
    return hash_value(x.z(), hash_value(x.y(), hash_value(x.x(), hash)));
  } else if constexpr (std::is_same_v<T, Mat3>) {
    return hash_value(x.c2, hash_value(x.c1, hash_value(x.c0, hash)));
  } else if constexpr (requires {
                         x.get();
                         *x;
                       }) {
    return x == nullptr ? hash_value(0, hash) : hash_value(*x, hash_value(1, hash));
  } else {
    hash = hash_value(static_cast<std::uint64_t>(x.size()), hash);
    for (decltype(x.size()) i = 0; i < x.size(); ++i) hash = hash_value(x.data()[i], hash);
    return hash;
  }
}

}  // namespace touchstone

// Loop joints: in the builder, what they read in a simulation, and maximal coordinates (docs/loops.md).
#include <cmath>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "builder.hpp"
#include "simulator.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/loop_reading.hpp"

namespace touchstone::python {
namespace {

LoopJointType type_argument(const std::string& name) {
  if (const std::optional<LoopJointType> type = find_loop_joint_type(name)) return *type;
  throw Error("there is no loop joint of type '{}'; give {}", name, loop_joint_types());
}

// The frame of the joint in body a: its z axis is the axis of the joint.
Transform frame_argument(const MaybeNumbers& position, const MaybeNumbers& axis, const MaybeNumbers& quaternion) {
  if (!axis) return pose_argument(position, quaternion);
  if (quaternion) throw Error("give axis or quaternion, not both");
  Transform frame = pose_argument(position, {});
  const Vector3 z = axis->vector3("axis");
  if (!(z.norm() > 0.0)) throw Error("axis is zero; give a direction");
  frame.rotation = Quaternion::FromTwoVectors(Vector3::UnitZ(), z);
  return frame;
}

// Each property is one number for all coordinates, or one for each.
struct CoordinateArguments {
  const MaybeNumbers &limits, &reference, &stiffness, &spring_reference, &damping, &armature, &friction;
};

void set_limits(std::vector<LoopCoordinate>& coordinates, const Numbers& limits) {
  const int n = static_cast<int>(coordinates.size());
  MatrixX ranges(1, 2);
  if (limits.is_matrix())
    ranges = limits.matrix("limits", n, 2);
  else
    ranges.row(0) = limits.vector2("limits").transpose();
  if (!limits.is_matrix() && n != 1) {
    throw Error("limits is one pair for {} coordinates; give a pair for each, (-inf, inf) for none", n);
  }
  for (int k = 0; k < n; ++k) {
    LoopCoordinate& c = coordinates[static_cast<std::size_t>(k)];
    c.limited = std::isfinite(ranges(k, 0)) || std::isfinite(ranges(k, 1));
    if (c.limited) c.range = ranges.row(k).transpose();
  }
}

std::vector<LoopCoordinate> make_coordinates(LoopJointType type, const CoordinateArguments& given) {
  std::vector<LoopCoordinate> coordinates(static_cast<std::size_t>(coordinate_count(type)));
  const auto set = [&](const MaybeNumbers& numbers, const char* name, double LoopCoordinate::*field) {
    if (!numbers) return;
    const VectorX values = numbers->spread(name, static_cast<int>(coordinates.size()));
    for (std::size_t k = 0; k < coordinates.size(); ++k) coordinates[k].*field = values[static_cast<Eigen::Index>(k)];
  };
  set(given.reference, "reference", &LoopCoordinate::reference);
  set(given.stiffness, "stiffness", &LoopCoordinate::stiffness);
  set(given.spring_reference, "spring_reference", &LoopCoordinate::spring_reference);
  set(given.damping, "damping", &LoopCoordinate::damping);
  set(given.armature, "armature", &LoopCoordinate::armature);
  set(given.friction, "friction", &LoopCoordinate::friction);
  if (given.limits) set_limits(coordinates, *given.limits);
  return coordinates;
}

int add_loop_joint(ModelBuilder& b, const std::string& type, const Reference& body_a, const Reference& body_b,
                   const std::string& name, const MaybeNumbers& position, const MaybeNumbers& axis,
                   const MaybeNumbers& quaternion, const MaybeNumbers& position_b, const MaybeNumbers& quaternion_b,
                   const MaybeDouble& length, double pitch, const MaybeNumbers& limits, const MaybeNumbers& reference,
                   const MaybeNumbers& stiffness, const MaybeNumbers& spring_reference, const MaybeNumbers& damping,
                   const MaybeNumbers& armature, const MaybeNumbers& friction, bool active,
                   const MaybeNumbers& softness) {
  LoopJoint joint;
  joint.name = name;
  joint.type = type_argument(type);
  joint.active = active;
  joint.body_a = resolve(b.bodies(), body_a, "body");
  joint.body_b = resolve(b.bodies(), body_b, "body");
  joint.frame_a = frame_argument(position, axis, quaternion);
  joint.frame_b = world_pose(b, joint.body_b).inverse() * world_pose(b, joint.body_a) * joint.frame_a;
  if (position_b) joint.frame_b.position = position_b->vector3("position_b");
  if (quaternion_b) joint.frame_b.rotation = quaternion_argument(*quaternion_b, "quaternion_b");
  joint.length = length.value_or(0.0);
  if (!length && joint.type == LoopJointType::kDistance) {
    joint.length =
        (world_pose(b, joint.body_a) * joint.frame_a.position - world_pose(b, joint.body_b) * joint.frame_b.position)
            .norm();
  }
  joint.pitch = pitch;
  joint.coordinates =
      make_coordinates(joint.type, {limits, reference, stiffness, spring_reference, damping, armature, friction});
  set_impedance(joint.impedance, softness, "softness");
  return b.add_loop_joint(std::move(joint));
}

nb::object numbers_of(const LoopReading& r, const std::array<double, kMostLoopCoordinates>& values) {
  return nb::cast(copy(values.data(), r.coordinates));
}

void bind_reading(nb::module_& m) {
  using R = LoopReading;
  nb::class_<R>(m, "LoopReading", "What a loop joint does: coordinates now, forces of the last step.")
      .def_prop_ro(
          "position", [](const R& r) { return numbers_of(r, r.position); },
          nb::sig("def position(self) -> numpy.ndarray"), "Of each coordinate, m or rad; angles count turns.")
      .def_prop_ro(
          "velocity", [](const R& r) { return numbers_of(r, r.velocity); },
          nb::sig("def velocity(self) -> numpy.ndarray"), "m/s or rad/s.")
      .def_prop_ro(
          "force", [](const R& r) { return numbers_of(r, r.force); }, nb::sig("def force(self) -> numpy.ndarray"),
          "Along each coordinate, of limit, friction, spring, damper and armature together, not of actuators; N or "
          "N m.")
      .def_ro("position_error", &R::position_error, "m: how far the joint is open.")
      .def_ro("rotation_error", &R::rotation_error, "rad")
      .def_prop_ro(
          "reaction", [](const R& r) { return copy(r.reaction.data(), 6); },
          "[force; torque] of what is held, on body b at the origin of frame b, in the axes of frame a; N, N m.")
      .def("__repr__", [](const R& r) {
        return fmt::format("<LoopReading: {} coordinates, open by {:.2g} m and {:.2g} rad>", r.coordinates,
                           r.position_error, r.rotation_error);
      });
}

}  // namespace

void bind_builder_loop_joints(nb::class_<ModelBuilder>& builder) {
  builder.def(
      "add_loop_joint", &add_loop_joint, nb::arg("type"), nb::arg("body_a"), nb::arg("body_b"), nb::kw_only(),
      nb::arg("name") = "", nb::arg("position") = nb::none(), nb::arg("axis") = nb::none(),
      nb::arg("quaternion") = nb::none(), nb::arg("position_b") = nb::none(), nb::arg("quaternion_b") = nb::none(),
      nb::arg("length") = nb::none(), nb::arg("pitch") = 0.0, nb::arg("limits") = nb::none(),
      nb::arg("reference") = nb::none(), nb::arg("stiffness") = nb::none(), nb::arg("spring_reference") = nb::none(),
      nb::arg("damping") = nb::none(), nb::arg("armature") = nb::none(), nb::arg("friction") = nb::none(),
      nb::arg("active") = true, nb::arg("softness") = nb::none(),
      "A joint between two bodies that are there already: closes a loop, or holds a body to the world (body 0). type: "
      "'fixed', 'revolute', 'prismatic', 'cylindrical', 'screw', 'universal', 'gimbal', 'spherical', 'planar', "
      "'cartesian', 'distance', 'point_on_line' or 'point_on_plane'; also 'weld', 'hinge', 'slide' and 'ball'. "
      "position (m) and axis (z of the joint's frame) or quaternion [w x y z]: the frame in body_a. position_b, "
      "quaternion_b: the frame in body_b; if not given, both frames coincide at the reference configuration. length "
      "(m): of a distance, if not given that at the reference configuration; pitch (m/rad): of a screw. The rest is "
      "along the coordinates, one number for all or one for each: limits (a pair, or one for each), reference, "
      "stiffness, spring_reference, damping, armature, friction, as for joints.");
}

void bind_maximal(nb::module_& m) {
  bind_reading(m);
  m.def(
      "to_maximal", [](const PyModel& model) { return PyModel{to_maximal(*model)}; }, nb::arg("model"),
      "The same machine in maximal coordinates: every body with a free joint, every joint a loop joint of its name. "
      "Raises InputError for what cannot be turned into one.");
  m.def(
      "to_maximal_state",
      [](const PyModel& reduced, const PyModel& maximal, const State& state) {
        return to_maximal_state(*reduced, *maximal, state);
      },
      nb::arg("reduced"), nb::arg("maximal"), nb::arg("state"),
      "The same state of to_maximal(reduced); angles keep their turns.");
  m.def(
      "to_reduced_state",
      [](const PyModel& reduced, const PyModel& maximal, const State& state) {
        return to_reduced_state(*reduced, *maximal, state);
      },
      nb::arg("reduced"), nb::arg("maximal"), nb::arg("state"), "And back; errors of loop joints are lost.");
}

void bind_loop_joint_of(nb::class_<PySimulator>& c) {
  c.def(
      "loop_joint",
      [](PySimulator& self, const Reference& reference) {
        const Guard guard(self.busy, "simulator");
        return self.sim.loop_joint(find_index(self.sim.model(), ElementKind::kLoopJoint, reference));
      },
      nb::arg("name"),
      "Coordinates and errors of a loop joint now, and its forces in the last step; by name or index.");
}

}  // namespace touchstone::python

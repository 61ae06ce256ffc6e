// The elements of a model, read-only: views that keep the model.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "fields.hpp"
#include "shape.hpp"
#include "touchstone/model/element_names.hpp"

namespace touchstone::python {
namespace {

using BodyView = ElementView<Body>;
using JointView = ElementView<Joint>;
using ShapeView = ElementView<ShapeElement>;
using SiteView = ElementView<Site>;
using TendonView = ElementView<Tendon>;
using ActuatorView = ElementView<Actuator>;
using SensorView = ElementView<Sensor>;
using EqualityView = ElementView<Equality>;
using LoopJointView = ElementView<LoopJoint>;
using KeyframeView = ElementView<Keyframe>;
using Range = std::optional<std::pair<double, double>>;

template <typename Element>
const Element& pick(const std::vector<Element>& list, int index) {
  return list[static_cast<std::size_t>(index)];
}
const Body& get(const BodyView& e) { return pick(e.model->bodies, e.index); }
const Joint& get(const JointView& e) { return pick(e.model->joints, e.index); }
const ShapeElement& get(const ShapeView& e) { return pick(e.model->shapes, e.index); }
const Site& get(const SiteView& e) { return pick(e.model->sites, e.index); }
const Tendon& get(const TendonView& e) { return pick(e.model->tendons, e.index); }
const Actuator& get(const ActuatorView& e) { return pick(e.model->actuators, e.index); }
const Sensor& get(const SensorView& e) { return pick(e.model->sensors, e.index); }
const Equality& get(const EqualityView& e) { return pick(e.model->equalities, e.index); }
const LoopJoint& get(const LoopJointView& e) { return pick(e.model->loop_joints, e.index); }
const Keyframe& get(const KeyframeView& e) { return pick(e.model->keyframes, e.index); }

Range range_of(bool limited, const Vector2& range) {
  if (!limited) return std::nullopt;
  return std::pair(range[0], range[1]);
}

nb::object slice(int first, int count) {
  return nb::steal(PySlice_New(nb::int_(first).ptr(), nb::int_(first + count).ptr(), nullptr));
}

// {joint: coefficient}, in order.
nb::dict terms_of(const TendonView& e) {
  nb::dict terms;
  for (const Tendon::Term& term : get(e).terms) {
    terms[pick(e.model->joints, term.joint).name.c_str()] = term.coefficient;
  }
  return terms;
}

// The kind and the name of what a sensor is attached to or measured in; None for nothing.
nb::object frame_of(const SensorView& e, FrameType type, int index) {
  if (type == FrameType::kNone) return nb::none();
  return nb::make_tuple(to_string(type), frame_name(*e.model, type, index));
}

// What all kinds of elements have.
template <typename View>
nb::class_<View> bind_element(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<View>(m, name, doc)
      .def_prop_ro("name", [](const View& e) { return get(e).name; })
      .def_ro("index", &View::index, "Place in the model's list of its kind.")
      .def(
          "fields", [](const View& e) { return plain(get(e)); }, nb::sig("def fields(self) -> dict[str, object]"),
          "Everything that it says, as plain numbers, strings, lists and dictionaries; references are indices.")
      .def(
          "__eq__", [](const View& a, const View& b) { return a.model == b.model && a.index == b.index; },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const View& e) { return std::hash<const void*>()(e.model.get()) + static_cast<std::size_t>(e.index); })
      .def("__repr__", [kind = std::string(name)](const View& e) {
        return fmt::format("<{} {} '{}' of model '{}'>", kind, e.index, get(e).name, e.model->name);
      });
}

void bind_bodies(nb::module_& m) {
  bind_element<BodyView>(m, "Body", "A rigid body; body 0 is the world.")
      .def_prop_ro(
          "parent", [](const BodyView& e) { return get(e).parent; }, "Index of the parent; -1 for the world.")
      .def_prop_ro("parent_name",
                   [](const BodyView& e) {
                     return get(e).parent < 0 ? std::string() : pick(e.model->bodies, get(e).parent).name;
                   })
      .def_prop_ro(
          "pose", [](const BodyView& e) { return get(e).pose; }, "In the parent, at the reference configuration.")
      .def_prop_ro(
          "mass", [](const BodyView& e) { return get(e).inertia.mass; }, "kg")
      .def_prop_ro(
          "com", [](const BodyView& e) { return copy(get(e).inertia.com); }, "Centre of mass, body frame, m.")
      .def_prop_ro(
          "inertia", [](const BodyView& e) { return copy_matrix(get(e).inertia.inertia); },
          "3 x 3, about the centre of mass, body axes, kg m^2.")
      .def_prop_ro(
          "mocap", [](const BodyView& e) { return get(e).mocap; }, "Moved by the user: State.set_mocap.")
      .def_prop_ro("joints", [](const BodyView& e) {
        std::vector<JointView> joints;
        const BodyKernel& kernel = pick(e.model->body_kernels, e.index);
        for (int k = 0; k < kernel.joint_count; ++k) joints.push_back({e.model, kernel.first_joint + k});
        return joints;
      });
}

void bind_joints(nb::module_& m) {
  bind_element<JointView>(m, "Joint", "A joint between a body and its parent. Angles in rad, lengths in m.")
      .def_prop_ro(
          "type", [](const JointView& e) { return to_string(get(e).type); },
          "'free', 'ball', 'hinge', 'slide' or 'screw'.")
      .def_prop_ro("body",
                   [](const JointView& e) {
                     return BodyView{e.model, get(e).body};
                   })
      .def_prop_ro(
          "axis", [](const JointView& e) { return copy(get(e).axis); }, "Unit, body frame.")
      .def_prop_ro(
          "anchor", [](const JointView& e) { return copy(get(e).anchor); }, "A point of the axis, body frame, m.")
      .def_prop_ro(
          "limits", [](const JointView& e) { return range_of(get(e).limited, get(e).range); },
          "(lower, upper) in rad or m, or None.")
      .def_prop_ro(
          "stiffness", [](const JointView& e) { return get(e).stiffness; }, "N m/rad or N/m")
      .def_prop_ro(
          "damping", [](const JointView& e) { return get(e).damping; }, "N m s/rad or N s/m")
      .def_prop_ro(
          "armature", [](const JointView& e) { return get(e).armature; }, "Rotor inertia, kg m^2 or kg.")
      .def_prop_ro(
          "friction", [](const JointView& e) { return get(e).friction; }, "Dry friction, N m or N.")
      .def_prop_ro(
          "effort_limit", [](const JointView& e) { return get(e).effort_limit; }, "URDF; N m or N; 0: none.")
      .def_prop_ro(
          "velocity_limit", [](const JointView& e) { return get(e).velocity_limit; }, "URDF; 0: none.")
      .def_prop_ro("nq", [](const JointView& e) { return configuration_size(get(e).type); })
      .def_prop_ro("nv", [](const JointView& e) { return dof_count(get(e).type); })
      .def_prop_ro(
          "q_index", [](const JointView& e) { return pick(e.model->joint_q, e.index); }, "First entry in q.")
      .def_prop_ro(
          "v_index", [](const JointView& e) { return pick(e.model->joint_dof, e.index); }, "First entry in v.")
      .def_prop_ro(
          "q_slice",
          [](const JointView& e) { return slice(pick(e.model->joint_q, e.index), configuration_size(get(e).type)); },
          nb::sig("def q_slice(self) -> slice"), "Its entries: state.q[joint.q_slice].")
      .def_prop_ro(
          "v_slice",
          [](const JointView& e) { return slice(pick(e.model->joint_dof, e.index), dof_count(get(e).type)); },
          nb::sig("def v_slice(self) -> slice"), "Its entries: state.v[joint.v_slice].");
}

void bind_geometry(nb::module_& m) {
  bind_element<ShapeView>(m, "ShapeElement", "A shape on a body.")
      .def_prop_ro("type", [](const ShapeView& e) { return to_string(get(e).shape.type); })
      .def_prop_ro("body",
                   [](const ShapeView& e) {
                     return BodyView{e.model, get(e).body};
                   })
      .def_prop_ro(
          "pose", [](const ShapeView& e) { return get(e).pose; }, "In the body.")
      .def_prop_ro(
          "size", [](const ShapeView& e) { return copy(get(e).shape.size); }, "m; depends on the type.")
      .def_prop_ro(
          "shape", [](const ShapeView& e) { return PyShape(get(e).shape); }, "For collision queries.")
      .def_prop_ro(
          "friction", [](const ShapeView& e) { return copy(get(e).material.friction); },
          "Sliding (-), torsional (m), rolling (m).")
      .def_prop_ro("restitution", [](const ShapeView& e) { return get(e).material.restitution; })
      .def_prop_ro(
          "collides", [](const ShapeView& e) { return !get(e).visual_only; }, "False: for the viewer only.")
      .def_prop_ro(
          "color", [](const ShapeView& e) { return copy(get(e).color.data(), 4); }, "r, g, b, alpha in [0, 1].");
  bind_element<SiteView>(m, "Site", "A named frame on a body.")
      .def_prop_ro("body",
                   [](const SiteView& e) {
                     return BodyView{e.model, get(e).body};
                   })
      .def_prop_ro(
          "pose", [](const SiteView& e) { return get(e).pose; }, "In the body.");
}

void bind_actuation(nb::module_& m) {
  bind_element<TendonView>(m, "Tendon", "A fixed tendon: its length is a linear combination of joint positions.")
      .def_prop_ro("joints", &terms_of, nb::sig("def joints(self) -> dict[str, float]"),
                   "Coefficients by the names of the joints, m/rad or -.")
      .def_prop_ro(
          "limits", [](const TendonView& e) { return range_of(get(e).limited, get(e).range); },
          "(lower, upper) of its length, m, or None.")
      .def_prop_ro(
          "stiffness", [](const TendonView& e) { return get(e).stiffness; }, "N/m")
      .def_prop_ro(
          "damping", [](const TendonView& e) { return get(e).damping; }, "N s/m")
      .def_prop_ro(
          "friction", [](const TendonView& e) { return get(e).friction; }, "Dry friction, N.");
  bind_element<ActuatorView>(m, "Actuator", "force = gain * (control or activation) + bias, times gear.")
      .def_prop_ro(
          "transmission", [](const ActuatorView& e) { return to_string(get(e).transmission); },
          "'joint', 'joint in parent', 'tendon', 'site', 'slider-crank' or 'loop joint'.")
      .def_prop_ro(
          "target", [](const ActuatorView& e) { return transmission_target(*e.model, get(e)); },
          "Name of the joint, tendon, site or loop joint it acts on.")
      .def_prop_ro("gear", [](const ActuatorView& e) { return copy(get(e).gear.data(), 6); })
      .def_prop_ro(
          "gain", [](const ActuatorView& e) { return copy(get(e).gain.data(), 3); },
          "Constant, per length, per velocity.")
      .def_prop_ro(
          "bias", [](const ActuatorView& e) { return copy(get(e).bias.data(), 3); },
          "Constant, per length, per velocity.")
      .def_prop_ro(
          "dynamics", [](const ActuatorView& e) { return to_string(get(e).dynamics); },
          "Between control and activation: 'none', 'integrator', 'filter' or 'exact filter'.")
      .def_prop_ro(
          "time_constant", [](const ActuatorView& e) { return get(e).time_constant; }, "Of a filter, s.")
      .def_prop_ro(
          "control_range", [](const ActuatorView& e) { return range_of(get(e).control_limited, get(e).control_range); },
          "(lower, upper) or None.")
      .def_prop_ro(
          "force_range", [](const ActuatorView& e) { return range_of(get(e).force_limited, get(e).force_range); },
          "(lower, upper) in N or N m, or None.");
}

void bind_loops(nb::module_& m) {
  bind_element<LoopJointView>(m, "LoopJoint", "A joint that closes a loop, or holds a body to the world.")
      .def_prop_ro(
          "type", [](const LoopJointView& e) { return to_string(get(e).type); }, "See ModelBuilder.add_loop_joint.")
      .def_prop_ro(
          "between",
          [](const LoopJointView& e) {
            return std::pair(pick(e.model->bodies, get(e).body_a).name, pick(e.model->bodies, get(e).body_b).name);
          },
          "The names of body a and body b.")
      .def_prop_ro("active", [](const LoopJointView& e) { return get(e).active; })
      .def_prop_ro(
          "frame_a", [](const LoopJointView& e) { return get(e).frame_a; }, "The joint's frame in body a.")
      .def_prop_ro(
          "frame_b", [](const LoopJointView& e) { return get(e).frame_b; }, "And in body b.")
      .def_prop_ro(
          "length", [](const LoopJointView& e) { return get(e).length; }, "Of a distance, m.")
      .def_prop_ro(
          "pitch", [](const LoopJointView& e) { return get(e).pitch; }, "Of a screw, m/rad.")
      .def_prop_ro(
          "loop_q_slice",
          [](const LoopJointView& e) {
            return slice(pick(e.model->loop_coordinate, e.index), coordinate_count(get(e).type));
          },
          nb::sig("def loop_q_slice(self) -> slice"), "Its coordinates in State.loop_q.")
      .def_prop_ro(
          "limits",
          [](const LoopJointView& e) {
            std::vector<Range> limits;
            for (const LoopCoordinate& c : get(e).coordinates) limits.push_back(range_of(c.limited, c.range));
            return limits;
          },
          "Of each coordinate: (lower, upper) in m or rad, or None.");
}

void bind_rest(nb::module_& m) {
  bind_element<SensorView>(m, "Sensor", "A sensor that the model declares.")
      .def_prop_ro(
          "type", [](const SensorView& e) { return to_string(get(e).type); }, "MJCF's name of it.")
      .def_prop_ro(
          "dimension", [](const SensorView& e) { return sensor_dimension(get(e).type); }, "How many numbers it gives.")
      .def_prop_ro(
          "object", [](const SensorView& e) { return frame_of(e, get(e).object_type, get(e).object); },
          nb::sig("def object(self) -> tuple[str, str] | None"),
          "What it is attached to: kind ('joint', 'site', ...) and name.")
      .def_prop_ro(
          "reference", [](const SensorView& e) { return frame_of(e, get(e).reference_type, get(e).reference); },
          nb::sig("def reference(self) -> tuple[str, str] | None"), "The frame it is measured in; None: the world.")
      .def_prop_ro("noise", [](const SensorView& e) { return get(e).noise; })
      .def_prop_ro(
          "cutoff", [](const SensorView& e) { return get(e).cutoff; }, "Larger readings are cut; 0: none.");
  bind_element<EqualityView>(m, "Equality", "A constraint that closes a loop or couples joints or tendons.")
      .def_prop_ro(
          "type", [](const EqualityView& e) { return to_string(get(e).type); },
          "'connect', 'weld', 'joint' or 'tendon'.")
      .def_prop_ro(
          "between", [](const EqualityView& e) { return equality_sides(*e.model, get(e)); },
          "The names of the bodies, joints or tendons that it joins.")
      .def_prop_ro("active", [](const EqualityView& e) { return get(e).active; });
  bind_element<KeyframeView>(m, "Keyframe", "A named state.")
      .def_prop_ro(
          "time", [](const KeyframeView& e) { return get(e).time; }, "s")
      .def_prop_ro("q", [](const KeyframeView& e) { return copy(get(e).q); })
      .def_prop_ro("v", [](const KeyframeView& e) { return copy(get(e).v); })
      .def_prop_ro("activation", [](const KeyframeView& e) { return copy(get(e).activation); })
      .def_prop_ro("control", [](const KeyframeView& e) { return copy(get(e).control); })
      .def_prop_ro(
          "loop_q", [](const KeyframeView& e) { return copy(get(e).loop_q); }, "See State.loop_q.");
}

}  // namespace

void bind_elements(nb::module_& m) {
  bind_bodies(m);
  bind_joints(m);
  bind_geometry(m);
  bind_actuation(m);
  bind_loops(m);
  bind_rest(m);
}

}  // namespace touchstone::python

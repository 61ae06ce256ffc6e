// The model: sizes, elements by name, pickling.
#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/model/serialize.hpp"

namespace touchstone::python {
namespace {

int count_of(const Model& model, ElementKind kind) {
  switch (kind) {
    case ElementKind::kBody:
      return model.nbody;
    case ElementKind::kJoint:
      return model.njoint;
    case ElementKind::kShape:
      return model.nshape;
    case ElementKind::kSite:
      return model.nsite;
    case ElementKind::kTendon:
      return model.ntendon;
    case ElementKind::kActuator:
      return model.nu;
    case ElementKind::kSensor:
      return static_cast<int>(model.sensors.size());
    case ElementKind::kEquality:
      return static_cast<int>(model.equalities.size());
    case ElementKind::kLoopJoint:
      return static_cast<int>(model.loop_joints.size());
    case ElementKind::kKeyframe:
      break;
  }
  return static_cast<int>(model.keyframes.size());
}

int find_by_name(const Model& model, ElementKind kind, const std::string& name) {
  switch (kind) {
    case ElementKind::kBody:
      return model.body(name);
    case ElementKind::kJoint:
      return model.joint(name);
    case ElementKind::kShape:
      return model.shape(name);
    case ElementKind::kSite:
      return model.site(name);
    case ElementKind::kTendon:
      return model.tendon(name);
    case ElementKind::kActuator:
      return model.actuator(name);
    case ElementKind::kSensor:
      return model.sensor(name);
    case ElementKind::kKeyframe:
      return model.keyframe(name);
    case ElementKind::kLoopJoint:
      return model.loop_joint(name);
    case ElementKind::kEquality:
      break;
  }
  const int index = model.find(kind, name);
  if (index < 0) throw Error("the model has no {} '{}'", to_string(kind), name);
  return index;
}

template <typename Element>
std::vector<ElementView<Element>> views(const PyModel& model, ElementKind kind) {
  std::vector<ElementView<Element>> list;
  for (int i = 0; i < count_of(*model, kind); ++i) list.push_back({model.ptr, i});
  return list;
}

template <typename Element>
void bind_kind(nb::class_<PyModel>& model, ElementKind kind, const char* one, const char* many) {
  model.def(
      one,
      [kind](const PyModel& self, const Reference& reference) {
        return ElementView<Element>{self.ptr, find_index(*self, kind, reference)};
      },
      nb::arg("name"), "By name or index.");
  model.def_prop_ro(
      many, [kind](const PyModel& self) { return views<Element>(self, kind); }, "All of them, in order.");
}

std::string summary(const Model& m) {
  std::string text = fmt::format("{} {}, {} {}", m.nbody - 1, m.nbody == 2 ? "body" : "bodies", m.njoint,
                                 m.njoint == 1 ? "joint" : "joints");
  if (m.nshape > 0) text += fmt::format(", {} {}", m.nshape, m.nshape == 1 ? "shape" : "shapes");
  if (m.nu > 0) text += fmt::format(", {} {}", m.nu, m.nu == 1 ? "actuator" : "actuators");
  return text;
}

std::string repr(const PyModel& self) {
  const Model& m = *self;
  return fmt::format("<Model '{}': {}; nq {}, nv {}, {:.4g} kg>", m.name, summary(m), m.nq, m.nv, m.total_mass());
}

std::string html(const PyModel& self) {
  const Model& m = *self;
  std::string joints;
  for (int i = 0; i < std::min(m.njoint, 40); ++i) {
    const Joint& joint = m.joints[static_cast<std::size_t>(i)];
    joints += fmt::format("{}{} ({})", i == 0 ? "" : ", ", joint.name, to_string(joint.type));
  }
  if (m.njoint > 40) joints += fmt::format(" and {} more", m.njoint - 40);
  return html_table("Model " + m.name, {{"made of", summary(m)},
                                        {"nq, nv, nu", fmt::format("{}, {}, {}", m.nq, m.nv, m.nu)},
                                        {"mass", fmt::format("{:.6g} kg", m.total_mass())},
                                        {"time step", fmt::format("{:.4g} s", m.options.time_step)},
                                        {"joints", joints},
                                        {"warnings", std::to_string(m.warnings.size())},
                                        {"file", m.file}});
}

Copy1 random_configuration_of(const PyModel& self, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  VectorX q(self->nq);
  random_configuration(*self, random, q);
  return copy(q);
}

void bind_configurations(nb::class_<PyModel>& model) {
  model
      .def(
          "integrate",
          [](const PyModel& self, const Numbers& q, const Numbers& v, double h) {
            VectorX next(self->nq);
            integrate(*self, q.vector("q", self->nq), v.vector("v", self->nv), h, next);
            return copy(next);
          },
          nb::arg("q"), nb::arg("v"), nb::arg("h") = 1.0, "q moved along the constant velocity v for h seconds.")
      .def(
          "difference",
          [](const PyModel& self, const Numbers& q0, const Numbers& q1) {
            VectorX v(self->nv);
            difference(*self, q0.vector("q0", self->nq), q1.vector("q1", self->nq), v);
            return copy(v);
          },
          nb::arg("q0"), nb::arg("q1"), "The velocity that takes q0 to q1 in one second.")
      .def(
          "interpolate",
          [](const PyModel& self, const Numbers& q0, const Numbers& q1, double s) {
            VectorX q(self->nq);
            interpolate(*self, q0.vector("q0", self->nq), q1.vector("q1", self->nq), s, q);
            return copy(q);
          },
          nb::arg("q0"), nb::arg("q1"), nb::arg("s"), "The point at s in [0, 1] on the shortest way from q0 to q1.")
      .def("random_configuration", &random_configuration_of, nb::arg("seed") = 0,
           "Within the limits where there are any; the same seed gives the same q.");
}

void bind_sizes(nb::class_<PyModel>& model) {
  model
      .def_prop_ro(
          "nq", [](const PyModel& self) { return self->nq; }, "Length of q.")
      .def_prop_ro(
          "nv", [](const PyModel& self) { return self->nv; }, "Length of v: degrees of freedom.")
      .def_prop_ro(
          "nu", [](const PyModel& self) { return self->nu; }, "Actuators.")
      .def_prop_ro(
          "na", [](const PyModel& self) { return self->na; }, "Activations of actuators with dynamics.")
      .def_prop_ro(
          "nbody", [](const PyModel& self) { return self->nbody; }, "Bodies, the world included.")
      .def_prop_ro("njoint", [](const PyModel& self) { return self->njoint; })
      .def_prop_ro("nshape", [](const PyModel& self) { return self->nshape; })
      .def_prop_ro("nsite", [](const PyModel& self) { return self->nsite; })
      .def_prop_ro("ntendon", [](const PyModel& self) { return self->ntendon; })
      .def_prop_ro("nmocap", [](const PyModel& self) { return self->nmocap; })
      .def_prop_ro(
          "ntree", [](const PyModel& self) { return self->ntree; }, "Kinematic trees.");
}

std::vector<std::string> warning_texts(const PyModel& self) {
  std::vector<std::string> texts;
  for (const Warning& w : self->warnings) {
    const std::string where = w.origin.text();
    texts.push_back(printable(where.empty() ? w.message : where + ": " + w.message));
  }
  return texts;
}

using NamePairs = std::vector<std::pair<std::string, std::string>>;

NamePairs contact_pairs(const PyModel& self) {
  NamePairs names;
  for (const ContactPair& pair : self->contact_pairs) {
    names.emplace_back(self->shapes[static_cast<std::size_t>(pair.shape_a)].name,
                       self->shapes[static_cast<std::size_t>(pair.shape_b)].name);
  }
  return names;
}

NamePairs contact_exclusions(const PyModel& self) {
  NamePairs names;
  for (const ContactExclusion& exclusion : self->contact_exclusions) {
    names.emplace_back(self->bodies[static_cast<std::size_t>(exclusion.body_a)].name,
                       self->bodies[static_cast<std::size_t>(exclusion.body_b)].name);
  }
  return names;
}

void bind_properties(nb::class_<PyModel>& model) {
  model.def_prop_ro("name", [](const PyModel& self) { return self->name; })
      .def_prop_ro(
          "file", [](const PyModel& self) { return valid_utf8(self->file); }, "What it was loaded from; may be empty.")
      .def_prop_ro(
          "dt", [](const PyModel& self) { return self->options.time_step; }, "The time step of the file, s.")
      .def_prop_ro(
          "options", [](const PyModel& self) { return SimulationOptions(self->options); },
          "What it asks of the simulator; a copy.")
      .def_prop_ro(
          "gravity", [](const PyModel& self) { return copy(self->defaults.gravity); }, "m/s^2")
      .def_prop_ro(
          "total_mass", [](const PyModel& self) { return self->total_mass(); }, "kg")
      .def_prop_ro(
          "reference_q", [](const PyModel& self) { return copy(self->reference_q); }, "The reference configuration.")
      .def_prop_ro("contact_pairs", &contact_pairs, "Names of the shapes that collide by a rule of their own.")
      .def_prop_ro("contact_exclusions", &contact_exclusions, "Names of the bodies that never collide.")
      .def_prop_ro("warnings", &warning_texts,
                   "What the loader wants you to know; `load` also gives them as Python warnings.");
}

}  // namespace

int find_index(const Model& model, ElementKind kind, const Reference& reference) {
  if (const auto* name = std::get_if<std::string>(&reference)) return find_by_name(model, kind, *name);
  const int index = std::get<int>(reference);
  const int count = count_of(model, kind);
  if (index < 0 || index >= count) throw Error("{} {} of a model with {}", to_string(kind), index, count);
  return index;
}

void bind_model(nb::module_& m) {
  nb::class_<PyModel> model(m, "Model",
                            "Robots and their surroundings: topology, names and default parameters. Immutable; made by "
                            "`load`, `load_string` or `ModelBuilder`. SI units, angles in rad. Body 0 is the world.");
  bind_properties(model);
  bind_sizes(model);
  bind_kind<Body>(model, ElementKind::kBody, "body", "bodies");
  bind_kind<Joint>(model, ElementKind::kJoint, "joint", "joints");
  bind_kind<ShapeElement>(model, ElementKind::kShape, "shape", "shapes");
  bind_kind<Site>(model, ElementKind::kSite, "site", "sites");
  bind_kind<Tendon>(model, ElementKind::kTendon, "tendon", "tendons");
  bind_kind<Actuator>(model, ElementKind::kActuator, "actuator", "actuators");
  bind_kind<Sensor>(model, ElementKind::kSensor, "sensor", "sensors");
  bind_kind<Equality>(model, ElementKind::kEquality, "equality", "equalities");
  bind_kind<LoopJoint>(model, ElementKind::kLoopJoint, "loop_joint", "loop_joints");
  bind_kind<Keyframe>(model, ElementKind::kKeyframe, "keyframe", "keyframes");
  bind_configurations(model);
  model
      .def("__getstate__",
           [](const PyModel& self) {
             const std::string bytes = serialize(*self);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__",
           [](PyModel& self, const nb::bytes& bytes) {
             new (&self) PyModel{deserialize_model(std::string_view(bytes.c_str(), bytes.size()))};
           })
      .def(
          "__eq__", [](const PyModel& a, const PyModel& b) { return a.ptr == b.ptr || same_elements(*a, *b); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"),
          "Whether all elements, options and parameters are the same.")
      .def("__hash__", [](const PyModel& self) { return hash_elements(*self); })
      .def("__repr__", &repr)
      .def("_repr_html_", &html);
}

}  // namespace touchstone::python

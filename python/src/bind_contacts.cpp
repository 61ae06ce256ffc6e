#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "contacts.hpp"

namespace touchstone::python {
namespace {

using Handle = nb::handle_t<PyContacts>;

const PyContacts& contacts_of(Handle self) { return nb::cast<const PyContacts&>(self); }

void append(std::vector<double>& list, Vec3 v) { list.insert(list.end(), {v.x(), v.y(), v.z()}); }

template <std::vector<double> PyContacts::*member>
ConstArray2 rows(Handle self) {
  const PyContacts& c = contacts_of(self);
  return {(c.*member).data(), {c.count(), 3}, self};
}

template <std::vector<double> PyContacts::*member>
ConstArray1 numbers(Handle self) {
  const PyContacts& c = contacts_of(self);
  return {(c.*member).data(), {c.count()}, self};
}

template <std::vector<int> PyContacts::*member>
ConstIntArray integers(Handle self) {
  const PyContacts& c = contacts_of(self);
  return {(c.*member).data(), {c.count()}, self};
}

ConstArray3 frames(Handle self) {
  const PyContacts& c = contacts_of(self);
  return {c.frame.data(), {c.count(), 3, 3}, self};
}

// The last column of each frame.
ConstArray2 normals(Handle self) {
  const PyContacts& c = contacts_of(self);
  return {c.frame.data() + 2, {c.count(), 3}, self, {9, 3}};
}

std::string html(const PyContacts& c) {
  std::string text = "<table><tr><th>bodies</th><th>distance, m</th><th>force, N</th></tr>";
  for (std::size_t i = 0; i < std::min<std::size_t>(c.count(), 30); ++i) {
    const auto name = [&c](int body) { return c.model->bodies[static_cast<std::size_t>(body)].name; };
    text += fmt::format("<tr><td>{} - {}</td><td>{:.3g}</td><td>[{:.4g}, {:.4g}, {:.4g}]</td></tr>", name(c.body_a[i]),
                        name(c.body_b[i]), c.distance[i], c.force[3 * i], c.force[3 * i + 1], c.force[3 * i + 2]);
  }
  return text + "</table>" + fmt::format("{} contacts", c.count());
}

}  // namespace

PyContacts::PyContacts(const Simulator& sim) : model(sim.model_ptr()) {
  for (const ContactForce& f : sim.contacts()) {
    const Contact& c = *f.contact;
    body_a.push_back(c.body_a);
    body_b.push_back(c.body_b);
    shape_a.push_back(c.shape_a);
    shape_b.push_back(c.shape_b);
    append(position, c.position);
    append(force, f.force);
    append(torque, f.torque);
    append(local, f.local_force);
    for (int i = 0; i < 3; ++i) frame.insert(frame.end(), {c.frame.c0[i], c.frame.c1[i], c.frame.c2[i]});
    distance.push_back(c.distance);
    friction.push_back(c.material.dimension > 1 ? c.material.friction[0] : 0.0);
  }
}

void bind_contacts(nb::module_& m) {
  nb::class_<PyContacts>(
      m, "Contacts",
      "The contacts of one step with what they did, as arrays with a row for each. A snapshot: later "
      "steps do not change it.")
      .def("__len__", &PyContacts::count)
      .def_prop_ro("body_a", &integers<&PyContacts::body_a>, "Indices of bodies.")
      .def_prop_ro("body_b", &integers<&PyContacts::body_b>, "Indices of bodies.")
      .def_prop_ro("shape_a", &integers<&PyContacts::shape_a>, "Indices of shapes.")
      .def_prop_ro("shape_b", &integers<&PyContacts::shape_b>, "Indices of shapes.")
      .def_prop_ro("position", &rows<&PyContacts::position>, "n x 3, m, world: midway between the surfaces.")
      .def_prop_ro("normal", &normals, "n x 3, unit, world, from A to B.")
      .def_prop_ro("frame", &frames, "n x 3 x 3: rotation whose columns are t1, t2, n in the world.")
      .def_prop_ro("distance", &numbers<&PyContacts::distance>, "m, negative: penetration, at the start of the step.")
      .def_prop_ro("force", &rows<&PyContacts::force>, "n x 3, N, world: on body B; the opposite acts on A.")
      .def_prop_ro("torque", &rows<&PyContacts::torque>, "n x 3, N m, world: torsional and rolling friction.")
      .def_prop_ro("local_force", &rows<&PyContacts::local>, "n x 3, N, in the contact frame: t1, t2, n.")
      .def_prop_ro("friction", &numbers<&PyContacts::friction>, "Sliding coefficient; 0 without friction.")
      .def("_repr_html_", &html)
      .def("__repr__", [](const PyContacts& c) {
        double normal = 0.0;
        for (std::size_t i = 0; i < c.count(); ++i) normal += c.local[3 * i + 2];
        return fmt::format("<Contacts: {}, normal forces sum to {:.6g} N>", c.count(), normal);
      });
}

}  // namespace touchstone::python

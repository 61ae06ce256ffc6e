// What the files that bind ModelBuilder share: arguments that name elements or hold a few numbers.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {

using MaybeNumbers = std::optional<Numbers>;
using MaybeDouble = std::optional<double>;
using MaybeReference = std::optional<Reference>;

// The index of an element that the caller names or numbers.
template <typename Element>
int resolve(const std::vector<Element>& list, const Reference& reference, const char* kind) {
  if (const int* index = std::get_if<int>(&reference)) {
    if (*index >= 0 && *index < static_cast<int>(list.size())) return *index;
    throw Error("{} {} does not exist: the builder has {}", kind, *index, list.size());
  }
  const std::string& name = std::get<std::string>(reference);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  std::string names;
  for (const Element& element : list) names += (names.empty() ? "" : ", ") + element.name;
  throw Error("there is no {} '{}'; the builder has: {}", kind, name, names.empty() ? "none" : names);
}

// MuJoCo's softness of a constraint: solref and solimp in a row, 2 to 7 numbers; those not given keep their defaults.
void set_impedance(Impedance& impedance, const MaybeNumbers& softness, const char* name);

// r, g, b and maybe alpha, each in [0, 1].
Eigen::Vector4d color_argument(const Numbers& numbers);

// A range that may be absent.
void set_range(bool& limited, Vector2& range, const MaybeNumbers& given, const char* name);

// The pose of a body in the world at the reference configuration.
Transform world_pose(const ModelBuilder& builder, int body);

void bind_builder_bodies(nb::class_<ModelBuilder>& builder);     // bodies, joints, shapes, sites, looks
void bind_builder_actuators(nb::class_<ModelBuilder>& builder);  // tendons and actuators
void bind_builder_relations(nb::class_<ModelBuilder>& builder);  // equalities, rules of contact
void bind_builder_sensors(nb::class_<ModelBuilder>& builder);    // sensors and keyframes
void bind_builder_loop_joints(nb::class_<ModelBuilder>& builder);

}  // namespace touchstone::python

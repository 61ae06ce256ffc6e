// What solref asks for and a rigid constraint does not give: one warning for all elements that share a solref.
#include <fmt/format.h>

#include "touchstone/io/mjcf/mjcf_compiler.hpp"
#include "touchstone/model/impedance.hpp"

namespace touchstone::mjcf {
namespace {

void note_mixed_formats(const Impedance& impedance, const Origin& origin, WarningList& warnings) {
  if (!has_mixed_signs(impedance.solref)) return;
  warnings.add(origin,
               fmt::format("solref '{} {}' mixes MuJoCo's two formats; as in MuJoCo, the default '0.02 1' is taken; "
                           "give two positive or two negative numbers",
                           impedance.solref[0], impedance.solref[1]),
               1);
}

void note_swinging(const Impedance& impedance, const Origin& origin, WarningList& warnings) {
  const ReferenceSpring spring = reference_spring(impedance.solref);
  if (!spring.is_underdamped()) return;
  warnings.add(origin,
               fmt::format("solref '{} {}' makes an equality that swings, with damping ratio {:.3g}; here equalities "
                           "are rigid, unless the simulator's option 'constraints' is 'mujoco'",
                           impedance.solref[0], impedance.solref[1], spring.damping_ratio()),
               1);
}

}  // namespace

void Compiler::warn_of_references() {
  const auto mixed = [this](const Impedance& impedance, const Origin& origin) {
    note_mixed_formats(impedance, origin, warnings_);
  };
  for (const BodySpec& body : spec_.bodies) {
    for (const GeomSpec& geom : body.geoms) mixed(geom.element.material.impedance, geom.element.origin);
    for (const JointSpec& spec : body.joints) mixed(spec.joint.limit_impedance, spec.joint.origin);
  }
  for (const PairSpec& spec : spec_.pairs) mixed(spec.pair.impedance, spec.pair.origin);
  for (const TendonSpec& spec : spec_.tendons) mixed(spec.tendon.limit_impedance, spec.tendon.origin);
  for (const EqualitySpec& spec : spec_.equalities) {
    mixed(spec.equality.impedance, spec.equality.origin);
    note_swinging(spec.equality.impedance, spec.equality.origin, warnings_);
  }
}

}  // namespace touchstone::mjcf

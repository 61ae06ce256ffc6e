#include "touchstone/sim/models/compliant.hpp"

#include <numbers>

#include "touchstone/sim/models/hard.hpp"

namespace touchstone::compliant {

const ConstraintRules& rules() {
  static const ConstraintRules rules = [] {
    ConstraintRules changed = hard::kRules;
    changed.contact_laws = true;
    return changed;
  }();
  return rules;
}

ContactPhysics physics_of(const ConstraintStep& step, const ContactMaterial& material, double gap, double speed) {
  const ContactLawOptions& options = step.laws;
  ContactPhysics physics;
  physics.gap = gap;
  physics.elapsed = step.h - step.remaining;
  physics.speed = speed;
  physics.stiction = options.stiction_tolerance;
  physics.sigma = options.sigma;
  physics.near_rigid = options.near_rigid;
  physics.damping = options.linear_damping ? ContactDamping::kLinear : ContactDamping::kHuntCrossley;
  const bool is_rigid = !(material.stiffness > 0.0);
  physics.stiffness = is_rigid ? 0.0 : material.stiffness;
  physics.elasticity = material.hertz ? Elasticity::kHertz : Elasticity::kLinear;
  physics.dissipation = is_rigid ? options.dissipation : material.dissipation;
  physics.relaxation = is_rigid ? options.near_rigid * step.h / std::numbers::pi : material.relaxation_time;
  return physics;
}

}  // namespace touchstone::compliant

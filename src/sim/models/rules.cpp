#include "touchstone/sim/models/rules.hpp"

#include "touchstone/base/error.hpp"
#include "touchstone/sim/models/compliant.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {

const ConstraintRules& rules_of(ConstraintModel model) {
  return model == ConstraintModel::kMujoco ? soft::kRules : hard::kRules;
}

const ConstraintRules& rules_of(const SimulatorOptions& options) {
  if (!find_solver(options.solver).law) return rules_of(options.constraints);
  if (options.constraints != ConstraintModel::kRigid) {
    throw Error({.message = fmt::format("the solver '{}' has a contact model of its own", options.solver),
                 .remedy = "leave out constraints=mujoco, or choose another solver"});
  }
  return compliant::rules();
}

}  // namespace touchstone

#include "touchstone/sim/models/rules.hpp"

#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {

const ConstraintRules& rules_of(ConstraintModel model) {
  return model == ConstraintModel::kMujoco ? soft::kRules : hard::kRules;
}

}  // namespace touchstone

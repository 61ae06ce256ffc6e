// How much motions depend on the time step and on the solver's stopping criterion: Le Lidec et al. 2024 (the preprint's
// Tab. III, IV, Fig. 14, 15; docs/references.md).
#pragma once

#include <nlohmann/json.hpp>

nlohmann::json self_consistency();

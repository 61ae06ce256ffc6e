// What one may choose about finding contacts.
#pragma once

#include "touchstone/collision/narrow/query_options.hpp"

namespace touchstone {

struct CollisionOptions {
  double margin = 1e-3;  // m; contacts are reported up to this distance beyond the model's margins
  BroadPhaseOptions broad_phase;
  QueryOptions query;
};

}  // namespace touchstone

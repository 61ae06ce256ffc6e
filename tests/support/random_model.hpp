// Random mechanisms for property tests.
#pragma once

#include <random>

#include "touchstone/model/builder.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone::test {

// How many random models a property is tried on: 1,000 in optimised builds or when TOUCHSTONE_LONG is set, few in the
// slow builds with sanitizers.
int property_count();

struct RandomModelOptions {
  int bodies = 10;
  bool only_floating = false;  // every tree hangs on a free joint: momentum is conserved
  bool armature = true;
  bool damping = false;
};

// Trees with branches, all joint types, several joints a body, anchors, welded bodies, several trees.
ModelPtr random_model(std::mt19937_64& random, const RandomModelOptions& options = {});

// The same with everything that can bind it: tight limits, dry friction, fixed tendons, connects, welds, couplings, and
// servos that saturate at once.
ModelPtr random_bound_model(std::mt19937_64& random, const RandomModelOptions& options = {});

// A random state of the model with velocities of order one.
State random_state(const Model& model, std::mt19937_64& random);

VectorX random_vector(int size, std::mt19937_64& random);
Vector3 random_vector3(std::mt19937_64& random);

// The largest difference, relative to the largest entry of the expected values.
double relative_error(const MatrixX& actual, const MatrixX& expected);

}  // namespace touchstone::test

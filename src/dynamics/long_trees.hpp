// Trees whose paths to the root are long, such as chains of a hundred links: the factor of a mass matrix costs the sum
// of the squared lengths of all paths, articulated bodies (articulated_system.hpp) cost their number.
#pragma once

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// Whether the paths of a model are long enough for that to be faster, on the mean of all dofs.
bool has_long_paths(const Model& model);

// Whether A is M and a diagonal: no tendons, and no actuator that moves several dofs.
bool is_diagonal_beside_mass(const Model& model);

// From now on the algorithms that make M and the factor of A make data.long_trees instead: crba, compute_free_motion,
// repeat_free_motion and solve(model, data, x). All others that read M or L must not be used.
void use_long_trees(const Model& model, Data& data);

// --- inside of dynamics/ ---

// Instead of crba.
void measure_bodies(const Model& model, const Parameters& parameters, Data& data);
// Instead of the factor of A, with joint_gain and the gains of implicit servos.
bool factorize_long_trees(Data& data);

// --- for the position pass ---

// The diagonal of M + time^2 K beside the inertia of bodies, K of all springs and servos. False if there are none.
bool stiff_diagonal(const Model& model, const Parameters& parameters, double time, const Data& data, VectorX& diagonal);

}  // namespace touchstone

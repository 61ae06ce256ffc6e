// The variational midpoint rule: free motion that keeps momentum, and energy up to a bounded oscillation.
//
// Problem. The discrete action sum of h L(q_m, w) over the steps is made stationary, where a step moves along the
// constant velocity w from q0 = q(0) to q1 = q(h) and q_m = q(h/2) lies half way. Linear coordinates add, rotations
// multiply: R_m = R0 exp(h w/2), w in the axes of the body. This is the discrete
// Euler-Lagrange equation of Boussema's comparison of integrators (docs/references.md),
// II-A (there for three positions), written as a balance of momenta p = dL/dv = M v at the ends of the step.
//
// Equations. Let F be dL/dq (left-trivialised, see kinetic_gradient) plus all other forces, at the middle, and z the
// cross product with h w/2 on rotations, 0 on linear coordinates. Varying both ends, which moves the middle by
// eta_m = (1 + exp(-z))^-1 eta_1 + (1 + exp(z))^-1 eta_0 and w by (1/h) (z/sinh z) (exp(z) eta_1 - exp(-z) eta_0),
// gives
//   (z/sinh z) M(q_m) w = exp(-z) p0 + (h/2) (1 - tanh(z/2)) F(q_m, w)      to be solved for w
//   p1 = exp(-z) (exp(-z) p0 + h F(q_m, w)),    q1 = q0 moved by h w,    v1 = M(q1)^-1 p1.
// exp(-z) carries the momentum along with the rotation, so that a free body keeps its momentum in space to rounding,
// and a tree on a free joint all its momentum as far as the equation is solved. The rule is symmetric, hence of second
// order, and symplectic where all forces have a potential.
//
// Forces. Gravity, springs and gravity compensation are taken at q_m, as the rule demands. Applied forces, actuators
// and dampers are no part of L: they are those of compute_free_motion at q0 moved by h v/2, which differs from q_m by
// O(h^2). What is implicit there stays so: with 2 w - v for the velocity at the end, a stiff damper or servo is
// backward Euler's.
//
// Method. Quasi-Newton with the factor of A of compute_free_motion and Broyden's rank-one updates, tree by tree
// (Kelley, "Iterative Methods for Linear and Nonlinear Equations", 1995, ch. 7: only the steps are stored). An
// iteration costs kinematics and a few passes over the bodies; 1 to 6 are usual, 10 for rotations of 0.1 rad a step.
// For rotations of many tenths of a radian a step there may be no solution near by: such a tree is given up, and moves
// by Moreau's midpoint rule, whatever the others do. No allocation.
#pragma once

#include <vector>

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// p = M v with armature, and dT/dq: how the kinetic energy changes when the configuration moves along each dof while
// the numbers v stay. Needs forward_velocity with the same v.
void kinetic_gradient(const Model& model, const Parameters& parameters, const ConstVectorRef& v, Data& data,
                      VectorRef momentum, VectorRef gradient);

class VariationalStep {
 public:
  explicit VariationalStep(const Model& model);

  // Replaces data.v_free by v1. Before: `data` of compute_free_motion with SpringRule::kMiddle, or of
  // compute_explicit_motion (`explicit_dampers`), for `state` moved by h v/2. Trees whose equation
  // could not be solved, because the step is too long for their motion, keep their v_free. False, and data as it was,
  // if these are all. `impulse` (nv, or none) acts at the middle, as applied forces do.
  [[nodiscard]] bool solve(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                           double h, bool explicit_dampers, Data& data, const VectorX* impulse = nullptr);

  // Of the last solve: the velocity that moves the configuration, and the iterations it took.
  const VectorX& velocity() const { return w_; }
  int iterations() const { return iterations_; }
  // Trees that move by Moreau's rule: the mean of v and v_free.
  int given_up() const { return given_up_count_; }

  static constexpr int kMaxIterations = 40;

 private:
  struct Step;  // what is constant while the equation is solved
  void move(const Step& step, double time);
  bool evaluate(const Step& step);
  double improve(const Step& step, int iteration);
  bool finish(const Step& step);
  void give_up(const Step& step, int tree);
  void give_up_unsolved(const Step& step);

  std::vector<int> rotations_;      // the first of three dofs of each rotation
  std::vector<int> rotation_tree_;  // whose
  std::vector<char> given_up_;      // ntree
  VectorX tree_size_;               // ntree: of the last correction, as `improve` returns it
  int given_up_count_ = 0, tree_count_ = 0;
  State moved_;  // the state at the middle, then at the end
  Data work_;    // of moved_
  VectorX w_, v_end_, zero_;
  VectorX start_momentum_, momentum_, gradient_;
  VectorX applied_;  // h times applied forces and wrenches
  VectorX impulse_;  // h F
  VectorX scratch_, correction_;
  MatrixX steps_;  // nv x kMaxIterations: for Broyden's updates
  int iterations_ = 0;
};

}  // namespace touchstone

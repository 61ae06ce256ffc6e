// The classical Runge-Kutta method of fourth order on the configuration manifold.
#pragma once

#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone::cli {

// Problem: q' = v, v' = a(q, v), where q holds rotations. Method (Runge-Kutta-Munthe-Kaas; Hairer, Lubich, Wanner,
// "Geometric Numerical Integration", IV.8): within a step q = q0 (+) theta with theta in the tangent space at q0,
// so that theta' = dexp^-1(theta) v is an ordinary differential equation in a vector space, to which the classical
// method applies. Energy is not conserved exactly; its drift is of order h^4.
class RungeKutta4 {
 public:
  RungeKutta4(const Model& model, const Parameters& parameters);

  // Advances q, v and time by h. Nothing but the forces of forward_dynamics without controls acts. A mass matrix that
  // is not positive definite makes q and v NaN.
  void step(State& state, double h);

 private:
  struct Stage {
    VectorX theta_rate, acceleration;  // nv
  };

  void evaluate(const State& start, const VectorX& theta, const VectorX& v, Stage& stage);

  const Model& model_;
  const Parameters& parameters_;
  Input input_;
  Data data_;
  State trial_;
  VectorX theta_, v_;
  Stage stages_[4];
};

}  // namespace touchstone::cli

// Derivatives of a whole step: how the state after it changes with the state before it and with the controls.
//
//   sim.step();
//   StepDerivatives d(sim.model());
//   d.compute(sim.context());           // d.A, d.B
//
//     x = [q, v, activation],   dx' = A dx + B du     q in the tangent space (model/configuration.hpp), at both ends
//
// Everything between is differentiated analytically: dynamics, springs, dampers, servos, the impulses of all
// constraints where each block stays in its mode (contact_derivatives.hpp), the motion of contact points and normals,
// and the integration on the manifold. What is held fixed is listed in docs/derivatives.md and counted in `held`.
#pragma once

#include <vector>

#include "touchstone/diff/contact_derivatives.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/diff/pair_motion.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone {

class StepDerivatives {
 public:
  explicit StepDerivatives(const Model& model);

  // After a step of semi-implicit Euler with hard constraints (sim.step(), or stage::account), before anything else is
  // done to the simulator. Throws Error for other integrators and models of constraints, for solvers whose model is
  // neither NCP nor CCP, while bodies sleep, and before the first step.
  void compute(const StepContext& step);

  int nx() const { return nx_; }
  MatrixX A;  // nx x nx
  MatrixX B;  // nx x nu

  // What was taken to be constant although it is not: see docs/derivatives.md.
  struct Held {
    int contacts = 0;   // contacts whose point and normal were taken to move with the mean of both bodies
    int actuators = 0;  // actuators whose moment changes with the configuration, or that share a limit
    bool pass = false;  // the position pass moved the configuration
  };
  const Held& held() const { return held_; }
  const ContactDerivatives& contact() const { return contact_; }

  // Reverse mode: gradients by the state before the step and by the controls of a number whose gradient by the state
  // after it is given (nx).
  void vjp(const ConstVectorRef& x_next_bar, VectorRef x_bar, VectorRef u_bar) const;

 private:
  void begin(const StepContext& step);
  void add_spin(const StepContext& step);
  void add_external(const StepContext& step);
  void add_passive(const StepContext& step);
  void add_actuators(const StepContext& step);
  void add_actuator(const StepContext& step, int u);
  void add_activation(const StepContext& step, int u);
  void add_pairs(const StepContext& step);
  void add_pair(const StepContext& step, int block);
  void add_bounce(const StepContext& step, int block);
  void add_scalar_rows(const StepContext& step);
  void add_ball_limit(const StepContext& step, int block);
  void add_coupling(const StepContext& step, int block);
  void add_gap_rate(const StepContext& step, int row);
  void integrate(const StepContext& step);
  bool find_pair(const StepContext& step, int block, PairWrench& wrench);
  int servo_row(const StepContext& step, int u) const;

  const Model& model_;
  int nx_, columns_;
  Data data_;
  InverseDynamicsDerivatives dynamics_;
  ContactDerivatives contact_;
  Held held_;
  VectorX a_;
  std::vector<Force> external_;
  std::vector<Motion> V_S_;  // of the velocity after the step
  PairMotion motion_;
  Matrix3X linear_rate_, angular_rate_;
  RowMatrixX force_;       // nv x columns: of the momentum balance, then A^-1 of it
  RowMatrixX inverse_Jt_;  // nv x nrow
  MatrixX J_, rows_, dlambda_, G_, activation_;
  VectorX lambda_, u_;
};

}  // namespace touchstone

// Inverse dynamics with contact: which forces of actuators and which impulses of constraints make a state move with a
// given velocity after a step.
//
//   ContactInverseDynamics inverse(model);
//   const ContactForces f = inverse.solve(state, v_next);    // f.tau, f.lambda, f.residual
//
// The step is A (v' - v_free) = h tau + J' lambda with u = J v' + b. As v' is given, so is u, and it says what each
// impulse may be: none at a contact that opens, along the slip at one that slides, within the cone at one that sticks,
// anything at an equality; where something gives way (contacts with a stiffness, springs as rows, softened loops) it is
// known, -u / R. With hard contact that leaves a set of answers (004 calls the problem ill-posed). Of those
// that come nearest to v', measured by what no actuator can do,
//     min |N' (A (v' - v_free) - J' lambda)|     N' B = 0 for the moments B of the actuators,
// the one with the least |lambda| is given: a convex problem over cones, solved as a CCP whose compliance is small
// (kSlack, extrapolated to zero). Actuators do the rest; what they cannot do is the residual. Zero residual: a step
// with these forces moves the state with v', if no contact breaks its law (`violation`).
#pragma once

#include <memory>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

class Simulator;
struct InverseChoices;

struct InverseContact {
  int shape_a = -1, shape_b = -1;
  Vector3 position = Vector3::Zero();  // world
  Vector3 force = Vector3::Zero();     // N, on the body of shape_b, world
};

struct ContactForces {
  VectorX tau;             // nv: N, N m; what actuators do
  VectorX actuator_force;  // nu: those that make tau, of least norm
  VectorX lambda;          // nrow: N s, in the order of the step's rows
  std::vector<InverseContact> contacts;
  VectorX residual;                           // nv: N, N m, that neither actuators nor constraints can do
  double residual_norm = 0.0;                 // N
  double violation = 0.0;                     // m/s: how far v' breaks laws (closes a contact, opens an equality)
  SolveStatus status = SolveStatus::kSolved;  // of the problem of least residual
};

class ContactInverseDynamics {
 public:
  // Hard constraints and the step of `options`: one undivided step of the integrator `euler`. `actuated`: dofs that
  // have a force of their own, instead of what the model's actuators act on. `parameters`: instead of the model's;
  // gains and biases of actuators do not act. Throws Error for other models of constraints, other integrators, substeps
  // and an accuracy, and dofs that are not there.
  explicit ContactInverseDynamics(const ModelPtr& model, const SimulatorOptions& options = {},
                                  std::vector<int> actuated = {}, const Parameters* parameters = nullptr);
  ~ContactInverseDynamics();

  // Throws Error for sizes that do not fit, or a state whose mass matrix is not positive definite. Wrenches and forces
  // of `input` act too; its controls do not.
  ContactForces solve(const State& state, const VectorX& v_next, const Input* input = nullptr);

  double tolerance = 1e-6;  // m/s: slower rows rest

  static constexpr double kSlack = 1e-6;  // compliance, of the largest entry of G

 private:
  void prepare_moments();
  VectorX least_impulses(const InverseChoices& choices, const MatrixX& Z, const MatrixX& J, const VectorX& left,
                         SolveStatus& status);
  VectorX least_impulses(const InverseChoices& choices, const MatrixX& G, const VectorX& g, const VectorX& slack,
                         double pinning, SolveStatus& status);
  void list_contacts(ContactForces& out) const;

  std::unique_ptr<Simulator> sim_;
  std::vector<int> actuated_;
  MatrixX moments_, null_;  // nv x forces; nv x what they cannot do
  std::unique_ptr<ContactSolver> solver_;
  std::unique_ptr<SolverOptions> solver_options_;
  std::unique_ptr<SolverWorkspace> workspace_;
};

}  // namespace touchstone

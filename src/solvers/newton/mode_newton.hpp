// Newton's method with guessed modes: which contacts are open, slide or stick, which limits and boxes push.
//
// Problem: with the modes known the NCP is a smooth system. Open: lambda = 0. Stick: u = 0. Slide: u_n = 0, lambda_t on
//   the boundary of the friction ellipse, mu u_t antiparallel to lambda_t / mu.
// Method: modes from z = lambda - u; one Newton step; modes again. In the form (G + Lambda) dlambda = rhs: Lambda is
//   kFixed where lambda may not change, epsilon where u must vanish, |mu u_t| / |lambda_t / mu| across the sliding
//   direction. Epsilon makes hyperstatic systems regular: (G + epsilon) lambda = -g + epsilon theta lambda_old. With
//   theta = 0 the impulses are nearly those of minimum norm among the ones with these modes, with theta = 1 the step is
//   a proximal one and exact.
//   A guess of modes may ask for more than the bodies can do (four contacts of a foot stick at gaps that close at
//   different speeds): with a tiny epsilon the impulses explode, and the next guess is worth nothing. With `damping`
//   epsilon is as large far from the solution and shrinks with natv near it, as in the method of Levenberg and
//   Marquardt: impulses stay bounded, and from a warm start one or two steps are the rule.
// The last word of every other method: quadratic convergence to rounding once the modes are right.
// Cost: one factorisation for each step.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/base/clock.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"
#include "touchstone/solvers/newton/coulomb_path.hpp"
#include "touchstone/solvers/newton/newton_system.hpp"

namespace touchstone {

struct ModeNewtonSettings {
  double tolerance = 1e-8;  // m/s
  int max_steps = 3;
  bool minimum_norm = false;  // theta = 0 in the first step, which is then kept if it is good enough
  double damping = 0.0;       // largest epsilon; 0: it is kEpsilon
  // Give up when natv after a step is above this times natv before it.
  double patience = 1.0;
  bool monotone = false;    // a step that increases natv is taken back, and tried again with a larger epsilon
  bool known_slip = false;  // mode_u has the size of slips too, and not only their direction
  // Prepared: contacts with torsion or rolling get the modes of their exact local solutions, unless slips are known.
  LocalContacts* contacts = nullptr;
  Deadline deadline = {};
};

class ModeNewton {
 public:
  static constexpr double kEpsilon = 1e-9;

  // Improves lambda and u = G lambda + g, whose natv (m/s) is given; the modes of the first step come from
  // mode_lambda - mode_u. Keeps the best point and returns its natv.
  double run(const DualProblem& dual, NewtonSystem& system, const VectorX& mode_lambda, const VectorX& mode_u,
             const ModeNewtonSettings& settings, double natv, VectorX& lambda, VectorX& u);

  // Memory for problems of this size.
  void reserve(const DualProblem& dual);
  int steps() const { return steps_; }

 private:
  enum class Mode : std::uint8_t { kFixed, kFree, kSlide };

  void guess(const DualProblem& dual, const VectorX& lambda, const VectorX& u, LocalContacts* contacts);
  Mode guess_cone(const DualProblem& dual, int block, const VectorX& lambda, const VectorX& u);
  Mode guess_locally(const DualProblem& dual, int block, const VectorX& lambda, const VectorX& u,
                     LocalContacts& contacts);
  void set_up(const DualProblem& dual, NewtonSystem& system, double theta, const VectorX& slip);
  void hold(int block, const ConeView& cone, double stiffness, double damping, const BlockDiagonal& Lambda);
  void finish(const DualProblem& dual);

  double epsilon_ = kEpsilon;
  std::vector<Mode> mode_;         // nblock
  std::vector<double> direction_;  // nrow: unit vector of a sliding contact in lambda_t / mu
  std::vector<double> stiffness_;  // nblock: of a sliding contact across its direction, if it is known; else negative
  std::vector<HeldBlock> held_;    // in joint space: sliding contacts
  VectorX point_, point_u_, step_;
  int steps_ = 0;
};

}  // namespace touchstone

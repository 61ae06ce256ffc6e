#include "touchstone/diff/contact_inverse_dynamics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/QR>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/implicit_balance.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/stages.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {

// What impulses may be when the velocities of their rows are known: lambda = fixed + Z z with z in blocks.
struct InverseChoices {
  Blocks blocks;
  VectorX fixed;                                        // nrow
  std::vector<VectorX> directions;                      // columns of Z
  std::vector<std::pair<Eigen::Index, double>> pinned;  // numbers of z that are known, as normals of disks
  double violation = 0.0;

  void add(int row, int nrow, double value = 1.0) { directions.push_back(value * VectorX::Unit(nrow, row)); }
};

namespace {

constexpr double kPinning = 100.0;  // of the largest entry of G: each round misses 1/100 of what the last one did
constexpr double kPinned = 1e-10;   // of a number, that may be missed
constexpr int kMostRounds = 12;

// y = A x = L' D L x with the tree factor of a step.
VectorX multiply(const Model& model, const VectorX& L, const VectorX& D_inverse, const VectorX& x) {
  VectorX z = x, y = VectorX::Zero(x.size());
  const auto visit = [&](int i, const auto& entry) {
    const int first = model.row_start[at(i)];
    for (int k = first; k < first + model.row_length[at(i)] - 1; ++k) entry(model.row_dof[at(k)], L[k]);
  };
  for (int i = 0; i < model.nv; ++i) visit(i, [&](int j, double l) { z[i] += l * x[j]; });
  z = z.cwiseQuotient(D_inverse);
  for (int i = 0; i < model.nv; ++i) {
    y[i] += z[i];
    visit(i, [&](int j, double l) { y[j] += l * z[i]; });
  }
  return y;
}

MatrixX jacobian(const Model& model, const Constraints& c) {
  RowMatrixX J(c.rows(), model.nv);
  fill_rows(model, c, c.J, J);
  return J;
}

// Whether u + R lambda = 0 has one impulse for each velocity: springs as rows, contacts of materials that give way, and
// loops if these do. The compliance of other loops is that of a solver.
bool gives_way(const Constraints& c, int block, bool loops_give_way) {
  const ConstraintKind kind = c.list[at(block)].kind;
  if ((kind == ConstraintKind::kEquality || kind == ConstraintKind::kLoopJoint) && !loops_give_way) return false;
  return c.compliance[c.blocks.row[at(block + 1)] - 1] > 0.0;
}

// A spring's contact: its normal impulse is known, and so is its friction where it slides. Where it sticks, friction is
// a choice within a disk: a cone whose normal number acts on nothing and is pinned.
void add_spring_contact(const Constraints& c, int block, const VectorX& u, double tolerance, InverseChoices& out) {
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block), n = first + size - 1, nrow = c.rows();
  const double impulse = std::max(0.0, -u[n] / c.compliance[n]);
  if (impulse == 0.0) return;
  out.fixed[n] = impulse;
  const Eigen::Map<const VectorX> mu(c.blocks.mu.data() + first, size - 1);
  if (size == 1 || mu.maxCoeff() <= 0.0) return;
  const VectorX slip = mu.cwiseProduct(u.segment(first, size - 1));
  if (slip.norm() > tolerance * mu.maxCoeff()) {
    out.fixed.segment(first, size - 1) = -(impulse / slip.norm()) * mu.cwiseProduct(slip);
    return;
  }
  out.blocks.add_coulomb(mu.data(), size - 1);
  for (int r = first; r < n; ++r) out.add(r, nrow);
  out.pinned.emplace_back(static_cast<Eigen::Index>(out.directions.size()), impulse);
  out.directions.push_back(VectorX::Zero(nrow));
}

void add_contact(const Constraints& c, int block, const VectorX& u, double tolerance, InverseChoices& out) {
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block), n = first + size - 1, nrow = c.rows();
  out.violation = std::max(out.violation, -u[n]);
  if (u[n] > tolerance) return;
  const Eigen::Map<const VectorX> mu(c.blocks.mu.data() + first, size - 1);
  const VectorX slip = mu.cwiseProduct(u.segment(first, size - 1));
  if (size == 1 || mu.maxCoeff() <= 0.0) {
    out.blocks.add_nonnegative();
    out.add(n, nrow);
  } else if (slip.norm() > tolerance * mu.maxCoeff()) {  // against the slip
    out.blocks.add_nonnegative();
    out.add(n, nrow);
    out.directions.back().segment(first, size - 1) = -mu.cwiseProduct(slip) / slip.norm();
  } else {
    out.blocks.add_coulomb(mu.data(), size - 1);
    for (int r = first; r <= n; ++r) out.add(r, nrow);
  }
}

void add_bounded(const Constraints& c, int block, const VectorX& u, double tolerance, InverseChoices& out) {
  const int row = c.blocks.row[at(block)];
  const double lo = c.blocks.lo[at(row)], hi = c.blocks.hi[at(row)];
  if (u[row] > tolerance) {
    out.fixed[row] = lo;
  } else if (u[row] < -tolerance) {
    out.fixed[row] = hi;
  } else {
    out.blocks.add_box(lo, hi);
    out.add(row, c.rows());
  }
}

void add_spring(const Constraints& c, int block, const VectorX& u, double tolerance, InverseChoices& out) {
  const BlockType type = c.blocks.type[at(block)];
  if (type == BlockType::kCoulomb) return add_spring_contact(c, block, u, tolerance, out);
  for (int row = c.blocks.row[at(block)]; row < c.blocks.row[at(block + 1)]; ++row) {
    const double impulse = -u[row] / c.compliance[row];
    out.fixed[row] = type == BlockType::kBox           ? std::clamp(impulse, c.blocks.lo[at(row)], c.blocks.hi[at(row)])
                     : type == BlockType::kNonNegative ? std::max(0.0, impulse)
                                                       : impulse;
  }
}

InverseChoices choices_of(const Constraints& c, const VectorX& u, double tolerance, bool loops_give_way) {
  InverseChoices out;
  out.fixed = VectorX::Zero(c.rows());
  for (int block = 0; block < c.count(); ++block) {
    const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
    if (gives_way(c, block, loops_give_way)) {
      add_spring(c, block, u, tolerance, out);
      continue;
    }
    switch (c.blocks.type[at(block)]) {
      case BlockType::kEquality:
        out.violation = std::max(out.violation, u.segment(first, size).cwiseAbs().maxCoeff());
        out.blocks.add_equality(size);
        for (int r = first; r < first + size; ++r) out.add(r, c.rows());
        break;
      case BlockType::kNonNegative:
        out.violation = std::max(out.violation, -u[first]);
        if (u[first] > tolerance) break;
        out.blocks.add_nonnegative();
        out.add(first, c.rows());
        break;
      case BlockType::kBox:
        add_bounded(c, block, u, tolerance, out);
        break;
      case BlockType::kCoulomb:
        add_contact(c, block, u, tolerance, out);
        break;
    }
  }
  return out;
}

}  // namespace

ContactInverseDynamics::ContactInverseDynamics(const ModelPtr& model, const SimulatorOptions& options,
                                               std::vector<int> actuated, const Parameters* parameters)
    : sim_(std::make_unique<Simulator>(model, options)),
      actuated_(std::move(actuated)),
      solver_(make_solver("ccp-newton")),
      solver_options_(solver_->make_options()),
      workspace_(solver_->make_workspace()) {
  const Model& m = sim_->model();
  if (&sim_->context().rules != &hard::kRules) {
    throw Error(
        "inverse dynamics with contact is available for hard constraints only; set constraints=rigid and a solver "
        "of the NCP, CCP or LCP");
  }
  if (options.integrator != Integrator::kSemiImplicitEuler) {
    throw Error(
        "inverse dynamics with contact is that of the integrator 'euler', not of '{}'; set integrator=euler, or take "
        "v_next from a step of 'euler'",
        entry_of(options.integrator).name);
  }
  if (options.substeps > 1 || options.accuracy > 0.0) {
    throw Error(
        "inverse dynamics with contact is that of one undivided step; set substeps=1 and accuracy=0, with the time "
        "step of a substep");
  }
  for (const int dof : actuated_) {
    if (dof < 0 || dof >= m.nv) throw Error("dof {} cannot be actuated: the model has {}", dof, m.nv);
  }
  if (parameters != nullptr) sim_->parameters() = *parameters;
  for (auto& gain : sim_->parameters().actuator_gain) gain = {};
  for (auto& bias : sim_->parameters().actuator_bias) bias = {};
  solver_options_->max_iterations = 500;
  solver_options_->relative_tolerance = 1e-11;
}

ContactInverseDynamics::~ContactInverseDynamics() = default;

// The moments of actuators at the state, and the directions that they leave out.
void ContactInverseDynamics::prepare_moments() {
  const Model& model = sim_->model();
  if (actuated_.empty()) {
    moments_ = sim_->context().data.actuator_moment;
  } else {
    moments_ = MatrixX::Zero(model.nv, static_cast<Eigen::Index>(actuated_.size()));
    for (std::size_t k = 0; k < actuated_.size(); ++k) moments_(actuated_[k], static_cast<Eigen::Index>(k)) = 1.0;
  }
  if (moments_.cols() == 0) {
    null_ = MatrixX::Identity(model.nv, model.nv);
    return;
  }
  const Eigen::ColPivHouseholderQR<MatrixX> factor(moments_);
  const MatrixX Q = factor.householderQ() * MatrixX::Identity(model.nv, model.nv);
  null_ = Q.rightCols(model.nv - factor.rank());
}

ContactForces ContactInverseDynamics::solve(const State& state, const VectorX& v_next, const Input* input) {
  const Model& model = sim_->model();
  require_size("v_next", v_next.size(), model.nv);
  StepContext& s = sim_->context();
  s.require_mass_matrix("inverse dynamics with contact");
  sim_->reset(state);
  sim_->input() = input != nullptr ? *input : Input(model);
  sim_->input().control.setZero();
  stage::begin(s, 0.0);
  if (!stage::free_motion(s)) throw Error("the state cannot be stepped: the mass matrix is not positive definite");
  stage::detect(s);
  stage::assemble(s);
  prepare_moments();

  const Constraints& c = s.constraints;
  const double h = s.h;
  const MatrixX J = jacobian(model, c);
  VectorX u = J * v_next;
  if (c.rows() > 0) u += c.bias.head(c.rows());
  const InverseChoices choices = choices_of(c, u, tolerance, s.options.stabilisation.softens_loops());
  const VectorX momentum = multiply(model, s.data.L, s.data.D_inverse, v_next - s.data.v_free);
  VectorX left = momentum - J.transpose() * choices.fixed;

  ContactForces out;
  out.violation = choices.violation;
  out.lambda = choices.fixed;
  if (!choices.directions.empty() && null_.cols() > 0) {
    MatrixX Z(c.rows(), static_cast<Eigen::Index>(choices.directions.size()));
    for (Eigen::Index k = 0; k < Z.cols(); ++k) Z.col(k) = choices.directions[static_cast<std::size_t>(k)];
    out.lambda += Z * least_impulses(choices, Z, J, left, out.status);
    left = momentum - J.transpose() * out.lambda;
  }
  const VectorX force = left / h;
  VectorX effort = VectorX::Zero(moments_.cols());
  if (moments_.cols() > 0) effort = moments_.completeOrthogonalDecomposition().solve(force);
  out.tau = moments_ * effort;
  out.actuator_force = actuated_.empty() ? effort : VectorX(VectorX::Zero(model.nu));
  out.residual = force - out.tau;
  out.residual_norm = out.residual.norm();
  list_contacts(out);
  return out;
}

// min |N' (left - J' Z z)| over the blocks, and |Z z| where that leaves a choice: half |.|^2 is the potential of a CCP.
VectorX ContactInverseDynamics::least_impulses(const InverseChoices& choices, const MatrixX& Z, const MatrixX& J,
                                               const VectorX& left, SolveStatus& status) {
  const StepContext& s = sim_->context();
  // Rows of N weighed as inertias are, so that forces and torques compare.
  VectorX weight(null_.cols());
  for (Eigen::Index k = 0; k < null_.cols(); ++k) {
    weight[k] = 1.0 / null_.col(k).dot(multiply(s.model, s.data.L, s.data.D_inverse, null_.col(k)));
  }
  const MatrixX seen = null_.transpose() * (J.transpose() * Z);
  const MatrixX G = seen.transpose() * weight.asDiagonal() * seen;
  const VectorX g = -seen.transpose() * (weight.asDiagonal() * (null_.transpose() * left));
  const double largest = std::max(G.diagonal().maxCoeff(), 1e-300);
  const VectorX slack = (kSlack * largest) * Z.colwise().squaredNorm().transpose();
  // Of two slacks, extrapolated to none: what is left is of second order.
  VectorX answer[2];
  for (int k = 0; k < 2; ++k) answer[k] = least_impulses(choices, G, g, slack / (1 + k), kPinning * largest, status);
  answer[0] = 2.0 * answer[1] - answer[0];
  project(choices.blocks, answer[0].data(), answer[0].data());
  return answer[0];
}

// With pinned numbers by the method of multipliers: springs of stiffness `pinning` that pull beyond what is missed.
VectorX ContactInverseDynamics::least_impulses(const InverseChoices& choices, const MatrixX& G, const VectorX& g,
                                               const VectorX& slack, double pinning, SolveStatus& status) {
  ContactProblem problem;
  problem.blocks = choices.blocks;
  problem.R = slack;
  for (const auto& [k, value] : choices.pinned) problem.R[k] = pinning;
  MatrixX stiff = G;
  stiff.diagonal() += problem.R;
  VectorX pulled = g;
  for (const auto& [k, value] : choices.pinned) pulled[k] = -pinning * value;
  Solution solution;
  for (int round = 0; round < kMostRounds; ++round) {
    problem.dual.set(stiff, pulled);
    problem.dual.symmetric = true;
    status = solver_->solve(problem, *solver_options_, *workspace_, solution);
    bool is_pinned = true;
    for (const auto& [k, value] : choices.pinned) {
      const double missed = value - solution.lambda[k];
      is_pinned = is_pinned && std::abs(missed) <= kPinned * value;
      pulled[k] -= pinning * missed;
    }
    if (is_pinned) break;
  }
  return solution.lambda;
}

void ContactInverseDynamics::list_contacts(ContactForces& out) const {
  const StepContext& s = sim_->context();
  const Constraints& c = s.constraints;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (constraint.kind != ConstraintKind::kContact) continue;
    const Contact& contact = s.contacts()[at(constraint.index)];
    const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
    Vec3 f = contact.normal() * out.lambda[first + size - 1];
    if (size >= 3) f += contact.frame.c0 * out.lambda[first] + contact.frame.c1 * out.lambda[first + 1];
    out.contacts.push_back({contact.shape_a, contact.shape_b, contact.position.eigen(), (f * (1.0 / s.h)).eigen()});
  }
}

}  // namespace touchstone

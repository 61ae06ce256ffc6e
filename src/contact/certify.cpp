#include "touchstone/contact/certify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/units.hpp"
#include "touchstone/math/cones.hpp"

namespace touchstone {
namespace {

constexpr double kFloor = 4.5e-16;
constexpr int kMostExponent = 1000;  // of a unit, so that its inverse exists

// The free velocity g, the change G lambda, and the diagonal of G, in the problem's units.
void evaluate_dual(const DualData& dual, CertificateWorkspace& w) {
  const int n = static_cast<int>(w.lambda.size());
  switch (dual.form) {
    case DualData::Form::kDense:
      w.change.noalias() = dual.G_dense * w.lambda;
      w.diagonal = dual.G_dense.diagonal();
      break;
    case DualData::Form::kSparse: {
      const BlockSparseMatrix& G = dual.G_sparse;
      G.multiply(w.lambda.data(), w.change.data());
      w.diagonal.setZero(n);
      for (int i = 0; i < G.block_rows(); ++i) {
        const bool full = G.start[i + 1] - G.start[i] == G.block_rows();
        const int entry = full ? G.start[i] + i : G.find(i, i);
        if (entry >= 0) w.diagonal.segment(G.row_begin[i], G.row_size(i)) = G.block(i, entry).diagonal();
      }
      break;
    }
    case DualData::Form::kNone:
      break;
  }
  w.free = dual.g;
}

void evaluate_primal(const ContactProblem& problem, CertificateWorkspace& w) {
  const PrimalData& primal = problem.primal;
  const BlockSparseMatrix& J = primal.J;
  if (const int broken = primal.A->broken_clique(); broken >= 0)
    throw Error("the inertia A of clique {} is not positive definite; check masses and inertias", broken);
  w.v.setZero(primal.nv());
  J.multiply_transpose_add(w.lambda.data(), w.v.data());
  primal.A->solve(w.v);
  J.multiply(w.v.data(), w.change.data());
  w.diagonal.setZero(w.lambda.size());
  for (int i = 0; i < J.block_rows(); ++i) {
    for (int k = J.start[i]; k < J.start[i + 1];) {
      const int c = primal.A->clique_of()[J.col[k]], n = primal.A->clique_size(c), m = J.row_size(i);
      w.Y.resize(static_cast<std::size_t>(n) * kMaxBlockSize);
      half_solve_jacobian(primal, i, k, w.Y.data());
      w.diagonal.segment(J.row_begin[i], m) +=
          Eigen::Map<const MatrixX>(w.Y.data(), n, m).colwise().squaredNorm().transpose();
    }
  }
  if (problem.R.size() > 0) {
    w.change += problem.R.cwiseProduct(w.lambda);
    w.diagonal += problem.R;
  }
  w.free.setZero(w.lambda.size());
  J.multiply_add(primal.v_free.data(), w.free.data());
  if (problem.b.size() > 0) w.free += problem.b;
}

// All rows to N s and m/s.
void apply_lengths(const ContactProblem& problem, CertificateWorkspace& w) {
  w.blocks = problem.blocks;
  for (double& mu : w.blocks.mu) mu = std::min(mu, kUnboundedFriction);
  if (problem.row_length.empty()) return;
  for (int i = 0; i < w.blocks.count(); ++i) {
    const int last = w.blocks.row[i + 1] - 1;
    const bool is_contact = w.blocks.type[i] == BlockType::kCoulomb, is_box = w.blocks.type[i] == BlockType::kBox;
    for (int r = w.blocks.row[i]; r <= last; ++r) {
      const double length = problem.row_length[r];
      if (is_contact) w.blocks.mu[r] *= problem.row_length[last] / length;
      if (length == 1.0) continue;
      w.lambda[r] /= length;
      w.free[r] *= length;
      w.change[r] *= length;
      w.diagonal[r] *= length * length;
      if (!is_box) continue;
      w.blocks.lo[r] /= length;
      w.blocks.hi[r] /= length;
    }
  }
}

// The power of two that brings the largest number to order one, if its square could overflow or vanish; else 1.
double unit_of(double largest) {
  if (!(largest > 0.0) || !std::isfinite(largest) || (largest > 1.0 / kHarmless && largest < kHarmless)) return 1.0;
  return std::ldexp(1.0, std::clamp(std::ilogb(largest), -kMostExponent, kMostExponent));
}

// Impulses and velocities in units that keep all squares within the range of numbers. Exact.
void apply_units(CertificateWorkspace& w) {
  const double velocity = std::max(w.free.lpNorm<Eigen::Infinity>(), w.change.lpNorm<Eigen::Infinity>());
  w.velocity_unit = unit_of(velocity);
  w.impulse_unit = unit_of(w.lambda.lpNorm<Eigen::Infinity>());
  if (w.velocity_unit != 1.0) {
    w.free /= w.velocity_unit;
    w.change /= w.velocity_unit;
    w.diagonal /= w.velocity_unit;
  }
  if (w.impulse_unit != 1.0) {
    w.lambda /= w.impulse_unit;
    w.diagonal *= w.impulse_unit;
    for (double& bound : w.blocks.lo) bound /= w.impulse_unit;
    for (double& bound : w.blocks.hi) bound /= w.impulse_unit;
  }
  w.u = w.free + w.change;
}

double mean_diagonal(const CertificateWorkspace& w) {
  double sum = 0.0;
  int count = 0;
  for (const double d : w.diagonal) {
    if (d > 0.0) {
      sum += d;
      ++count;
    }
  }
  return count > 0 ? sum / count : 1.0;
}

void certify_box(double lambda, double u, double lo, double hi, Residuals& out) {
  raise(out.primal_cone, std::abs(lambda - project_interval(lambda, lo, hi)));
  const double bound = u > 0.0 ? lo : hi;  // u pushes lambda against this one
  if (std::isinf(bound)) {
    raise(out.dual_cone, std::abs(u));
  } else {
    raise(out.complementarity, std::abs(u * (lambda - bound)));
  }
}

void certify_contact(int m, const double* mu, const double* lambda, const double* u, Residuals& out) {
  double shifted[kMaxConeSize], projected[kMaxConeSize];
  const auto distance = [m](const double* a, const double* b) {
    double sum = 0.0;
    for (int k = 0; k < m; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return std::sqrt(sum);
  };
  project_cone(m, mu, lambda, projected);
  raise(out.primal_cone, distance(lambda, projected));
  std::copy(u, u + m, shifted);
  double work = 0.0, slip = 0.0;
  for (int j = 0; j < m - 1; ++j) {
    work += lambda[j] * u[j];
    slip += mu[j] * mu[j] * u[j] * u[j];
  }
  slip = std::sqrt(slip);
  shifted[m - 1] += slip;
  project_dual_cone(m, mu, shifted, projected);
  raise(out.dual_cone, distance(shifted, projected));
  raise(out.complementarity, std::abs(work + lambda[m - 1] * shifted[m - 1]));
  raise(out.coulomb, std::max(0.0, cone_excess(m, mu, lambda)));
  raise(out.signorini, std::abs(lambda[m - 1] * u[m - 1]));
  raise(out.max_dissipation, std::abs(work + lambda[m - 1] * slip));
}

// The natural map of a block as a velocity, |d lambda - P(d lambda - F(u))|: the same as d |lambda - P(lambda - F(u) /
// d)|, because cones are cones, without the range of impulses. `scaled` is d lambda.
class VelocityMap {
 public:
  VelocityMap(CertificateWorkspace& w, int block, double d) : w_(w), block_(block) {
    const int r = w.blocks.row[block], m = w.blocks.size(block);
    for (int k = 0; k < m; ++k) scaled_[k] = d * w.lambda[r + k];
    if (w.blocks.type[block] != BlockType::kBox) return;
    w.blocks.lo[r] = std::isinf(w.blocks.lo[r]) ? w.blocks.lo[r] : d * w.blocks.lo[r];
    w.blocks.hi[r] = std::isinf(w.blocks.hi[r]) ? w.blocks.hi[r] : d * w.blocks.hi[r];
  }

  double operator()(ContactModel model) {
    double out[kMaxBlockSize];
    return natural_map_block(w_.blocks, block_, model, 1.0, scaled_, w_.u.data() + w_.blocks.row[block_], out);
  }

  // The least that it can be told from zero.
  double floor() const {
    double sum = 0.0;
    for (int k = 0; k < w_.blocks.size(block_); ++k) sum += scaled_[k] * scaled_[k];
    return kFloor * std::sqrt(sum);
  }

 private:
  CertificateWorkspace& w_;
  int block_;
  double scaled_[kMaxBlockSize];
};

void certify_block(const Blocks& blocks, int i, const double* lambda, const double* u, Residuals& out) {
  const int r = blocks.row[i];
  switch (blocks.type[i]) {
    case BlockType::kEquality:
      raise(out.dual_cone, Eigen::Map<const VectorX>(u, blocks.size(i)).norm());
      break;
    case BlockType::kNonNegative:
      raise(out.primal_cone, std::max(0.0, -lambda[0]));
      raise(out.dual_cone, std::max(0.0, -u[0]));
      raise(out.complementarity, std::abs(lambda[0] * u[0]));
      break;
    case BlockType::kBox:
      certify_box(lambda[0], u[0], blocks.lo[r], blocks.hi[r], out);
      break;
    case BlockType::kCoulomb:
      certify_contact(blocks.size(i), blocks.mu.data() + r, lambda, u, out);
      break;
  }
}

void to_problem_units(const CertificateWorkspace& w, Residuals& out) {
  for (double* velocity : {&out.natv, &out.model_natv, &out.dual_cone}) *velocity *= w.velocity_unit;
  for (double* impulse : {&out.primal_cone, &out.natural_map, &out.coulomb}) *impulse *= w.impulse_unit;
  for (double* energy : {&out.complementarity, &out.signorini, &out.max_dissipation})
    *energy = *energy * w.velocity_unit * w.impulse_unit;
}

// From lambda, free, change and diagonal of the workspace, which it may overwrite. Ends at the first block whose natv
// is above `most` times the velocity scale.
Residuals certify_rows(const ContactProblem& problem, double most, ContactModel model, CertificateWorkspace& w) {
  Residuals out;
  apply_lengths(problem, w);
  apply_units(w);
  const double scale = std::max(w.free.lpNorm<Eigen::Infinity>(), kGravity * problem.time_step / w.velocity_unit);
  double scratch[kMaxBlockSize];
  for (int i = 0; i < w.blocks.count() && !(out.natv > most * scale); ++i) {
    const int r = w.blocks.row[i], m = w.blocks.size(i);
    const double *l = w.lambda.data() + r, *u = w.u.data() + r;
    raise(out.natural_map,
          natural_map_block(w.blocks, i, ContactModel::kNcp, w.impulse_unit / w.velocity_unit, l, u, scratch));
    certify_block(w.blocks, i, l, u, out);
    double sum = 0.0;
    for (int k = r; k < r + m; ++k) sum += w.diagonal[k];
    VelocityMap map(w, i, sum > 0.0 ? sum / m : mean_diagonal(w));
    const double value = map(ContactModel::kNcp), floor = map.floor();
    if (!(value <= out.natv) || !(floor <= out.natv)) {
      out.natv = value < floor ? floor : value;
      out.worst_block = i;
    }
    if (model != ContactModel::kNcp) {
      raise(out.model_natv, map(model));
      raise(out.model_natv, floor);
    }
  }
  if (model == ContactModel::kNcp) out.model_natv = out.natv;
  const double change = w.change.lpNorm<Eigen::Infinity>();
  out.natv_relative = scale > 0.0 ? out.natv / scale : out.natv;
  out.model_natv_relative = scale > 0.0 ? out.model_natv / scale : out.model_natv;
  out.natv_relative_to_change = change > 0.0 ? out.natv / change : out.natv_relative;
  to_problem_units(w, out);
  return out;
}

}  // namespace

Residuals certify(const ContactProblem& problem, const ConstVectorRef& lambda, CertificateWorkspace& w,
                  ContactModel model) {
  require_size("lambda", lambda.size(), problem.nrow());
  if (problem.nrow() == 0) return {};
  w.lambda = lambda;
  w.change.resize(problem.nrow());
  w.diagonal.resize(problem.nrow());
  if (problem.has_dual()) {
    evaluate_dual(problem.dual, w);
  } else {
    evaluate_primal(problem, w);
  }
  return certify_rows(problem, kInfinity, model, w);
}

Residuals certify_product(const ContactProblem& problem, const ConstVectorRef& lambda, double most,
                          CertificateWorkspace& w) {
  require_size("lambda", lambda.size(), problem.nrow());
  w.lambda = lambda;
  w.free = problem.dual.g;
  return certify_rows(problem, most, ContactModel::kNcp, w);
}

Residuals certify(const ContactProblem& problem, const ConstVectorRef& lambda, ContactModel model) {
  CertificateWorkspace workspace;
  return certify(problem, lambda, workspace, model);
}

}  // namespace touchstone

#include "touchstone/contact/laws/certify_law.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/laws/line_minimum.hpp"
#include "touchstone/contact/units.hpp"

namespace touchstone {
namespace {

constexpr int kMaxSteps = 60;
constexpr double kSettled = 1e-13;  // of the velocities that take part: rounding
constexpr double kExact = 1e-6;     // of what is found: a residual need not be known better
constexpr double kLineAccuracy = 1e-3;

using Small = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMaxBlockSize, 1>;
using SmallSquare =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;

// A block by itself.
struct LoneBlock {
  const BlockLaws& laws;
  int block;
  Small v, lambda, d;

  // v* - v.
  Small settle() const {
    const auto m = v.size();
    Small at = Small::Zero(m), gamma(m), point(m);  // at, point: from v
    SmallSquare W(m, m);
    const double rounding = kSettled * (v.norm() + d.cwiseProduct(lambda).norm());
    for (int step = 0; step < kMaxSteps; ++step) {
      laws.evaluate(block, v.data(), at.data(), gamma.data(), W.data());
      const Small gradient = at.cwiseQuotient(d) + lambda - gamma;
      W.diagonal() += d.cwiseInverse();
      const Small move = W.llt().solve(-gradient);
      if (!(move.norm() > std::max(rounding, kExact * at.norm()))) break;
      const auto slope = [&](double t, double& second) {
        point = at + t * move;
        laws.evaluate(block, v.data(), point.data(), gamma.data(), W.data());
        second = move.dot(W * move) + move.cwiseAbs2().cwiseQuotient(d).sum();
        return move.dot(point.cwiseQuotient(d) + lambda - gamma);
      };
      const LineMinimum found = minimise_on_line(-gradient.dot(move), slope, kLineAccuracy);
      at += found.length * move;
    }
    return at;
  }
};

// J A^-1 J' lambda and J v_free.
void evaluate(const ContactProblem& problem, const ConstVectorRef& lambda, LawCertificateWorkspace& w) {
  w.change.setZero(problem.nrow());
  if (problem.has_dual()) {
    if (problem.dual.form == DualData::Form::kDense) {
      w.change.noalias() = problem.dual.G_dense * lambda;
    } else {
      problem.dual.G_sparse.multiply_add(lambda.data(), w.change.data());
    }
    if (problem.R.size() > 0) w.change -= problem.R.cwiseProduct(lambda);
    w.free = problem.dual.g;
    if (problem.b.size() > 0) w.free -= problem.b;
    return;
  }
  const PrimalData& primal = problem.primal;
  w.v.setZero(primal.nv());
  primal.J.multiply_transpose_add(lambda.data(), w.v.data());
  primal.A->solve(w.v);
  primal.J.multiply_add(w.v.data(), w.change.data());
  w.free.setZero(problem.nrow());
  primal.J.multiply_add(primal.v_free.data(), w.free.data());
}

}  // namespace

void certify_law(const ContactProblem& problem, const ConstVectorRef& lambda, CompliantModel model,
                 LawCertificateWorkspace& w, Residuals& out) {
  require_size("lambda", lambda.size(), problem.nrow());
  out.law_natv = out.law_natv_relative = out.law_impulse = 0.0;
  if (problem.nrow() == 0) return;
  if (!w.laws.prepare(problem, model).empty()) {
    out.law_natv = out.law_natv_relative = out.law_impulse = kInfinity;
    return;
  }
  evaluate(problem, lambda, w);
  double speed = 0.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    const int r = problem.blocks.row[i], m = problem.blocks.size(i);
    Small length = Small::Ones(m);
    for (int k = 0; k < m; ++k) length[k] = problem.length(r + k);
    const Small squares = length.cwiseAbs2();
    const Eigen::Map<const MatrixX> W(w.laws.mobility().data(i), m, m);
    const double d = W.diagonal().cwiseProduct(squares).mean();
    raise(speed, w.free.segment(r, m).cwiseProduct(length).lpNorm<Eigen::Infinity>());
    raise(speed, w.change.segment(r, m).cwiseProduct(length).lpNorm<Eigen::Infinity>());
    if (!(d > 0.0)) continue;  // it does not move, whatever its impulse
    const LoneBlock lone{w.laws, i, w.free.segment(r, m) + w.change.segment(r, m), lambda.segment(r, m),
                         d * squares.cwiseInverse()};
    const double size = lone.settle().cwiseProduct(length).norm();
    raise(out.law_natv, size);
    raise(out.law_impulse, size / d);
  }
  const double scale = std::max(speed, kGravity * problem.time_step);
  out.law_natv_relative = scale > 0.0 ? out.law_natv / scale : out.law_natv;
}

}  // namespace touchstone

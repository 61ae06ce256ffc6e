// The NCP by its compliance, followed through all its turns: the last resort of large problems.
//
// Problem: with a compliance eps around impulses c that nearly solve it, u = G lambda + g + eps (lambda - c), the laws
//   have one solution for a large eps, which is easily found. It moves as eps falls, along a curve of smooth pieces,
//   one for each choice of modes. Where friction couples contacts strongly the curve turns: eps must grow again, until
//   the pile has given way, before it can go on falling. Newton's method, interior points and smoothing all stop there.
// Method: z = lambda - u tells everything, since lambda(z) = P(z) is the nearest impulse of the law (friction cut at mu
//   times the *normal* impulse, so no De Saxce term is needed), and F(z, eps) = G P(z) + g + eps (P(z) - c) - (P(z) -
//   z) is a continuous map of smooth pieces. Its zeros are a curve. Within a piece: dz/deps = K^-1 (c - lambda), K = (G
//   + eps) D + I - D, D = dP/dz; a predictor, and a corrector in the plane across it. A step ends where a block changes
//   its mode (its facet takes the place of that plane), or where the curve bends. In the next piece the curve goes on
//   across the facet, which says whether eps falls or grows there; no determinant is needed. Without friction this is
//   Lemke's method with a proximal covering vector, in blocks.
//   Where the start is the only solution at its eps, the curve cannot come back there: for generic data it ends at
//   eps = 0, if impulses stay bounded. A start at a moderate eps is not proven to be the only one.
// References: Allgower and Georg 1990, ch. 12-15 (piecewise linear and predictor-corrector methods); Cottle, Pang and
//   Stone 1992, sec. 4.4 (Lemke's method). The curve is ours.
// Cost: a factorisation and some five to ten solves for each piece; 16 to 51 factorisations for piles of 100 and 300
//   contacts, 74 to 246 for 1,000.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/base/clock.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/math/block_sparse_lu.hpp"

namespace touchstone {

struct CompliancePathSettings {
  int max_steps = 400;  // factorisations
  Deadline deadline = {};
};

class CompliancePath {
 public:
  // Improves lambda and u = G lambda + g, whose natv (m/s) is given. Returns natv of what it leaves there: the end of
  // the curve, or the start where the end is not reached.
  double run(const DualProblem& dual, const CompliancePathSettings& settings, double natv, VectorX& lambda, VectorX& u);

  int steps() const { return steps_; }
  // Times that the compliance had to grow again.
  int turns() const { return turns_; }

 private:
  enum class Mode : std::uint8_t { kConstant, kLow, kInside, kHigh, kSlide };
  // A block and the mode beyond the facet that the curve meets.
  struct Crossing {
    int block = -1;
    Mode mode = Mode::kConstant;
  };

  void start(const DualProblem& dual, const VectorX& lambda, const VectorX& u);
  bool find_start();
  bool follow();
  bool take_step();
  void classify(const VectorX& z);
  void impulses(const VectorX& z, VectorX& lambda) const;
  double residual(const VectorX& z, double eps);
  bool factorize(const VectorX& z, double eps);
  void set_derivative(int block, const VectorX& z, double* D) const;
  void set_tangent(const VectorX& z);
  double choose_sign() const;
  double longest_step(double sign, Crossing& next) const;
  void offer_crossings(int block, double& length, Crossing& next) const;
  void offer_slide(int block, double& length, Crossing& next) const;
  bool correct(const Crossing& next, bool ends);
  bool modes_hold(int except) const;
  double facet(const Crossing& next, const VectorX& z, VectorX& normal) const;
  int normal_row(int block) const { return dual_->blocks.row[block + 1] - 1; }

  const DualProblem* dual_ = nullptr;
  CompliancePathSettings settings_;
  BlockSparseMatrix K_;
  BlockSparseLu lu_;
  std::vector<Mode> mode_;       // nblock
  std::vector<double> radius_;   // nblock: the largest coefficient of friction
  VectorX scale_;                // nrow: lambda = scale * P(z), 1 but for anisotropic friction, 0 for rows without
  VectorX centre_, z_, lambda_;  // c, the point on the curve and its impulses
  VectorX tangent_, direction_;  // dz/deps; the same times the sign of deps
  VectorX trial_, F_, normal_, way_, work_;
  Crossing last_;      // the facet that z is on, if any
  double side_ = 0.0;  // of which the curve leaves: sign of normal' direction before it
  double eps_ = 0.0, trial_eps_ = 0.0, sign_ = -1.0, size_ = 1.0, reach_ = 0.0;
  bool factored_elsewhere_ = false;  // the last factor is not that of z_
  int steps_ = 0, turns_ = 0;
};

}  // namespace touchstone

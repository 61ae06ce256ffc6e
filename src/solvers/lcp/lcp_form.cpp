#include "touchstone/solvers/lcp/lcp_form.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {

int LcpForm::add(const Variable& variable) {
  variables_.push_back(variable);
  return size() - 1;
}

void LcpForm::add_box(const DualProblem& dual, int row) {
  const double lo = dual.blocks.lo[row], hi = dual.blocks.hi[row];
  if (!std::isfinite(lo) && !std::isfinite(hi)) {
    equality_.push_back(row);
    return;
  }
  Variable variable;
  variable.row[0] = row;
  variable.value[0] = std::isfinite(lo) ? 1.0 : -1.0;
  base_[row] = std::isfinite(lo) ? lo : hi;
  const int impulse = add(variable);
  if (std::isfinite(lo) && std::isfinite(hi)) {
    Variable bound;
    bound.kind = Kind::kBoxBound;
    bound.range = hi - lo;
    variables_[static_cast<std::size_t>(impulse)].bound = add(bound);
  }
}

void LcpForm::add_friction(const DualProblem& dual, const Pyramid& pyramid, int block, int normal) {
  const int r = dual.blocks.row[block], m = dual.blocks.size(block);
  const double* mu = dual.blocks.mu.data() + r;
  for (int j = 0; j < m - 1; ++j) {
    const bool pair = pyramid.is_pair(m, mu, j);
    if (!pair && !(mu[j] > 0.0)) continue;
    Variable bound;
    bound.kind = Kind::kFrictionBound;
    bound.normal = normal;
    const int gamma = add(bound);
    for (int corner = 0; corner < (pair ? pyramid.facets() : 2); ++corner) {
      Variable variable;
      variable.bound = gamma;
      variable.row[0] = r + j;
      variable.value[0] = pair ? mu[j] * pyramid.corner(corner)[0] : (corner == 0 ? mu[j] : -mu[j]);
      if (pair) {
        variable.row[1] = r + j + 1;
        variable.value[1] = mu[j + 1] * pyramid.corner(corner)[1];
      }
      add(variable);
    }
    if (pair) ++j;
  }
}

void LcpForm::set_structure(const DualProblem& dual, const Pyramid& pyramid) {
  variables_.clear();
  equality_.clear();
  base_.setZero(dual.nrow());
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    Variable variable;
    variable.value[0] = 1.0;
    switch (dual.blocks.type[i]) {
      case BlockType::kEquality:
        for (int k = 0; k < m; ++k) equality_.push_back(r + k);
        break;
      case BlockType::kNonNegative:
        variable.row[0] = r;
        add(variable);
        break;
      case BlockType::kBox:
        add_box(dual, r);
        break;
      case BlockType::kCoulomb:
        variable.row[0] = r + m - 1;
        add_friction(dual, pyramid, i, add(variable));
        break;
    }
  }
}

// G and g of the other rows when the equalities hold: G - G_:e G_ee^+ G_e:, and what lambda_e then is.
void LcpForm::eliminate_equalities(const DualProblem& dual) {
  const int n = dual.nrow(), ne = static_cast<int>(equality_.size());
  G_.setZero(n, n);
  for (int i = 0; i < dual.nblock(); ++i) {
    for (int k = dual.G.start[i]; k < dual.G.start[i + 1]; ++k) {
      const int j = dual.G.col[k];
      G_.block(dual.blocks.row[i], dual.blocks.row[j], dual.blocks.size(i), dual.blocks.size(j)) = dual.G.block(i, k);
    }
  }
  g_ = dual.g;
  if (ne == 0) return;
  G_ee_.resize(ne, ne);
  G_eo_.resize(ne, n);
  offset_.resize(ne);
  for (int k = 0; k < ne; ++k) {
    const int row = equality_[static_cast<std::size_t>(k)];
    for (int c = 0; c < ne; ++c) G_ee_(k, c) = G_(row, equality_[static_cast<std::size_t>(c)]);
    G_eo_.row(k) = G_.row(row);
    offset_[k] = g_[row];
  }
  for (const int row : equality_) G_eo_.col(row).setZero();
  decomposition_.compute(G_ee_);
  gain_ = decomposition_.solve(G_eo_);
  offset_ = decomposition_.solve(offset_).eval();
  for (int row = 0; row < n; ++row) {
    for (int k = 0; k < ne; ++k) {
      const double share = G_(row, equality_[static_cast<std::size_t>(k)]);
      if (share == 0.0) continue;
      G_.row(row) -= share * gain_.row(k);
      g_[row] -= share * offset_[k];
    }
  }
}

void LcpForm::assemble(const DualProblem& dual, bool coupled, const VectorX& lambda) {
  eliminate_equalities(dual);
  const int n = size();
  M.setZero(n, n);
  q.setZero(n);
  const auto at = [&](int k) -> const Variable& { return variables_[static_cast<std::size_t>(k)]; };
  for (int a = 0; a < n; ++a) {
    if (at(a).kind != Kind::kImpulse) continue;
    for (int s = 0; s < 2 && at(a).row[s] >= 0; ++s) {
      const int row = at(a).row[s];
      const double left = at(a).value[s];
      q[a] += left * (g_[row] + G_.row(row).dot(base_));
      for (int b = 0; b < n; ++b) {
        for (int t = 0; t < 2 && at(b).row[t] >= 0; ++t) M(a, b) += left * G_(row, at(b).row[t]) * at(b).value[t];
      }
    }
    if (at(a).bound >= 0) {
      M(a, at(a).bound) = 1.0;
      M(at(a).bound, a) = -1.0;
    }
  }
  for (int a = 0; a < n; ++a) {
    if (at(a).kind == Kind::kBoxBound) q[a] = at(a).range;
    if (at(a).kind == Kind::kFrictionBound && coupled) M(a, at(a).normal) = 1.0;
  }
  if (!coupled) update_bounds(lambda);
}

void LcpForm::update_bounds(const VectorX& lambda) {
  for (int a = 0; a < size(); ++a) {
    const Variable& variable = variables_[static_cast<std::size_t>(a)];
    if (variable.kind != Kind::kFrictionBound) continue;
    q[a] = std::max(0.0, lambda[variables_[static_cast<std::size_t>(variable.normal)].row[0]]);
  }
}

void LcpForm::impulses(const VectorX& z, VectorX& lambda) const {
  lambda = base_;
  for (int a = 0; a < size(); ++a) {
    const Variable& variable = variables_[static_cast<std::size_t>(a)];
    for (int s = 0; s < 2 && variable.row[s] >= 0; ++s) lambda[variable.row[s]] += variable.value[s] * z[a];
  }
  for (std::size_t k = 0; k < equality_.size(); ++k) {
    double value = -offset_[static_cast<int>(k)];
    for (int a = 0; a < lambda.size(); ++a) value -= gain_(static_cast<int>(k), a) * lambda[a];
    lambda[equality_[k]] = value;  // columns of equalities in gain are zero
  }
}

}  // namespace touchstone

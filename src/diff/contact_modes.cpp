// The unknowns of contact derivatives: what can move in each mode of a block, and what is tested there.
#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/contact_derivatives.hpp"
#include "touchstone/solvers/lcp/pyramid.hpp"

namespace touchstone {
namespace {

constexpr double kPi = 3.14159265358979323846;

}  // namespace

// Columns that complete a unit vector to an orthonormal basis: those of the reflection that takes it to an axis.
ContactDerivatives::TangentBasis ContactDerivatives::orthogonal_to(const Tangents& t) {
  const Eigen::Index n = t.size();
  Tangents w = t;
  w[0] += t[0] < 0.0 ? -1.0 : 1.0;
  const double scale = 2.0 / w.squaredNorm();
  TangentBasis basis(n, n - 1);
  for (Eigen::Index k = 1; k < n; ++k) {
    basis.col(k - 1) = -scale * w[k] * w;
    basis(k, k - 1) += 1.0;
  }
  return basis;
}

void ContactDerivatives::add_held(int row) {
  Column held(row, 1);
  held.d[0] = held.z[0] = 1.0;
  columns_.push_back(held);
}

void ContactDerivatives::add_block(const Blocks& blocks, int block, double share) {
  const int row = blocks.row[at(block)], size = blocks.size(block);
  const double *lambda = lambda_.view().data() + row, *u = u_.view().data() + row;
  BlockMode mode = block_mode(blocks, block, lambda, u, share);
  if (mode == BlockMode::kSliding || mode == BlockMode::kSticking) {
    // These laws have their own ways of sliding; where they stick they have added nothing.
    bool slides = mode == BlockMode::kSliding;
    if (law_.model == ContactModel::kLcp) {
      slides = add_pyramid(row, size, share);
      modes_.push_back(slides ? BlockMode::kSliding : BlockMode::kSticking);
      return;
    }
    if (law_.raisim) {
      slides = add_raisim_slide(row, size, share);
    } else if (slides) {
      add_slide(row, size);
    }
    mode = slides ? BlockMode::kSliding : BlockMode::kSticking;
  }
  modes_.push_back(mode);
  if (mode == BlockMode::kAtLower) at_bound_.view()[row] = -1.0;
  if (mode == BlockMode::kAtUpper) at_bound_.view()[row] = 1.0;
  if (mode == BlockMode::kOpen || mode == BlockMode::kAtLower || mode == BlockMode::kAtUpper) return;
  if (mode == BlockMode::kSliding) return;
  for (int r = row; r < row + size; ++r) add_held(r);
}

void ContactDerivatives::add_slide(int row, int size) {
  const int tangents = size - 1;
  const auto mu = mu_.view().segment(row, tangents);
  const auto slip = u_.view().segment(row, tangents);
  const double normal_impulse = lambda_.view()[row + tangents];
  const Tangents scaled = mu.cwiseProduct(slip);
  const double speed = scaled.norm();
  Column normal(row, size);
  normal.d[tangents] = normal.z[tangents] = 1.0;
  if (!(speed > 0.0)) {  // no friction at all
    columns_.push_back(normal);
    return;
  }
  const Tangents t = scaled / speed;
  const TangentBasis across = orthogonal_to(t);
  for (int r = 0; r < tangents; ++r) {
    normal.d[r] = -mu[r] * t[r];
    by_mu_.view()[row + r] = -normal_impulse * t[r];
    if (law_.model != ContactModel::kCcp) continue;
    normal.z[r] = normal.d[r];
    normal.by_mu[r] = -t[r] * slip[r];
  }
  columns_.push_back(normal);
  for (int k = 0; k < tangents - 1; ++k) {
    Column turn(row, size);
    for (int r = 0; r < tangents; ++r) {
      turn.d[r] = turn.z[r] = mu[r] * across(r, k);
      turn.by_mu[r] = across(r, k) * slip[r];
    }
    turn.E = speed / normal_impulse;
    columns_.push_back(turn);
  }
}

// The impulse of least energy on the rim of its cone and the plane u_n = 0: with e = lambda_t / (mu lambda_n),
// mu u_t = -alpha p, p = e + mu G_nt / G_nn (Le Lidec et al. 2024, (24)). Tests q'(mu u_t) = 0 with q across p and
// q_k . across_l = 1 for k = l, 0 else. False where it sticks.
bool ContactDerivatives::add_raisim_slide(int row, int size, double share) {
  const int tangents = size - 1, n = row + tangents;
  const auto mu = mu_.view().segment(row, tangents);
  const auto slip = u_.view().segment(row, tangents);
  const auto lambda = lambda_.view();
  Coupling coupling{row, size, 0.0, G_.view()(n, n), Tangents(tangents)};
  Tangents e(tangents), p(tangents), scaled(tangents);
  for (int r = 0; r < tangents; ++r) {
    coupling.ratio[r] = G_.view()(n, row + r) / coupling.G_nn;
    e[r] = mu[r] > 0.0 ? lambda[row + r] / mu[r] : 0.0;
  }
  const double length = e.norm();
  if (mu.isZero(0.0)) {
    add_slide(row, size);  // nothing but the normal impulse
    return true;
  }
  if (!(length > 0.0) || length < (1.0 - share) * lambda[n]) return false;
  e /= length;
  p = e + mu.cwiseProduct(coupling.ratio);
  scaled = mu.cwiseProduct(slip);
  coupling.alpha = -p.dot(scaled) / p.squaredNorm();
  if (!(coupling.alpha > 0.0)) return false;
  const TangentBasis across = orthogonal_to(e);
  Column normal(row, size);
  normal.d[tangents] = normal.z[tangents] = 1.0;
  for (int r = 0; r < tangents; ++r) {
    normal.d[r] = mu[r] * e[r];
    by_mu_.view()[row + r] = lambda[n] * e[r];
  }
  columns_.push_back(normal);
  for (int k = 0; k < tangents - 1; ++k) {
    const Tangents q = across.col(k) - across.col(k).dot(p) / e.dot(p) * e;
    Column turn(row, size);
    for (int r = 0; r < tangents; ++r) {
      turn.d[r] = mu[r] * across(r, k);
      turn.z[r] = mu[r] * q[r];
      turn.by_mu[r] = q[r] * (slip[r] + coupling.alpha * coupling.ratio[r]);
    }
    turn.E = coupling.alpha / lambda[n];
    columns_.push_back(turn);
  }
  couplings_.push_back(coupling);
  return true;
}

// Each row, or pair of rows, with the present normal impulse. False where all of them stick.
bool ContactDerivatives::add_pyramid(int row, int size, double share) {
  const int n = row + size - 1;
  const Pyramid pyramid(law_.facets);
  Column moves(row, size);  // with the normal impulse
  moves.d[size - 1] = moves.z[size - 1] = 1.0;
  bool slides = false;
  for (int j = 0; j < size - 1; ++j) {
    if (pyramid.is_pair(size, mu_.view().data() + row, j)) {
      slides = add_polygon(row + j, n, share, pyramid, moves) || slides;
      ++j;
    } else {
      slides = add_bounded(row + j, n, share, moves) || slides;
    }
  }
  columns_.push_back(moves);
  return slides;
}

// |lambda_j| <= mu_j lambda_n. False where it sticks.
bool ContactDerivatives::add_bounded(int row, int normal, double share, Column& moves) {
  const double mu = mu_.view()[row], lambda = lambda_.view()[row], u = u_.view()[row], n = lambda_.view()[normal];
  if (std::abs(lambda) < (1.0 - share) * mu * n || !(lambda * u < 0.0 || mu == 0.0)) {
    add_held(row);
    return false;
  }
  const double sign = u > 0.0 ? -1.0 : u < 0.0 ? 1.0 : 0.0;
  moves.d[row - moves.row] = sign * mu;
  by_mu_.view()[row] = sign * n;
  return true;
}

// A polygon of facets around the disk mu lambda_n; y = lambda_t / (mu lambda_n) is inside, in corner c between facets c
// and c + 1, or on one of them. False where it sticks.
bool ContactDerivatives::add_polygon(int row, int normal, double share, const Pyramid& pyramid, Column& moves) {
  const int facets = pyramid.facets(), j = row - moves.row;
  const auto mu = mu_.view().segment<2>(row);
  const auto u = u_.view().segment<2>(row);
  const double n = lambda_.view()[normal];
  const Vector2 own = lambda_.view().segment<2>(row), y = own.cwiseQuotient(mu) / n;
  const int c = static_cast<int>(std::floor(std::atan2(y[1], y[0]) * facets / (2.0 * kPi)));
  const auto is_on = [&](int facet) {
    const double angle = 2.0 * kPi * facet / facets;
    return std::cos(angle) * y[0] + std::sin(angle) * y[1] >= 1.0 - share;
  };
  const auto corner = [&](int k) { return Vector2(pyramid.corner((k % facets + facets) % facets)); };
  const bool first = is_on(c), second = is_on(c + 1);
  if (!(first || second) || !(own.dot(u) < 0.0)) {
    add_held(row);
    add_held(row + 1);
    return false;
  }
  const Vector2 at_corner = first && second ? corner(c) : first ? corner(c - 1) : corner(c);
  for (int r = 0; r < 2; ++r) moves.d[j + r] = mu[r] * at_corner[r];
  by_mu_.view().segment<2>(row) = n * y;
  if (first && second) return true;
  const Vector2 edge = (first ? corner(c) : corner(c + 1)) - at_corner;
  Column along(row, 2);
  for (int r = 0; r < 2; ++r) {
    along.d[r] = along.z[r] = mu[r] * edge[r];
    along.by_mu[r] = edge[r] * u[r];
  }
  columns_.push_back(along);
  return true;
}

}  // namespace touchstone

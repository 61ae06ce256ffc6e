// Contacts with any number of rows: t1, t2, then the spin about n (dimension 4) and the rolls about t1, t2 (dimension
// 6), then n, with a coefficient of friction for each. The law is that of contact/blocks.hpp.
//
// With z the tangential impulses over their coefficients, turned so that the contact's own matrix is diagonal, the cone
// is |z| <= lambda_n: the same local problem as that of sliding friction (sweeps.hpp), with up to five tangents. Y, g
// and lambda hold z in the sweeps; T takes it back to the rows.
#pragma once

#include <type_traits>

#include "touchstone/gpu/blocks.hpp"

namespace touchstone::gpu {

struct ContactWrench {
  Vec force, torque;
};

// Rows of a contact that has friction of any kind, by their velocity and spin.
TOUCHSTONE_LANE ContactWrench cone_direction(const Contact& c, int rows, int r) {
  const Vec none{0, 0, 0};
  if (r == rows - 1) return {c.normal, none};
  if (r < 2) return {r == 0 ? c.t1 : c.t2(), none};
  return {none, r == 2 ? c.normal : (r == 3 ? c.t1 : c.t2())};
}

TOUCHSTONE_LANE double cone_friction(const ModelView& m, int pair, int tangent) {
  const double sliding = m.pair_friction[pair], *cone = m.pair_cone + kConeNumbers * pair;
  return tangent == 0 ? sliding : (tangent == 1 ? sliding * cone[0] : cone[tangent - 1]);
}

// What a row is measured in: m, for rotations times the length of the pair.
TOUCHSTONE_LANE double cone_length(const ModelView& m, int pair, int rows, int r) {
  return r < 2 || r == rows - 1 ? 1.0 : m.pair_cone[kConeNumbers * pair + 4];
}

// Relative velocity along a row, without bias.
template <typename Real>
TOUCHSTONE_LANE double cone_velocity(const ModelView& m, const Scratch<Real>& s, const Contact& c, int rows, int r,
                                     const double* velocities) {
  const int a = m.shape_body[m.pair_a[c.pair]], b = m.shape_body[m.pair_b[c.pair]];
  const ContactWrench d = cone_direction(c, rows, r);
  const Vec spin = load_vec(velocities + 6 * b) - load_vec(velocities + 6 * a);
  return dot(d.force, contact_velocity(m, s, c, velocities)) + dot(d.torque, spin);
}

// What a dof adds to the rows of J.
template <typename Real>
TOUCHSTONE_LANE void add_cone_entries(const Scratch<Real>& s, const Block<Real>& block, const Motion& S, Vec at_contact,
                                      double sign, Real* J) {
  const Contact& c = s.contacts[block.index];
  const int rows = s.cones[block.side].rows;
  for (int r = 0; r < rows; ++r) {
    const ContactWrench d = cone_direction(c, rows, r);
    J[r * s.stride] += static_cast<Real>(dot(d.force, at_contact) + sign * dot(d.torque, S.w));
  }
}

// --- diagonal form ---

// Jacobi's rotations: A becomes diagonal, its eigenvectors the columns of Q. Both k x k, by rows. What is left off the
// diagonal makes a local solution less exact, not what sweeps converge to.
template <int k, typename Real>
TOUCHSTONE_LANE void diagonalize(Real* A, Real* Q) {
  constexpr int kMostSweeps = 8;
  constexpr Real kLeft = sizeof(Real) == sizeof(float) ? Real(1e-11) : Real(1e-15);  // squared, of the diagonal
  for (int i = 0; i < k * k; ++i) Q[i] = i % (k + 1) == 0 ? Real(1) : Real(0);
  TOUCHSTONE_ROLLED
  for (int round = 0; round < kMostSweeps; ++round) {
    bool turned = false;
    for (int p = 0; p < k; ++p) {
      for (int q = p + 1; q < k; ++q) {
        const Real off = A[k * p + q], a = A[k * p + p], d = A[k * q + q];
        if (!(off * off > kLeft * a * d)) continue;
        turned = true;
        const Real half = Real(0.5) * (a - d), away = root(half * half + off * off);
        const Real tangent = off / (half < Real(0) ? half - away : half + away);
        const Real c = Real(1) / root(Real(1) + tangent * tangent), e = c * tangent;
        for (int i = 0; i < k; ++i) {  // columns
          const Real x = A[k * i + p], y = A[k * i + q], v = Q[k * i + p], w = Q[k * i + q];
          A[k * i + p] = c * x + e * y, A[k * i + q] = c * y - e * x;
          Q[k * i + p] = c * v + e * w, Q[k * i + q] = c * w - e * v;
        }
        for (int i = 0; i < k; ++i) {  // rows
          const Real x = A[k * p + i], y = A[k * q + i];
          A[k * p + i] = c * x + e * y, A[k * q + i] = c * y - e * x;
        }
      }
    }
    if (!turned) return;
  }
}

// Below this share of the largest entry a direction is held so loosely that its impulse is bounded instead.
template <typename Real>
constexpr Real kLeastCone = sizeof(Real) == sizeof(float) ? Real(1e-5) : Real(1e-10);

// Calls use with the number of tangents as a constant, so that arrays of them stay in registers.
template <typename Use>
TOUCHSTONE_LANE void with_tangents(int k, const Use& use) {
  if (k == 5) {
    use(std::integral_constant<int, 5>());
  } else if (k == 3) {
    use(std::integral_constant<int, 3>());
  } else {
    use(std::integral_constant<int, 2>());
  }
}

// Calls use(block, cone) for the blocks of a kind of this file.
template <typename Real, typename Use>
TOUCHSTONE_LANE void if_cone(const Scratch<Real>& s, int k, const Use& use) {
  Block<Real>& block = s.blocks[k];
  if (block.type == BlockType::kCone) use(block, s.cones[block.side]);
}

// The products of the rows of all contacts with each other: of tangents in T (the lower triangle), with the normal row
// in shear and block.normal. A lane a product.
template <typename Team, typename Real>
TOUCHSTONE_LANE void multiply_cone_rows(const Team& team, const ModelView& m, Scratch<Real>& s) {
  constexpr int kProducts = (kMostTangents + 1) * (kMostTangents + 2) / 2;
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < kProducts * s.block_count; item += team.size()) {
    if_cone(s, item / kProducts, [&](Block<Real>& block, Cone<Real>& cone) {
      int a = 0, b = item % kProducts;
      while (b > a) b -= ++a;  // the lower triangle by rows
      const int k = cone.rows - 1;
      if (a > k) return;
      const Real *x = s.Y + (block.row + a) * s.stride, *y = s.Y + (block.row + b) * s.stride;
      Real sum = Real(0);
      for (int i = 0; i < m.sizes.nv; ++i) sum += x[i] * y[i];
      if (a < k) {
        cone.T[k * a + b] = sum;
      } else if (b < k) {
        cone.shear[b] = sum;
      } else {
        block.normal = sum;
      }
    });
  }
  team.sync();
}

// T, and the parts of the normal row in the rows of z, from the products of the rows with each other; free velocities
// in z. By one lane.
template <int k, typename Real>
TOUCHSTONE_LANE void cone_coordinates(const ModelView& m, Scratch<Real>& s, const Block<Real>& block,
                                      Cone<Real>& cone) {
  Real S[k * k], Q[k * k], mu[k], along[k];
  const int pair = s.contacts[block.index].pair;
  const Real nn = block.normal, inverse = nn > Real(0) ? Real(1) / nn : Real(0);
  for (int a = 0; a < k; ++a) {
    mu[a] = static_cast<Real>(cone_friction(m, pair, a));
    along[a] = cone.shear[a];
  }
  for (int a = 0; a < k; ++a) {
    for (int b = 0; b <= a; ++b)
      S[k * a + b] = S[k * b + a] = mu[a] * mu[b] * (cone.T[k * a + b] - along[a] * inverse * along[b]);
  }
  diagonalize<k>(S, Q);
  Real *g = s.g + block.row, z[k];
  for (int c = 0; c < k; ++c) {
    Real shear = Real(0);
    z[c] = Real(0);
    for (int a = 0; a < k; ++a) {
      const Real turned = mu[a] * Q[k * a + c];
      cone.T[k * a + c] = turned;
      shear += turned * along[a] * inverse;
      z[c] += turned * g[a];
    }
    cone.shear[c] = shear;
    z[c] -= shear * g[k];
  }
  for (int c = 0; c < k; ++c) g[c] = z[c];
}

// The rows of the tangents of all contacts become those of z: a lane a dof of a contact.
template <typename Team, typename Real>
TOUCHSTONE_LANE void turn_cone_rows(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int nv = m.sizes.nv;
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < nv * s.block_count; item += team.size()) {
    if_cone(s, item / nv, [&](const Block<Real>& block, const Cone<Real>& cone) {
      Real* Y = s.Y + block.row * s.stride + item % nv;
      with_tangents(cone.rows - 1, [&](auto tangents) {
        constexpr int k = decltype(tangents)::value;
        Real x[k + 1];
        for (int a = 0; a <= k; ++a) x[a] = Y[a * s.stride];
        for (int c = 0; c < k; ++c) {
          Real z = -cone.shear[c] * x[k];
          for (int a = 0; a < k; ++a) z += cone.T[k * a + c] * x[a];
          Y[c * s.stride] = z;
        }
      });
    });
  }
  team.sync();
}

// The matrix of a contact once its rows are those of z: squares of the rows as they are, since differences of products
// lose digits. By one lane, after a lane for each row.
template <typename Real>
TOUCHSTONE_LANE void set_cone_matrix(Block<Real>& block, Cone<Real>& cone) {
  const int k = cone.rows - 1;
  const Real nn = block.normal;
  Real largest = Real(0), sum = nn;
  for (int c = 0; c < k; ++c) {
    largest = cone.diagonal[c] > largest ? cone.diagonal[c] : largest;
    sum += cone.diagonal[c];
  }
  const Real floor = kLeastCone<Real> * (largest > Real(0) ? largest : nn);
  for (int c = 0; c < k; ++c) cone.diagonal[c] = cone.diagonal[c] > floor ? cone.diagonal[c] : floor;
  const Real least = static_cast<Real>(1e-7 * block.scale);
  block.normal = nn > least ? nn : least;
  block.diagonal = sum / static_cast<Real>(k + 1);
  block.alpha = Real(0);
}

// All contacts of this file at once: what one of them needs alone would leave most lanes idle.
template <typename Team, typename Real>
TOUCHSTONE_LANE void diagonalize_cones(const Team& team, const ModelView& m, Scratch<Real>& s) {
  multiply_cone_rows(team, m, s);
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    if_cone(s, k, [&](Block<Real>& block, Cone<Real>& cone) {
      with_tangents(cone.rows - 1, [&](auto t) { cone_coordinates<decltype(t)::value>(m, s, block, cone); });
    });
  }
  team.sync();
  turn_cone_rows(team, m, s);
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < kMostTangents * s.block_count; item += team.size()) {
    if_cone(s, item / kMostTangents, [&](const Block<Real>& block, Cone<Real>& cone) {
      const int c = item % kMostTangents;
      if (c >= cone.rows - 1) return;
      const Real* z = s.Y + (block.row + c) * s.stride;
      Real sum = Real(0);
      for (int i = 0; i < m.sizes.nv; ++i) sum += z[i] * z[i];
      cone.diagonal[c] = sum;
    });
  }
  team.sync();
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size())
    if_cone(s, k, [&](Block<Real>& block, Cone<Real>& cone) { set_cone_matrix(block, cone); });
  team.sync();
}

// --- impulses ---

// z and lambda_n of a wrench in world axes.
template <typename Real>
TOUCHSTONE_LANE void recall_cone(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block, Vec force,
                                 Vec torque, Real* lambda) {
  const Cone<Real>& cone = s.cones[block.side];
  const Contact& c = s.contacts[block.index];
  const int k = cone.rows - 1;
  for (int i = 0; i < k; ++i) lambda[i] = Real(0);
  for (int a = 0; a < k; ++a) {
    const double mu = cone_friction(m, c.pair, a);
    if (!(mu > 0.0)) continue;
    const ContactWrench d = cone_direction(c, cone.rows, a);
    const Real share = static_cast<Real>((dot(d.force, force) + dot(d.torque, torque)) / (mu * mu));
    for (int i = 0; i < k; ++i) lambda[i] += cone.T[k * a + i] * share;  // T = mu Q
  }
  lambda[k] = static_cast<Real>(dot(c.normal, force));
}

// The impulses of the rows.
template <typename Real>
TOUCHSTONE_LANE void cone_impulses(const Scratch<Real>& s, const Block<Real>& block, double* rows) {
  const Cone<Real>& cone = s.cones[block.side];
  const Real* lambda = s.lambda + block.row;
  const int k = cone.rows - 1;
  for (int a = 0; a < k; ++a) {
    rows[a] = 0.0;
    for (int i = 0; i < k; ++i) rows[a] += static_cast<double>(cone.T[k * a + i]) * static_cast<double>(lambda[i]);
  }
  rows[k] = static_cast<double>(lambda[k]);
}

template <typename Real>
TOUCHSTONE_LANE ContactWrench cone_wrench(const Scratch<Real>& s, const Block<Real>& block) {
  double impulse[kMostTangents + 1];
  const Contact& c = s.contacts[block.index];
  const int rows = s.cones[block.side].rows;
  cone_impulses(s, block, impulse);
  ContactWrench sum{{0, 0, 0}, {0, 0, 0}};
  for (int r = 0; r < rows; ++r) {
    const ContactWrench d = cone_direction(c, rows, r);
    sum.force = sum.force + impulse[r] * d.force;
    sum.torque = sum.torque + impulse[r] * d.torque;
  }
  return sum;
}

// --- certificate ---

// The point of |y_t / mu| <= y_n that is nearest to x (math/cones.cpp says how). m: rows, the normal last.
TOUCHSTONE_LANE void project_on_cone(int m, const double* mu, const double* x, double* y) {
  constexpr int kMostSteps = 100;
  const int k = m - 1;
  const double n = x[k];
  double inside = 0.0, polar = 0.0;
  for (int j = 0; j < k; ++j) {
    if (!(mu[j] > 0.0)) continue;
    inside += x[j] * x[j] / (mu[j] * mu[j]);
    polar += mu[j] * mu[j] * x[j] * x[j];
  }
  for (int j = 0; j < m; ++j) y[j] = 0.0;
  if (n <= 0.0 && polar <= n * n) return;
  if (n >= 0.0 && inside <= n * n) {
    for (int j = 0; j < k; ++j) y[j] = mu[j] > 0.0 ? x[j] : 0.0;
    y[k] = n;
    return;
  }
  double tau = n > 0.0 ? 0.0 : 1.0, size = 0.0;
  const auto measure = [&](double& rate) {
    double square = 0.0, slope = 0.0;
    for (int j = 0; j < k; ++j) {
      const double below = mu[j] * mu[j] * (1.0 - tau) + tau;
      if (!(mu[j] > 0.0) || !(below > 0.0)) continue;
      const double z = mu[j] * x[j] / below;
      square += z * z;
      slope -= z * z * (1.0 - mu[j] * mu[j]) / below;
    }
    size = sqrt(square);
    rate = size > 0.0 ? slope / size : 0.0;
  };
  if (n == 0.0) tau = 0.5;
  for (int step = 0; step < kMostSteps && n != 0.0; ++step) {
    double rate = 0.0;
    measure(rate);
    const double h = n / size - 1.0 + 2.0 * tau, slope = 2.0 - n / size * (rate / size), change = -h / slope;
    if (!((n > 0.0 ? change : -change) > 0.0)) break;
    tau += change;
    if (fabs(change) <= 5e-16 * tau) break;
  }
  double unused = 0.0;
  measure(unused);
  for (int j = 0; j < k; ++j) {
    const double below = mu[j] * mu[j] * (1.0 - tau) + tau;
    if (mu[j] > 0.0 && below > 0.0) y[j] = (1.0 - tau) * mu[j] * mu[j] * x[j] / below;
  }
  y[k] = (1.0 - tau) * size;
}

// natv of the block and its largest free velocity, all rows in N s and m/s.
template <typename Real>
TOUCHSTONE_LANE double cone_residual(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block,
                                     double& free_speed) {
  const Contact& c = s.contacts[block.index];
  const int rows = s.cones[block.side].rows;
  const double d = block.scale;
  double lambda[kMostTangents + 1], mu[kMostTangents + 1], x[kMostTangents + 1], w[kMostTangents + 1],
      projected[kMostTangents + 1], slip = 0.0;
  cone_impulses(s, block, lambda);
  free_speed = 0.0;
  for (int r = 0; r < rows; ++r) {
    const double len = cone_length(m, c.pair, rows, r), bias = r == rows - 1 ? block.bias : 0.0;
    const double u = len * (cone_velocity(m, s, c, rows, r, s.next_velocity) + bias);
    free_speed = most(free_speed, fabs(len * (cone_velocity(m, s, c, rows, r, s.free_velocity) + bias)));
    mu[r] = r < rows - 1 ? cone_friction(m, c.pair, r) / len : 0.0;
    slip += mu[r] * mu[r] * u * u;
    x[r] = d * lambda[r] / len;
    w[r] = x[r] - u;
  }
  w[rows - 1] -= sqrt(slip);
  project_on_cone(rows, mu, w, projected);
  double sum = 0.0;
  for (int r = 0; r < rows; ++r) sum += (x[r] - projected[r]) * (x[r] - projected[r]);
  return sqrt(sum);
}

}  // namespace touchstone::gpu

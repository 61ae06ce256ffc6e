// The projection on an elliptic cone.
//
// Problem: y = argmin |y - x|^2 over K = { |y_t / mu| <= y_n }, for x neither in K nor in its polar cone.
// Method: with Q = diag(1/mu^2, -1) the cone's surface is y'Qy = 0, and the optimality condition is
//   ((1 - tau) I + tau Q) y = (1 - tau) x for a tau in (0, 1). With z_j = mu_j x_j / (mu_j^2 (1 - tau) + tau) it reads
//   y_t = (1 - tau) mu z, y_n = (1 - tau) |z|, and tau is the root of
//       phi(tau) = (1 - 2 tau) |z(tau)| - x_n,
//   which decreases on [0, 1]: phi(0) = |x_t/mu| - x_n > 0 outside K, phi(1) = -|mu x_t| - x_n < 0
//   outside the polar cone. Divided by -|z| it is concave or convex, so that Newton's method from one end needs no
//   bracket (find_tau). (The usual multiplier nu = tau / (1 - tau)
//   has a pole where x_n = 0.)
// Derivative: of the same equations, by elimination of the tangential part; see cone_surface_derivative.
// Cost: O(m) for each of about 5 steps.
#include "touchstone/math/cones.hpp"

#include <limits>

namespace touchstone {
namespace {

constexpr int kMaxNewtonSteps = 100;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

bool is_circular(int m, const double* mu) {
  for (int j = 1; j < m - 1; ++j) {
    if (mu[j] != mu[0]) return false;
  }
  return true;
}

double norm(int n, const double* x) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

double weighted_norm(int n, const double* w, const double* x) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += w[i] * w[i] * x[i] * x[i];
  return std::sqrt(sum);
}

// z(tau) above; |z| and d|z|/dtau.
double slack(int tangents, const double* mu, const double* x, double tau, double& rate) {
  double sum = 0.0, slope = 0.0;
  for (int j = 0; j < tangents; ++j) {
    const double denominator = mu[j] * mu[j] * (1.0 - tau) + tau;
    if (denominator <= 0.0) continue;  // mu_j = 0 and tau = 0: the component is projected away
    const double z = mu[j] * x[j] / denominator;
    sum += z * z;
    slope -= z * z * (1.0 - mu[j] * mu[j]) / denominator;
  }
  const double length = std::sqrt(sum);
  rate = length > 0.0 ? slope / length : 0.0;
  return length;
}

// The root of h(tau) = n / |z(tau)| - 1 + 2 tau, phi divided by -|z|. 1 / |z| is a power mean of functions that are
// linear in tau, so it is concave, nearly a straight line where one component counts most. So h is concave for n > 0,
// negative at 0, and convex for n < 0, positive at 1: Newton's method from there never oversteps.
double find_tau(int m, const double* mu, const double* x) {
  const double n = x[m - 1];
  if (n == 0.0) return 0.5;
  const double direction = n > 0.0 ? 1.0 : -1.0;
  double tau = n > 0.0 ? 0.0 : 1.0;
  for (int step = 0; step < kMaxNewtonSteps; ++step) {
    double rate = 0.0;
    const double length = slack(m - 1, mu, x, tau, rate);
    const double h = n / length - 1.0 + 2.0 * tau, slope = 2.0 - n / length * (rate / length);
    const double change = -h / slope;
    if (!(direction * change > 0.0)) break;  // there, as far as rounding tells
    tau += change;
    if (direction * change <= 2.0 * kEpsilon * tau) break;
  }
  return tau;
}

enum class Region { kInside, kPolar, kSurface };

// K lies in the subspace where the components without friction vanish: project on that first.
void drop_frictionless(int m, const double* mu, const double* x, double* reduced) {
  for (int j = 0; j < m - 1; ++j) reduced[j] = mu[j] > 0.0 ? x[j] : 0.0;
  reduced[m - 1] = x[m - 1];
}

Region locate(int m, const double* mu, const double* x) {
  if (dual_cone_excess(m, mu, x) + 2.0 * x[m - 1] <= 0.0) return Region::kPolar;  // |mu x_t| <= -x_n
  return cone_excess(m, mu, x) <= 0.0 ? Region::kInside : Region::kSurface;
}

// H dy + Q y dnu = (1 - tau) dx and (Q y)' dy = 0 with H = (1 - tau) I + tau Q. H_tt is positive, H_nn = 1 - 2 tau may
// vanish, so dy_t is eliminated and the 2x2 system for (dy_n, dnu) is solved. Powers of 1 - tau, which vanishes at the
// polar cone, are cancelled, and its determinant (1 - 2 tau) sum_j q_j^2 h_j + |z|^2 is written as the positive sum
// that it is.
void cone_surface_derivative(int m, const double* mu, const double* x, double* derivative) {
  const int n = m - 1;
  const double tau = find_tau(m, mu, x), rest = 1.0 - tau;
  double rate = 0.0;
  const double normal = slack(n, mu, x, tau, rate);  // y_n / rest
  double h[kMaxConeSize], q[kMaxConeSize];
  double stiffness = 0.0, determinant = 0.0;  // over rest^2 and rest^3
  for (int j = 0; j < n; ++j) {
    const double denominator = mu[j] * mu[j] * rest + tau;
    h[j] = denominator > 0.0 ? mu[j] * mu[j] / denominator : 0.0;  // 1 / H_jj
    q[j] = denominator > 0.0 ? x[j] / denominator : 0.0;           // y_j / mu_j^2 / rest
    stiffness += q[j] * q[j] * h[j];
    determinant += q[j] * q[j] * h[j] * (1.0 + mu[j] * mu[j]);
  }
  for (int c = 0; c < m; ++c) {
    double* column = derivative + c * m;
    const double r_n = c == n ? 1.0 : 0.0, r_q = c < n ? q[c] * h[c] : 0.0;
    const double dnu = ((1.0 - 2.0 * tau) * r_q - normal * r_n) / determinant;
    for (int j = 0; j < n; ++j) column[j] = h[j] * ((c == j ? rest : 0.0) - q[j] * dnu);
    column[n] = (stiffness * r_n + normal * r_q) / determinant;
  }
}

}  // namespace

void project_ball(int n, double radius, const double* x, double* y) {
  const double length = norm(n, x);
  const double limit = radius > 0.0 ? radius : 0.0;
  const double scale = length > limit ? limit / length : 1.0;
  for (int i = 0; i < n; ++i) y[i] = scale * x[i];
}

void project_ball_derivative(int n, double radius, const double* x, double* derivative) {
  const double length = norm(n, x);
  const double limit = radius > 0.0 ? radius : 0.0;
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < n; ++r) {
      const double unit = r == c ? 1.0 : 0.0;
      derivative[c * n + r] = length > limit ? limit / length * (unit - x[r] / length * (x[c] / length)) : unit;
    }
  }
}

void project_ellipsoid(int n, const double* mu, double radius, const double* x, double* y) {
  bool equal = true;
  for (int j = 1; j < n; ++j) equal = equal && mu[j] == mu[0];
  if (equal) {
    if (n > 0) project_ball(n, mu[0] * radius, x, y);
    return;
  }
  if (!(radius > 0.0)) {
    std::fill(y, y + n, 0.0);
    return;
  }
  double inside = 0.0;
  for (int j = 0; j < n; ++j) {
    if (mu[j] > 0.0) inside += x[j] * x[j] / (mu[j] * mu[j]);
  }
  // y_j = mu_j^2 x_j / (mu_j^2 + nu): the sum of (y_j / mu_j)^2 is convex and falls with nu, so Newton from 0 never
  // oversteps.
  double nu = 0.0;
  if (inside > radius * radius) {
    for (int step = 0; step < kMaxNewtonSteps; ++step) {
      double f = -radius * radius, slope = 0.0;
      for (int j = 0; j < n; ++j) {
        if (!(mu[j] > 0.0)) continue;
        const double share = mu[j] * x[j] / (mu[j] * mu[j] + nu);
        f += share * share;
        slope -= 2.0 * share * share / (mu[j] * mu[j] + nu);
      }
      if (!(f > 0.0) || !(slope < 0.0)) break;
      const double change = -f / slope;
      nu += change;
      if (change <= 1e-15 * nu) break;
    }
  }
  double size = 0.0;
  for (int j = 0; j < n; ++j) {
    const double own = x[j];
    y[j] = mu[j] > 0.0 ? mu[j] * mu[j] * own / (mu[j] * mu[j] + nu) : 0.0;
    if (mu[j] > 0.0) size += y[j] * y[j] / (mu[j] * mu[j]);
  }
  if (nu > 0.0 && size > 0.0) {  // on the surface to the last digit, also for radius 0
    const double scale = std::max(0.0, radius) / std::sqrt(size);
    for (int j = 0; j < n; ++j) y[j] *= scale;
  }
}

double cone_excess(int m, const double* mu, const double* x) {
  double sum = 0.0, forbidden = 0.0;
  for (int j = 0; j < m - 1; ++j) {
    if (mu[j] > 0.0) {
      const double ratio = x[j] / mu[j];
      sum += ratio * ratio;
    } else {
      forbidden = std::max(forbidden, std::abs(x[j]));
    }
  }
  return std::max(std::sqrt(sum) - x[m - 1], forbidden > 0.0 ? forbidden : -std::numeric_limits<double>::infinity());
}

double dual_cone_excess(int m, const double* mu, const double* x) { return weighted_norm(m - 1, mu, x) - x[m - 1]; }

void project_cone(int m, const double* mu, const double* point, double* y) {
  const int n = m - 1;
  if (m == 1) {
    y[0] = project_nonnegative(point[0]);
    return;
  }
  if (m == 3 && mu[0] == mu[1]) {
    project_circular_cone(mu[0], point, y);
    return;
  }
  double x[kMaxConeSize];
  drop_frictionless(m, mu, point, x);
  switch (locate(m, mu, x)) {
    case Region::kPolar:
      std::fill(y, y + m, 0.0);
      return;
    case Region::kInside:
      std::copy(x, x + m, y);
      return;
    case Region::kSurface:
      break;
  }
  if (is_circular(m, mu)) {
    const double t = norm(n, x);
    const double normal = (mu[0] * t + x[n]) / (1.0 + mu[0] * mu[0]);
    for (int j = 0; j < n; ++j) y[j] = mu[0] * normal / t * x[j];
    y[n] = normal;
    return;
  }
  const double tau = find_tau(m, mu, x);
  double sum = 0.0;
  for (int j = 0; j < n; ++j) {
    const double denominator = mu[j] * mu[j] * (1.0 - tau) + tau;
    const double z = denominator > 0.0 ? mu[j] * x[j] / denominator : 0.0;
    sum += z * z;
    y[j] = (1.0 - tau) * mu[j] * z;
  }
  y[n] = (1.0 - tau) * std::sqrt(sum);
}

void project_polar_cone(int m, const double* mu, const double* x, double* y) {
  double projected[kMaxConeSize];
  project_cone(m, mu, x, projected);
  for (int i = 0; i < m; ++i) y[i] = x[i] - projected[i];
}

void project_dual_cone(int m, const double* mu, const double* x, double* y) {
  if (dual_cone_excess(m, mu, x) <= 0.0) {  // membership first: exact, also for mu = 0
    std::copy(x, x + m, y);
    return;
  }
  double mirrored[kMaxConeSize];
  for (int i = 0; i < m; ++i) mirrored[i] = -x[i];
  project_cone(m, mu, mirrored, mirrored);
  for (int i = 0; i < m; ++i) y[i] = x[i] + mirrored[i];
}

void project_cone_derivative(int m, const double* mu, const double* point, double* derivative) {
  std::fill(derivative, derivative + m * m, 0.0);
  if (m == 1) {
    derivative[0] = point[0] > 0.0 ? 1.0 : 0.0;
    return;
  }
  double x[kMaxConeSize];
  drop_frictionless(m, mu, point, x);
  switch (locate(m, mu, x)) {
    case Region::kPolar:
      return;
    case Region::kInside:
      for (int i = 0; i < m; ++i) derivative[i * m + i] = i == m - 1 || mu[i] > 0.0 ? 1.0 : 0.0;
      return;
    case Region::kSurface:
      cone_surface_derivative(m, mu, x, derivative);
  }
}

}  // namespace touchstone

// Projections on the convex sets of contact, with derivatives.
//
// The friction cone of dimension m, normal component last, with coefficients mu_1 .. mu_{m-1} >= 0:
//
//     K  = { x : |x_t / mu| <= x_n }      (a component with mu_j = 0 must vanish)
//     K* = { x : |mu x_t|   <= x_n }      its dual; the polar cone is K° = -K*
//
// With equal coefficients K is a circular second-order cone. "/" and juxtaposition act by component.
// Moreau: x = P_K(x) + P_K°(x), the two parts orthogonal; and P_K*(x) = x + P_K(-x).
//
// All functions work on plain arrays of at most kMaxConeSize numbers; input and output may be the same array.
// Matrices are m x m and column-major.
#pragma once

#include <algorithm>
#include <cmath>

namespace touchstone {

constexpr int kMaxConeSize = 6;

// [0, inf) and [lo, hi]; lo <= hi, both may be infinite.
inline double project_nonnegative(double x) { return x > 0.0 ? x : 0.0; }
inline double project_interval(double x, double lo, double hi) { return std::min(std::max(x, lo), hi); }

// The ball |x| <= radius of dimension n (a disk for n = 2); a negative radius counts as zero.
void project_ball(int n, double radius, const double* x, double* y);
void project_ball_derivative(int n, double radius, const double* x, double* derivative);

// The nearest point of the ellipsoid |x / mu| <= radius of dimension n; components with mu = 0 vanish.
void project_ellipsoid(int n, const double* mu, double radius, const double* x, double* y);

// The friction cone, its dual and its polar cone. Exact: a closed form when all mu are equal; otherwise Newton,
// on a scalar equation, from the side on which it never oversteps (see cones.cpp).
void project_cone(int m, const double* mu, const double* x, double* y);
void project_dual_cone(int m, const double* mu, const double* x, double* y);
void project_polar_cone(int m, const double* mu, const double* x, double* y);

// An element of the generalised Jacobian of project_cone at x: the derivative wherever it exists.
void project_cone_derivative(int m, const double* mu, const double* x, double* derivative);

// How far x is outside: |x_t / mu| - x_n, and |mu x_t| - x_n; not a distance. With mu_j = 0 the first counts |x_j| as
// an excess of its own.
double cone_excess(int m, const double* mu, const double* x);
double dual_cone_excess(int m, const double* mu, const double* x);

// Above this coefficient the surface of a cone is computed with its inverse, because the square would overflow.
constexpr double kSteepCone = 1e6;

// The circular cone of dimension 3, for inner loops: x = [t1, t2, n].
inline void project_circular_cone(double mu, const double* x, double* y) {
  const double t = std::sqrt(x[0] * x[0] + x[1] * x[1]), n = x[2];
  if (mu * t <= -n) {  // in the polar cone; tested first, so that mu = 0 is right
    y[0] = y[1] = y[2] = 0.0;
  } else if (t <= mu * n) {
    y[0] = x[0], y[1] = x[1], y[2] = n;
  } else if (mu > kSteepCone) {
    const double inverse = 1.0 / mu, tangent = (t + n * inverse) / (1.0 + inverse * inverse);
    const double scale = tangent / t;
    y[0] = scale * x[0], y[1] = scale * x[1], y[2] = inverse * tangent;
  } else {
    const double normal = (mu * t + n) / (1.0 + mu * mu);
    const double scale = mu * normal / t;
    y[0] = scale * x[0], y[1] = scale * x[1], y[2] = normal;
  }
}

}  // namespace touchstone

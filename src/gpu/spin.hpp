// The gyroscopic torque of free bodies by the implicit midpoint rule, which keeps the energy of a spin: the same as
// dynamics/gyroscopic.hpp, where the rule and its reference are.
#pragma once

#include "touchstone/gpu/kinematics.hpp"

namespace touchstone::gpu {

constexpr int kSpinSteps = 10;
constexpr double kSpinSettled = 1e-15;   // of the angular momentum
constexpr double kSpinHarmless = 1e-13;  // of it: a torque that changes less in a step

// A x = e, by Cramer's rule.
TOUCHSTONE_LANE Vec solve(const Mat& A, Vec e) {
  const Vec bc = cross(A.b, A.c);
  const double scale = 1.0 / dot(A.a, bc);
  return {scale * dot(e, bc), scale * dot(A.a, cross(e, A.c)), scale * dot(A.a, cross(A.b, e))};
}

// The angular velocity after a step, of a body with the inertia I about its centre of mass.
TOUCHSTONE_LANE Vec next_spin(const Mat& I, Vec w, double h) {
  const Vec momentum = I * w;
  Vec next = w;
  for (int step = 0; step < kSpinSteps; ++step) {
    const Vec mean = 0.5 * (w + next), mean_momentum = I * mean;
    const Vec error = I * (next - w) + h * cross(mean, mean_momentum);
    if (!(length(error) > kSpinSettled * length(momentum))) break;
    const auto column = [&](Vec of_I, Vec unit) {
      return of_I + 0.5 * h * (cross(mean, of_I) - cross(mean_momentum, unit));
    };
    next = next - solve(Mat{column(I.a, axis(0, 1.0)), column(I.b, axis(1, 1.0)), column(I.c, axis(2, 1.0))}, error);
  }
  const double energy = dot(next, I * next);
  if (!(energy > 0.0) || !(energy < 1e300)) return w;
  return sqrt(dot(w, momentum) / energy) * next;
}

// Adds to tau what turns the torque of the start of the step into that of the rule. Needs the mass matrix in L.
template <typename Real>
TOUCHSTONE_LANE void conserve_spin(const ModelView& m, Scratch<Real>& s, int joint) {
  if (m.joint_spins[joint] == 0) return;
  const int dof = m.joint_dof[joint];
  const double mass = s.L[m.row_start[dof]], h = m.settings.time_step;
  double I[3][3];
  for (int i = 0; i < 3; ++i) {
    const double* row = s.L + m.row_start[dof + 3 + i];
    for (int j = 0; j <= i; ++j) {
      const double* other = s.L + m.row_start[dof + 3 + j];
      I[i][j] = I[j][i] = row[3 + j] - (row[0] * other[0] + row[1] * other[1] + row[2] * other[2]) / mass;
    }
  }
  const Mat inertia{load_vec(I[0]), load_vec(I[1]), load_vec(I[2])};
  const Vec w = load_vec(s.v + dof + 3), momentum = inertia * w, torque = cross(w, momentum);
  if (!(h * length(torque) > kSpinHarmless * length(momentum))) return;
  const Vec added = (1.0 / h) * (inertia * (next_spin(inertia, w, h) - w)) + torque;
  for (int k = 0; k < 3; ++k) s.tau[dof + 3 + k] += entry(added, k);
}

}  // namespace touchstone::gpu

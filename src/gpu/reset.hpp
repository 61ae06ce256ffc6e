// Worlds back to a state: the reference configuration or a given one, exactly or with noise. One lane a world; the
// noise of a world follows from the seed and its number alone, whatever computes it.
#pragma once

#include <limits>

#include "touchstone/gpu/kinematics.hpp"
#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

// Addresses are in the memory of the batch. q and v: of all worlds, or null for the reference configuration at rest.
struct ResetStates {
  const unsigned char* mask = nullptr;  // worlds: 0 for those that go on; null: all are reset
  const double *q = nullptr, *v = nullptr;
  double noise_q = 0.0, noise_v = 0.0;  // m or rad, m/s or rad/s: each number up to so far from that
  std::uint64_t seed = 0;
};

// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014: the output function of SplitMix64.
TOUCHSTONE_LANE std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The k-th number of a world, from -1 to 1. Seeds are scrambled by themselves: added to the number of a world they
// would give world 7 with seed 1 the noise of world 6 with seed 2.
TOUCHSTONE_LANE double noise(std::uint64_t seed, int world, int k) {
  const std::uint64_t of_world = scramble(scramble(seed) + static_cast<std::uint64_t>(world));
  const std::uint64_t bits = scramble(of_world + static_cast<std::uint64_t>(k));
  return 2.0 * static_cast<double>(bits >> 11) * 0x1p-53 - 1.0;
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// `w`: the number of the world. Forgets impulses, activations and the last certificate.
TOUCHSTONE_LANE void reset_world(const ModelView& m, const ResetStates& to, int w, WorldState& world) {
  const ModelSizes& n = m.sizes;
  const auto row = [w](const double* all, int width) {
    return all + static_cast<std::size_t>(w) * static_cast<std::size_t>(width);
  };
  const double* q = to.q != nullptr ? row(to.q, n.nq) : m.reference_q;
  for (int i = 0; i < n.nq; ++i) world.q[i] = q[i];
  // v holds the noise of the configuration until that is added.
  for (int i = 0; i < n.nv; ++i) world.v[i] = to.noise_q > 0.0 ? to.noise_q * noise(to.seed, w, i) : 0.0;
  if (to.noise_q > 0.0) {
    integrate(SerialTeam(), m, world.q, world.v, 1.0, world.q);
    for (int k = 0; k < n.limits; ++k) {
      const int j = m.limit_joint[k];
      if (m.joint_type[j] == kBallJoint) continue;
      double& x = world.q[m.joint_q[j]];
      x = clamp(x, m.limit_range[2 * k], m.limit_range[2 * k + 1]);
    }
  }
  for (int i = 0; i < n.nv; ++i) {
    world.v[i] = to.v != nullptr ? row(to.v, n.nv)[i] : 0.0;
    if (to.noise_v > 0.0) world.v[i] += to.noise_v * noise(to.seed, w, n.nv + i);
  }
  for (int i = 0; i < n.na; ++i) world.activation[i] = 0.0;
  for (int i = 0; i < n.loop_numbers; ++i) world.loop_q[i] = m.reference_loop[i];
  for (int i = 0; i < 7 * n.followed; ++i) world.mocap_before[i] = kUnknown;
  for (int i = 0; i < n.old_velocity; ++i) world.old_velocity[i] = kUnknown;
  for (int i = 0; i < n.sensor_numbers; ++i) world.sensors[i] = 0.0;
  *world.warm.count = 0;
  forget_pass(m.settings, *world.since_pass, *world.reach);
  *world.time = *world.natv = 0.0;
  *world.status = *world.contacts = *world.sweeps = 0;
}

}  // namespace touchstone::gpu

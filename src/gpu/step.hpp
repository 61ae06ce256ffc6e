// One step of one world by one team of lanes (semi-implicit Euler or Moreau's midpoint rule, hard constraints).
#pragma once

#include "touchstone/gpu/spin.hpp"

#include "touchstone/gpu/certificate.hpp"
#include "touchstone/gpu/loop_forces.hpp"
#include "touchstone/gpu/mean_velocity.hpp"
#include "touchstone/gpu/modes.hpp"
#include "touchstone/gpu/observe.hpp"
#include "touchstone/gpu/pass.hpp"

namespace touchstone::gpu {

struct StepOptions {
  double tolerance = 1e-3;  // relative natv
  int sweeps = 24;          // of the first tier, in float: at most
  int more_sweeps = 16;     // of the second, in float
  int most_sweeps = 0;      // of the third, in double; 0: what the second tier cannot certify moves on as it is
  int check_every = 20;     // sweeps of the third tier between certificates
};

// Calls use(team) with the team of one lane that a model needs.
template <typename Use>
auto with_serial_team(const ModelSizes& n, const Use& use) {
  if (is_full(n)) return use(FullTeam<SerialTeam>());
  return is_general(n) ? use(GeneralTeam<SerialTeam>()) : use(SerialTeam());
}

// What became of an attempt at a step.
enum class StepOutcome : int {
  kPending,   // nothing yet
  kDone,      // the state has moved
  kUnsolved,  // not certified: the state has not moved, the impulses are kept to go on from
  kNoRows,    // more rows than a small pool holds; a larger one may
  kNoRoom,    // more contacts than the record holds
  kServos,    // servos turned out to be beyond their limits
  kBroken,    // not finite, or no factor
  kThird,     // left to the third tier from the start: the rule takes several solves
};

// Everything before the solve. `again`: servos that were bounded stay so. False if there is no factor.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool begin_step(const Team& team, const ModelView& m, const WorldState& world, Scratch<Real>& s,
                                bool again = false) {
  const double ahead = m.settings.time_step - m.settings.remaining;  // the midpoint rule computes half a step ahead
  if (ahead > 0.0) {
    integrate(team, m, world.q, world.v, ahead, s.q);
  } else {
    TOUCHSTONE_ROLLED
    for (int i = team.lane(); i < m.sizes.nq; i += team.size()) s.q[i] = world.q[i];
  }
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.v[i] = world.v[i];
  if (team.lane() == 0 && m.settings.pass_interval > 0.0) s.reach[0] = *world.reach;
  team.sync();
  forward_kinematics(team, m, s);
  compute_bias(team, m, s);
  begin_forces(team, m, world, s, again);
  compute_mass(team, m, s);
  TOUCHSTONE_ROLLED
  for (int j = team.lane(); j < m.sizes.joints; j += team.size()) conserve_spin(m, s, j);
  team.sync();
  if (!compute_free_motion(team, m, s)) return false;
  if (m.sizes.equality_rows == 0) body_velocities(team, m, s, s.v_free, s.free_velocity);
  return true;
}

// False if there are more rows than the pool holds. Needs begin_loops.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool assemble(const Team& team, const ModelView& m, const WorldState& world, Scratch<Real>& s) {
  s.block_count = s.row_count = 0;
  if (m.sizes.equality_rows > 0 && s.contact_count > 0)  // without loops they are there already
    body_velocities(team, m, s, s.v_free, s.v_base, s.free_velocity, s.base_velocity);
  if (!list_singles(team, m, s) || !list_contacts(team, m, s)) return false;
  fill_rows(team, m, s);
  recall_impulses(team, m, world.warm, s);
  gather_impulses(team, m, s);
  return true;
}

// What the third tier has beside its scratch: memory for modes, and the place of the best impulses so far.
struct ThoroughMemory {
  PassMemory* modes = nullptr;
  WarmStart best;
};

// Sweeps until the tolerance holds, or the number of sweeps is spent; with `thorough` also by modes, after the first
// sweeps and each time that their number has doubled, and the best impulses of all are what stays: where sweeps circle,
// the last are not. Returns the relative natv.
template <typename Team, typename Real>
TOUCHSTONE_LANE double solve_contacts(const Team& team, const ModelView& m, Scratch<Real>& s, double tolerance,
                                      int most_sweeps, int check_every, int& sweeps,
                                      ThoroughMemory* thorough = nullptr) {
  Mixing<Real> mixing;
  double natv = 0.0, best = 1e300;
  int next_modes = check_every;
  const auto keep = [&] {
    if (thorough == nullptr || !(natv < best)) return;
    best = natv;
    store_impulses(team, m, thorough->best, s);
  };
  do {
    if (s.block_count > 0) {
      sweeps += run_sweeps(team, m, s, check_every, Real(0), mixing);
    }
    advance_velocity(team, m, s);
    natv = certify(team, m, s);
    if (s.block_count == 0 || !(natv > tolerance)) return natv;
    keep();
    if (thorough != nullptr && sweeps >= next_modes) {
      next_modes = 2 * sweeps;
      natv = follow_modes(team, m, s, natv, tolerance, *thorough->modes);
      if (!(natv > tolerance)) return natv;
      keep();
    }
    mixing.depth = 0;
    gather_impulses(team, m, s);
  } while (sweeps < most_sweeps);
  if (thorough == nullptr || !(best < natv)) return natv;
  recall_impulses(team, m, thorough->best, s);
  advance_velocity(team, m, s);
  return certify(team, m, s);
}

// The state after the step. False, and nothing changed, if it is not finite. s.q stays that of the step.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool finish_step(const Team& team, const ModelView& m, WorldState& world, Scratch<Real>& s) {
  constexpr double kLargest = 1e90;  // what is below is finite after the step, too
  bool broken = false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nq; i += team.size()) broken = broken || !(fabs(s.q[i]) < kLargest);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) broken = broken || !(fabs(s.v_next[i]) < kLargest);
  if (team.any(broken)) return false;
  integrate(team, m, s.q, s.v_next, m.settings.remaining, world.q);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) world.v[i] = s.v_next[i];
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.na; i += team.size()) world.activation[i] = s.activation[i];
  if constexpr (Team::kFull) {
    TOUCHSTONE_ROLLED
    for (int k = team.lane(); k < m.sizes.loop_numbers; k += team.size()) world.loop_q[k] = s.coordinate[k];
    TOUCHSTONE_ROLLED
    for (int k = team.lane(); k < 7 * m.sizes.followed; k += team.size()) world.mocap_before[k] = m.mocap_pose[k];
  }
  if (team.lane() == 0) *world.time += m.settings.time_step;
  return true;
}

template <typename Team>
TOUCHSTONE_LANE void report(const Team& team, WorldState& world, WorldStatus status, double natv, int contacts,
                            int sweeps) {
  if (team.lane() != 0) return;
  *world.status = static_cast<int>(status);
  *world.natv = natv;
  *world.contacts = contacts;
  *world.sweeps = sweeps;
}

// No step is made, whatever it could have been certified with.
template <typename Team>
TOUCHSTONE_LANE void lose(const Team& team, WorldState& world, WorldStatus status, int contacts = 0, int sweeps = 0) {
  report(team, world, status, kLostNatv, contacts, sweeps);
}

// The end of a step of the first two tiers: what they cannot certify they leave to the next, with its impulses.
template <typename Team, typename Real>
TOUCHSTONE_LANE StepOutcome finish_first(const Team& team, const ModelView& m, WorldState& world, Scratch<Real>& s,
                                         double tolerance, bool last) {
  advance_velocity(team, m, s);
  const double natv = certify(team, m, s);
  if (bound_exceeding_servos(team, m, s)) return StepOutcome::kServos;
  store_impulses(team, m, world.warm, s);
  const bool certified = natv <= tolerance;
  if (!certified && !last) return StepOutcome::kUnsolved;
  if (!finish_step(team, m, world, s)) return StepOutcome::kBroken;
  report(team, world, certified ? WorldStatus::kOk : WorldStatus::kNotConverged, natv, s.contact_count, *world.sweeps);
  return StepOutcome::kDone;
}

// A way to the velocity of the same step's end that the third tier has found so far.
struct Found {
  double natv = 0.0;
  int sweeps = 0;
  ThoroughMemory thorough;
};

// After the free motion: sweeps until the tolerance holds, again with other bounds where servos reach their limits.
template <typename Team, typename Real>
TOUCHSTONE_LANE WorldStatus solve_world(const Team& team, const ModelView& m, const StepOptions& options,
                                        WorldState& world, Scratch<Real>& s, Found& found) {
  constexpr int kRounds = 5;  // in which servos may turn out to be beyond their limits
  int most = options.most_sweeps > 0 ? options.most_sweeps : options.more_sweeps;
  if constexpr (Team::kFull) {
    if (m.sizes.old_velocity > 0 && options.most_sweeps == 0) most += options.sweeps;  // no tier was before
  }
  TOUCHSTONE_ROLLED
  for (int round = 0; round < kRounds; ++round) {
    begin_loops(team, m, world, s);
    if (!assemble(team, m, world, s)) return WorldStatus::kTooManyContacts;
    int spent = 0;
    found.natv = solve_contacts(team, m, s, options.tolerance, most, options.check_every, spent, &found.thorough);
    found.sweeps += spent;
    store_impulses(team, m, world.warm, s);
    if (round + 1 == kRounds || !bound_exceeding_servos(team, m, s)) break;
    compute_mass(team, m, s);
    if (!compute_free_motion(team, m, s)) return WorldStatus::kDiverged;
    if (m.sizes.equality_rows == 0) body_velocities(team, m, s, s.v_free, s.free_velocity);
  }
  return WorldStatus::kOk;
}

// The third tier, from the start of the step. Always says what became of the world.
template <typename Team, typename Real>
TOUCHSTONE_LANE void finish_world(const Team& team, const ModelView& m, const StepOptions& options, WorldState& world,
                                  Scratch<Real>& s, PassMemory& pass) {
  if (!begin_step(team, m, world, s)) return lose(team, world, WorldStatus::kDiverged);
  if (!find_contacts(team, m, s)) return lose(team, world, WorldStatus::kTooManyContacts);
  Found found{.thorough = {&pass, world.warm}};
  [[maybe_unused]] bool follows = false;
  if constexpr (Team::kFull) follows = begin_mean(team, m, world, s);
  WorldStatus status = solve_world(team, m, options, world, s, found);
  if constexpr (Team::kFull) {
    TOUCHSTONE_ROLLED
    for (int round = 0; follows && status == WorldStatus::kOk && round < kMeanRounds; ++round) {
      if (!mean_moves(team, m, s)) break;
      status = take_bias_at_mean(team, m, world, s) ? solve_world(team, m, options, world, s, found)
                                                    : WorldStatus::kDiverged;
    }
  }
  if (status != WorldStatus::kOk) return lose(team, world, status);
  const double natv = found.natv;
  const int sweeps = found.sweeps;
  if (!finish_step(team, m, world, s)) return lose(team, world, WorldStatus::kDiverged, s.contact_count, sweeps);
  if constexpr (Team::kFull) leave_velocity(team, m, world, follows);
  report(team, world, natv <= options.tolerance ? WorldStatus::kOk : WorldStatus::kNotConverged, natv, s.contact_count,
         sweeps);
  team.sync();
  if (m.sizes.sensors > 0) observe(team, m, world, s);
  if (m.settings.pass_interval > 0.0 && wants_pass(team, m, world, s)) recover(team, m, world, s, pass);
}

}  // namespace touchstone::gpu

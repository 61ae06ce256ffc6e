// The stages of a step as kernels of their own. What one of them leaves for the next lies in the record of the world,
// in global memory; what it works on lies in the fast memory of a multiprocessor. Small kernels keep their instructions
// in the caches, and many worlds on a multiprocessor: fused into one, a step took six times as long.
#pragma once

#include "touchstone/gpu/step.hpp"

namespace touchstone::gpu {

// Where a stage finds an array.
enum class Use : char {
  kNone,
  kKept,   // in the record, used there
  kRead,   // copied from the record
  kWrite,  // copied to the record
  kLocal,  // of this stage alone
};

struct StageUse {
#define TOUCHSTONE_FIELD(type, name, count) Use name = Use::kNone;
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
};

// Kinematics to free motion. Velocities are written once for other stages: they would take the room of other worlds.
struct TreeStage {
  static constexpr StageUse use{
      .q = Use::kWrite,
      .v = Use::kWrite,
      .X = Use::kWrite,
      .S = Use::kWrite,
      .velocity = Use::kKept,
      .free_velocity = Use::kKept,
      .subtree = Use::kLocal,
      .L = Use::kWrite,
      .D_inverse = Use::kWrite,
      .D_root = Use::kWrite,
      .tau = Use::kLocal,
      .v_free = Use::kWrite,
      .servo_force = Use::kKept,
      .servo_gain = Use::kKept,
      .activation = Use::kKept,
      .servo_mode = Use::kKept,
      .counts = Use::kKept,
      .servo_stiffness = Use::kKept,
      .reach = Use::kKept,
  };
};
struct CollideStage {
  static constexpr StageUse use{
      .X = Use::kRead,
      .velocity = Use::kRead,
      .ball = Use::kLocal,
      .candidate = Use::kLocal,
      .contacts = Use::kKept,
      .counts = Use::kKept,
      .reach = Use::kKept,
      .batches = Use::kKept,
      .surface_points = Use::kKept,
  };
};
// Equalities, where a model has any: of their own, since that takes less fast memory than rows and sweeps do.
struct LoopStage {
  static constexpr StageUse use{
      .q = Use::kKept,
      .v = Use::kKept,
      .X = Use::kKept,
      .S = Use::kRead,
      .velocity = Use::kKept,
      .L = Use::kRead,
      .D_root = Use::kRead,
      .v_free = Use::kKept,
      .v_base = Use::kWrite,
      .work = Use::kLocal,
      .servo_force = Use::kKept,
      .servo_gain = Use::kKept,
      .activation = Use::kKept,
      .servo_mode = Use::kKept,
      .Y_e = Use::kWrite,
      .G_e = Use::kWrite,
      .inverse_e = Use::kWrite,
      .lambda_e = Use::kLocal,
      .bias_e = Use::kWrite,
      .share_e = Use::kWrite,
      .W_e = Use::kKept,
      .counts = Use::kKept,
      .servo_stiffness = Use::kKept,
      .J_c = Use::kKept,
      .coordinate = Use::kKept,
  };
};
// Rows and sweeps.
struct SolveStage {
  static constexpr StageUse use{
      .q = Use::kKept,
      .v = Use::kKept,
      .X = Use::kKept,
      .S = Use::kKept,
      .velocity = Use::kKept,
      .free_velocity = Use::kKept,
      .base_velocity = Use::kKept,
      .L = Use::kKept,
      .D_root = Use::kKept,
      .v_free = Use::kKept,
      .v_base = Use::kKept,
      .servo_force = Use::kKept,
      .servo_gain = Use::kKept,
      .servo_mode = Use::kKept,
      .Y_e = Use::kKept,
      .share_e = Use::kKept,
      .W_e = Use::kKept,
      .Q_e = Use::kLocal,
      .part_e = Use::kLocal,
      .contacts = Use::kKept,
      .blocks = Use::kWrite,
      .L_rows = Use::kLocal,
      .D_half = Use::kLocal,
      .Y = Use::kLocal,
      .g = Use::kLocal,
      .lambda = Use::kWrite,
      .y = Use::kLocal,
      .f_1 = Use::kLocal,
      .f_2 = Use::kLocal,
      .g_1 = Use::kLocal,
      .g_2 = Use::kLocal,
      .y_1 = Use::kLocal,
      .y_2 = Use::kLocal,
      .start = Use::kLocal,
      .counts = Use::kKept,
      .reach = Use::kKept,
      .cones = Use::kKept,
      .J_c = Use::kKept,
      .coordinate = Use::kKept,
  };
};
// Certificate and the next state. What it reads it reads once or twice: worlds with little fast memory are more worlds
// at a time, and a copy would cost as much (a quarter of the stage's time with loops, a tenth without).
struct FinishStage {
  static constexpr StageUse use{
      .q = Use::kKept,
      .v = Use::kKept,
      .X = Use::kKept,
      .S = Use::kKept,
      .free_velocity = Use::kKept,
      .next_velocity = Use::kLocal,
      .L = Use::kRead,
      .D_inverse = Use::kKept,
      .D_root = Use::kKept,
      .v_free = Use::kKept,
      .v_base = Use::kKept,
      .v_next = Use::kLocal,
      .work = Use::kLocal,
      .servo_force = Use::kKept,
      .servo_gain = Use::kKept,
      .activation = Use::kKept,
      .servo_mode = Use::kKept,
      .Y_e = Use::kKept,
      .G_e = Use::kRead,
      .inverse_e = Use::kKept,
      .lambda_e = Use::kLocal,
      .bias_e = Use::kKept,
      .along_e = Use::kLocal,
      .contacts = Use::kKept,
      .blocks = Use::kKept,
      .lambda = Use::kKept,
      .counts = Use::kKept,
      .reach = Use::kKept,
      .cones = Use::kKept,
      .J_c = Use::kKept,
      .coordinate = Use::kKept,
  };
};

// The position pass: once in a while, and on memory of its own.
struct PassStage {
  static constexpr StageUse use{
      .q = Use::kKept,
      .v = Use::kKept,
      .X = Use::kKept,
      .S = Use::kKept,
      .L = Use::kKept,
      .D_inverse = Use::kKept,
      .D_root = Use::kKept,
      .v_free = Use::kKept,
      .contacts = Use::kKept,
      .blocks = Use::kKept,
      .counts = Use::kKept,
      .servo_stiffness = Use::kKept,
      .reach = Use::kKept,
      .J_c = Use::kKept,
      .coordinate = Use::kKept,
  };
};

// Sensors, on request.
struct ObserveStage {
  static constexpr StageUse use{
      .q = Use::kKept,
      .v = Use::kKept,
      .X = Use::kKept,
      .S = Use::kKept,
      .velocity = Use::kKept,
      .servo_force = Use::kKept,
      .servo_gain = Use::kKept,
      .servo_mode = Use::kKept,
      .contacts = Use::kKept,
      .blocks = Use::kKept,
      .lambda = Use::kKept,
      .counts = Use::kKept,
      .cones = Use::kKept,
      .J_c = Use::kKept,
      .coordinate = Use::kKept,
  };
};

constexpr bool is_kept(Use use) { return use == Use::kKept || use == Use::kRead || use == Use::kWrite; }
constexpr bool is_local(Use use) { return use == Use::kRead || use == Use::kWrite || use == Use::kLocal; }

// What the record holds: whatever any stage keeps.
constexpr StageUse record_use() {
  StageUse all;
#define TOUCHSTONE_FIELD(type, name, count)                                                              \
  if (is_kept(TreeStage::use.name) || is_kept(CollideStage::use.name) || is_kept(LoopStage::use.name) || \
      is_kept(SolveStage::use.name) || is_kept(FinishStage::use.name) || is_kept(PassStage::use.name))   \
    all.name = Use::kKept;
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  return all;
}
constexpr StageUse kRecordUse = record_use();

// Addresses of the arrays of a stage with room for `pool` in `local`; `room` is what the record has been made for.
// Returns the bytes of `local`.
template <typename Stage, typename Real>
TOUCHSTONE_BOTH std::size_t carve_stage(const ModelSizes& n, const Pool& local_pool, const Pool& room, char* local,
                                        char* record, Scratch<Real>& s) {
  Carver here(local), there(record);
  const int stride = row_stride(n);
  s.pool = local_pool;
  s.stride = stride;
#define TOUCHSTONE_FIELD(type, name, count)           \
  {                                                   \
    auto kept = static_cast<type*>(nullptr);          \
    if constexpr (kRecordUse.name == Use::kKept) {    \
      [[maybe_unused]] const Pool& pool = room;       \
      kept = there.template take<type>(count);        \
    }                                                 \
    if constexpr (is_local(Stage::use.name)) {        \
      [[maybe_unused]] const Pool& pool = local_pool; \
      s.name = here.template take<type>(count);       \
    } else {                                          \
      s.name = kept;                                  \
    }                                                 \
  }
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  s.contact_count = s.block_count = s.row_count = 0;
  return here.used();
}

inline std::size_t record_bytes(const ModelSizes& n, const Pool& pool) {
  Carver carver(nullptr);
  const int stride = row_stride(n);
  using Real = float;
#define TOUCHSTONE_FIELD(type, name, count) \
  if (kRecordUse.name == Use::kKept) carver.take<type>(count);
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  return carver.used();
}

template <typename Team>
TOUCHSTONE_LANE void copy_words(const Team& team, const void* from, void* to, std::size_t bytes) {
  const auto* source = static_cast<const std::int64_t*>(from);
  auto* target = static_cast<std::int64_t*>(to);
  const int words = static_cast<int>((bytes + 7) / 8);
  constexpr int kAtOnce = 4;  // loads that are under way together
  int i = team.lane();
  TOUCHSTONE_ROLLED
  for (; i + (kAtOnce - 1) * team.size() < words; i += kAtOnce * team.size()) {
    std::int64_t held[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) held[k] = source[i + k * team.size()];
    for (int k = 0; k < kAtOnce; ++k) target[i + k * team.size()] = held[k];
  }
  TOUCHSTONE_ROLLED
  for (; i < words; i += team.size()) target[i] = source[i];
}

// Between the record and the fast memory of a stage: whole arrays, and of those with room for a pool what is in use.
template <typename Stage, bool kOut, typename Team, typename Real>
TOUCHSTONE_LANE void copy_arrays(const Team& team, const ModelSizes& n, const Pool& room, char* record,
                                 const Scratch<Real>& s) {
  constexpr Use kWanted = kOut ? Use::kWrite : Use::kRead;
  const Pool used{s.contact_count, s.block_count, s.row_count, 0};
  const int stride = s.stride;
  Carver there(record);
#define TOUCHSTONE_FIELD(type, name, count)                                                                 \
  if constexpr (kRecordUse.name == Use::kKept) {                                                            \
    auto* kept = [&]([[maybe_unused]] const Pool& pool) { return there.template take<type>(count); }(room); \
    const auto bytes = [&]([[maybe_unused]] const Pool& pool) {                                             \
      return static_cast<std::size_t>(count) * sizeof(type);                                                \
    };                                                                                                      \
    if constexpr (Stage::use.name == kWanted)                                                               \
      copy_words(team, kOut ? s.name : kept, kOut ? kept : s.name, bytes(used));                            \
  }
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  team.sync();
}

// --- the stages ---

// The memory of one stage of one world.
struct StageMemory {
  Pool pool, room;  // of this stage, and of the record
  char *local, *record;
};

// Calls work(scratch) between the copies of a stage, if wanted(what became of the step so far), which is in counts[3].
template <typename Stage, typename Team, typename Work, typename Wanted>
TOUCHSTONE_LANE void run_stage(const Team& team, const ModelView& m, const StageMemory& memory, const Work& work,
                               const Wanted& wanted) {
  Scratch<float> s;
  carve_stage<Stage>(m.sizes, memory.pool, memory.room, memory.local, memory.record, s);
  if (!wanted(static_cast<StepOutcome>(s.counts[3]))) return;
  s.contact_count = s.counts[0];
  s.block_count = s.counts[1];
  s.row_count = s.counts[2];
  copy_arrays<Stage, false>(team, m.sizes, memory.room, memory.record, s);
  const StepOutcome outcome = work(s);
  copy_arrays<Stage, true>(team, m.sizes, memory.room, memory.record, s);
  if (team.lane() == 0) {
    s.counts[0] = s.contact_count;
    s.counts[1] = s.block_count;
    s.counts[2] = s.row_count;
    s.counts[3] = static_cast<int>(outcome);
  }
  team.sync();
}

// `again`: only where servos turned out to be beyond their limits; those are bounded from the start then.
template <typename Team>
TOUCHSTONE_LANE void run_tree(const Team& team, const ModelView& m, WorldState& world, bool again,
                              const StageMemory& memory) {
  run_stage<TreeStage>(
      team, m, memory,
      [&](Scratch<float>& s) {
        if (!again) s.contact_count = s.block_count = s.row_count = 0;
        if constexpr (Team::kFull) {
          if (m.sizes.old_velocity > 0) return StepOutcome::kThird;
        }
        return begin_step(team, m, world, s, again) ? StepOutcome::kPending : StepOutcome::kBroken;
      },
      [&](StepOutcome before) { return !again || before == StepOutcome::kServos; });
}

// After run_tree, for the same worlds.
template <typename Team>
TOUCHSTONE_LANE void run_loops(const Team& team, const ModelView& m, const WorldState& world,
                               const StageMemory& memory) {
  run_stage<LoopStage>(
      team, m, memory,
      [&](Scratch<float>& s) {
        begin_loops(team, m, world, s);
        return StepOutcome::kPending;
      },
      [](StepOutcome before) { return before == StepOutcome::kPending; });
}

template <typename Team>
TOUCHSTONE_LANE void run_collide(const Team& team, const ModelView& m, const StageMemory& memory) {
  run_stage<CollideStage>(
      team, m, memory,
      [&](Scratch<float>& s) { return find_contacts(team, m, s) ? StepOutcome::kPending : StepOutcome::kNoRoom; },
      [](StepOutcome before) { return before == StepOutcome::kPending; });
}

template <typename Team>
TOUCHSTONE_LANE void run_solve(const Team& team, const ModelView& m, WorldState& world, int sweeps, double tolerance,
                               const StageMemory& memory) {
  run_stage<SolveStage>(
      team, m, memory,
      [&](Scratch<float>& s) {
        if (!assemble(team, m, world, s)) {
          s.block_count = s.row_count = 0;
          return StepOutcome::kNoRows;
        }
        const int done = settle(team, m, s, sweeps, tolerance);
        if (team.lane() == 0) *world.sweeps = done;
        return StepOutcome::kPending;
      },
      [](StepOutcome before) {
        return before == StepOutcome::kPending || before == StepOutcome::kUnsolved || before == StepOutcome::kNoRows;
      });
}

// `last`: no other tier sweeps on, so that the state moves on with the certificate that it has.
template <typename Team>
TOUCHSTONE_LANE StepOutcome run_finish(const Team& team, const ModelView& m, WorldState& world, double tolerance,
                                       bool last, const StageMemory& memory) {
  run_stage<FinishStage>(
      team, m, memory, [&](Scratch<float>& s) { return finish_first(team, m, world, s, tolerance, last); },
      [](StepOutcome before) { return before == StepOutcome::kPending; });
  Scratch<float> s;
  carve_stage<FinishStage>(m.sizes, memory.pool, memory.room, memory.local, memory.record, s);
  return static_cast<StepOutcome>(s.counts[3]);
}

// The arrays of a step that has come to its end, for the position pass. False if another tier has to end it.
TOUCHSTONE_LANE bool open_pass(const ModelView& m, const StageMemory& memory, Scratch<float>& s) {
  carve_stage<PassStage>(m.sizes, memory.pool, memory.room, nullptr, memory.record, s);
  s.contact_count = s.counts[0];
  s.block_count = s.counts[1];
  s.row_count = s.counts[2];
  return static_cast<StepOutcome>(s.counts[3]) == StepOutcome::kDone;
}

// Whether a world needs a position pass, after its step. What the third tier ends has had its own.
template <typename Team>
TOUCHSTONE_LANE bool run_check(const Team& team, const ModelView& m, WorldState& world, const StageMemory& memory) {
  Scratch<float> s;
  return open_pass(m, memory, s) && wants_pass(team, m, world, s);
}

// After a reset: no step has been made from this state.
TOUCHSTONE_LANE void forget_record(const ModelView& m, const StageMemory& memory) {
  Scratch<float> s;
  carve_stage<ObserveStage>(m.sizes, memory.pool, memory.room, nullptr, memory.record, s);
  s.counts[3] = static_cast<int>(StepOutcome::kPending);
}

// What the third tier ends it observes itself.
template <typename Team>
TOUCHSTONE_LANE void run_observe(const Team& team, const ModelView& m, WorldState& world, const StageMemory& memory) {
  Scratch<float> s;
  carve_stage<ObserveStage>(m.sizes, memory.pool, memory.room, nullptr, memory.record, s);
  s.contact_count = s.counts[0];
  s.block_count = s.counts[1];
  s.row_count = s.counts[2];
  if (static_cast<StepOutcome>(s.counts[3]) == StepOutcome::kDone) observe(team, m, world, s);
}

template <typename Team>
TOUCHSTONE_LANE void run_pass(const Team& team, const ModelView& m, WorldState& world, const StageMemory& memory,
                              PassMemory& pass) {
  Scratch<float> s;
  if (open_pass(m, memory, s)) recover(team, m, world, s, pass);
}

}  // namespace touchstone::gpu

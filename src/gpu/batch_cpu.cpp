#include <algorithm>
#include <string>
#include <utility>

#include "touchstone/gpu/batch_store.hpp"
#include "touchstone/gpu/stages.hpp"

namespace touchstone::gpu {
namespace {

template <typename T>
class HostArray {
 public:
  HostArray() = default;
  explicit HostArray(std::size_t size) : values_(size) {}
  T* data() { return values_.data(); }
  std::size_t size() const { return values_.size(); }
  void write(const T* from) { std::copy(from, from + values_.size(), values_.begin()); }
  void read(T* to) const { std::copy(values_.begin(), values_.end(), to); }

 private:
  std::vector<T> values_;
};

// Memory in units that every array of a stage may start at.
std::vector<double> memory_of(std::size_t bytes) { return std::vector<double>(bytes / sizeof(double) + 1); }

class CpuBatch final : public StoredBatch<HostArray> {
 public:
  CpuBatch(ModelArrays arrays, int worlds, const BatchOptions& options)
      : StoredBatch(arrays, worlds, options), arrays_(std::move(arrays)), model_(view_of(arrays_)) {
    record_ = memory_of(record_bytes(sizes_, middle_));
    local_ = memory_of(scratch_bytes<float>(sizes_, middle_));
    large_memory_ = memory_of(scratch_bytes<double>(sizes_, large_));
    pass_memory_ = memory_of(pass_bytes(sizes_, middle_));
    large_pass_memory_ = memory_of(pass_bytes(sizes_, large_));
  }

  TierCounts tiers() const override { return tiers_; }
  void reset(const ResetRequest& request) override {
    const ResetStates to{request.mask, request.q, request.v, request.noise_q, request.noise_v, request.seed};
    for (int w = 0; w < view_.worlds; ++w) {
      if (to.mask != nullptr && to.mask[w] == 0) continue;
      WorldState world = view_.world(sizes_, w);
      reset_world(model_, to, w, world);
    }
  }
  void step(int count) override {
    for (int k = 0; k < count; ++k) {
      tiers_ = {};
      for (int w = 0; w < view_.worlds; ++w) {
        is_general(sizes_) ? make_step(GeneralTeam<SerialTeam>(), w) : make_step(SerialTeam(), w);
      }
    }
  }
  WorldImpulses impulses(int world) const override {
    const WorldState state = view_.world(sizes_, world);
    const int count = *state.warm.count;
    return {{state.warm.key, state.warm.key + count},
            {state.warm.impulse, state.warm.impulse + impulse_width(sizes_) * count}};
  }

 private:
  template <typename Team>
  void make_step(const Team& team, int w) {
    step_world(team, w);
    if (model_.settings.pass_interval > 0.0) recover_world(team, w);
  }
  template <typename Team>
  void step_world(const Team& team, int w) {
    const ModelView model = world_model(model_, view_.parameters, w);
    WorldState world = view_.world(sizes_, w);
    const auto memory = [this](const Pool& pool) {
      return StageMemory{pool, middle_, reinterpret_cast<char*>(local_.data()),
                         reinterpret_cast<char*>(record_.data())};
    };
    run_tree(team, model, world, false, memory(middle_));
    if (sizes_.equality_rows > 0) run_loops(team, model, memory(middle_));
    run_collide(team, model, memory(middle_));
    run_solve(team, model, world, options_.sweeps, options_.tolerance, memory(small_));
    StepOutcome outcome = run_finish(team, model, world, options_.tolerance, false, memory(small_));
    if (outcome == StepOutcome::kDone) return;
    ++tiers_.second;
    const bool last = options_.most_sweeps == 0;
    run_tree(team, model, world, true, memory(middle_));
    if (sizes_.equality_rows > 0) run_loops(team, model, memory(middle_));
    run_solve(team, model, world, options_.more_sweeps, options_.tolerance, memory(middle_));
    outcome = run_finish(team, model, world, options_.tolerance, last, memory(middle_));
    if (outcome == StepOutcome::kDone) return;
    ++tiers_.third;
    Scratch<double> thorough;
    carve(sizes_, large_, reinterpret_cast<char*>(large_memory_.data()), thorough);
    PassMemory pass;
    carve_pass(sizes_, large_, reinterpret_cast<char*>(large_pass_memory_.data()), pass);
    finish_world(team, model, options_, world, thorough, pass);
  }
  template <typename Team>
  void recover_world(const Team& team, int w) {
    const ModelView model = world_model(model_, view_.parameters, w);
    WorldState world = view_.world(sizes_, w);
    const StageMemory memory{middle_, middle_, nullptr, reinterpret_cast<char*>(record_.data())};
    if (!run_check(team, model, world, memory)) return;
    PassMemory pass;
    carve_pass(sizes_, middle_, reinterpret_cast<char*>(pass_memory_.data()), pass);
    run_pass(team, model, world, memory, pass);
  }

  ModelArrays arrays_;
  ModelView model_;
  std::vector<double> record_, local_, large_memory_, pass_memory_, large_pass_memory_;
  TierCounts tiers_;
};

}  // namespace

void BatchOptions::validate() const {
  const auto fail = [](const char* what) { throw std::runtime_error(std::string("options of a batch: ") + what); };
  if (!(tolerance > 0.0)) fail("tolerance must be positive");
  if (sweeps < 1 || more_sweeps < 1 || check_every < 1) fail("sweeps, more_sweeps and check_every must be at least 1");
  if (most_sweeps < 0) fail("most_sweeps must not be negative");
  if (small_pool < 0 || middle_pool < 1 || middle_pool < small_pool || large_pool < middle_pool)
    fail("small_pool must not be negative, middle_pool at least 1 and not smaller, large_pool not smaller than that");
  if (parts < 0) fail("parts must not be negative");
  for (const int team : {lanes.tree, lanes.loops, lanes.collide, lanes.solve, lanes.finish}) {
    if (team != 8 && team != 16 && team != 32) fail("lanes of a stage must be 8, 16 or 32");
  }
}

std::unique_ptr<WorldBatch> make_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options) {
  options.validate();
  if (worlds < 1) throw std::runtime_error("a batch needs at least one world");
  return std::make_unique<CpuBatch>(std::move(arrays), worlds, options);
}

}  // namespace touchstone::gpu

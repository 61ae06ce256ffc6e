// A batch on the processor, one world after another. In a header since models with general contacts have a source of
// their own: in one, the compiler inlines less of both, and plain models took a twentieth more instructions.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "touchstone/gpu/batch_store.hpp"
#include "touchstone/gpu/stages.hpp"

namespace touchstone::gpu {

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
inline std::vector<double> memory_of(std::size_t bytes) { return std::vector<double>(bytes / sizeof(double) + 1); }

// Team: SerialTeam, or a GeneralTeam or FullTeam of it.
template <typename Team>
class CpuBatch final : public StoredBatch<HostArray> {
 public:
  CpuBatch(ModelArrays arrays, int worlds, const BatchOptions& options)
      : StoredBatch(arrays, worlds, options), arrays_(std::move(arrays)), model_(view_of(arrays_)) {
    record_ = memory_of(record_bytes(this->sizes_, this->middle_));
    local_ = memory_of(scratch_bytes<float>(this->sizes_, this->middle_));
    large_memory_ = memory_of(scratch_bytes<double>(this->sizes_, this->large_));
    pass_memory_ = memory_of(pass_bytes(this->sizes_, this->middle_));
    large_pass_memory_ = memory_of(pass_bytes(this->sizes_, this->large_));
  }

  TierCounts tiers() const override { return tiers_; }
  int device() const override { return -1; }
  std::string kernels() const override { return "of tables, on a lane of the processor"; }
  void observe() override {}  // every step has done it: there is one record for all worlds
  void reset(const ResetRequest& request) override {
    const ResetStates to{request.mask, request.q, request.v, request.noise_q, request.noise_v, request.seed};
    for (int w = 0; w < this->view_.worlds; ++w) {
      if (to.mask != nullptr && to.mask[w] == 0) continue;
      WorldState world = this->view_.world(this->sizes_, w);
      reset_world(model_, to, w, world);
    }
  }
  void step(int count) override {
    for (int k = 0; k < count; ++k) {
      tiers_ = {};
      for (int w = 0; w < this->view_.worlds; ++w) {
        step_world(w);
        if (model_.sizes.sensors > 0) observe_world(w);
        if (model_.settings.pass_interval > 0.0) recover_world(w);
      }
    }
  }
  WorldImpulses impulses(int world) const override {
    const WorldState state = this->view_.world(this->sizes_, world);
    const int count = *state.warm.count;
    return {{state.warm.key, state.warm.key + count},
            {state.warm.impulse, state.warm.impulse + impulse_width(this->sizes_) * count}};
  }

 private:
  void step_world(int w) {
    const Team team;
    const ModelView model = world_model(model_, this->view_.parameters, w);
    WorldState world = this->view_.world(this->sizes_, w);
    const auto memory = [this](const Pool& pool) {
      return StageMemory{pool, this->middle_, reinterpret_cast<char*>(local_.data()),
                         reinterpret_cast<char*>(record_.data())};
    };
    run_tree(team, model, world, false, memory(this->middle_));
    if (this->sizes_.equality_rows > 0) run_loops(team, model, world, memory(this->middle_));
    run_collide(team, model, memory(this->middle_));
    run_solve(team, model, world, this->options_.sweeps, this->options_.tolerance, memory(this->small_));
    StepOutcome outcome = run_finish(team, model, world, this->options_.tolerance, false, memory(this->small_));
    if (outcome == StepOutcome::kDone) return;
    ++tiers_.second;
    const bool last = this->options_.most_sweeps == 0;
    run_tree(team, model, world, true, memory(this->middle_));
    if (this->sizes_.equality_rows > 0) run_loops(team, model, world, memory(this->middle_));
    run_solve(team, model, world, this->options_.more_sweeps, this->options_.tolerance, memory(this->middle_));
    outcome = run_finish(team, model, world, this->options_.tolerance, last, memory(this->middle_));
    if (outcome == StepOutcome::kDone) return;
    ++tiers_.third;
    Scratch<double> thorough;
    carve(this->sizes_, this->large_, reinterpret_cast<char*>(large_memory_.data()), thorough);
    PassMemory pass;
    carve_pass(this->sizes_, this->large_, reinterpret_cast<char*>(large_pass_memory_.data()), pass);
    finish_world(team, model, this->options_, world, thorough, pass);
  }
  void observe_world(int w) {
    const Team team;
    WorldState world = this->view_.world(this->sizes_, w);
    run_observe(team, world_model(model_, this->view_.parameters, w), world,
                {this->middle_, this->middle_, nullptr, reinterpret_cast<char*>(record_.data())});
  }
  void recover_world(int w) {
    const Team team;
    const ModelView model = world_model(model_, this->view_.parameters, w);
    WorldState world = this->view_.world(this->sizes_, w);
    const StageMemory memory{this->middle_, this->middle_, nullptr, reinterpret_cast<char*>(record_.data())};
    if (!run_check(team, model, world, memory)) return;
    PassMemory pass;
    carve_pass(this->sizes_, this->middle_, reinterpret_cast<char*>(pass_memory_.data()), pass);
    run_pass(team, model, world, memory, pass);
  }

  ModelArrays arrays_;
  ModelView model_;
  std::vector<double> record_, local_, large_memory_, pass_memory_, large_pass_memory_;
  TierCounts tiers_;
};

// Of a GeneralTeam (batch_cpu_general.cpp), and of a FullTeam (batch_cpu_full.cpp).
std::unique_ptr<WorldBatch> make_general_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options);
std::unique_ptr<WorldBatch> make_full_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options);

}  // namespace touchstone::gpu

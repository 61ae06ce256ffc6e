#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/batch_view.hpp"

namespace touchstone::gpu {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class CpuBatch final : public WorldBatch {
 public:
  CpuBatch(ModelArrays arrays, int worlds, const BatchOptions& options)
      : arrays_(std::move(arrays)),
        model_(view_of(arrays_)),
        options_{options.tolerance, options.sweeps, options.most_sweeps, options.check_every},
        small_(pool_for(arrays_.sizes, options.small_pool)),
        large_(pool_for(arrays_.sizes, options.large_pool)) {
    const ModelSizes& n = arrays_.sizes;
    const int capacity = large_.blocks;
    numbers_[0].resize(at(worlds) * at(n.nq));
    numbers_[1].resize(at(worlds) * at(n.nv));
    numbers_[2].resize(at(worlds) * at(n.na));
    numbers_[3].resize(at(worlds) * at(n.nu));
    numbers_[4].resize(at(worlds) * at(n.nv));
    numbers_[5].resize(at(worlds));
    for (std::vector<int>& counts : counts_) counts.resize(at(worlds));
    warm_count_.resize(at(worlds));
    warm_key_.resize(at(worlds) * at(capacity));
    warm_impulse_.resize(3 * at(worlds) * at(capacity));
    for (int w = 0; w < worlds; ++w)
      std::copy(arrays_.reference_q.begin(), arrays_.reference_q.end(), numbers_[0].begin() + at(w) * at(n.nq));
    view_ = {worlds,
             capacity,
             numbers_[0].data(),
             numbers_[1].data(),
             numbers_[2].data(),
             numbers_[3].data(),
             numbers_[4].data(),
             numbers_[5].data(),
             counts_[0].data(),
             counts_[1].data(),
             counts_[2].data(),
             warm_count_.data(),
             warm_key_.data(),
             warm_impulse_.data()};
    memory_.resize(std::max(scratch_bytes<float>(n, small_), scratch_bytes<double>(n, large_)) / sizeof(double) + 1);
  }

  int worlds() const override { return view_.worlds; }
  const ModelSizes& sizes() const override { return arrays_.sizes; }
  int second_tier() const override { return second_tier_; }

  void step(int count) override {
    for (int k = 0; k < count; ++k) {
      second_tier_ = 0;
      for (int w = 0; w < view_.worlds; ++w) step_world(w);
    }
  }

  void write(BatchField field, const double* values) override {
    std::vector<double>& numbers = numbers_[number_of(field)];
    std::copy(values, values + numbers.size(), numbers.begin());
  }
  void read(BatchField field, double* values) const override {
    const std::vector<double>& numbers = numbers_[number_of(field)];
    std::copy(numbers.begin(), numbers.end(), values);
  }
  void read(BatchField field, int* values) const override {
    const std::vector<int>& counts = counts_[count_of(field)];
    std::copy(counts.begin(), counts.end(), values);
  }
  WorldImpulses impulses(int world) const override {
    const WorldState state = view_.world(arrays_.sizes, world);
    const int count = *state.warm.count;
    return {{state.warm.key, state.warm.key + count}, {state.warm.impulse, state.warm.impulse + 3 * count}};
  }
  void* data(BatchField field) override {
    if (field >= BatchField::kStatus) return counts_[count_of(field)].data();
    return numbers_[number_of(field)].data();
  }
  void forget() override { std::fill(warm_count_.begin(), warm_count_.end(), 0); }

 private:
  static std::size_t number_of(BatchField field) {
    if (field >= BatchField::kStatus) throw std::runtime_error("this field of a batch holds integers");
    return static_cast<std::size_t>(field);
  }
  static std::size_t count_of(BatchField field) {
    if (field < BatchField::kStatus) throw std::runtime_error("this field of a batch holds doubles");
    return static_cast<std::size_t>(field) - static_cast<std::size_t>(BatchField::kStatus);
  }

  void step_world(int w) {
    const SerialTeam team;
    char* memory = reinterpret_cast<char*>(memory_.data());
    WorldState world = view_.world(arrays_.sizes, w);
    Scratch<float> fast;
    carve(arrays_.sizes, small_, memory, fast);
    if (try_step(team, model_, options_, world, fast) == StepOutcome::kDone) return;
    ++second_tier_;
    Scratch<double> thorough;
    carve(arrays_.sizes, large_, memory, thorough);
    finish_world(team, model_, options_, world, thorough);
  }

  ModelArrays arrays_;
  ModelView model_;
  StepOptions options_;
  Pool small_, large_;
  std::vector<double> numbers_[6];
  std::vector<int> counts_[3];
  std::vector<int> warm_count_;
  std::vector<std::int64_t> warm_key_;
  std::vector<double> warm_impulse_;
  std::vector<double> memory_;
  BatchView view_;
  int second_tier_ = 0;
};

}  // namespace

void BatchOptions::validate() const {
  const auto fail = [](const char* what) { throw std::runtime_error(std::string("options of a batch: ") + what); };
  if (!(tolerance > 0.0)) fail("tolerance must be positive");
  if (sweeps < 1 || most_sweeps < 1 || check_every < 1) fail("sweeps, most_sweeps and check_every must be at least 1");
  if (small_pool < 1 || large_pool < small_pool) fail("small_pool must be at least 1, large_pool not smaller than it");
}

std::unique_ptr<WorldBatch> make_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options) {
  options.validate();
  if (worlds < 1) throw std::runtime_error("a batch needs at least one world");
  return std::make_unique<CpuBatch>(std::move(arrays), worlds, options);
}

}  // namespace touchstone::gpu

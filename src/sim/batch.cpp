#include "touchstone/sim/batch.hpp"

#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/base/memory.hpp"
#include "touchstone/sim/detection/collision_model.hpp"

namespace touchstone {
namespace {

std::size_t total(int worlds, int width) { return at(worlds) * at(width); }

// Refuses a batch that would not fit, as early as that is known: worlds are measured while they are made.
class MemoryCheck {
 public:
  MemoryCheck(const Model& model, int worlds) : worlds_(worlds) {
    // What a world takes at least: its arrays in the batch, and a simulator without its buffers.
    const int numbers = model.nq + model.nv + model.na + model.nu;
    require(0, static_cast<double>(sizeof(Simulator) + sizeof(double) * at(numbers)));
  }

  void made(int count) {
    if (count < next_) return;
    next_ *= 2;
    const auto taken = static_cast<double>(resident_memory()) - static_cast<double>(start_);
    require(count, taken / count);
  }

 private:
  void require(int made, double bytes_per_world) const {
    const double needed = bytes_per_world * (worlds_ - made), available = static_cast<double>(available_memory());
    if (needed <= kShare * available) return;
    throw Error({.where = {},
                 .message = fmt::format("a batch of {} worlds needs {} of memory, and there are {}", worlds_,
                                        memory_text(bytes_per_world * worlds_), memory_text(available)),
                 .remedy = fmt::format("give at most {:.2g} worlds",
                                       kShare * (available / bytes_per_world) + static_cast<double>(made))});
  }

  static constexpr double kShare = 0.8;  // of what is free; worlds grow a little when they are stepped

  const int worlds_;
  const std::uint64_t start_ = resident_memory();
  int next_ = 16;  // worlds, until it is looked at again
};

}  // namespace

Batch::Batch(ModelPtr model, int worlds, const SimulatorOptions& options, int threads)
    : model_(std::move(model)), pool_(threads) {
  if (model_ == nullptr) throw Error("Batch: the model is null");
  if (worlds < 1) throw Error("a batch of {} worlds; give a positive number", worlds);
  SimulatorOptions own = options;
  own.threads = 1;
  const auto shapes = std::make_shared<const CollisionModel>(*model_);
  MemoryCheck memory(*model_, worlds);
  for (int w = 0; w < worlds; ++w) {
    simulators_.push_back(std::make_unique<Simulator>(model_, own, shapes));
    memory.made(w + 1);
  }
  q_.resize(total(worlds, model_->nq));
  v_.resize(total(worlds, model_->nv));
  activation_.resize(total(worlds, model_->na));
  control_.resize(total(worlds, model_->nu));
  time_.resize(at(worlds));
  status_.resize(at(worlds), StepStatus::kOk);
  error_.resize(at(worlds));
  reset();
}

std::size_t Batch::checked(int world) const {
  if (world < 0 || world >= worlds()) throw Error("world {} of a batch with {}", world, worlds());
  return at(world);
}

void Batch::step(int count) {
  pool_.run(worlds(), [&](int world, int) { step_world(world, count); });
}

void Batch::step_world(int world, int count) noexcept {
  const std::size_t w = at(world);
  try {
    error_[w].clear();
    copy_in(world);
    status_[w] = simulators_[w]->step(count).status;
    copy_out(world);
  } catch (const std::exception& error) {
    status_[w] = StepStatus::kDiverged;
    error_[w] = error.what();
  }
}

void Batch::copy_in(int world) {
  Simulator& sim = *simulators_[at(world)];
  State& state = sim.state();
  std::copy_n(q(world).data(), model_->nq, state.q.data());
  std::copy_n(v(world).data(), model_->nv, state.v.data());
  std::copy_n(activation(world).data(), model_->na, state.activation.data());
  std::copy_n(control(world).data(), model_->nu, sim.input().control.data());
}

void Batch::copy_out(int world) {
  const State& state = simulators_[at(world)]->state();
  std::copy_n(state.q.data(), model_->nq, q(world).data());
  std::copy_n(state.v.data(), model_->nv, v(world).data());
  std::copy_n(state.activation.data(), model_->na, activation(world).data());
  time_[at(world)] = state.time;
}

void Batch::reset() {
  for (int w = 0; w < worlds(); ++w) reset(w);
}

void Batch::reset(int world) {
  simulators_[checked(world)]->reset();
  status_[at(world)] = StepStatus::kOk;
  error_[at(world)].clear();
  copy_out(world);
}

void Batch::reset(int world, int keyframe) {
  Simulator& sim = *simulators_[checked(world)];
  sim.reset(keyframe);
  status_[at(world)] = StepStatus::kOk;
  error_[at(world)].clear();
  copy_out(world);
  std::copy_n(sim.input().control.data(), model_->nu, control(world).data());
}

void Batch::forget(int world) {
  Simulator& sim = *simulators_[checked(world)];
  copy_in(world);
  sim.reset(State(sim.state()));
}

}  // namespace touchstone

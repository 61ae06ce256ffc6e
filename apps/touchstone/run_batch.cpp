#include "run_batch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include <fmt/core.h>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/gpu/backend.hpp"
#include "touchstone/sim/model_arrays.hpp"

namespace touchstone::cli {
namespace {

constexpr int kLaneWorlds = 16, kCudaWorlds = 1024;
constexpr std::size_t kMostCertificates = 2'000'000;  // that quantiles are taken of

std::string library_of(const std::string& device) {
  if (device == "lanes") return "";
  const char* path = std::getenv("TOUCHSTONE_CUDA_LIBRARY");
  if (path != nullptr && std::filesystem::exists(path)) return path;
  throw Error(
      "--device cuda: {}. Where nvcc is, build it in a clone: cmake -S bench/gpu -B build/gpu && cmake --build "
      "build/gpu, then set TOUCHSTONE_CUDA_LIBRARY to build/gpu/libtouchstone_cuda.so (scripts/build_cuda_wheel.py "
      "builds the wheel touchstone-sim-cuda for Python); --device lanes runs the same code on the processor",
      path == nullptr ? std::string("no library of the backend is known (TOUCHSTONE_CUDA_LIBRARY is not set)")
                      : fmt::format("TOUCHSTONE_CUDA_LIBRARY is '{}', and no such file exists", path));
}

// Runs code of the backend, which knows no Error of ours.
template <typename Work>
auto guarded(const std::string& device, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Error("--device {}: {}", device, error.what());
  }
}

// The largest so far; what is not a number stays.
void keep_largest(double value, double& largest) {
  if (!(value <= largest) && largest == largest) largest = value;
}

void repeat(const VectorX& values, int times, std::vector<double>& all) {
  all.clear();
  for (int k = 0; k < times; ++k) all.insert(all.end(), values.begin(), values.end());
}

}  // namespace

BatchRun::BatchRun(const Scene& scene, const BatchRequest& request)
    : request_(request), nq_(scene.model->nq), nv_(scene.model->nv), na_(scene.model->na), bodies_(scene.model->nbody) {
  const std::string library = library_of(request.device);
  if (request_.worlds == 0) request_.worlds = library.empty() ? kLaneWorlds : kCudaWorlds;
  if (request_.world >= request_.worlds)
    throw Error("--world {}; there are {} worlds, counted from 0", request_.world, request_.worlds);
  const gpu::ModelArrays arrays = make_model_arrays(*scene.model, scene.options);
  gpu::BatchOptions options;
  options.most_sweeps = 2000;  // the certified mode
  tolerance_ = options.tolerance;
  guarded(request_.device, [&] {
    batch_ = library.empty() ? gpu::make_cpu_batch(arrays, request_.worlds, options)
                             : gpu::make_backend_batch(gpu::load_backend(library), arrays, request_.worlds, options);
    repeat(scene.start.q, request_.worlds, q_);
    repeat(scene.start.v, request_.worlds, v_);
    batch_->reset(
        {.q = q_.data(), .v = v_.data(), .noise_v = request_.noise, .seed = static_cast<std::uint64_t>(request_.seed)});
    if (na_ > 0) {
      repeat(scene.start.activation, request_.worlds, activation_);
      batch_->write(gpu::BatchField::kActivation, activation_.data());
    }
    if (arrays.sizes.loop_numbers > 0) {
      repeat(scene.start.loop_q, request_.worlds, loop_q_);
      batch_->write(gpu::BatchField::kLoopCoordinates, loop_q_.data());
    }
  });
  natv_.resize(at(request_.worlds));
  time_.resize(at(request_.worlds));
  status_.resize(at(request_.worlds));
  read_world();
}

void BatchRun::read_world() {
  guarded(request_.device, [&] {
    batch_->read(gpu::BatchField::kPosition, q_.data());
    batch_->read(gpu::BatchField::kVelocity, v_.data());
    batch_->read(gpu::BatchField::kTime, time_.data());
    if (na_ > 0) batch_->read(gpu::BatchField::kActivation, activation_.data());
    if (!loop_q_.empty()) batch_->read(gpu::BatchField::kLoopCoordinates, loop_q_.data());
  });
}

void BatchRun::lead(Simulator& sim) const {
  const auto part = [&](const std::vector<double>& all, int width) {
    return Eigen::Map<const VectorX>(all.data() + at(request_.world) * at(width), width);
  };
  State& state = sim.state();
  state.q = part(q_, nq_);
  state.v = part(v_, nv_);
  if (na_ > 0) state.activation = part(activation_, na_);
  if (!loop_q_.empty()) state.loop_q = part(loop_q_, static_cast<int>(state.loop_q.size()));
  state.time = time_[at(request_.world)];
}

void BatchRun::follow(const Simulator& sim) {
  const Input& input = sim.input();
  VectorX wrench(6 * bodies_);
  for (int b = 0; b < bodies_; ++b) wrench.segment<6>(6 * b) = input.applied_wrench[at(b)];
  guarded(request_.device, [&] {
    if (input.control.size() > 0) {
      repeat(input.control, request_.worlds, all_control_);
      batch_->write(gpu::BatchField::kControl, all_control_.data());
    }
    repeat(input.applied_force, request_.worlds, all_control_);
    batch_->write(gpu::BatchField::kAppliedForce, all_control_.data());
    const bool pushed = !wrench.isZero(0.0);
    if (pushed || !all_wrench_.empty()) {  // kernels for worlds with their own numbers are slower: only where needed
      repeat(wrench, request_.worlds, all_wrench_);
      batch_->set_parameter(gpu::WorldParameter::kAppliedWrench, pushed ? all_wrench_.data() : nullptr);
      if (!pushed) all_wrench_.clear();
    }
    if (!sim.state().mocap.empty()) {
      VectorX poses(7 * std::ssize(sim.state().mocap));
      for (Eigen::Index k = 0; k < poses.size() / 7; ++k) {
        const Transform& X = sim.state().mocap[static_cast<std::size_t>(k)];
        poses.segment<7>(7 * k) << X.position, X.rotation.w(), X.rotation.vec();
      }
      repeat(poses, request_.worlds, all_control_);
      batch_->set_parameter(gpu::WorldParameter::kMocapPose, all_control_.data());
    }
    const Stopwatch watch;
    batch_->step(1);
    batch_->synchronize();
    seconds_ += watch.seconds();
    batch_->read(gpu::BatchField::kNatv, natv_.data());
    batch_->read(gpu::BatchField::kStatus, status_.data());
  });
  read_world();
  const double* v = v_.data() + at(request_.world) * at(nv_);
  for (int i = 0; i < nv_; ++i) keep_largest(std::abs(v[i] - sim.state().v[i]), difference_);
  for (int w = 0; w < request_.worlds; ++w) {
    ++steps_;
    const int status = status_[at(w)];
    above_ += status == 1 ? 1 : 0;
    lost_ += status > 1 ? 1 : 0;
    if (status > 1) continue;
    const double natv = natv_[at(w)];
    keep_largest(natv, worst_);
    if (certificates_.size() < kMostCertificates)
      certificates_.push_back(std::isnan(natv) ? std::numeric_limits<double>::infinity() : natv);  // sorted later
  }
}

double BatchRun::without_certificates() const { return lost_ > 0 ? std::numeric_limits<double>::infinity() : 0.0; }

double BatchRun::worst() const { return certificates_.empty() ? without_certificates() : worst_; }

double BatchRun::quantile(double share) const {
  if (certificates_.empty()) return without_certificates();
  std::vector<double> sorted = certificates_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

std::vector<CertificateItem> BatchRun::checks() const {
  return {{"worst natv of the batch", "relative, of all steps of all worlds", worst(), tolerance_, ""},
          {"steps of the batch that were lost", "too many contacts, or diverged; those worlds stay where they were",
           static_cast<double>(lost_), 0.0, ""}};
}

std::string BatchRun::text() const {
  return fmt::format(
      "  batch: {} worlds on {}, {:.3g} steps/s; natv p50 {:.1e}, p99 {:.1e}, worst {:.1e}\n"
      "  shown is world {}; its velocities after a step are at most {:.1e} m/s or rad/s from the simulator's\n",
      request_.worlds, request_.device, static_cast<double>(steps_) / std::max(seconds_, 1e-9), quantile(0.5),
      quantile(0.99), worst(), request_.world, difference_);
}

nlohmann::ordered_json BatchRun::json() const {
  return {{"device", request_.device},
          {"worlds", request_.worlds},
          {"world", request_.world},
          {"steps", steps_},
          {"steps_per_second", static_cast<double>(steps_) / std::max(seconds_, 1e-9)},
          {"natv_p50", quantile(0.5)},
          {"natv_p99", quantile(0.99)},
          {"natv_worst", worst()},
          {"above_tolerance", above_},
          {"lost", lost_},
          {"difference", difference_}};
}

}  // namespace touchstone::cli

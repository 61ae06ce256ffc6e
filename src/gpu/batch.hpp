// Many worlds of one model, stepped by the code that also runs on a GPU.
//
//   const auto batch = make_cpu_batch(read_model_arrays("robot.arrays"), 1000);
//   batch->write(BatchField::kControl, controls.data());
//   batch->step(100);
//   batch->read(BatchField::kPosition, q.data());
//
// A step has three tiers. The first makes a few accelerated sweeps in float. Worlds that are not certified after them
// (`tolerance`), or that have more rows than the small pool holds, go on in the second, which makes more of them in a
// larger pool. What is still not certified, or has servos that turn out to be beyond their limits, or more contacts, is
// computed again by the third in double, until it is. Every step of every world has a certificate, computed in double,
// and a status.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/gpu/model_arrays.hpp"
#include "touchstone/gpu/world_parameters.hpp"

namespace touchstone::gpu {

// Lanes of a GPU that share the work of a world, in each stage of a step: 8, 16 or 32.
struct StageLanes {
  int tree = 32, loops = 32, collide = 32, solve = 32, finish = 16;
};

// CUDA: whether kernels are compiled for the model (special.hpp).
enum class Specialise : int {
  kAuto,  // where the compiler is found and there are worlds enough; else, and where that fails, tables do
  kOff,
};

struct BatchOptions {
  double tolerance = 1e-3;  // relative natv that a step is asked for
  int sweeps = 24;          // of the first tier: at most
  int more_sweeps = 16;     // of the second
  int most_sweeps = 0;      // of the third; 0: what the second cannot certify moves on with the natv that it has
  int check_every = 20;     // sweeps of the third tier between certificates
  int small_pool = 0;       // contacts of a world in the first tier; 0: 8 to 16, as the GPU has fast memory
  int middle_pool = 48;     // in the second
  int large_pool = 256;     // in the third
  StageLanes lanes;
  int parts = 0;      // CUDA: of the worlds, each stepped on a stream of its own; 0: one for each 256 worlds, at most 4
  bool graph = true;  // CUDA: a step is one launch of a captured graph; else kernel by kernel, as profilers like it

  Specialise specialise = Specialise::kAuto;

  // Throws std::runtime_error naming the field.
  void validate() const;
};

// Numbers of all worlds: worlds x nq, nv, na, nu, nv doubles; certificate (infinite where a world stayed where it was)
// and time (s) one each; sensor_numbers; loop_numbers (State::loop_q); the rest one int each.
enum class BatchField {
  kPosition,
  kVelocity,
  kActivation,
  kControl,
  kAppliedForce,
  kNatv,
  kTime,
  kSensors,
  kLoopCoordinates,
  kStatus,
  kContacts,
  kSweeps
};
constexpr int kBatchFields = static_cast<int>(BatchField::kSweeps) + 1;

// Impulses of one world in its last step: those of contacts in world axes, of others in the first number. Keys are
// those of block_key (gpu/world.hpp).
struct WorldImpulses {
  std::vector<std::int64_t> key;
  std::vector<double> impulse;  // impulse_width each: force, and torque where contacts have rows of it
};

// What worlds are reset to. q and v: of all worlds, or null for the reference configuration at rest.
struct ResetRequest {
  const unsigned char* mask = nullptr;  // worlds: 0 for those that go on; null: all are reset
  const double *q = nullptr, *v = nullptr;
  double noise_q = 0.0, noise_v = 0.0;  // m or rad, m/s or rad/s: each number up to so far from that
  std::uint64_t seed = 0;
  bool in_batch_memory = false;  // the addresses are of the memory that the batch computes in
};

// Worlds that needed the second tier, and of these the third.
struct TierCounts {
  int second = 0, third = 0;
};

class WorldBatch {
 public:
  virtual ~WorldBatch() = default;

  virtual int worlds() const = 0;
  virtual const ModelSizes& sizes() const = 0;
  // `count` steps in every world. A world that diverges, or has too many contacts, stays where it was.
  virtual void step(int count) = 0;
  // Fills kSensors from the last step of every world, before anything else is written. Zeros for worlds that were
  // reset; a world that its step left where it was keeps its row.
  virtual void observe() = 0;
  // Of the last step. Waits for it.
  virtual TierCounts tiers() const = 0;
  // Which kernels compute the steps, in words; starts with "warning: " where compiling them for the model has failed.
  virtual std::string kernels() const = 0;

  // Whole fields, from and to the memory of the processor.
  virtual void write(BatchField field, const double* values) = 0;
  virtual void read(BatchField field, double* values) const = 0;
  virtual void read(BatchField field, int* values) const = 0;
  virtual WorldImpulses impulses(int world) const = 0;
  // Where a field lies, in the memory that the batch computes in.
  virtual void* data(BatchField field) = 0;
  // Forgets the impulses of the last step, as after states that were set by hand.
  virtual void forget() = 0;
  // Limits of joints hold after noise; shapes may overlap.
  virtual void reset(const ResetRequest& request) = 0;

  // worlds x parameter_width numbers from the memory of the processor; null: those of the model again. Throws
  // std::runtime_error for what is not finite, negative where that makes no sense, and dry friction at a dof without.
  virtual void set_parameter(WorldParameter parameter, const double* values) = 0;
  virtual void parameter(WorldParameter parameter, double* values) const = 0;
  // Where a parameter of all worlds lies, to be written between steps; made first if all worlds share the model's.
  // Nothing checks what is written there. The memory stays as long as the batch.
  virtual double* parameter_data(WorldParameter parameter) = 0;

  // CUDA: the stream (cudaStream_t) that steps and resets are put on from now on; null: the batch's own.
  virtual void use_stream(void* stream) = 0;
  virtual void synchronize() const = 0;
  // CUDA: the number of the GPU; -1: the processor.
  virtual int device() const = 0;
};

// All worlds at the reference configuration. Throw std::runtime_error.
std::unique_ptr<WorldBatch> make_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options = {});
// Only where the library was built with CUDA.
std::unique_ptr<WorldBatch> make_cuda_batch(const ModelArrays& arrays, int worlds, const BatchOptions& options = {});

}  // namespace touchstone::gpu

// A batch that another library computes (`touchstone-sim-cuda`), found and loaded at run time. Both sides may have been
// built by different compilers: between them are plain functions and structs, and errors as text.
#pragma once

#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "touchstone/gpu/batch.hpp"

namespace touchstone::gpu {

constexpr int kBackendVersion = 6;  // of what the calls below mean
constexpr const char* kBackendEntry = "touchstone_backend_table";

// What went wrong in a call; empty: nothing.
struct BackendFault {
  char text[1024] = {};
};

// Of everything that both sides have to agree on: arrays, parameters, structs, the table itself.
std::uint64_t backend_signature();

struct BackendTable {
  int version = kBackendVersion;  // first in every version
  std::uint64_t signature = backend_signature();
  // `arrays`: of pack_model_arrays.
  void* (*make)(const char* arrays, std::size_t bytes, int worlds, const BatchOptions*, BackendFault*) = nullptr;
  void (*destroy)(void* batch) = nullptr;
  void (*step)(void* batch, int count, BackendFault*) = nullptr;
  void (*observe)(void* batch, BackendFault*) = nullptr;
  void (*tiers)(void* batch, int* second_and_third, BackendFault*) = nullptr;
  // `text`: as much as fits of what WorldBatch::kernels says.
  void (*kernels)(void* batch, BackendFault* text) = nullptr;
  void (*write)(void* batch, int field, const double* values, BackendFault*) = nullptr;
  void (*read_doubles)(void* batch, int field, double* values, BackendFault*) = nullptr;
  void (*read_ints)(void* batch, int field, int* values, BackendFault*) = nullptr;
  void* (*data)(void* batch, int field, BackendFault*) = nullptr;
  void (*forget)(void* batch, BackendFault*) = nullptr;
  void (*reset)(void* batch, const ResetRequest*, BackendFault*) = nullptr;
  void (*set_parameter)(void* batch, int parameter, const double* values, BackendFault*) = nullptr;
  void (*parameter)(void* batch, int parameter, double* values, BackendFault*) = nullptr;
  double* (*parameter_data)(void* batch, int parameter, BackendFault*) = nullptr;
  void (*use_stream)(void* batch, void* stream, BackendFault*) = nullptr;
  void (*synchronize)(void* batch, BackendFault*) = nullptr;
  int (*device)(void* batch) = nullptr;
  // How many there are; fills `room` of them at most.
  int (*impulses)(void* batch, int world, int room, std::int64_t* keys, double* impulses, BackendFault*) = nullptr;
};

inline std::uint64_t backend_signature() {
  Signature signature;
  signature.add(arrays_signature());
#define TOUCHSTONE_FIELD(name, array, width) signature.add_name(#name);
  TOUCHSTONE_WORLD_PARAMETERS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  signature.add(kWorldParameters);
  signature.add(kBatchFields);
  signature.add(sizeof(BatchOptions));
  signature.add(sizeof(ResetRequest));
  signature.add(sizeof(BackendTable));
  return signature.value();
}

// Calls work(); what it throws becomes text.
template <typename Work>
auto guarded(BackendFault* fault, const Work& work) noexcept -> decltype(work()) {
  fault->text[0] = '\0';
  try {
    return work();
  } catch (const std::exception& error) {
    std::strncpy(fault->text, error.what(), sizeof fault->text - 1);
  } catch (...) {
    std::strncpy(fault->text, "an unknown error", sizeof fault->text - 1);
  }
  return decltype(work())();
}

inline WorldBatch& batch_behind(void* batch) { return *static_cast<WorldBatch*>(batch); }

inline void add_step_calls(BackendTable& t) {
  t.destroy = [](void* b) { delete static_cast<WorldBatch*>(b); };
  t.step = [](void* b, int count, BackendFault* f) { guarded(f, [&] { batch_behind(b).step(count); }); };
  t.observe = [](void* b, BackendFault* f) { guarded(f, [&] { batch_behind(b).observe(); }); };
  t.tiers = [](void* b, int* counts, BackendFault* f) {
    guarded(f, [&] {
      const TierCounts tiers = batch_behind(b).tiers();
      counts[0] = tiers.second;
      counts[1] = tiers.third;
    });
  };
  t.kernels = [](void* b, BackendFault* text) {
    const std::string all = batch_behind(b).kernels();
    std::strncpy(text->text, all.c_str(), sizeof text->text - 1);
  };
  t.device = [](void* b) { return batch_behind(b).device(); };
  t.use_stream = [](void* b, void* stream, BackendFault* f) {
    guarded(f, [&] { batch_behind(b).use_stream(stream); });
  };
  t.synchronize = [](void* b, BackendFault* f) { guarded(f, [&] { batch_behind(b).synchronize(); }); };
  t.impulses = [](void* b, int world, int room, std::int64_t* keys, double* impulses, BackendFault* f) -> int {
    return guarded(f, [&] {
      const WorldImpulses found = batch_behind(b).impulses(world);
      const int count = static_cast<int>(found.key.size());
      const auto width = static_cast<std::size_t>(impulse_width(batch_behind(b).sizes()));
      for (std::size_t k = 0; k < found.key.size() && k < static_cast<std::size_t>(room); ++k) {
        keys[k] = found.key[k];
        std::memcpy(impulses + width * k, found.impulse.data() + width * k, width * sizeof(double));
      }
      return count;
    });
  };
}

inline void add_field_calls(BackendTable& t) {
  t.write = [](void* b, int field, const double* x, BackendFault* f) {
    guarded(f, [&] { batch_behind(b).write(static_cast<BatchField>(field), x); });
  };
  t.read_doubles = [](void* b, int field, double* x, BackendFault* f) {
    guarded(f, [&] { batch_behind(b).read(static_cast<BatchField>(field), x); });
  };
  t.read_ints = [](void* b, int field, int* x, BackendFault* f) {
    guarded(f, [&] { batch_behind(b).read(static_cast<BatchField>(field), x); });
  };
  t.data = [](void* b, int field, BackendFault* f) -> void* {
    return guarded(f, [&] { return batch_behind(b).data(static_cast<BatchField>(field)); });
  };
  t.forget = [](void* b, BackendFault* f) { guarded(f, [&] { batch_behind(b).forget(); }); };
  t.reset = [](void* b, const ResetRequest* to, BackendFault* f) { guarded(f, [&] { batch_behind(b).reset(*to); }); };
  t.set_parameter = [](void* b, int p, const double* x, BackendFault* f) {
    guarded(f, [&] { batch_behind(b).set_parameter(static_cast<WorldParameter>(p), x); });
  };
  t.parameter = [](void* b, int p, double* x, BackendFault* f) {
    guarded(f, [&] { batch_behind(b).parameter(static_cast<WorldParameter>(p), x); });
  };
  t.parameter_data = [](void* b, int p, BackendFault* f) -> double* {
    return guarded(f, [&] { return batch_behind(b).parameter_data(static_cast<WorldParameter>(p)); });
  };
}

// The table of the batches that kMake makes. A library that is loaded exports a function kBackendEntry that returns
// one.
template <std::unique_ptr<WorldBatch> (*kMake)(ModelArrays, int, const BatchOptions&)>
BackendTable make_backend_table() {
  BackendTable t;
  t.make = [](const char* arrays, std::size_t bytes, int worlds, const BatchOptions* options,
              BackendFault* f) -> void* {
    return guarded(f, [&]() -> WorldBatch* {
      return kMake(unpack_model_arrays(std::string(arrays, bytes)), worlds, *options).release();
    });
  };
  add_step_calls(t);
  add_field_calls(t);
  return t;
}

// A batch by a table, which must stay. Throws std::runtime_error.
std::unique_ptr<WorldBatch> make_backend_batch(const BackendTable& table, const ModelArrays& arrays, int worlds,
                                               const BatchOptions& options = {});

// The table of a shared library; it is never unloaded. Throws std::runtime_error that says what to do.
const BackendTable& load_backend(const std::string& path);

}  // namespace touchstone::gpu

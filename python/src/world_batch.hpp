// What touchstone.DeviceBatch is made of, for the files that bind it.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/gpu/batch.hpp"

namespace touchstone::python {

struct PyWorldBatch {
  ModelPtr model;
  gpu::ModelArrays arrays;
  std::unique_ptr<gpu::WorldBatch> batch;
  std::vector<std::string> unread_sensors;  // why there are none
  bool on_gpu = false;
  std::atomic<bool> busy{false};
};

// Runs native code of the batch; its errors name the batch's methods.
template <typename Work>
auto run(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::runtime_error& error) {
    throw Error("{}", error.what());
  }
}

void bind_world_resets(nb::class_<PyWorldBatch>& batch);

}  // namespace touchstone::python

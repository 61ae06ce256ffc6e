// Kernels that were compiled for one model (special.hpp), loaded into the GPU.
#pragma once

#include <memory>

#include "touchstone/gpu/cuda/launch.cuh"
#include "touchstone/gpu/special.hpp"

namespace touchstone::gpu {

class SpecialKernels {
 public:
  // Throws std::runtime_error for code that the GPU does not take.
  SpecialKernels(const std::string& code, const ModelArrays& arrays, const SpecialShape& shape);
  ~SpecialKernels();
  SpecialKernels(const SpecialKernels&) = delete;
  SpecialKernels& operator=(const SpecialKernels&) = delete;

  // The first tier of a step of all worlds. collide() starts the stage of the tables where shapes take an iteration:
  // their hulls and fields would fill the compiler, and its code the caches.
  template <typename Collide>
  void launch(cudaStream_t stream, const SpecialLaunch& launch, const WorkList& next, const Collide& collide) const {
    for (const Kernel* stage : {&tree_, &loops_}) start(*stage, stream, launch, next);
    if (collide_.kernel == nullptr) collide();
    for (const Kernel* stage : {&collide_, &solve_, &finish_}) start(*stage, stream, launch, next);
  }

 private:
  struct Kernel {
    cudaKernel_t kernel = nullptr;
    int lanes = 0;
    std::size_t bytes = 0;  // of fast memory a world
  };

  static void start(const Kernel& stage, cudaStream_t stream, const SpecialLaunch& launch, const WorkList& next);
  template <typename Stage>
  Kernel find(const char* name, int lanes, const Pool& pool, const ModelArrays& arrays,
              const SpecialShape& shape) const;

  cudaLibrary_t library_ = nullptr;
  Kernel tree_, loops_, collide_, solve_, finish_;
};

// Null, and `note` says why, where kernels of tables have to do. `note` else says what there is. The shape's chip is
// the present one.
std::unique_ptr<SpecialKernels> make_special_kernels(const ModelArrays& arrays, SpecialShape shape, std::string& note);

}  // namespace touchstone::gpu

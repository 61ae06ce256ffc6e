#include "touchstone/gpu/cuda/special.cuh"

namespace touchstone::gpu {
namespace {

int attribute(cudaDeviceAttr name) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "GPU");
  check(cudaDeviceGetAttribute(&value, name, device), "GPU");
  return value;
}

std::string chip_name() {
  return "sm_" + std::to_string(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                                attribute(cudaDevAttrComputeCapabilityMinor));
}

}  // namespace

SpecialKernels::SpecialKernels(const std::string& code, const ModelArrays& arrays, const SpecialShape& shape) {
  check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "kernels of the model");
  try {
    tree_ = find<TreeStage>("special_tree", shape.lanes.tree, shape.room, arrays, shape);
    if (arrays.sizes.equality_rows > 0)
      loops_ = find<LoopStage>("special_loops", shape.lanes.loops, shape.room, arrays, shape);
    if (arrays.sizes.iterated == 0)
      collide_ = find<CollideStage>("special_collide", shape.lanes.collide, shape.room, arrays, shape);
    solve_ = find<SolveStage>("special_solve", shape.lanes.solve, shape.small, arrays, shape);
    finish_ = find<FinishStage>("special_finish", shape.lanes.finish, shape.small, arrays, shape);
  } catch (...) {
    cudaLibraryUnload(library_);
    throw;
  }
}

SpecialKernels::~SpecialKernels() { cudaLibraryUnload(library_); }

template <typename Stage>
SpecialKernels::Kernel SpecialKernels::find(const char* name, int lanes, const Pool& pool, const ModelArrays& arrays,
                                            const SpecialShape& shape) const {
  Kernel found;
  Scratch<float> unused;
  check(cudaLibraryGetKernel(&found.kernel, library_, name), "kernels of the model");
  found.lanes = lanes;
  found.bytes = carve_stage<Stage>(arrays.sizes, pool, shape.room, nullptr, nullptr, unused);
  return found;
}

void SpecialKernels::start(const Kernel& stage, cudaStream_t stream, const SpecialLaunch& launch,
                           const WorkList& next) {
  if (stage.kernel == nullptr) return;
  Work work;
  work.lanes = stage.lanes;
  work.teams = launch.batch.worlds;
  const BlockShape shape = block_shape(work, stage.bytes);
  const auto* kernel = reinterpret_cast<const void*>(stage.kernel);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.bytes)),
        "shared memory");
  void* arguments[] = {const_cast<SpecialLaunch*>(&launch), const_cast<WorkList*>(&next)};
  check(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(shape.blocks)), dim3(static_cast<unsigned>(shape.threads)),
                         arguments, shape.bytes, stream),
        "launch");
}

std::unique_ptr<SpecialKernels> make_special_kernels(const ModelArrays& arrays, SpecialShape shape, std::string& note) {
  std::string missing;
  if (runtime_compiler(missing).empty()) {
    note = "of tables: " + missing;
    return nullptr;
  }
  try {
    shape.shared_memory = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
    const CompiledProgram program = special_code(arrays, shape, chip_name(), embedded_sources());
    if (!program.code.empty()) {
      auto kernels = std::make_unique<SpecialKernels>(program.code, arrays, shape);
      note = arrays.sizes.iterated == 0 ? "compiled for this model" : "compiled for this model, but for its collisions";
      return kernels;
    }
    note = "warning: of tables, which are slower, as compiling them for the model has failed: " + program.problem;
  } catch (const std::exception& error) {
    cudaGetLastError();  // it is told, and not to be found by the next call
    note =
        std::string("warning: of tables, which are slower, as loading those of the model has failed: ") + error.what();
  }
  return nullptr;
}

}  // namespace touchstone::gpu

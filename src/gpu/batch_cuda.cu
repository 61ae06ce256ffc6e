// The batch on a GPU: a warp a world. The first tier works in shared memory, the second in a pool of global memory that
// its warps share out among the worlds which are left.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/batch_view.hpp"

namespace touchstone::gpu {
namespace {

constexpr int kWarpSize = 32;
constexpr int kMostWarps = 2;  // of a block: they share instructions; more leave room in a multiprocessor unused
#ifndef TOUCHSTONE_GPU_BLOCKS
#define TOUCHSTONE_GPU_BLOCKS 4
#endif
constexpr int kBlocks = TOUCHSTONE_GPU_BLOCKS;  // of a multiprocessor: bounds the registers
constexpr int kSecondTier = 2048;               // worlds that the second tier works on at a time

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// An array on the device.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    check(cudaMalloc(&data_, size * sizeof(T)), "memory on the GPU");
    check(cudaMemset(data_, 0, size * sizeof(T)), "memory on the GPU");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { write(values.data()); }
  DeviceArray(DeviceArray&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  void write(const T* values) {
    if (size_ > 0) check(cudaMemcpy(data_, values, size_ * sizeof(T), cudaMemcpyHostToDevice), "copy to the GPU");
  }
  void read(T* values) const {
    if (size_ > 0) check(cudaMemcpy(values, data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "copy from the GPU");
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// --- kernels ---

// The list of worlds for the second tier, and how many there are.
struct WorkList {
  int* worlds;
  int* count;
};

template <typename Real>
__global__ void __launch_bounds__(kMostWarps* kWarpSize, kBlocks)
    first_tier_kernel(ModelView model, StepOptions options, BatchView batch, Pool pool, std::size_t bytes,
                      WorkList list) {
  extern __shared__ double shared[];
  const WarpTeam team;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize, warps = static_cast<int>(blockDim.x) / kWarpSize;
  const int w = static_cast<int>(blockIdx.x) * warps + warp;
  if (w >= batch.worlds) return;
  WorldState world = batch.world(model.sizes, w);
  Scratch<Real> scratch;
  carve(model.sizes, pool, reinterpret_cast<char*>(shared) + static_cast<std::size_t>(warp) * bytes, scratch);
  const StepOutcome outcome = try_step(team, model, options, world, scratch);
  if (outcome != StepOutcome::kDone && team.lane() == 0) list.worlds[atomicAdd(list.count, 1)] = w;
}

template <typename Real>
__global__ void second_tier_kernel(ModelView model, StepOptions options, BatchView batch, Pool pool, std::size_t bytes,
                                   char* memory, WorkList list) {
  const WarpTeam team;
  const int warp = static_cast<int>(blockIdx.x * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize);
  const int warps = static_cast<int>(gridDim.x * (blockDim.x / kWarpSize));
  for (int k = warp; k < *list.count; k += warps) {
    WorldState world = batch.world(model.sizes, list.worlds[k]);
    Scratch<Real> scratch;
    carve(model.sizes, pool, memory + static_cast<std::size_t>(warp) * bytes, scratch);
    finish_world(team, model, options, world, scratch);
    team.sync();
  }
}

// --- the batch ---

class CudaBatch final : public WorldBatch {
 public:
  CudaBatch(const ModelArrays& arrays, int worlds, const BatchOptions& options)
      : sizes_(arrays.sizes),
        options_{options.tolerance, options.sweeps, options.most_sweeps, options.check_every},
        small_(pool_for(arrays.sizes, options.small_pool)),
        large_(pool_for(arrays.sizes, options.large_pool)) {
    upload(arrays);
    allocate(arrays, worlds);
    plan(worlds);
  }
  ~CudaBatch() override {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }

  int worlds() const override { return view_.worlds; }
  const ModelSizes& sizes() const override { return sizes_; }

  // A step is two launches and a reset of the list, captured once as a graph.
  void step(int count) override {
    for (int k = 0; k < count; ++k) check(cudaGraphLaunch(graph_, stream_), "step on the GPU");
    check(cudaGetLastError(), "step on the GPU");
  }
  int second_tier() const override {
    int count = 0;
    synchronize();
    count_.read(&count);
    return count;
  }

  void write(BatchField field, const double* values) override {
    synchronize();
    number_of(field).write(values);
  }
  void read(BatchField field, double* values) const override {
    synchronize();
    number_of(field).read(values);
  }
  void read(BatchField field, int* values) const override {
    synchronize();
    count_of(field).read(values);
  }
  WorldImpulses impulses(int world) const override {
    synchronize();
    int count = 0;
    const auto copy = [](void* to, const void* from, std::size_t bytes) {
      check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy from the GPU");
    };
    copy(&count, view_.warm_count + world, sizeof count);
    const std::size_t first = at(world) * at(view_.warm_capacity);
    WorldImpulses result{std::vector<std::int64_t>(at(count)), std::vector<double>(3 * at(count))};
    copy(result.key.data(), view_.warm_key + first, result.key.size() * sizeof(std::int64_t));
    copy(result.impulse.data(), view_.warm_impulse + 3 * first, result.impulse.size() * sizeof(double));
    return result;
  }
  void* data(BatchField field) override {
    if (field >= BatchField::kStatus) return count_of(field).data();
    return number_of(field).data();
  }
  void forget() override {
    synchronize();
    check(cudaMemset(warm_count_.data(), 0, warm_count_.size() * sizeof(int)), "memory on the GPU");
  }

 private:
  void synchronize() const { check(cudaStreamSynchronize(stream_), "step on the GPU"); }
  const DeviceArray<double>& number_of(BatchField field) const {
    if (field >= BatchField::kStatus) throw std::runtime_error("this field of a batch holds integers");
    return numbers_[static_cast<std::size_t>(field)];
  }
  DeviceArray<double>& number_of(BatchField field) {
    return const_cast<DeviceArray<double>&>(static_cast<const CudaBatch&>(*this).number_of(field));
  }
  const DeviceArray<int>& count_of(BatchField field) const {
    if (field < BatchField::kStatus) throw std::runtime_error("this field of a batch holds doubles");
    return counts_[static_cast<std::size_t>(field) - static_cast<std::size_t>(BatchField::kStatus)];
  }

  void upload(const ModelArrays& arrays) {
    model_.sizes = arrays.sizes;
    model_.settings = arrays.settings;
#define TOUCHSTONE_FIELD(name)           \
  model_ints_.emplace_back(arrays.name); \
  model_.name = model_ints_.back().data();
    TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
#define TOUCHSTONE_FIELD(name)              \
  model_doubles_.emplace_back(arrays.name); \
  model_.name = model_doubles_.back().data();
    TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  }

  void allocate(const ModelArrays& arrays, int worlds) {
    const ModelSizes& n = sizes_;
    const int widths[6] = {n.nq, n.nv, n.na, n.nu, n.nv, 1};
    for (int k = 0; k < 6; ++k) numbers_[k] = DeviceArray<double>(at(worlds) * at(widths[k]));
    for (DeviceArray<int>& counts : counts_) counts = DeviceArray<int>(at(worlds));
    warm_count_ = DeviceArray<int>(at(worlds));
    warm_key_ = DeviceArray<std::int64_t>(at(worlds) * at(large_.blocks));
    warm_impulse_ = DeviceArray<double>(3 * at(worlds) * at(large_.blocks));
    list_ = DeviceArray<int>(at(worlds));
    count_ = DeviceArray<int>(1);
    std::vector<double> q;
    for (int w = 0; w < worlds; ++w) q.insert(q.end(), arrays.reference_q.begin(), arrays.reference_q.end());
    numbers_[0].write(q.data());
    view_ = {worlds,
             large_.blocks,
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
  }

  // How many warps share a block, what they need, and the graph of a step.
  void plan(int worlds) {
    cudaDeviceProp device;
    int id = 0;
    check(cudaGetDevice(&id), "GPU");
    check(cudaGetDeviceProperties(&device, id), "GPU");
    const std::size_t small_bytes = scratch_bytes<float>(sizes_, small_);
    const std::size_t large_bytes = scratch_bytes<double>(sizes_, large_);
    const int warps = static_cast<int>(std::min<std::size_t>(kMostWarps, device.sharedMemPerBlockOptin / small_bytes));
    if (warps == 0)
      throw std::runtime_error("a world of this model needs " + std::to_string(small_bytes) +
                               " bytes of shared memory, and the GPU has " +
                               std::to_string(device.sharedMemPerBlockOptin) + "; make small_pool smaller");
    const int second = std::min(worlds, kSecondTier);
    pool_ = DeviceArray<char>(at(second) * large_bytes);
    check(cudaFuncSetAttribute(first_tier_kernel<float>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(at(warps) * small_bytes)),
          "shared memory");
    check(cudaStreamCreate(&stream_), "stream");
    const WorkList list{list_.data(), count_.data()};
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "graph");
    check(cudaMemsetAsync(count_.data(), 0, sizeof(int), stream_), "graph");
    first_tier_kernel<float><<<(worlds + warps - 1) / warps, warps * kWarpSize, at(warps) * small_bytes, stream_>>>(
        model_, options_, view_, small_, small_bytes, list);
    check(cudaGetLastError(), "first tier");
    second_tier_kernel<double>
        <<<second, kWarpSize, 0, stream_>>>(model_, options_, view_, large_, large_bytes, pool_.data(), list);
    check(cudaGetLastError(), "second tier");
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "graph");
    check(cudaGraphInstantiate(&graph_, graph, 0), "graph");
    cudaGraphDestroy(graph);
  }

  ModelSizes sizes_;
  StepOptions options_;
  Pool small_, large_;
  std::vector<DeviceArray<int>> model_ints_;
  std::vector<DeviceArray<double>> model_doubles_;
  ModelView model_;
  DeviceArray<double> numbers_[6];
  DeviceArray<int> counts_[3], warm_count_, list_, count_;
  DeviceArray<std::int64_t> warm_key_;
  DeviceArray<double> warm_impulse_;
  DeviceArray<char> pool_;
  BatchView view_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<WorldBatch> make_cuda_batch(const ModelArrays& arrays, int worlds, const BatchOptions& options) {
  options.validate();
  if (worlds < 1) throw std::runtime_error("a batch needs at least one world");
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    throw std::runtime_error("no CUDA device was found; use the processor (device 'cpu')");
  return std::make_unique<CudaBatch>(arrays, worlds, options);
}

}  // namespace touchstone::gpu

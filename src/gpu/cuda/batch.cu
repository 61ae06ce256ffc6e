// The batch on a GPU: stages of a step as kernels (launch.cuh), worlds that are not certified listed for the next tier,
// all of it captured once as a graph.
#include <algorithm>
#include <vector>

#include "touchstone/gpu/batch_store.hpp"
#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

constexpr int kListed = 2048;  // worlds of a list that are worked on at a time

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

// --- the batch ---

class CudaBatch final : public StoredBatch<DeviceArray> {
 public:
  CudaBatch(const ModelArrays& arrays, int worlds, const BatchOptions& options)
      : StoredBatch(arrays, worlds, options), record_bytes_(gpu::record_bytes(sizes_, middle_)) {
    upload(arrays);
    records_ = DeviceArray<char>(at(worlds) * record_bytes_);
    for (DeviceArray<int>& list : lists_) list = DeviceArray<int>(at(worlds));
    counts_of_lists_ = DeviceArray<int>(2);
    check(cudaStreamCreate(&own_stream_), "stream");
    stream_ = own_stream_;
    lanes_ = options.lanes;
    listed_ = std::min(worlds, kListed);
    large_bytes_ = scratch_bytes<double>(sizes_, large_);
    large_memory_ = DeviceArray<char>(at(listed_ + kThreads / kWarpSize) * large_bytes_);
    use_graph_ = options.graph;
    capture();
  }
  ~CudaBatch() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(own_stream_);
  }

  void step(int count) override {
    for (int k = 0; k < count; ++k) {
      if (graph_ == nullptr) {
        launch_step();
      } else {
        check(cudaGraphLaunch(graph_, stream_), "step on the GPU");
      }
    }
    check(cudaGetLastError(), "step on the GPU");
  }
  void reset(const ResetRequest& request) override {
    ResetStates to{request.mask, request.q, request.v, request.noise_q, request.noise_v, request.seed};
    if (!request.in_batch_memory) {
      synchronize();
      to.mask = staged(mask_, request.mask, 1);
      to.q = staged(states_[0], request.q, sizes_.nq);
      to.v = staged(states_[1], request.v, sizes_.nv);
    }
    launch_reset(launch(), stream_, to);
  }
  void use_stream(void* stream) override {
    synchronize();
    stream_ = stream != nullptr ? static_cast<cudaStream_t>(stream) : own_stream_;
  }
  void synchronize() const override { check(cudaStreamSynchronize(stream_), "step on the GPU"); }
  TierCounts tiers() const override {
    int counts[2] = {};
    synchronize();
    counts_of_lists_.read(counts);
    return {counts[0], counts[1]};
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

 protected:
  void parameters_changed() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
    capture();
  }

 private:
  // What the processor has, in memory of the GPU that is kept for it.
  template <typename T>
  const T* staged(DeviceArray<T>& kept, const T* values, int width) {
    if (values == nullptr) return nullptr;
    if (kept.size() == 0) kept = DeviceArray<T>(at(view_.worlds) * at(width));
    kept.write(values);
    return kept.data();
  }
  Launch launch() const { return {model_, options_, view_, middle_, records_.data(), record_bytes_}; }

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

  // The kernels of a step, in order.
  void launch_step() {
    const int worlds = view_.worlds;
    const Launch launch = this->launch();
    const WorkList second{lists_[0].data(), counts_of_lists_.data()};
    const WorkList third{lists_[1].data(), counts_of_lists_.data() + 1};
    const auto on_all = [&](const Pool& pool, int team) { return Work{stream_, pool, team, worlds, {}, second}; };
    const auto on_list = [&](const Pool& pool, const WorkList& list) {
      return Work{stream_, pool, kWarpSize, listed_, list, third};
    };
    check(cudaMemsetAsync(counts_of_lists_.data(), 0, 2 * sizeof(int), stream_), "step on the GPU");
    launch_tree(launch, on_all(middle_, lanes_.tree));
    if (sizes_.equality_rows > 0) launch_loops(launch, on_all(middle_, lanes_.loops));
    launch_collide(launch, on_all(middle_, lanes_.collide));
    launch_solve(launch, on_all(small_, lanes_.solve), options_.sweeps);
    launch_finish(launch, on_all(small_, lanes_.finish), false);
    launch_tree(launch, on_list(middle_, second));
    if (sizes_.equality_rows > 0) launch_loops(launch, on_list(middle_, second));
    launch_solve(launch, on_list(middle_, second), options_.more_sweeps);
    launch_finish(launch, on_list(middle_, second), options_.most_sweeps == 0);
    launch_third(launch, on_list(large_, third), large_memory_.data(), large_bytes_);
  }

  void capture() {
    if (!use_graph_) return;
    cudaStream_t user = stream_;
    stream_ = own_stream_;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "graph");
    launch_step();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "graph");
    check(cudaGraphInstantiate(&graph_, graph, 0), "graph");
    cudaGraphDestroy(graph);
    stream_ = user;
  }

  std::size_t record_bytes_, large_bytes_ = 0;
  StageLanes lanes_;
  int listed_ = 0;
  std::vector<DeviceArray<int>> model_ints_;
  std::vector<DeviceArray<double>> model_doubles_;
  ModelView model_;
  DeviceArray<char> records_, large_memory_;
  DeviceArray<int> lists_[2], counts_of_lists_;
  DeviceArray<unsigned char> mask_;
  DeviceArray<double> states_[2];
  bool use_graph_ = true;
  cudaStream_t own_stream_ = nullptr, stream_ = nullptr;
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

// The batch on a GPU: stages of a step as kernels (launch.cuh), worlds that are not certified listed for the next tier,
// all of it captured once as a graph.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "touchstone/gpu/batch_store.hpp"
#include "touchstone/gpu/cuda/special.cuh"
#include "touchstone/gpu/fast_memory.hpp"

namespace touchstone::gpu {
namespace {

constexpr int kListed = 2048;  // worlds of all lists that are worked on at a time
constexpr int kLists = 3;      // of a part: for the second and the third tier, and for the position pass
constexpr int kPartWorlds = 256, kMostParts = 4;
constexpr int kSpecialWorlds = 512;  // from which on kernels are compiled for the model: that takes many seconds

// Waits for copies from pageable memory and for fills: those return before they are done, and streams of users need not
// wait for the stream that they are on.
void finish_transfers() { check(cudaStreamSynchronize(cudaStreamLegacy), "copy to the GPU"); }

// An array on the device.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : DeviceArray() {  // which frees what a fault below leaves
    if (size == 0) return;
    check(cudaMalloc(&data_, size * sizeof(T)), "memory on the GPU");
    size_ = size;
    check(cudaMemset(data_, 0, size * sizeof(T)), "memory on the GPU");
    finish_transfers();
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
    if (size_ == 0) return;
    check(cudaMemcpy(data_, values, size_ * sizeof(T), cudaMemcpyHostToDevice), "copy to the GPU");
    finish_transfers();
  }
  // In the order of a stream; `values` stay until that has been waited for.
  void write(const T* values, cudaStream_t stream) {
    if (size_ == 0) return;
    check(cudaMemcpyAsync(data_, values, size_ * sizeof(T), cudaMemcpyHostToDevice, stream), "copy to the GPU");
  }
  void read(T* values) const {
    if (size_ > 0) check(cudaMemcpy(values, data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "copy from the GPU");
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Streams, events and graphs, each with who owns it.
struct Destroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

Owned<cudaStream_t> make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  return Owned<cudaStream_t>(stream);
}

Owned<cudaEvent_t> make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
  return Owned<cudaEvent_t>(event);
}

// What launch() puts on a stream, as a graph. Where that throws, the stream is a stream again.
template <typename Work>
Owned<cudaGraphExec_t> capture_graph(cudaStream_t stream, const Work& launch) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "graph");
  cudaGraph_t graph = nullptr;
  try {
    launch();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    const Owned<cudaGraph_t> dropped(graph);
    cudaGetLastError();  // it is told by what was thrown, and not to be found by the next call
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "graph");
  const Owned<cudaGraph_t> captured(graph);
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, graph, 0), "graph");
  return Owned<cudaGraphExec_t>(made);
}

// --- the batch ---

class CudaBatch final : public StoredBatch<DeviceArray> {
 public:
  CudaBatch(const ModelArrays& arrays, int worlds, const BatchOptions& options)
      : StoredBatch(arrays, worlds, options), record_bytes_(gpu::record_bytes(sizes_, middle_)) {
    check(cudaGetDevice(&device_), "GPU");
    lanes_ = fitting_lanes(sizes_, small_, middle_, options.lanes, block_memory());
    upload(arrays);
    records_ = DeviceArray<char>(at(worlds) * record_bytes_);
    for (DeviceArray<int>& list : lists_) list = DeviceArray<int>(at(worlds));
    own_stream_ = make_stream();
    stream_ = own_stream_.get();
    large_bytes_ = scratch_bytes<double>(sizes_, large_) + pass_bytes(sizes_, large_);
    pass_bytes_ = pass_bytes(sizes_, middle_);
    use_graph_ = options.graph;
    specialise_ = options.specialise;
    arrays_ = arrays;
    begun_ = make_event();
    make_parts(options.parts > 0 ? std::min(options.parts, worlds) : std::clamp(worlds / kPartWorlds, 1, kMostParts));
    prepare();
  }

  // Parts do not wait for each other between steps: while one is in its second tier, a few worlds long, others fill the
  // GPU. Before and after, all is in the order of the batch's stream.
  void step(int count) override {
    if (!prepared_) prepare();
    check(cudaEventRecord(begun_.get(), stream_), "step on the GPU");
    for (Part& part : parts_) check(cudaStreamWaitEvent(part.stream.get(), begun_.get(), 0), "step on the GPU");
    for (int k = 0; k < count; ++k) {
      for (Part& part : parts_) {
        if (part.graph == nullptr) {
          launch_step(part);
        } else {
          check(cudaGraphLaunch(part.graph.get(), part.stream.get()), "step on the GPU");
        }
      }
    }
    for (Part& part : parts_) {
      check(cudaEventRecord(part.ended.get(), part.stream.get()), "step on the GPU");
      check(cudaStreamWaitEvent(stream_, part.ended.get(), 0), "step on the GPU");
    }
    check(cudaGetLastError(), "step on the GPU");
  }
  void observe() override {
    if (sizes_.sensors > 0) launch_observe(launch(), stream_);
  }
  void reset(const ResetRequest& request) override {
    ResetStates to{request.mask, request.q, request.v, request.noise_q, request.noise_v, request.seed};
    if (!request.in_batch_memory && (request.mask != nullptr || request.q != nullptr || request.v != nullptr)) {
      to.mask = staged(mask_, request.mask, 1);
      to.q = staged(states_[0], request.q, sizes_.nq);
      to.v = staged(states_[1], request.v, sizes_.nv);
      synchronize();  // the caller's memory is the caller's again
    }
    launch_reset(launch(), stream_, to);
  }
  void use_stream(void* stream) override {
    synchronize();
    stream_ = stream != nullptr ? static_cast<cudaStream_t>(stream) : own_stream_.get();
  }
  void synchronize() const override { check(cudaStreamSynchronize(stream_), "step on the GPU"); }
  int device() const override { return device_; }
  TierCounts tiers() const override {
    std::vector<int> counts(counts_of_lists_.size());
    synchronize();
    counts_of_lists_.read(counts.data());
    TierCounts sum;
    for (std::size_t k = 0; k < counts.size(); k += kLists) sum.second += counts[k], sum.third += counts[k + 1];
    return sum;
  }
  std::string kernels() const override { return prepared_ ? kernels_ : "made with the next step"; }
  WorldImpulses impulses(int world) const override {
    synchronize();
    int count = 0;
    const auto copy = [](void* to, const void* from, std::size_t bytes) {
      check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy from the GPU");
    };
    copy(&count, view_.warm_count + world, sizeof count);
    const std::size_t first = at(world) * at(view_.warm_capacity), width = at(impulse_width(sizes_));
    WorldImpulses result{std::vector<std::int64_t>(at(count)), std::vector<double>(width * at(count))};
    copy(result.key.data(), view_.warm_key + first, result.key.size() * sizeof(std::int64_t));
    copy(result.impulse.data(), view_.warm_impulse + width * first, result.impulse.size() * sizeof(double));
    return result;
  }

 protected:
  // The next step makes kernels and graphs: several parameters may change before it.
  void parameters_changed() override {
    drop_graphs();
    prepared_ = false;
  }

 private:
  // Worlds that are stepped together.
  struct Part {
    int first = 0, worlds = 0, listed = 0;  // listed: worlds of a list that are worked on at a time
    int* counts = nullptr;                  // of its lists
    DeviceArray<char> large_memory, pass_memory;
    Owned<cudaStream_t> stream;
    Owned<cudaEvent_t> ended;
    Owned<cudaGraphExec_t> graph;  // null: kernel by kernel
  };

  void make_parts(int count) {
    counts_of_lists_ = DeviceArray<int>(kLists * at(count));
    for (int k = 0; k < count; ++k) {
      Part& part = parts_.emplace_back();
      part.first = static_cast<int>(static_cast<std::int64_t>(view_.worlds) * k / count);
      part.worlds = static_cast<int>(static_cast<std::int64_t>(view_.worlds) * (k + 1) / count) - part.first;
      part.listed = std::min(part.worlds, kListed / count);
      part.counts = counts_of_lists_.data() + kLists * k;
      const std::size_t teams = at(part.listed + kThreads / kWarpSize);
      part.large_memory = DeviceArray<char>(teams * large_bytes_);
      if (settings_.pass_interval > 0.0) part.pass_memory = DeviceArray<char>(teams * pass_bytes_);
      part.stream = make_stream();
      part.ended = make_event();
    }
  }
  void drop_graphs() {
    for (Part& part : parts_) part.graph.reset();
  }
  // Bytes of shared memory that a block has at most.
  std::size_t block_memory() const {
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_), "GPU");
    return static_cast<std::size_t>(most);
  }

  void prepare() {
    specialise();
    capture();
    prepared_ = true;
  }

  // Kernels for the model, and for the parameters that worlds have of their own now.
  void specialise() {
    unsigned own = 0;
    for (int k = 0; k < kWorldParameters; ++k) own |= view_.parameters.array[k] != nullptr ? 1u << k : 0u;
    if (special_ != nullptr && special_own_ == own) return;
    synchronize();
    special_.reset();
    special_own_ = own;
    if (specialise_ == Specialise::kOff) {
      kernels_ = "of tables, as asked for";
    } else if (view_.worlds < kSpecialWorlds) {
      kernels_ = "of tables: fewer than " + std::to_string(kSpecialWorlds) + " worlds";
    } else {
      special_ = make_special_kernels(arrays_, {small_, middle_, lanes_, own, 0}, kernels_);
    }
  }

  // What the processor has, in memory of the GPU that is kept for it.
  template <typename T>
  const T* staged(DeviceArray<T>& kept, const T* values, int width) {
    if (values == nullptr) return nullptr;
    if (kept.size() == 0) kept = DeviceArray<T>(at(view_.worlds) * at(width));
    kept.write(values, stream_);
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
    use_own_wrench(arrays, model_);
  }

  // The kernels of a step of a part, in order.
  void launch_step(const Part& part) {
    const cudaStream_t stream = part.stream.get();
    const BatchView view = view_.part(sizes_, part.first, part.worlds);
    const Launch launch{model_,       options_, view, middle_, records_.data() + at(part.first) * record_bytes_,
                        record_bytes_};
    const WorkList second{lists_[0].data() + part.first, part.counts};
    const WorkList third{lists_[1].data() + part.first, part.counts + 1};
    const auto on_all = [&](const Pool& pool, int team) {
      return Work{stream, pool, team, part.worlds, {}, second};
    };
    const auto on_list = [&](const Pool& pool, const WorkList& list) {
      return Work{stream, pool, kWarpSize, part.listed, list, third};
    };
    check(cudaMemsetAsync(part.counts, 0, kLists * sizeof(int), stream), "step on the GPU");
    if (special_ != nullptr) {
      special_->launch(stream, {options_, view, launch.records}, second,
                       [&] { launch_collide(launch, on_all(middle_, lanes_.collide)); });
    } else {
      launch_tree(launch, on_all(middle_, lanes_.tree));
      if (sizes_.equality_rows > 0) launch_loops(launch, on_all(middle_, lanes_.loops));
      launch_collide(launch, on_all(middle_, lanes_.collide));
      launch_solve(launch, on_all(small_, lanes_.solve), options_.sweeps);
      launch_finish(launch, on_all(small_, lanes_.finish), false);
    }
    launch_tree(launch, on_list(middle_, second));
    if (sizes_.equality_rows > 0) launch_loops(launch, on_list(middle_, second));
    launch_solve(launch, on_list(middle_, second), options_.more_sweeps);
    launch_finish(launch, on_list(middle_, second), options_.most_sweeps == 0);
    launch_third(launch, on_list(large_, third), part.large_memory.data(), large_bytes_);
    if (!(settings_.pass_interval > 0.0)) return;
    const WorkList pass{lists_[2].data() + part.first, part.counts + 2};
    Work check = on_all(middle_, kWarpSize);
    check.next = pass;
    launch_check(launch, check);
    launch_pass(launch, on_list(middle_, pass), part.pass_memory.data(), pass_bytes_);
  }

  void capture() {
    if (!use_graph_) return;
    for (Part& part : parts_) part.graph = capture_graph(part.stream.get(), [&] { launch_step(part); });
  }

  std::size_t record_bytes_, large_bytes_ = 0, pass_bytes_ = 0;
  StageLanes lanes_;
  std::vector<Part> parts_;
  ModelArrays arrays_;
  Specialise specialise_ = Specialise::kAuto;
  std::unique_ptr<SpecialKernels> special_;  // null: kernels of tables
  unsigned special_own_ = 0;                 // what they take to be worlds' own
  std::string kernels_;
  std::vector<DeviceArray<int>> model_ints_;
  std::vector<DeviceArray<double>> model_doubles_;
  ModelView model_;
  DeviceArray<char> records_;
  DeviceArray<int> lists_[kLists], counts_of_lists_;
  DeviceArray<unsigned char> mask_;
  DeviceArray<double> states_[2];
  bool use_graph_ = true, prepared_ = false;
  int device_ = 0;
  Owned<cudaStream_t> own_stream_;
  cudaStream_t stream_ = nullptr;  // the batch's own, or a user's
  Owned<cudaEvent_t> begun_;
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

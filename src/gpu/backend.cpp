#include "touchstone/gpu/backend.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <type_traits>

namespace touchstone::gpu {
namespace {

class BackendBatch final : public WorldBatch {
 public:
  BackendBatch(const BackendTable& table, const ModelArrays& arrays, int worlds, const BatchOptions& options)
      : table_(table), sizes_(arrays.sizes), worlds_(worlds) {
    const std::string bytes = pack_model_arrays(arrays);
    batch_ = call([&](BackendFault* f) { return table_.make(bytes.data(), bytes.size(), worlds, &options, f); });
  }
  BackendBatch(const BackendBatch&) = delete;
  BackendBatch& operator=(const BackendBatch&) = delete;
  ~BackendBatch() override { table_.destroy(batch_); }

  int worlds() const override { return worlds_; }
  const ModelSizes& sizes() const override { return sizes_; }
  void step(int count) override {
    call([&](BackendFault* f) { table_.step(batch_, count, f); });
  }
  void observe() override {
    call([&](BackendFault* f) { table_.observe(batch_, f); });
  }
  TierCounts tiers() const override {
    int counts[2] = {};
    call([&](BackendFault* f) { table_.tiers(batch_, counts, f); });
    return {counts[0], counts[1]};
  }
  void write(BatchField field, const double* values) override {
    call([&](BackendFault* f) { table_.write(batch_, static_cast<int>(field), values, f); });
  }
  void read(BatchField field, double* values) const override {
    call([&](BackendFault* f) { table_.read_doubles(batch_, static_cast<int>(field), values, f); });
  }
  void read(BatchField field, int* values) const override {
    call([&](BackendFault* f) { table_.read_ints(batch_, static_cast<int>(field), values, f); });
  }
  void* data(BatchField field) override {
    return call([&](BackendFault* f) { return table_.data(batch_, static_cast<int>(field), f); });
  }
  void forget() override {
    call([&](BackendFault* f) { table_.forget(batch_, f); });
  }
  void reset(const ResetRequest& request) override {
    call([&](BackendFault* f) { table_.reset(batch_, &request, f); });
  }
  void set_parameter(WorldParameter parameter, const double* values) override {
    call([&](BackendFault* f) { table_.set_parameter(batch_, static_cast<int>(parameter), values, f); });
  }
  void parameter(WorldParameter parameter, double* values) const override {
    call([&](BackendFault* f) { table_.parameter(batch_, static_cast<int>(parameter), values, f); });
  }
  double* parameter_data(WorldParameter parameter) override {
    return call([&](BackendFault* f) { return table_.parameter_data(batch_, static_cast<int>(parameter), f); });
  }
  void use_stream(void* stream) override {
    call([&](BackendFault* f) { table_.use_stream(batch_, stream, f); });
  }
  void synchronize() const override {
    call([&](BackendFault* f) { table_.synchronize(batch_, f); });
  }
  int device() const override { return table_.device(batch_); }
  std::string kernels() const override {
    BackendFault text;
    table_.kernels(batch_, &text);
    return text.text;
  }
  WorldImpulses impulses(int world) const override {
    WorldImpulses found;
    const auto ask = [&](int room) {
      return call([&](BackendFault* f) {
        return table_.impulses(batch_, world, room, found.key.data(), found.impulse.data(), f);
      });
    };
    const int count = ask(0);
    found.key.resize(static_cast<std::size_t>(count));
    found.impulse.resize(static_cast<std::size_t>(impulse_width(sizes())) * static_cast<std::size_t>(count));
    ask(count);
    return found;
  }

 private:
  template <typename Call>
  static auto call(const Call& use) -> decltype(use(nullptr)) {
    BackendFault fault;
    if constexpr (std::is_void_v<decltype(use(nullptr))>) {
      use(&fault);
      if (fault.text[0] != '\0') throw std::runtime_error(fault.text);
    } else {
      const auto result = use(&fault);
      if (fault.text[0] != '\0') throw std::runtime_error(fault.text);
      return result;
    }
  }

  const BackendTable& table_;
  ModelSizes sizes_;
  int worlds_;
  void* batch_ = nullptr;
};

}  // namespace

std::unique_ptr<WorldBatch> make_backend_batch(const BackendTable& table, const ModelArrays& arrays, int worlds,
                                               const BatchOptions& options) {
  options.validate();
  constexpr const char* kRemedy = "; install the touchstone-sim-cuda of this touchstone-sim, or build it again";
  if (table.version != kBackendVersion)
    throw std::runtime_error("the backend library is of another version (" + std::to_string(table.version) +
                             ", wanted " + std::to_string(kBackendVersion) + ")" + kRemedy);
  if (table.signature != backend_signature())
    throw std::runtime_error(std::string("the backend library was built from other sources: its arrays or options are "
                                         "not those of this library") +
                             kRemedy);
  return std::make_unique<BackendBatch>(table, arrays, worlds, options);
}

const BackendTable& load_backend(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    throw std::runtime_error("cannot load the backend '" + path + "': " + (why != nullptr ? why : "no reason given"));
  }
  auto* entry = reinterpret_cast<const BackendTable* (*)()>(dlsym(library, kBackendEntry));
  if (entry == nullptr) {
    dlclose(library);
    throw std::runtime_error("'" + path + "' is no backend of Touchstone: it has no " + kBackendEntry);
  }
  return *entry();
}

}  // namespace touchstone::gpu

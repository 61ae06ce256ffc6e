// The fields of a batch in the memory that it computes in. `Array<T>` is an array of that memory: made with a number of
// zeros, with data(), size(), write(from) and read(to).
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/batch_view.hpp"
#include "touchstone/gpu/reset.hpp"
#include "touchstone/gpu/stages.hpp"

namespace touchstone::gpu {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

template <template <typename> class Array>
class StoredBatch : public WorldBatch {
 public:
  StoredBatch(const ModelArrays& arrays, int worlds, const BatchOptions& options)
      : sizes_(arrays.sizes),
        options_{options.tolerance, options.sweeps, options.more_sweeps, options.most_sweeps, options.check_every},
        small_(pool_for(sizes_, small_contacts(options), usual_singles(sizes_))),
        middle_(full_pool(sizes_, options.middle_pool)),
        large_(full_pool(sizes_, options.large_pool)) {
    const ModelSizes& n = sizes_;
    const int widths[kNumbers] = {n.nq, n.nv, n.na, n.nu, n.nv, 1, 1, n.sensor_numbers, n.loop_numbers};
    for (int k = 0; k < kNumbers; ++k) numbers_[k] = Array<double>(at(worlds) * at(widths[k]));
    for (Array<int>& counts : counts_) counts = Array<int>(at(worlds));
    warm_count_ = Array<int>(at(worlds));
    for (Array<double>& numbers : pass_) numbers = Array<double>(at(worlds));
    mocap_before_ = Array<double>(at(7 * n.followed) * at(worlds));
    old_velocity_ = Array<double>(at(n.old_velocity) * at(worlds));
    warm_key_ = Array<std::int64_t>(at(worlds) * at(large_.blocks));
    warm_impulse_ = Array<double>(at(impulse_width(n)) * at(worlds) * at(large_.blocks));
    std::vector<double> q;
    for (int w = 0; w < worlds; ++w) q.insert(q.end(), arrays.reference_q.begin(), arrays.reference_q.end());
    numbers_[0].write(q.data());
    std::vector<double> loop_q;
    for (int w = 0; w < worlds; ++w)
      loop_q.insert(loop_q.end(), arrays.reference_loop.begin(), arrays.reference_loop.end());
    numbers_[8].write(loop_q.data());
    view_ = {worlds,
             large_.blocks,
             numbers_[0].data(),
             numbers_[1].data(),
             numbers_[2].data(),
             numbers_[3].data(),
             numbers_[4].data(),
             numbers_[5].data(),
             numbers_[6].data(),
             counts_[0].data(),
             counts_[1].data(),
             counts_[2].data(),
             pass_[0].data(),
             pass_[1].data(),
             warm_count_.data(),
             warm_key_.data(),
             warm_impulse_.data(),
             numbers_[7].data(),
             numbers_[8].data(),
             mocap_before_.data(),
             old_velocity_.data(),
             {}};
    keep_defaults(arrays);
    settings_ = arrays.settings;
    shape_type_ = arrays.shape_type;
    forget_steps();
  }

  int worlds() const override { return view_.worlds; }
  const ModelSizes& sizes() const override { return sizes_; }
  void write(BatchField field, const double* values) override {
    synchronize();
    numbers_[number_of(field)].write(values);
  }
  void read(BatchField field, double* values) const override {
    synchronize();
    numbers_[number_of(field)].read(values);
  }
  void read(BatchField field, int* values) const override {
    synchronize();
    counts_[count_of(field)].read(values);
  }
  void* data(BatchField field) override {
    if (field >= BatchField::kStatus) return counts_[count_of(field)].data();
    return numbers_[number_of(field)].data();
  }
  void forget() override {
    synchronize();
    forget_steps();
  }
  void set_parameter(WorldParameter parameter, const double* values) override {
    synchronize();
    if (parameter == WorldParameter::kShapeRadius) throw std::runtime_error("radii follow shape_size; set that");
    if (values != nullptr) check_parameter(parameter, values);
    const bool changed = put_parameter(parameter, values);
    bool sized = false;
    if (parameter == WorldParameter::kShapeSize) {
      const std::vector<double> radii = radii_of(values);
      sized = put_parameter(WorldParameter::kShapeRadius, values != nullptr ? radii.data() : nullptr);
    }
    // Captured steps hold addresses, not values.
    if (changed || sized) parameters_changed();
  }
  void parameter(WorldParameter parameter, double* values) const override {
    synchronize();
    const auto k = static_cast<std::size_t>(parameter);
    if (view_.parameters.array[k] != nullptr) return parameters_[k].read(values);
    for (int w = 0; w < view_.worlds; ++w) {
      for (const double x : defaults_[k]) *values++ = x;
    }
  }
  double* parameter_data(WorldParameter parameter) override {
    if (parameter == WorldParameter::kShapeSize || parameter == WorldParameter::kShapeRadius)
      throw std::runtime_error("bounds of shapes follow their sizes; use set_parameter");
    const auto k = static_cast<std::size_t>(parameter);
    if (view_.parameters.array[k] == nullptr && !defaults_[k].empty()) {
      std::vector<double> all(at(view_.worlds) * defaults_[k].size());
      this->parameter(parameter, all.data());
      make_parameter(k).write(all.data());
      parameters_changed();
    }
    is_known_[k] = true;
    return parameters_[k].data();
  }
  void use_stream(void* stream) override {
    if (stream != nullptr) throw std::runtime_error("a batch on the processor has no streams");
  }
  void synchronize() const override {}

 protected:
  // Called after arrays of parameters were made or dropped.
  virtual void parameters_changed() {}

  ModelSizes sizes_;
  ModelSettings settings_;
  StepOptions options_;
  Pool small_, middle_, large_;
  BatchView view_;
  Array<int> warm_count_;
  Array<std::int64_t> warm_key_;
  Array<double> warm_impulse_, mocap_before_, old_velocity_, pass_[2];  // pass: since_pass and reach

 private:
  static constexpr int kNumbers = 9;

  void forget_steps() {
    double since = 0.0, reach = 0.0;
    forget_pass(settings_, since, reach);
    warm_count_.write(std::vector<int>(warm_count_.size(), 0).data());
    mocap_before_.write(std::vector<double>(mocap_before_.size(), kUnknown).data());
    old_velocity_.write(std::vector<double>(old_velocity_.size(), kUnknown).data());
    pass_[0].write(std::vector<double>(pass_[0].size(), since).data());
    pass_[1].write(std::vector<double>(pass_[1].size(), reach).data());
  }
  void keep_defaults(const ModelArrays& arrays) {
#define TOUCHSTONE_FIELD(name, array, width) defaults_[static_cast<std::size_t>(WorldParameter::name)] = arrays.array;
    TOUCHSTONE_WORLD_PARAMETERS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
    const double* gravity = arrays.settings.gravity;
    defaults_[static_cast<std::size_t>(WorldParameter::kGravityVector)].assign(gravity, gravity + 3);
    defaults_[static_cast<std::size_t>(WorldParameter::kAppliedWrench)].assign(at(6 * sizes_.bodies), 0.0);
  }
  Array<double>& make_parameter(std::size_t k) {
    if (view_.parameters.array[k] == nullptr) {
      const std::size_t size = at(view_.worlds) * defaults_[k].size();
      if (parameters_[k].size() != size) parameters_[k] = Array<double>(size);
      view_.parameters.array[k] = parameters_[k].data();
    }
    return parameters_[k];
  }
  // Returns whether its address is another.
  bool put_parameter(WorldParameter parameter, const double* values) {
    const auto k = static_cast<std::size_t>(parameter);
    const double* before = view_.parameters.array[k];
    if (values == nullptr) {
      if (!is_known_[k]) parameters_[k] = Array<double>();
      view_.parameters.array[k] = nullptr;
    } else {
      make_parameter(k).write(values);
    }
    return view_.parameters.array[k] != before;
  }
  // Balls around the shapes of all worlds, by their sizes.
  std::vector<double> radii_of(const double* sizes) const {
    const std::vector<double>& own = defaults_[static_cast<std::size_t>(WorldParameter::kShapeRadius)];
    std::vector<double> radii;
    for (int w = 0; sizes != nullptr && w < view_.worlds; ++w) {
      for (std::size_t i = 0; i < own.size(); ++i, sizes += 3) {
        const double known = ball_radius(shape_type_[i], sizes);
        radii.push_back(known >= 0.0 ? known : own[i]);
      }
    }
    return radii;
  }
  void check_parameter(WorldParameter parameter, const double* values) const {
    const bool any_sign = parameter == WorldParameter::kBodyCom || parameter == WorldParameter::kBodyInertia ||
                          parameter >= WorldParameter::kGravityVector || parameter == WorldParameter::kActuatorGain ||
                          parameter == WorldParameter::kActuatorBias ||
                          parameter == WorldParameter::kActuatorForceRange || parameter == WorldParameter::kMocapPose;
    const std::vector<double>& own = defaults_[static_cast<std::size_t>(parameter)];
    for (int w = 0; w < view_.worlds; ++w) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        const double x = *values++;
        const auto fail = [&](const std::string& why) {
          throw std::runtime_error("parameter of world " + std::to_string(w) + ", number " + std::to_string(i) +
                                   ", is " + std::to_string(x) + "; " + why);
        };
        if (!std::isfinite(x)) fail("give a finite number");
        if (parameter == WorldParameter::kMocapPose && i % 7 == 6 &&
            !(std::hypot(std::hypot(values[-4], values[-3]), std::hypot(values[-2], x)) > 1e-9))
          fail("its quaternion is zero; give one with a direction");
        if (x < 0.0 && !any_sign) fail("give a number that is not negative");
        if (parameter == WorldParameter::kDofFriction && x > 0.0 && own[i] == 0.0)
          fail("the model has no dry friction at this dof; give the model a small one");
        if (parameter == WorldParameter::kShapeSize && x != own[i] &&
            ball_radius(shape_type_[i / 3], &own[i - i % 3]) < 0.0)
          fail("it is of a plane, a hull or a height field, whose sizes are the model's");
        if (parameter == WorldParameter::kShapeSize && x == 0.0 && own[i] > 0.0) fail("give a positive size");
      }
    }
  }

  // As many contacts as leave room for sixteen worlds on a multiprocessor, for that many its registers serve, and for
  // the caches: with all of the fast memory in use Cassie took 3 % longer.
  int small_contacts(const BatchOptions& options) const {
    constexpr int kFewest = 6, kMost = 16;
    constexpr std::size_t kFastMemory = 10 * 1024 + 512;  // bytes a world
    if (options.small_pool > 0) return options.small_pool;
    const Pool room = full_pool(sizes_, options.middle_pool);
    int contacts = kMost < options.middle_pool ? kMost : options.middle_pool;
    const auto bytes = [&] {
      Scratch<float> unused;
      return carve_stage<SolveStage>(sizes_, pool_for(sizes_, contacts, usual_singles(sizes_)), room, nullptr, nullptr,
                                     unused);
    };
    while (contacts > kFewest && bytes() > kFastMemory) --contacts;
    return contacts;
  }
  // Rows of dry friction, and of as many limits and bounded servos as are usually reached at once.
  static int usual_singles(const ModelSizes& n) {
    constexpr int kReached = 10;
    const int rows = n.friction_rows + kReached;
    return rows < n.single_rows ? rows : n.single_rows;
  }
  static std::size_t number_of(BatchField field) {
    if (field >= BatchField::kStatus) throw std::runtime_error("this field of a batch holds integers");
    return static_cast<std::size_t>(field);
  }
  static std::size_t count_of(BatchField field) {
    if (field < BatchField::kStatus) throw std::runtime_error("this field of a batch holds doubles");
    return static_cast<std::size_t>(field) - static_cast<std::size_t>(BatchField::kStatus);
  }

  Array<double> numbers_[kNumbers], parameters_[kWorldParameters];
  bool is_known_[kWorldParameters] = {};            // by its address: the memory stays
  std::vector<double> defaults_[kWorldParameters];  // of one world
  std::vector<int> shape_type_;
  Array<int> counts_[3];
};

}  // namespace touchstone::gpu

// The fields of a batch in the memory that it computes in. `Array<T>` is an array of that memory: made with a number of
// zeros, with data(), size(), write(from) and read(to).
#pragma once

#include <stdexcept>
#include <vector>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/batch_view.hpp"

namespace touchstone::gpu {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

template <template <typename> class Array>
class StoredBatch : public WorldBatch {
 public:
  StoredBatch(const ModelArrays& arrays, int worlds, const BatchOptions& options)
      : sizes_(arrays.sizes),
        options_{options.tolerance, options.sweeps, options.more_sweeps, options.most_sweeps, options.check_every},
        small_(pool_for(sizes_, options.small_pool, usual_singles(sizes_))),
        middle_(full_pool(sizes_, options.middle_pool)),
        large_(full_pool(sizes_, options.large_pool)) {
    const ModelSizes& n = sizes_;
    const int widths[kNumbers] = {n.nq, n.nv, n.na, n.nu, n.nv, 1};
    for (int k = 0; k < kNumbers; ++k) numbers_[k] = Array<double>(at(worlds) * at(widths[k]));
    for (Array<int>& counts : counts_) counts = Array<int>(at(worlds));
    warm_count_ = Array<int>(at(worlds));
    warm_key_ = Array<std::int64_t>(at(worlds) * at(large_.blocks));
    warm_impulse_ = Array<double>(3 * at(worlds) * at(large_.blocks));
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
    const std::vector<int> none(warm_count_.size(), 0);
    warm_count_.write(none.data());
  }

 protected:
  // Waits for steps that are under way.
  virtual void synchronize() const {}

  ModelSizes sizes_;
  StepOptions options_;
  Pool small_, middle_, large_;
  BatchView view_;
  Array<int> warm_count_;
  Array<std::int64_t> warm_key_;
  Array<double> warm_impulse_;

 private:
  static constexpr int kNumbers = 6;

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

  Array<double> numbers_[kNumbers];
  Array<int> counts_[3];
};

}  // namespace touchstone::gpu

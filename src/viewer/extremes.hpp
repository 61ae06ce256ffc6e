// The smallest and largest values of several figures over some steps, so that a chart with fewer points than steps
// hides no peak. NaN, a gap, counts for nothing.
#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace touchstone {

class Extremes {
 public:
  void clear() {
    low_.clear();
    high_.clear();
  }

  void add(std::span<const double> values) {
    if (low_.empty()) {
      low_.assign(values.begin(), values.end());
      high_ = low_;
      return;
    }
    for (std::size_t i = 0; i < low_.size(); ++i) {
      low_[i] = std::fmin(low_[i], values[i]);  // the number if the other is NaN
      high_[i] = std::fmax(high_[i], values[i]);
    }
  }

  // Empty before the first row.
  const std::vector<double>& low() const { return low_; }
  const std::vector<double>& high() const { return high_; }

 private:
  std::vector<double> low_, high_;
};

}  // namespace touchstone

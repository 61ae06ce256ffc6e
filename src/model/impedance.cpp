#include "touchstone/model/impedance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone {
namespace {

constexpr double kTiny = 1e-15;      // below this a time counts as this
constexpr double kCritical = 0.999;  // damping ratio from which a spring does not swing back

}  // namespace

double ReferenceSpring::damping_ratio() const {
  if (!(stiffness > 0.0)) return std::numeric_limits<double>::infinity();
  return damping / (2.0 * std::sqrt(stiffness));
}

bool ReferenceSpring::is_underdamped() const { return damping_ratio() < kCritical; }

bool has_mixed_signs(const std::array<double, 2>& solref) { return (solref[0] > 0.0) != (solref[1] > 0.0); }

ReferenceSpring reference_spring(const std::array<double, 2>& solref, double least_time_constant) {
  const std::array<double, 2> s = has_mixed_signs(solref) ? Impedance().solref : solref;
  if (s[0] <= 0.0) return {-s[0], -s[1]};
  const double time_constant = std::max({s[0], least_time_constant, kTiny});
  const double period = std::max(time_constant * s[1], kTiny);
  return {1.0 / (period * period), 2.0 / time_constant};
}

}  // namespace touchstone

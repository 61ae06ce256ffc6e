#include "touchstone/sim/rebound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "touchstone/model/impedance.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

constexpr int kSteps = 64;         // of the motion, in half a swing
constexpr int kHalvings = 20;      // of the step in which it ends
constexpr double kHeaviest = 1e6;  // loads beyond so many times w v hold any body

// A free swing y'' = -2 z y' - y over a phase, exact.
struct Swing {
  double y = 0.0, v = 0.0;
};

class Turn {
 public:
  Turn(double z, double phase) : z_(z) {
    const double s = std::sqrt(1.0 - z * z);
    decay_ = std::exp(-z * phase / s);
    cosine_ = std::cos(phase);
    sine_ = std::sin(phase) / s;
  }
  Swing operator()(const Swing& m) const {
    return {decay_ * ((cosine_ + z_ * sine_) * m.y + sine_ * m.v),
            decay_ * ((cosine_ - z_ * sine_) * m.v - sine_ * m.y)};
  }

 private:
  double z_, decay_ = 0.0, cosine_ = 0.0, sine_ = 0.0;
};

// y = x + (1 - d) a/w^2 swings freely. Lengths in v/w, times in 1/w.
double loaded_rebound(double z, double load, double d) {
  const double offset = (1.0 - d) * load;
  const auto ended = [&](const Swing& m) { return -2.0 * z * m.v - m.y + load <= 0.0 || m.y >= offset; };
  const double phase = std::numbers::pi / kSteps;
  const Turn turn(z, phase);
  Swing now{offset, -1.0};
  for (int i = 0; i < 2 * kSteps; ++i) {
    const Swing next = turn(now);
    if (!ended(next)) {
      now = next;
      continue;
    }
    double from = 0.0, to = phase;
    for (int k = 0; k < kHalvings; ++k) {
      const double middle = 0.5 * (from + to);
      (ended(Turn(z, middle)(now)) ? to : from) = middle;
    }
    return std::max(0.0, Turn(z, to)(now).v);
  }
  return 0.0;
}

}  // namespace

double rebound(const Impedance& impedance, double speed, double load) {
  const ReferenceSpring spring = reference_spring(impedance.solref);
  if (!spring.is_underdamped() || !(speed > 0.0)) return 0.0;
  const double z = spring.damping_ratio();
  if (!(load > 0.0)) return std::exp(-2.0 * std::acos(z) * z / std::sqrt(1.0 - z * z));
  const double share = load / (std::sqrt(spring.stiffness) * speed);
  if (!(share < kHeaviest)) return 0.0;
  return loaded_rebound(z, share, soft::impedance_at(impedance.solimp, std::numeric_limits<double>::infinity()));
}

}  // namespace touchstone

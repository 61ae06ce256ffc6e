// Lagged against hard contact as both become the same model: k proportional to 1/h^2, v_s to h, d to 1/h. For a test,
// and for the plot of the benchmark `convex`. The scenes have one motion each, whatever their forces.
#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

namespace touchstone::test {

enum class LimitCase { kSlide, kRoll, kDrop, kBelt, kSlope };
inline constexpr std::array kLimitCases{LimitCase::kSlide, LimitCase::kRoll, LimitCase::kDrop, LimitCase::kBelt,
                                        LimitCase::kSlope};
const char* to_string(LimitCase kind);

struct LimitOptions {
  LimitCase kind = LimitCase::kSlide;
  double mass = 1.0, size = 0.05, friction = 0.5;  // kg; m: half of a box, radius of a ball
  double speed = 1.0;                              // m/s: of the body, or of the belt
  double spin = 0.0;                               // rad/s: of a ball, about y
  double height = 0.05;                            // m: from which it drops
  double angle = 0.2;                              // rad: of the slope
  double seconds = 0.4;
};
LimitOptions random_limit(LimitCase kind, std::mt19937& random);

// Largest distance of the centre over the run, m, at each of the steps: to hard contact with the same step, and to hard
// contact with tiny steps.
struct LimitErrors {
  std::vector<double> same_step, exact;
  double way = 0.0;  // m: of the centre
};
LimitErrors limit_errors(const LimitOptions& options, const std::vector<double>& steps);

}  // namespace touchstone::test

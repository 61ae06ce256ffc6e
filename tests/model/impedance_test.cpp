#include "touchstone/model/impedance.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace touchstone {
namespace {

// Both ways to write one spring.
TEST(ReferenceSpring, ReadsBothFormats) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-3.0, 0.0), ratio(0.01, 3.0);
  for (int i = 0; i < 1000; ++i) {
    const double time_constant = std::pow(10.0, exponent(random)), z = ratio(random);
    const double w = 1.0 / (time_constant * z);
    for (const auto& solref : {std::array{time_constant, z}, std::array{-w * w, -2.0 * z * w}}) {
      const ReferenceSpring spring = reference_spring(solref);
      EXPECT_NEAR(spring.stiffness, w * w, 1e-12 * w * w);
      EXPECT_NEAR(spring.damping, 2.0 / time_constant, 1e-12 * spring.damping);
      EXPECT_NEAR(spring.damping_ratio(), z, 1e-12);
      EXPECT_EQ(spring.is_underdamped(), z < 0.999);
    }
  }
  EXPECT_EQ(reference_spring({0.001, 1.0}, 0.004).damping, 500.0);
  EXPECT_FALSE(reference_spring(Impedance().solref).is_underdamped());
}

TEST(ReferenceSpring, RoundedCriticalDampingIsCritical) {
  EXPECT_FALSE(reference_spring({-1e5, -632.4555}).is_underdamped());
  EXPECT_FALSE(reference_spring({-1e5, -632.}).is_underdamped());
  EXPECT_TRUE(reference_spring({-1e5, -600.0}).is_underdamped());
}

TEST(ReferenceSpring, MixedSignsAreTheDefault) {
  for (const auto& solref : {std::array{-1000.0, 1.0}, {0.02, 0.0}, {0.0, 1.0}, {0.02, -1.0}}) {
    EXPECT_TRUE(has_mixed_signs(solref));
    EXPECT_EQ(reference_spring(solref).stiffness, reference_spring(Impedance().solref).stiffness);
    EXPECT_EQ(reference_spring(solref).damping, reference_spring(Impedance().solref).damping);
  }
  for (const auto& solref : {std::array{-1000.0, 0.0}, {0.0, -10.0}, {0.0, 0.0}, {0.02, 0.3}}) {
    EXPECT_FALSE(has_mixed_signs(solref));
  }
  EXPECT_FALSE(reference_spring({0.0, -10.0}).is_underdamped()) << "a damper alone";
  EXPECT_FALSE(reference_spring({0.0, 0.0}).is_underdamped());
}

}  // namespace
}  // namespace touchstone

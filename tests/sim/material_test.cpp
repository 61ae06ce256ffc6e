#include "touchstone/sim/detection/material.hpp"

#include <gtest/gtest.h>

namespace touchstone {
namespace {

Material first() {
  Material m;
  m.friction = {0.5, 0.1, 0.02};
  m.mixing = 3.0;
  m.impedance.solref = {0.01, 0.8};
  return m;
}

Material second() {
  Material m;
  m.friction = {0.9, 0.05, 0.03};
  m.impedance.solref = {0.03, 1.2};
  m.impedance.solimp = {0.8, 0.9, 0.002, 0.4, 3.0};
  return m;
}

// The numbers are those of MuJoCo for a plane and a sphere with these materials.
TEST(Combine, FollowsMujoco) {
  const ContactMaterial c = combine(first(), 4, second(), 3);
  EXPECT_EQ(c.dimension, 4);
  const std::array<double, 5> friction{0.9, 0.9, 0.1, 0.03, 0.03};
  EXPECT_EQ(c.friction, friction);
  EXPECT_NEAR(c.impedance.solref[0], 0.015, 1e-15);
  EXPECT_NEAR(c.impedance.solref[1], 0.9, 1e-15);
  const std::array<double, 5> solimp{0.875, 0.9375, 0.00125, 0.475, 2.25};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(c.impedance.solimp[k], solimp[k], 1e-15);
}

TEST(Combine, DoesNotDependOnTheOrder) {
  const ContactMaterial c = combine(first(), 4, second(), 3), d = combine(second(), 3, first(), 4);
  EXPECT_EQ(c.friction, d.friction);
  EXPECT_EQ(c.dimension, d.dimension);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(c.impedance.solref[k], d.impedance.solref[k], 1e-15);
}

TEST(Combine, HigherPriorityDecidesAlone) {
  Material a = first();
  a.priority = 1;
  a.restitution = 0.2;
  Material b = second();
  b.restitution = 0.9;
  const ContactMaterial c = combine(a, 1, b, 6);
  EXPECT_EQ(c.dimension, 1);
  EXPECT_EQ(c.friction[0], 0.5);
  EXPECT_EQ(c.restitution, 0.2);
  EXPECT_EQ(c.impedance.solref, a.impedance.solref);
}

TEST(Combine, DirectStiffnessTakesTheSmallerValue) {
  Material a = first(), b = second();
  a.impedance.solref = {-1000.0, -10.0};
  b.impedance.solref = {-500.0, -20.0};
  const ContactMaterial c = combine(a, 3, b, 3);
  EXPECT_EQ(c.impedance.solref[0], -1000.0);
  EXPECT_EQ(c.impedance.solref[1], -20.0);
}

TEST(Combine, WithoutWeightsOnOneSideTheOtherDecides) {
  Material a = first(), b = second();
  a.mixing = 0.0;
  EXPECT_EQ(combine(a, 3, b, 3).impedance.solref, b.impedance.solref);
  b.mixing = 0.0;
  EXPECT_NEAR(combine(a, 3, b, 3).impedance.solref[0], 0.02, 1e-15);
}

// Two springs in series under one force F: deformations x = F/k add up, and each side dissipates by its own share.
TEST(Combine, CompliancesAreInSeries) {
  Material a, b;
  a.stiffness = 3000.0;
  b.stiffness = 1000.0;
  a.dissipation = 0.4;
  b.dissipation = 0.8;
  const ContactMaterial c = combine(a, 3, b, 3);
  EXPECT_NEAR(c.stiffness, 750.0, 1e-12);
  EXPECT_NEAR(c.dissipation, 0.25 * 0.4 + 0.75 * 0.8, 1e-15);
  b.stiffness = 0.0;  // rigid
  EXPECT_EQ(combine(a, 3, b, 3).stiffness, 3000.0);
  EXPECT_EQ(combine(a, 3, b, 3).dissipation, 0.4);
  EXPECT_EQ(combine(b, 3, a, 3).stiffness, 3000.0);
}

TEST(Combine, RestitutionIsTheLarger) {
  Material a, b;
  a.restitution = 0.3;
  b.restitution = 0.7;
  EXPECT_EQ(combine(a, 3, b, 3).restitution, 0.7);
}

}  // namespace
}  // namespace touchstone

#include "touchstone/sim/detection/material.hpp"

#include <cmath>
#include <random>

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
  const ContactMaterial c = combine({first(), 4}, {second(), 3});
  EXPECT_EQ(c.dimension, 4);
  const std::array<double, 5> friction{0.9, 0.9, 0.1, 0.03, 0.03};
  EXPECT_EQ(c.friction, friction);
  EXPECT_NEAR(c.impedance.solref[0], 0.015, 1e-15);
  EXPECT_NEAR(c.impedance.solref[1], 0.9, 1e-15);
  const std::array<double, 5> solimp{0.875, 0.9375, 0.00125, 0.475, 2.25};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(c.impedance.solimp[k], solimp[k], 1e-15);
}

TEST(Combine, DoesNotDependOnTheOrder) {
  const ContactMaterial c = combine({first(), 4}, {second(), 3}), d = combine({second(), 3}, {first(), 4});
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
  const ContactMaterial c = combine({a, 1}, {b, 6});
  EXPECT_EQ(c.dimension, 1);
  EXPECT_EQ(c.friction[0], 0.5);
  EXPECT_EQ(c.restitution, 0.2);
  EXPECT_EQ(c.impedance.solref, a.impedance.solref);
}

TEST(Combine, DirectStiffnessTakesTheSmallerValue) {
  Material a = first(), b = second();
  a.impedance.solref = {-1000.0, -10.0};
  b.impedance.solref = {-500.0, -20.0};
  const ContactMaterial c = combine({a, 3}, {b, 3});
  EXPECT_EQ(c.impedance.solref[0], -1000.0);
  EXPECT_EQ(c.impedance.solref[1], -20.0);
}

TEST(Combine, WithoutWeightsOnOneSideTheOtherDecides) {
  Material a = first(), b = second();
  a.mixing = 0.0;
  EXPECT_EQ(combine({a, 3}, {b, 3}).impedance.solref, b.impedance.solref);
  b.mixing = 0.0;
  EXPECT_NEAR(combine({a, 3}, {b, 3}).impedance.solref[0], 0.02, 1e-15);
}

// Two springs in series under one force F: deformations x = F/k add up, and each side dissipates by its own share.
TEST(Combine, CompliancesAreInSeries) {
  Material a, b;
  a.stiffness = 3000.0;
  b.stiffness = 1000.0;
  a.dissipation = 0.4;
  b.dissipation = 0.8;
  const ContactMaterial c = combine({a, 3}, {b, 3});
  EXPECT_NEAR(c.stiffness, 750.0, 1e-12);
  EXPECT_NEAR(c.dissipation, 0.25 * 0.4 + 0.75 * 0.8, 1e-15);
  b.stiffness = 0.0;  // rigid
  EXPECT_NEAR(combine({a, 3}, {b, 3}).stiffness, 3000.0, 1e-11);
  EXPECT_EQ(combine({a, 3}, {b, 3}).dissipation, 0.4);
  EXPECT_NEAR(combine({b, 3}, {a, 3}).stiffness, 3000.0, 1e-11);
}

// Drake's rule where both are in physical units, MuJoCo's where one is not.
TEST(Combine, FrictionOfPhysicalMaterialsIsDrakes) {
  Material a, b;
  a.friction = {1.0, 0.01, 0.002};
  b.friction = {0.25, 0.02, 0.001};
  a.stiffness = 1e5;
  EXPECT_EQ(combine({a, 3}, {b, 3}).friction[0], 1.0);
  b.stiffness = 1e6;
  const ContactMaterial c = combine({a, 3}, {b, 3});
  EXPECT_NEAR(c.friction[0], 0.4, 1e-15);
  EXPECT_EQ(c.friction[0], c.friction[1]);
  EXPECT_EQ(c.friction[2], 0.02);
  EXPECT_EQ(c.friction[3], 0.002);
  EXPECT_EQ(combine({b, 3}, {a, 3}).friction[0], c.friction[0]);
  b.friction[0] = 0.0;
  EXPECT_EQ(combine({a, 3}, {b, 3}).friction[0], 0.0);
  a.friction[0] = 0.0;
  EXPECT_EQ(combine({a, 3}, {b, 3}).friction[0], 0.0);
  b.priority = 1;
  b.friction[0] = 0.3;
  EXPECT_EQ(combine({a, 3}, {b, 3}).friction[0], 0.3);
}

// Under one force both springs of Hertz give way by (F / k)^(2/3), which add up to the deformation of the contact.
TEST(Combine, SpringsOfHertzAreInSeries) {
  Material a, b;
  a.hertz = b.hertz = true;
  a.stiffness = 3e8;
  b.stiffness = 1e8;
  a.dissipation = 2.0;
  const ContactMaterial c = combine({a, 3}, {b, 3});
  EXPECT_TRUE(c.hertz);
  const double force = 7.0, x_a = std::pow(force / a.stiffness, 2.0 / 3.0),
               x_b = std::pow(force / b.stiffness, 2.0 / 3.0);
  EXPECT_NEAR(c.stiffness * std::pow(x_a + x_b, 1.5), force, 1e-12 * force);
  EXPECT_NEAR(c.dissipation, 2.0 * x_a / (x_a + x_b), 1e-12);
}

// 4/3 E* sqrt(R*): a ball of rubber on glass, on a plane and on another ball; alone where its priority decides.
TEST(Combine, YoungsModulusIsHertz) {
  Material rubber, glass, rigid;
  rubber.youngs_modulus = 5e6;
  rubber.poisson_ratio = 0.48;
  glass.youngs_modulus = 7e10;
  glass.poisson_ratio = 0.22;
  const double soft = (1.0 - 0.48 * 0.48) / 5e6, hard = (1.0 - 0.22 * 0.22) / 7e10;
  const ContactMaterial c = combine({rubber, 3, 0.02}, {glass, 3});
  EXPECT_TRUE(c.hertz);
  EXPECT_NEAR(c.stiffness / (4.0 / 3.0 * std::sqrt(0.02) / (soft + hard)), 1.0, 1e-14);
  EXPECT_NEAR(combine({rubber, 3, 0.02}, {rubber, 3, 0.03}).stiffness / (4.0 / 3.0 * std::sqrt(0.012) / (2 * soft)),
              1.0, 1e-14);
  EXPECT_NEAR(combine({rigid, 3, 0.03}, {rubber, 3, 0.02}).stiffness / (4.0 / 3.0 * std::sqrt(0.012) / soft), 1.0,
              1e-14);
  rubber.priority = 1;
  EXPECT_NEAR(combine({rubber, 3, 0.02}, {glass, 3}).stiffness / (4.0 / 3.0 * std::sqrt(0.02) / soft), 1.0, 1e-14);
}

TEST(Combine, CurvatureOfShapes) {
  EXPECT_EQ(curvature_radius({.type = ShapeType::kSphere, .size = {0.3, 0, 0}}), 0.3);
  EXPECT_EQ(curvature_radius({.type = ShapeType::kBox, .size = {0.3, 0.1, 0.2}}), 0.1);
  EXPECT_NEAR(curvature_radius({.type = ShapeType::kEllipsoid, .size = {0.1, 0.2, 0.4}}), 0.2, 1e-15);
  EXPECT_EQ(curvature_radius({.type = ShapeType::kPlane}), kInfinity);
}

TEST(Combine, RestitutionIsTheLarger) {
  Material a, b;
  a.restitution = 0.3;
  b.restitution = 0.7;
  EXPECT_EQ(combine({a, 3}, {b, 3}).restitution, 0.7);
}

// Rates of the law by the numbers of a side against differences, for all elastic laws.
TEST(Combine, RatesOfASideAreThoseOfDifferences) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> unit(0.1, 1.0);
  for (int trial = 0; trial < 300; ++trial) {
    Material a = first(), b = second();
    const int law = trial % 3;  // springs, springs of Hertz, moduli
    for (Material* m : {&a, &b}) {
      m->friction[0] = unit(random);
      m->restitution = unit(random);
      m->dissipation = 10.0 * unit(random);
      m->relaxation_time = 0.02 * unit(random);
      m->hertz = law == 1;
      (law == 2 ? m->youngs_modulus : m->stiffness) = 1e5 * unit(random);
    }
    if (trial % 7 == 0) b.stiffness = b.youngs_modulus = 0.0;
    a.priority = trial % 5 == 0 ? 1 : 0;
    b.priority = trial % 11 == 0 ? 1 : 0;
    const SideRates rates = rates_of({a, 3, 0.2}, {b, 3, 0.3});
    const auto slope = [&](double Material::*number, double ContactMaterial::*result) {
      const auto at = [&](double share) {
        Material moved = a;
        moved.*number *= 1.0 + share;
        return combine({moved, 3, 0.2}, {b, 3, 0.3}).*result;
      };
      constexpr double kWay = 1e-3;
      const double wide = at(kWay) - at(-kWay), narrow = at(0.5 * kWay) - at(-0.5 * kWay);
      return (8.0 * narrow - wide) / (6.0 * kWay * (a.*number));
    };
    const auto number = law == 2 ? &Material::youngs_modulus : &Material::stiffness;
    const auto expect = [&](double actual, double expected, double size) {
      EXPECT_NEAR(actual, expected, 1e-8 * size) << "trial " << trial;
    };
    expect(rates.stiffness, slope(number, &ContactMaterial::stiffness), std::abs(rates.stiffness) + 1e-6);
    expect(rates.dissipation_by_stiffness, slope(number, &ContactMaterial::dissipation), 1e-4);
    expect(rates.dissipation, slope(&Material::dissipation, &ContactMaterial::dissipation), 1.0);
    expect(rates.relaxation, slope(&Material::relaxation_time, &ContactMaterial::relaxation_time), 1.0);
    expect(rates.restitution, slope(&Material::restitution, &ContactMaterial::restitution), 1.0);
    const auto friction = [&](double share) {
      Material moved = a;
      moved.friction[0] *= 1.0 + share;
      return combine({moved, 3}, {b, 3}).friction[0];
    };
    expect(rates.friction, (friction(1e-5) - friction(-1e-5)) / (2e-5 * a.friction[0]), 1.0);
  }
}

}  // namespace
}  // namespace touchstone

#include "touchstone/math/cones.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "touchstone/math/types.hpp"

namespace touchstone {
namespace {

struct Cone {
  std::vector<double> mu;
  int size() const { return static_cast<int>(mu.size()) + 1; }
  VectorX project(const VectorX& x) const {
    VectorX y(size());
    project_cone(size(), mu.data(), x.data(), y.data());
    return y;
  }
  VectorX project_dual(const VectorX& x) const {
    VectorX y(size());
    project_dual_cone(size(), mu.data(), x.data(), y.data());
    return y;
  }
};

class ConesTest : public ::testing::Test {
 protected:
  VectorX vector(int n) {
    return VectorX::NullaryExpr(n, [&] { return normal_(random_); });
  }
  // Circular and elliptic cones of every dimension, some components without friction.
  Cone cone(int trial) {
    static constexpr std::array kTangents{0, 2, 3, 5};
    Cone result;
    result.mu.resize(static_cast<std::size_t>(kTangents[static_cast<std::size_t>(trial) % 4]));
    const double common = std::exp(normal_(random_));
    for (double& mu : result.mu) mu = trial % 3 == 0 ? common : std::exp(1.5 * normal_(random_));
    if (trial % 7 == 0 && !result.mu.empty()) result.mu[0] = 0.0;
    return result;
  }

  std::mt19937 random_{11};
  std::normal_distribution<double> normal_;
};

TEST_F(ConesTest, MoreauDecomposition) {
  for (int trial = 0; trial < 4000; ++trial) {
    const Cone K = cone(trial);
    const VectorX x = std::pow(10.0, trial % 5 - 2) * vector(K.size());
    const VectorX y = K.project(x), z = x - y;
    const double scale = x.norm();
    // y in K, z in the polar cone, orthogonal. The excess is a distance times at most the slope of the cone.
    double slope = 1.0, dual_slope = 1.0;
    for (const double mu : K.mu) {
      slope = mu > 0.0 ? std::max(slope, 1.0 / mu) : slope;
      dual_slope = std::max(dual_slope, mu);
    }
    EXPECT_LE(cone_excess(K.size(), K.mu.data(), y.data()), 1e-14 * slope * scale) << trial;
    const VectorX mirrored = -z;
    EXPECT_LE(dual_cone_excess(K.size(), K.mu.data(), mirrored.data()), 1e-14 * dual_slope * scale) << trial;
    EXPECT_NEAR(y.dot(z), 0.0, 4e-14 * scale * scale) << trial;
    // P_K* = x + P_K(-x), and the polar part by its own function.
    EXPECT_LE((K.project_dual(x) - x - K.project(-x)).norm(), 1e-13 * scale) << trial;
    VectorX polar(K.size());
    project_polar_cone(K.size(), K.mu.data(), x.data(), polar.data());
    EXPECT_LE((polar - z).norm(), 1e-15 * scale) << trial;
  }
}

TEST_F(ConesTest, Idempotent) {
  for (int trial = 0; trial < 1000; ++trial) {
    const Cone K = cone(trial);
    const VectorX y = K.project(vector(K.size())), w = K.project_dual(vector(K.size()));
    EXPECT_LE((K.project(y) - y).norm(), 1e-13 * (1.0 + y.norm())) << trial;
    EXPECT_LE((K.project_dual(w) - w).norm(), 1e-13 * (1.0 + w.norm())) << trial;
  }
}

// (x - P(x)) . (k - P(x)) <= 0 for every k in K.
TEST_F(ConesTest, VariationalInequality) {
  for (int trial = 0; trial < 200; ++trial) {
    const Cone K = cone(trial);
    const VectorX x = vector(K.size()), y = K.project(x);
    for (int other = 0; other < 50; ++other) {
      VectorX k = vector(K.size());
      double needed = 0.0;
      for (int j = 0; j < K.size() - 1; ++j) {
        if (K.mu[static_cast<std::size_t>(j)] == 0.0) {
          k[j] = 0.0;
        } else {
          needed += std::pow(k[j] / K.mu[static_cast<std::size_t>(j)], 2);
        }
      }
      k[K.size() - 1] = std::sqrt(needed) * (1.0 + 0.5 * other / 50.0);
      EXPECT_LE((x - y).dot(k - y), 1e-12 * (1.0 + k.norm())) << trial;
    }
  }
}

TEST_F(ConesTest, DerivativeAgreesWithFiniteDifferences) {
  constexpr double kStep = 1e-6;
  int on_surface = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Cone K = cone(trial);
    const int m = K.size();
    const VectorX x = vector(m);
    // Away from kinks.
    const VectorX mirrored = -x;
    if (std::abs(cone_excess(m, K.mu.data(), x.data())) < 1e-3) continue;
    if (std::abs(dual_cone_excess(m, K.mu.data(), mirrored.data())) < 1e-3) continue;
    const VectorX y = K.project(x);
    on_surface += y.norm() > 0.0 && (y - x).norm() > 0.0 ? 1 : 0;
    MatrixX derivative(m, m), expected(m, m);
    project_cone_derivative(m, K.mu.data(), x.data(), derivative.data());
    for (int c = 0; c < m; ++c) {
      VectorX step = VectorX::Zero(m);
      step[c] = kStep;
      expected.col(c) = (K.project(x + step) - K.project(x - step)) / (2.0 * kStep);
    }
    EXPECT_LE((derivative - expected).norm(), 2e-6) << trial << "\n" << derivative << "\n\n" << expected;
  }
  EXPECT_GT(on_surface, 500);
}

// Where the projection is next to nothing, its derivative is not: (mu, 1) (mu, 1)' / (1 + mu^2) along the slip.
TEST_F(ConesTest, DerivativeNextToThePolarCone) {
  for (const double mu : {0.1, 0.8, 2.3}) {
    for (const double apart : {1e-3, 1e-9, 1e-13, 4e-16}) {
      const double friction[2] = {mu, mu}, x[3] = {7.0, 0.0, -7.0 * mu * (1.0 - apart)};
      Matrix3 derivative;
      project_cone_derivative(3, friction, x, derivative.data());
      const Vector3 along(mu, 0.0, 1.0);
      Matrix3 expected = along * along.transpose() / (1.0 + mu * mu);
      expected(1, 1) = mu * mu / (1.0 + mu * mu) * apart;
      EXPECT_LE((derivative - expected).norm(), 1e-12) << mu << ' ' << apart << '\n' << derivative;
    }
  }
}

TEST_F(ConesTest, BallAndItsDerivative) {
  constexpr double kStep = 1e-6;
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 2 + trial % 4;
    const VectorX x = vector(n);
    const double radius = std::exp(normal_(random_));
    VectorX y(n);
    project_ball(n, radius, x.data(), y.data());
    EXPECT_NEAR(y.norm(), std::min(radius, x.norm()), 1e-14 * (1.0 + radius));
    EXPECT_LE((y / y.norm() - x / x.norm()).norm(), 1e-14);
    if (std::abs(x.norm() - radius) < 1e-3) continue;
    MatrixX derivative(n, n);
    project_ball_derivative(n, radius, x.data(), derivative.data());
    for (int c = 0; c < n; ++c) {
      VectorX low = x, high = x;
      low[c] -= kStep;
      high[c] += kStep;
      project_ball(n, radius, low.data(), low.data());
      project_ball(n, radius, high.data(), high.data());
      EXPECT_LE((derivative.col(c) - (high - low) / (2.0 * kStep)).norm(), 1e-8);
    }
  }
  const double x[2] = {3.0, 4.0};
  double y[2];
  project_ball(2, -1.0, x, y);  // a negative radius is an empty slack, not an error
  EXPECT_EQ(y[0], 0.0);
  EXPECT_EQ(y[1], 0.0);
}

TEST_F(ConesTest, KnownValues) {
  EXPECT_EQ(project_interval(3.0, -1.0, 2.0), 2.0);
  EXPECT_EQ(project_interval(-3.0, -1.0, INFINITY), -1.0);
  EXPECT_EQ(project_nonnegative(-0.5), 0.0);
  // The circular cone of 45 degrees: (2, 0, 0) falls on (1, 0, 1).
  const double mu[2] = {1.0, 1.0}, x[3] = {2.0, 0.0, 0.0};
  double y[3];
  project_cone(3, mu, x, y);
  EXPECT_NEAR(y[0], 1.0, 1e-15);
  EXPECT_EQ(y[1], 0.0);
  EXPECT_NEAR(y[2], 1.0, 1e-15);
  // Without friction: the normal half-line and its dual half-space.
  const double none[2] = {0.0, 0.0}, point[3] = {1.0, 2.0, 3.0}, below[3] = {1.0, 2.0, -3.0};
  project_cone(3, none, point, y);
  EXPECT_EQ(y[0], 0.0);
  EXPECT_EQ(y[2], 3.0);
  project_dual_cone(3, none, below, y);
  EXPECT_EQ(y[0], 1.0);
  EXPECT_EQ(y[1], 2.0);
  EXPECT_EQ(y[2], 0.0);
}

}  // namespace
}  // namespace touchstone

// Compliant laws: impulse and Hessian are derivatives of the cost, the cost is convex, closed forms hold.
#include <array>
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include "touchstone/contact/laws/dry_friction.hpp"
#include "touchstone/contact/laws/lagged.hpp"
#include "touchstone/contact/laws/quadratic.hpp"
#include "touchstone/contact/laws/sap.hpp"
#include "touchstone/contact/laws/similar.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {
namespace {

struct Value {
  double cost = 0.0;
  VectorX gamma;
  MatrixX W;
};

template <typename Law>
Value evaluate(const Law& law, int m, const VectorX& v) {
  Value out{0.0, VectorX(m), MatrixX(m, m)};
  const VectorX none = VectorX::Zero(m);
  out.cost = law.cost(v.data());
  law.evaluate(v.data(), none.data(), out.gamma.data(), out.W.data());
  VectorX again(m);
  law.evaluate(v.data(), none.data(), again.data(), nullptr);
  EXPECT_EQ(again, out.gamma);
  return out;
}

// Central differences with steps s and s/2, combined to fourth order. `change` is how much the two differ.
double derivative(const std::function<double(double)>& f, double s, double& change) {
  const double coarse = (f(s) - f(-s)) / (2.0 * s), fine = (f(0.5 * s) - f(-0.5 * s)) / s;
  change = std::abs(fine - coarse);
  return (4.0 * fine - coarse) / 3.0;
}

// Points at a kink of the law, where differences say nothing, are left out; they are few.
template <typename Law>
void expect_derivatives(const Law& law, int m, const VectorX& v, double length, int& kinks, const char* what) {
  const Value at = evaluate(law, m, v);
  const double s = 1e-4 * length;
  const double largest_W = at.W.cwiseAbs().maxCoeff();
  for (int k = 0; k < m; ++k) {
    const VectorX unit = VectorX::Unit(m, k);
    // Rounding of the difference, and what is left of the truncation.
    double change = 0.0;
    const double slope = derivative([&](double t) { return evaluate(law, m, v + t * unit).cost; }, s, change);
    const double size = at.gamma.cwiseAbs().maxCoeff() + largest_W * s;
    if (change > 1e-3 * size) {
      ++kinks;
      continue;
    }
    const double rounding = 1e-14 * std::abs(at.cost) / s;
    EXPECT_NEAR(-slope, at.gamma[k], 1e-6 * size + 1e-2 * change + rounding) << what << ' ' << k;
    for (int j = 0; j < m; ++j) {
      const double entry = derivative([&](double t) { return evaluate(law, m, v + t * unit).gamma[j]; }, s, change);
      if (change > 1e-3 * largest_W) {
        ++kinks;
        continue;
      }
      const double noise = 1e-14 * at.gamma.cwiseAbs().maxCoeff() / s;
      EXPECT_NEAR(-entry, at.W(j, k), 1e-6 * largest_W + 1e-2 * change + noise) << what << ' ' << j << ' ' << k;
    }
  }
  EXPECT_LE((at.W - at.W.transpose()).cwiseAbs().maxCoeff(), 1e-12 * largest_W) << what;
  const double least = Eigen::SelfAdjointEigenSolver<MatrixX>(at.W).eigenvalues()[0];
  EXPECT_GE(least, -1e-12 * largest_W) << what;
}

// The cost lies above its tangent: l(v) - gamma'(w - v) <= l(w).
template <typename Law>
void expect_convex(const Law& law, int m, const VectorX& v, const VectorX& w, const char* what) {
  const Value at = evaluate(law, m, v), other = evaluate(law, m, w);
  const double work = at.gamma.dot(w - v);
  EXPECT_LE(at.cost - work, other.cost + 1e-10 * (at.cost + std::abs(work) + other.cost)) << what;
  EXPECT_GE(at.cost, 0.0) << what;
}

// A velocity in two parts is their sum.
template <typename Law>
void expect_parts(const Law& law, int m, const VectorX& v, const VectorX& dv, const char* what) {
  const Value whole = evaluate(law, m, v + dv);
  Value parts{0.0, VectorX(m), MatrixX(m, m)};
  law.evaluate(v.data(), dv.data(), parts.gamma.data(), parts.W.data());
  const double speed = v.cwiseAbs().maxCoeff() + 1.0;
  const double rounding = 1e-14 * (speed * whole.W.cwiseAbs().maxCoeff() + whole.gamma.cwiseAbs().maxCoeff());
  EXPECT_LE((parts.gamma - whole.gamma).cwiseAbs().maxCoeff(), rounding) << what;
}

class RandomLaws : public ::testing::Test {
 protected:
  double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random_); }
  double magnitude(double low, double high) { return std::pow(10.0, uniform(low, high)); }

  NormalLaw normal(bool extreme) {
    NormalLaw law;
    law.h = magnitude(extreme ? -5 : -3, extreme ? -1.3 : -2);
    law.stiffness = magnitude(extreme ? 2 : 4, extreme ? 12 : 6);
    speed_ = extreme ? magnitude(-3, 1) : 1.0;
    law.deformation = law.h * speed_ * uniform(-1.0, 2.0);
    const int dissipation = count_++ % 4;
    if (dissipation & 1) law.dissipation = uniform(0.0, 2.0) / speed_;
    if (dissipation & 2) law.relaxation = law.h * uniform(0.0, 3.0);
    law.elasticity = count_ % 3 == 0 ? Elasticity::kHertz : Elasticity::kLinear;
    return law;
  }
  void friction(int m, double* mu) {
    const double same = uniform(0.0, 1.5);
    for (int k = 0; k + 1 < m; ++k) mu[k] = count_ % 2 == 0 ? same : uniform(0.0, 1.5);
  }
  VectorX velocity(int m) {
    VectorX v(m);
    for (double& x : v) x = speed_ * uniform(-2.0, 1.0);
    return v;
  }
  int size() { return std::array{1, 3, 4, 6}[static_cast<std::size_t>(count_ % 4)]; }

  template <typename Law>
  void check(const Law& law, int m, double length, const char* what) {
    const VectorX v = velocity(m), w = velocity(m);
    expect_convex(law, m, v, w, what);
    expect_derivatives(law, m, v, length, kinks_, what);
    expect_parts(law, m, v, 1e-3 * (w - v), what);
    tried_ += m * (m + 1);
  }
  void TearDown() override { EXPECT_LE(kinks_, tried_ / 20) << "of " << tried_; }

  std::mt19937 random_{7};
  double speed_ = 1.0;
  int count_ = 0, kinks_ = 0, tried_ = 0;
};

TEST_F(RandomLaws, Lagged) {
  for (int i = 0; i < 2000; ++i) {
    LaggedLaw law{normal(i % 2 == 1), size(), {}, 0.0, 0.0};
    friction(law.size, law.mu);
    for (int k = 0; k + 1 < law.size; ++k) law.shift[k] = i % 3 == 0 ? speed_ * uniform(-1.0, 1.0) : 0.0;
    law.lagged = law.normal.impulse(-speed_) * magnitude(-2, 1);
    law.epsilon = speed_ * magnitude(i % 2 == 1 ? -4 : -1, 0);
    check(law, law.size, std::min(law.epsilon, 0.1 * speed_), "lagged");
  }
}

TEST_F(RandomLaws, Similar) {
  for (int i = 0; i < 2000; ++i) {
    SimilarLaw law{normal(i % 2 == 1), size(), {}, 0.0};
    friction(law.size, law.mu);
    for (int k = 0; k + 1 < law.size; ++k) law.shift[k] = i % 3 == 0 ? speed_ * uniform(-1.0, 1.0) : 0.0;
    law.epsilon = speed_ * magnitude(i % 2 == 1 ? -4 : -1, 0);
    check(law, law.size, std::min(law.epsilon, 0.1 * speed_), "similar");
  }
}

TEST_F(RandomLaws, Sap) {
  for (int i = 0; i < 2000; ++i, ++count_) {
    SapLaw law;
    law.size = size();
    friction(law.size, law.mu);
    const double n = i % 2 == 1 ? magnitude(-12, 2) : magnitude(-3, -1);
    for (int k = 0; k < law.size; ++k) {
      law.R[k] = n * (k + 1 < law.size ? magnitude(i % 2 == 1 ? -3 : -1, 0) : 1.0);
      law.shift[k] = uniform(-0.5, 0.5);
    }
    check(law, law.size, 0.1, "sap");
    if (law.size != 3) continue;
    law.mu[1] = law.mu[0];
    law.R[1] = law.R[0];
    check(law, law.size, 0.1, "sap, round");
  }
}

TEST_F(RandomLaws, SpringsAndDryFriction) {
  for (int i = 0; i < 2000; ++i, ++count_) {
    QuadraticLaw spring;
    spring.size = 1 + i % 6;
    for (int k = 0; k < spring.size; ++k) {
      spring.R[k] = magnitude(-6, 2);
      spring.lo[k] = i % 3 == 0 ? -kInfinity : i % 3 == 1 ? 0.0 : -uniform(0.0, 1.0) / spring.R[k];
      spring.hi[k] = i % 3 == 2 ? uniform(0.0, 1.0) / spring.R[k] : kInfinity;
      spring.shift[k] = uniform(-0.5, 0.5);
    }
    check(spring, spring.size, 0.1, "spring");
    const DryFrictionLaw dry{magnitude(-6, 6), magnitude(-4, 0), uniform(-0.5, 0.5)};
    check(dry, 1, dry.epsilon, "dry friction");
  }
}

// (22) and its antiderivative as the paper writes them.
TEST(NormalLaw, IsHuntAndCrossleys) {
  const double h = 0.01, k = 1e5, d = 0.3, phi = -2e-3;
  const NormalLaw law{h, k, -phi, d};
  const double open = std::min(-phi / h, 1.0 / d);
  const auto N = [&](double v) {
    v = std::min(v, open);
    return h * k * (-v * (phi + 0.5 * h * v) + 0.5 * d * v * v * (phi + 2.0 / 3.0 * h * v));
  };
  for (const double v : {-3.0, -0.5, 0.0, 0.1, 0.19, 0.2, 1.0}) {
    const double force = k * std::max(0.0, -(phi + h * v)) * std::max(0.0, 1.0 - d * v);
    EXPECT_NEAR(law.impulse(v), h * force, 1e-12 * h * k) << v;
    EXPECT_NEAR(law.cost(v) - law.cost(0.0), N(0.0) - N(v), 1e-12 * h * k) << v;
  }
}

// Where Hunt and Crossley's factor opens the contact before the spring does.
TEST(NormalLaw, OpensWithTheDamper) {
  const NormalLaw law{1e-3, 1e6, 0.05, 10.0};
  EXPECT_GT(law.impulse(0.0999), 0.0);
  EXPECT_EQ(law.impulse(0.1001), 0.0);
  EXPECT_EQ(law.cost(0.1001), 0.0);
}

// What is added to a velocity counts, however small beside it, and whatever the stiffness: h k (h + tau) dv.
TEST(NormalLaw, KeepsSmallChangesOfLargeVelocities) {
  const double h = 1e-3, k = 1e12, v = -7.3, base = 3e-12;
  const NormalLaw normal{.h = h, .stiffness = k, .deformation = h * v + base};
  const LaggedLaw lagged{normal, 3, {0.5, 0.5}, 1.0, 1e-4};
  const SimilarLaw similar{normal, 3, {0.5, 0.5}, 1e-4};
  const auto slope = [&](const auto& law, double slip) {
    const double at[3] = {slip, 0.0, v}, none[3] = {}, change[3] = {0.0, 0.0, -1e-16};
    double before[3], after[3];
    law.evaluate(at, none, before, nullptr);
    law.evaluate(at, change, after, nullptr);
    return (after[2] - before[2]) / 1e-16;
  };
  EXPECT_NEAR(slope(lagged, 5.0) / (h * h * k), 1.0, 1e-3);
  EXPECT_NEAR(slope(similar, 0.0) / (h * h * k), 1.0, 1e-3);
}

// gamma_t = -mu^2 v_t n / |mu v_t|: friction of an ellipse is not along the slip, and takes the most power out (30).
TEST(Lagged, EllipsesDissipateMost) {
  LaggedLaw law{{}, 3, {0.9, 0.3}, 2.0, 1e-9};
  const Vector3 v(0.3, 0.4, 0.0);
  Vector3 gamma;
  law.evaluate(v.data(), VectorX::Zero(v.size()).eval().data(), gamma.data(), nullptr);
  EXPECT_NEAR(std::hypot(gamma[0] / 0.9, gamma[1] / 0.3), 2.0, 1e-8);
  for (int i = 0; i < 360; ++i) {
    const double a = i * 0.01745329;
    EXPECT_GE(-gamma.dot(v) + 1e-8, -2.0 * (0.9 * std::cos(a) * v[0] + 0.3 * std::sin(a) * v[1]));
  }
}

}  // namespace
}  // namespace touchstone

#include "touchstone/math/principal_pivoting.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace touchstone {
namespace {

// Random problems of all sizes, some nearly singular: the answer satisfies every condition.
TEST(PrincipalPivoting, SatisfiesTheConditions) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  PrincipalPivoting pivoting;
  int few = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int n = 1 + trial % 40, rank = 1 + (trial * 7) % (n + 3);
    const MatrixX half = MatrixX::NullaryExpr(n, rank, [&] { return normal(random); });
    MatrixX A = half * half.transpose();
    A.diagonal() += 1e-6 * A.diagonal() + VectorX::Constant(n, 1e-9);
    const VectorX b = VectorX::NullaryExpr(n, [&] { return normal(random); });
    pivoting.resize(n);
    for (int c = 0; c < n; ++c) Eigen::Map<VectorX>(pivoting.column(c), n) = A.col(c);
    for (int i = 0; i < n; i += 3) pivoting.set_free(i);
    VectorX x(n);
    const double tolerance = 1e-9 * b.lpNorm<Eigen::Infinity>();
    few += pivoting.solve(b.data(), tolerance, 4, x.data()) ? 1 : 0;
    ASSERT_TRUE(pivoting.solve(b.data(), tolerance, 1000, x.data())) << trial;
    const VectorX w = A * x + b;
    const double rounding = 1e-12 * A.diagonal().maxCoeff() * x.lpNorm<1>() + 1e-12;
    for (int i = 0; i < n; ++i) {
      if (i % 3 == 0) {
        ASSERT_NEAR(w[i], 0.0, tolerance + rounding) << trial;
      } else {
        ASSERT_GE(x[i], 0.0) << trial;
        ASSERT_GE(w[i], -tolerance - rounding) << trial;
        ASSERT_NEAR(std::min(x[i] * A(i, i), w[i]), 0.0, tolerance + rounding) << trial;
      }
    }
    const VectorX length = VectorX::Constant(n, 3.0);
    ASSERT_LE(pivoting.residual(b.data(), x.data(), length.data()), 3.0 * (tolerance + rounding)) << trial;
  }
  EXPECT_GE(few, 200);  // mostly the first guesses do
}

TEST(PrincipalPivoting, SaysWhatItCannotDo) {
  PrincipalPivoting pivoting;
  pivoting.resize(1);
  double x = 0.0;
  const double b = -1.0;
  *pivoting.column(0) = 2.0;
  EXPECT_FALSE(pivoting.solve(&b, 0.0, 0, &x));  // no guess allowed
  EXPECT_TRUE(pivoting.solve(&b, 0.0, 1, &x));
  EXPECT_DOUBLE_EQ(x, 0.5);
  *pivoting.column(0) = -2.0;
  EXPECT_FALSE(pivoting.solve(&b, 0.0, 10, &x));
}

// A x + b = 2 x - 1 where x is wrong by too much, by too little, and not a number.
TEST(PrincipalPivoting, MeasuresAnyAnswer) {
  PrincipalPivoting pivoting;
  pivoting.resize(1);
  *pivoting.column(0) = 2.0;
  const double b = -1.0, length = 0.5;
  const auto residual = [&](double x) { return pivoting.residual(&b, &x, &length); };
  EXPECT_DOUBLE_EQ(residual(0.5), 0.0);
  EXPECT_DOUBLE_EQ(residual(0.0), 0.5);    // w = -1
  EXPECT_DOUBLE_EQ(residual(0.75), 0.25);  // w = 0.5, below A x
  EXPECT_DOUBLE_EQ(residual(-0.25), 0.75);
  EXPECT_TRUE(std::isnan(residual(std::nan(""))));
  pivoting.set_free(0);
  EXPECT_DOUBLE_EQ(residual(2.0), 1.5);
}

}  // namespace
}  // namespace touchstone

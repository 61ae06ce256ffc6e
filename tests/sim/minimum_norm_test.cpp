// Reactions of least norm: of problems that are random equalities between random bodies, with and without rows that say
// the same twice, few of them (a dense factor) and many (a sparse one).
#include "touchstone/sim/minimum_norm.hpp"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/QR>

namespace touchstone {
namespace {

struct Sample {
  ContactProblem problem;
  MatrixX J;
  VectorX lambda;
};

// `blocks` equalities of three rows on `dofs` degrees of freedom whose masses differ by `ratio`; the last `copies` of
// them repeat the first ones, turned.
Sample make_sample(int blocks, int copies, int dofs, double ratio, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Sample sample;
  sample.J.resize(3 * blocks, dofs);
  for (double& x : sample.J.reshaped()) x = uniform(random);
  for (int k = 0; k < copies; ++k) {
    Matrix3 turn;
    for (double& x : turn.reshaped()) x = uniform(random);
    const Eigen::HouseholderQR<Matrix3> qr(turn);
    const Matrix3 rotation = qr.householderQ();
    sample.J.middleRows(3 * (blocks - copies + k), 3) = rotation * sample.J.middleRows(3 * k, 3);
  }
  VectorX inverse_mass(dofs);
  for (double& x : inverse_mass) x = std::pow(ratio, 0.5 * uniform(random));
  const MatrixX G = sample.J * inverse_mass.asDiagonal() * sample.J.transpose();
  std::vector<std::pair<int, int>> pattern;
  for (int i = 0; i < blocks; ++i) {
    sample.problem.blocks.add_equality(3);
    for (int j = 0; j < blocks; ++j) pattern.emplace_back(i, j);
  }
  BlockSparseMatrix sparse;
  sparse.set_pattern(sample.problem.blocks.row, sample.problem.blocks.row, pattern);
  for (int i = 0; i < blocks; ++i) {
    for (int j = 0; j < blocks; ++j) sparse.block(i, sparse.find(i, j)) = G.block(3 * i, 3 * j, 3, 3);
  }
  VectorX g(3 * blocks);
  for (double& x : g) x = uniform(random);
  sample.problem.dual.set(std::move(sparse), g);
  sample.lambda.resize(3 * blocks);
  for (double& x : sample.lambda) x = uniform(random);
  return sample;
}

TEST(MinimumNorm, LeavesImpulsesAloneThatAreUnique) {
  std::mt19937 random(1);
  for (int k = 0; k < 50; ++k) {
    const Sample sample = make_sample(1 + k % 12, 0, 60, k % 2 == 0 ? 10.0 : 1e5, random);
    MinimumNorm method;
    VectorX lambda = sample.lambda;
    ASSERT_TRUE(method.prepare(sample.problem)) << k;
    ASSERT_TRUE(method.apply(sample.problem, lambda)) << k;
    EXPECT_LT((lambda - sample.lambda).norm(), 1e-8 * lambda.norm()) << k;
  }
}

// A row that repeats the others but for a small part of them: its pivot is large.
TEST(MinimumNorm, FindsTheLeastWhereARowHasASmallShareInWhatIsRedundant) {
  std::mt19937 random(5);
  for (const double share : {1e-1, 1e-2, 1e-3}) {
    Sample sample = make_sample(2, 0, 40, 10.0, random);
    sample.J.row(4) = sample.J.row(0) + share * sample.J.row(5);  // (1, -1, share) does nothing
    const MatrixX G = sample.J * sample.J.transpose();
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j)
        sample.problem.dual.G_sparse.block(i, sample.problem.dual.G_sparse.find(i, j)) = G.block<3, 3>(3 * i, 3 * j);
    }
    MinimumNorm method;
    VectorX lambda = sample.lambda;
    ASSERT_TRUE(method.prepare(sample.problem));
    ASSERT_TRUE(method.apply(sample.problem, lambda));
    const VectorX felt = sample.J.transpose() * sample.lambda;
    const VectorX least = sample.J.transpose().completeOrthogonalDecomposition().solve(felt);
    EXPECT_LT((lambda - least).norm(), 1e-6 * sample.lambda.norm()) << share;
  }
}

TEST(MinimumNorm, FindsTheLeastOfThoseThatDoTheSame) {
  std::mt19937 random(2);
  MinimumNorm method;  // one for all, as in a simulation whose islands change
  for (int k = 0; k < 40; ++k) {
    const int blocks = k % 4 == 3 ? 50 : 2 + k % 10;  // 150 rows are factored as a sparse matrix
    const Sample sample = make_sample(blocks, 1 + k % (blocks / 2), 200, 10.0, random);
    ASSERT_TRUE(method.prepare(sample.problem)) << k;
    VectorX lambda = sample.lambda;
    ASSERT_TRUE(method.apply(sample.problem, lambda)) << k;
    // The least of all with J' lambda given: its pseudo-inverse.
    const VectorX felt = sample.J.transpose() * sample.lambda;
    const VectorX least = sample.J.transpose().completeOrthogonalDecomposition().solve(felt);
    EXPECT_LT((lambda - least).norm(), 1e-6 * sample.lambda.norm()) << k;
    EXPECT_LT((sample.J.transpose() * lambda - felt).norm(), 1e-8 * felt.norm()) << k;
    EXPECT_LT(lambda.norm(), 0.99 * sample.lambda.norm()) << k;
  }
}

// The tiny compliance of loops is a proximal term: what it does to velocities is taken out.
TEST(MinimumNorm, TakesTheEffectOfTheComplianceOut) {
  std::mt19937 random(4);
  MinimumNorm method;
  for (int k = 0; k < 40; ++k) {
    const int blocks = k % 4 == 3 ? 50 : 2 + k % 10;  // 150 rows are factored as a sparse matrix
    Sample sample = make_sample(blocks, k % 2 == 0 ? 0 : blocks / 2, 200, k % 2 == 0 ? 1e4 : 10.0, random);
    ContactProblem& problem = sample.problem;
    const MatrixX G = problem.dual.G_sparse.dense();
    // Velocities that rows which say the same twice agree on.
    const VectorX v = VectorX::LinSpaced(200, -1.0, 1.0);
    problem.dual.g = sample.J * v;
    problem.R = 1e-9 * G.diagonal();
    for (int i = 0; i < blocks; ++i)
      problem.dual.G_sparse.block(i, problem.dual.G_sparse.find(i, i)).diagonal() += problem.R.segment<3>(3 * i);
    VectorX lambda = -(G + MatrixX(problem.R.asDiagonal())).ldlt().solve(problem.dual.g);
    const double before = (G * lambda + problem.dual.g).norm();
    ASSERT_TRUE(method.prepare(problem)) << k;
    ASSERT_TRUE(method.apply(problem, lambda)) << k;
    EXPECT_LT((G * lambda + problem.dual.g).norm(), 1e-2 * before + 1e-13 * problem.dual.g.norm()) << k;
  }
}

TEST(MinimumNorm, HasNothingToDoWithoutHardEqualities) {
  ContactProblem contact;
  contact.blocks.add_coulomb(0.5);
  contact.dual.set(MatrixX(MatrixX::Identity(3, 3)), VectorX::Ones(3));
  EXPECT_FALSE(MinimumNorm().prepare(contact));
  std::mt19937 random(3);
  Sample soft = make_sample(4, 2, 40, 10.0, random);
  soft.problem.R = VectorX::Constant(12, 0.1);  // a compliance of its own chooses
  EXPECT_FALSE(MinimumNorm().prepare(soft.problem));
}

}  // namespace
}  // namespace touchstone

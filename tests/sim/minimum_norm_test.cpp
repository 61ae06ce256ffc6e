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
    EXPECT_FALSE(MinimumNorm().prepare(sample.problem)) << k;
  }
}

TEST(MinimumNorm, FindsTheLeastOfThoseThatDoTheSame) {
  std::mt19937 random(2);
  MinimumNorm method;  // one for all, as in a simulation whose islands change
  for (int k = 0; k < 40; ++k) {
    const int blocks = k % 4 == 3 ? 20 : 2 + k % 10;  // 60 rows are factored as a sparse matrix
    const Sample sample = make_sample(blocks, 1 + k % (blocks / 2), 80, 10.0, random);
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

// Equalities solved for at once: random problems of equalities, repeated ones among them, contacts and limits, solved
// whole and by what equalities leave.
#include "touchstone/sim/loop_elimination.hpp"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "support/allocation_guard.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

struct Sample {
  ContactProblem problem;
  MatrixX J;
};

// `loops` equalities of three rows of which the last `copies` repeat the first ones, contacts and limits on `dofs`
// degrees of freedom, in mixed order.
Sample make_sample(int loops, int copies, int contacts, int limits, int dofs, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Sample sample;
  ContactProblem& problem = sample.problem;
  for (int k = 0; k < std::max({loops, contacts, limits}); ++k) {
    if (k < contacts) problem.blocks.add_coulomb(0.6);
    if (k < loops) problem.blocks.add_equality(3);
    if (k < limits) problem.blocks.add_nonnegative();
  }
  sample.J.resize(problem.nrow(), dofs);
  for (double& x : sample.J.reshaped()) x = uniform(random);
  std::vector<int> first;  // rows of the equalities
  for (int i = 0; i < problem.nblock(); ++i) {
    if (problem.blocks.type[static_cast<std::size_t>(i)] == BlockType::kEquality)
      first.push_back(problem.blocks.row[static_cast<std::size_t>(i)]);
  }
  for (int k = 0; k < copies; ++k) {
    const auto from = static_cast<std::size_t>(k), to = static_cast<std::size_t>(loops - copies + k);
    sample.J.middleRows(first[to], 3) = sample.J.middleRows(first[from], 3).eval();
  }
  const MatrixX G = sample.J * sample.J.transpose();
  problem.R.setZero(problem.nrow());
  for (const int row : first) problem.R.segment(row, 3).setConstant(1e-9 * G.diagonal().maxCoeff());
  const MatrixX whole = G + MatrixX(problem.R.asDiagonal());
  VectorX v(dofs);
  for (double& x : v) x = uniform(random);
  std::vector<std::pair<int, int>> pattern;
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int j = 0; j < problem.nblock(); ++j) pattern.emplace_back(i, j);
  }
  BlockSparseMatrix sparse;
  sparse.set_pattern(problem.blocks.row, problem.blocks.row, pattern);
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int j = 0; j < problem.nblock(); ++j) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
      sparse.block(i, sparse.find(i, j)) =
          whole.block(problem.blocks.row[a], problem.blocks.row[b], problem.blocks.size(i), problem.blocks.size(j));
    }
  }
  problem.dual.set(std::move(sparse), sample.J * v);
  problem.dual.symmetric = true;
  return sample;
}

TEST(LoopElimination, SolvesTheWhole) {
  std::mt19937 random(1);
  const auto solver = make_solver("auto");
  const auto options = solver->make_options();
  options->relative_tolerance = 1e-8;
  const auto workspace = solver->make_workspace(), rest_workspace = solver->make_workspace();
  LoopElimination elimination;  // one for all, as in a simulation whose islands change
  for (int k = 0; k < 60; ++k) {
    const int loops = 3 + k % 6, copies = k % 3 == 0 ? loops / 2 : 0;
    const Sample sample = make_sample(loops, copies, k % 5, k % 4, 60, random);
    ASSERT_TRUE(elimination.begin(sample.problem)) << k;
    Solution rest, whole;
    VectorX lambda = VectorX::Zero(sample.problem.nrow());
    if (elimination.rest().nrow() > 0) {
      ASSERT_EQ(solver->solve(elimination.rest(), *options, *rest_workspace, rest), SolveStatus::kSolved) << k;
    }
    ASSERT_TRUE(elimination.finish(sample.problem, rest.lambda, lambda)) << k;
    EXPECT_LT(certify(sample.problem, lambda).natv_relative, 1e-7) << k;
    VectorX gathered;
    elimination.gather(sample.problem, lambda, gathered);
    EXPECT_EQ((gathered - rest.lambda.head(gathered.size())).norm(), 0.0) << k;
    VectorX velocity = VectorX::Zero(sample.problem.nrow()), again;
    elimination.scatter(sample.problem, gathered, velocity);
    elimination.gather(sample.problem, velocity, again);
    EXPECT_EQ(again, gathered) << k;
    ASSERT_EQ(solver->solve(sample.problem, *options, *workspace, whole), SolveStatus::kSolved) << k;
    const VectorX felt = sample.J.transpose() * whole.lambda;
    EXPECT_LT((sample.J.transpose() * lambda - felt).norm(), 1e-5 * felt.norm()) << k;
  }
}

// With lengths of rows L the impulses of least norm are L^-1 J x, x any: lambda / length is orthogonal to the null
// space of (length J)'. Equalities hold without their compliance, whatever the masses.
TEST(LoopElimination, FindsImpulsesOfLeastNormByTheSameFactor) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0.2, 2.0);
  const auto solver = make_solver("auto");
  const auto options = solver->make_options();
  options->relative_tolerance = 1e-10;
  const auto workspace = solver->make_workspace();
  LoopElimination elimination;
  for (int k = 0; k < 60; ++k) {
    const int loops = 3 + k % 6, copies = loops / 2;
    Sample sample = make_sample(loops, copies, k % 4, k % 3, 60, random);
    ContactProblem& problem = sample.problem;
    problem.row_length.assign(static_cast<std::size_t>(problem.nrow()), 1.0);
    std::vector<int> equal;
    for (int i = 0; i < problem.nblock(); ++i) {
      const auto block = static_cast<std::size_t>(i);
      if (problem.blocks.type[block] != BlockType::kEquality) continue;
      const int first = problem.blocks.row[block];
      problem.row_length[static_cast<std::size_t>(first)] = uniform(random);
      for (int r = 0; r < 3; ++r) equal.push_back(first + r);
    }
    ASSERT_TRUE(elimination.begin(problem, true)) << k;
    Solution rest;
    VectorX lambda = VectorX::Zero(problem.nrow());
    if (elimination.rest().nrow() > 0) {
      ASSERT_EQ(solver->solve(elimination.rest(), *options, *workspace, rest), SolveStatus::kSolved) << k;
    }
    ASSERT_TRUE(elimination.finish(problem, rest.lambda, lambda)) << k;
    EXPECT_LT(certify(problem, lambda).natv_relative, 1e-7) << k;
    const auto count = static_cast<Eigen::Index>(equal.size());
    MatrixX scaled(count, sample.J.cols());
    VectorX impulse(count), velocity(count);
    const VectorX moved = sample.J.transpose() * lambda;
    for (Eigen::Index r = 0; r < count; ++r) {
      const int row = equal[static_cast<std::size_t>(r)];
      const double length = problem.length(row);
      scaled.row(r) = length * sample.J.row(row);
      impulse[r] = lambda[row] / length;
      velocity[r] = sample.J.row(row).dot(moved) + problem.dual.g[row];
    }
    const VectorX least = scaled.transpose().completeOrthogonalDecomposition().solve(scaled.transpose() * impulse);
    EXPECT_LT((impulse - least).norm(), 1e-6 * least.norm()) << k;
    EXPECT_LT(velocity.lpNorm<Eigen::Infinity>(), 1e-9 * problem.dual.g.lpNorm<Eigen::Infinity>()) << k;
  }
}

// What contacts are left with, if loops do not give way at all: rows of C see J (1 - N) J', N the projection onto what
// the loops hold. The same for velocities.
TEST(LoopElimination, RefinedLeavesWhatStiffLoopsDo) {
  std::mt19937 random(6);
  LoopElimination elimination;
  for (int k = 0; k < 30; ++k) {
    const int loops = 3 + k % 6, copies = k % 2 == 0 ? loops / 2 : 0;
    const Sample sample = make_sample(loops, copies, 1 + k % 4, k % 3, 3 * loops + 20, random);
    const ContactProblem& problem = sample.problem;
    std::vector<int> equal, others;
    for (int i = 0; i < problem.nblock(); ++i) {
      const auto block = static_cast<std::size_t>(i);
      auto& rows = problem.blocks.type[block] == BlockType::kEquality ? equal : others;
      for (int row = problem.blocks.row[block]; row < problem.blocks.row[block + 1]; ++row) rows.push_back(row);
    }
    const MatrixX held = sample.J(equal, Eigen::all).transpose(), J = sample.J(others, Eigen::all);
    const auto decomposition = held.completeOrthogonalDecomposition();
    const MatrixX free = J.transpose() - held * decomposition.solve(J.transpose());
    const auto error = [&] {
      MatrixX S(J.rows(), J.rows());
      const BlockSparseMatrix& sparse = elimination.rest().dual.G_sparse;
      for (Eigen::Index c = 0; c < S.cols(); ++c) {
        VectorX column = VectorX::Zero(S.rows());
        sparse.multiply_add(VectorX::Unit(S.cols(), c).eval().data(), column.data());
        S.col(c) = column;
      }
      return (S - J * free).norm() / S.norm();
    };
    ASSERT_TRUE(elimination.begin(problem, true)) << k;
    const double before = error();
    ASSERT_TRUE(elimination.refine(problem)) << k;
    EXPECT_LT(error(), 1e-13 + 1e-4 * before) << k;
  }
}

TEST(LoopElimination, KeepsTheComplianceOfLoopsThatContradictEachOther) {
  std::mt19937 random(5);
  Sample sample = make_sample(4, 2, 0, 0, 40, random);
  LoopElimination elimination;
  VectorX rest, lambda;
  ASSERT_TRUE(elimination.begin(sample.problem, true));
  ASSERT_TRUE(elimination.finish(sample.problem, rest, lambda));
  sample.problem.dual.g[0] += 0.1;  // the first and the third want different things
  ASSERT_TRUE(elimination.begin(sample.problem, true));
  EXPECT_FALSE(elimination.finish(sample.problem, rest, lambda));
  EXPECT_TRUE(elimination.keeps_compliance());
  ASSERT_TRUE(elimination.begin(sample.problem));
  EXPECT_TRUE(elimination.finish(sample.problem, rest, lambda));
}

TEST(LoopElimination, LeavesAloneWhatIsNotForIt) {
  std::mt19937 random(2);
  LoopElimination elimination;
  EXPECT_FALSE(elimination.begin(make_sample(0, 0, 3, 2, 30, random).problem)) << "no equalities";
  EXPECT_FALSE(elimination.begin(make_sample(43, 0, 1, 0, 150, random).problem)) << "too many of them";
  EXPECT_FALSE(elimination.begin(make_sample(1, 0, 33, 0, 150, random).problem)) << "too many others";
  EXPECT_FALSE(elimination.begin(make_sample(1, 0, 3, 0, 30, random).problem)) << "not worth it";
  EXPECT_FALSE(elimination.begin(make_sample(4, 0, 1, 0, 12, random).problem)) << "loops hold the contact";
  ContactProblem dense;
  dense.blocks.add_equality(1);
  dense.dual.set(MatrixX(MatrixX::Identity(1, 1)), VectorX::Ones(1));
  EXPECT_FALSE(elimination.begin(dense)) << "no sparse view";
}

TEST(LoopElimination, AllocatesNothingTheSecondTime) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  std::mt19937 random(3);
  const Sample large = make_sample(6, 2, 3, 2, 60, random);
  LoopElimination elimination;
  VectorX start = VectorX::Zero(large.problem.nrow()), rest, lambda;
  const auto solve = [&](const ContactProblem& problem) {
    ASSERT_TRUE(elimination.begin(problem, true));
    ASSERT_TRUE(elimination.refine(problem));
    elimination.gather(problem, start, rest);
    ASSERT_TRUE(elimination.finish(problem, rest, lambda));
  };
  solve(large.problem);
  const test::AllocationGuard guard;
  solve(large.problem);
  EXPECT_EQ(guard.allocations(), 0U);
}

}  // namespace
}  // namespace touchstone

// The check that G is symmetric and positive semidefinite: what it must refuse and what it must accept.
#include "touchstone/contact/definiteness.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/generate.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;

// A dense matrix in blocks of 3.
BlockSparseMatrix in_blocks(const MatrixX& A) {
  const int count = static_cast<int>(A.rows()) / 3;
  std::vector<int> partition{0};
  std::vector<std::pair<int, int>> pattern;
  for (int i = 0; i < count; ++i) {
    partition.push_back(3 * (i + 1));
    for (int j = 0; j < count; ++j) pattern.emplace_back(i, j);
  }
  BlockSparseMatrix M;
  M.set_pattern(partition, partition, pattern);
  for (int i = 0; i < count; ++i) {
    for (int k = M.start[i]; k < M.start[i + 1]; ++k) M.block(i, k) = A.block<3, 3>(3 * i, 3 * M.col[k]);
  }
  return M;
}

// Symmetric, with eigenvalues between 0 and 1 except the smallest.
MatrixX with_smallest(int n, double smallest, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  MatrixX A(n, n);
  for (int i = 0; i < n * n; ++i) A.data()[i] = normal(random);
  const MatrixX Q = Eigen::SelfAdjointEigenSolver<MatrixX>(A + A.transpose()).eigenvectors();
  VectorX values = VectorX::LinSpaced(n, 0.0, 1.0);
  values[0] = smallest;
  return Q * values.asDiagonal() * Q.transpose();
}

TEST(Definiteness, IsExactForSmallMatrices) {
  DefinitenessScratch scratch;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const int n = 3 * (1 + static_cast<int>(seed) % 16);
    EXPECT_TRUE(check_definiteness(in_blocks(with_smallest(n, 0.0, seed)), scratch).usable()) << seed;
    EXPECT_TRUE(check_definiteness(in_blocks(with_smallest(n, n > 3 ? -0.9e-5 : 0.0, seed)), scratch).usable()) << seed;
    const Verdict verdict = check_definiteness(in_blocks(with_smallest(n, -1.1e-5, seed)), scratch);
    EXPECT_EQ(verdict.status, ProblemStatus::kInvalid) << seed;
    EXPECT_THAT(verdict.message, HasSubstr("eigenvalues from -1.1e-05 to 1")) << seed;
  }
}

// Sparse, with contacts, limits, boxes and equalities: what is found must be what the eigenvalues of all of it say.
TEST(Definiteness, AgreesWithEigenvaluesOfSmallProblems) {
  DefinitenessScratch scratch;
  std::vector<ContactProblem> problems{make_box_stack(3), make_chain(14), make_pile(10, 3)};
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const RandomProblemOptions mixed{.contacts = 4, .equalities = 2, .limits = 3, .boxes = 2, .mixed_contacts = true};
    problems.push_back(make_random_problem(mixed, seed));
  }
  int few = 0;
  for (const ContactProblem& problem : problems) {
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    few += dual.nrow() <= 48 ? 1 : 0;
    const VectorX values = Eigen::SelfAdjointEigenSolver<MatrixX>(dual.G.dense()).eigenvalues();
    const auto shifted = [&](double smallest) {
      BlockSparseMatrix M = dual.G;
      for (int i = 0; i < dual.nblock(); ++i) {
        M.block(i, M.find(i, i)).diagonal().array() += smallest * values.maxCoeff() - values[0];
      }
      return check_definiteness(M, scratch).usable();
    };
    EXPECT_TRUE(shifted(-0.9e-5)) << dual.nrow();
    if (dual.nrow() <= 48) {
      EXPECT_FALSE(shifted(-1.2e-5)) << dual.nrow();
    }
  }
  EXPECT_GT(few, 15);
}

// What a full check has found symmetric, solvers may take for symmetric.
TEST(Definiteness, TellsSolversOfSymmetry) {
  ContactProblem problem = make_random_problem({.contacts = 6}, 1);
  const PrepareOptions full{.check_definiteness = true};
  DualProblem dual;
  MatrixX& G = problem.dual.G_dense;
  G = 0.5 * (G + G.transpose()).eval();
  G(0, 5) *= 1.0 + 1e-15;
  ASSERT_TRUE(prepare_dual(problem, full, dual).usable());
  EXPECT_TRUE(dual.symmetric);
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  EXPECT_FALSE(dual.symmetric);
  G(0, 5) += 1e-9 * G(0, 0);
  ASSERT_TRUE(prepare_dual(problem, full, dual).usable());
  EXPECT_FALSE(dual.symmetric);
}

TEST(Definiteness, NamesTheSkewPart) {
  DefinitenessScratch scratch;
  for (const int n : {6, 60}) {
    MatrixX A = MatrixX::Identity(n, n);
    A(1, n - 1) = 0.19;  // half of it is skew
    EXPECT_TRUE(check_definiteness(in_blocks(A), scratch).usable());
    EXPECT_DOUBLE_EQ(check_definiteness(in_blocks(A), scratch).skew, 0.095);
    A(1, n - 1) = 0.22;
    EXPECT_THAT(check_definiteness(in_blocks(A), scratch).message, HasSubstr("skew part is 11 %"));
  }
}

// Large and sparse: one entry too large, one block transposed, all blocks transposed.
TEST(Definiteness, FindsWrongBlocksOfLargeMatrices) {
  DefinitenessScratch scratch;
  for (const ContactProblem& problem : {make_wall(300), make_chain(300), make_pile(300, 1), make_box_stack(30)}) {
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    const BlockSparseMatrix& G = dual.G;
    EXPECT_TRUE(check_definiteness(G, scratch).usable());
    BlockSparseMatrix wrong = G;
    int refused = 0, tried = 0;
    for (int i = 0; i < G.block_rows(); i += 7) {  // a coupling twice as strong as it can be
      const int k = G.start[i + 1] - 1, j = G.col[k];
      if (j == i) continue;
      const double bound = std::sqrt(G.block(i, dual.diagonal[i])(2, 2) * G.block(j, dual.diagonal[j])(2, 2));
      wrong = G;
      wrong.block(i, k)(2, 2) = 2.0 * bound;
      wrong.block(j, G.find(j, i))(2, 2) = 2.0 * bound;
      refused += check_definiteness(wrong, scratch).usable() ? 0 : 1;
      ++tried;
    }
    EXPECT_EQ(refused, tried);
    wrong = G;
    for (int i = 0; i < G.block_rows(); ++i) {
      for (int k = G.start[i]; k < G.start[i + 1]; ++k) wrong.block(i, k) = G.block(i, k).transpose();
    }
    const MatrixX dense = wrong.dense();
    const VectorX values = Eigen::SelfAdjointEigenSolver<MatrixX>(dense, Eigen::EigenvaluesOnly).eigenvalues();
    const bool indefinite = values[0] < -kMaxRelativeIndefiniteness * values[values.size() - 1];
    EXPECT_EQ(check_definiteness(wrong, scratch).usable(), !indefinite);
  }
}

}  // namespace
}  // namespace touchstone

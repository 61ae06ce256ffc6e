// The views of a problem, its scaling, islands, Hessian and generators agree with dense algebra.
#include "touchstone/contact/problem.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/islands.hpp"
#include "touchstone/contact/primal_hessian.hpp"
#include "touchstone/contact/residuals.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;

MatrixX dense_inertia(const PrimalData& primal) {
  MatrixX A = MatrixX::Zero(primal.nv(), primal.nv());
  for (int c = 0; c < primal.nclique(); ++c) {
    const int n = primal.clique_size(c), first = primal.clique[c];
    A.block(first, first, n, n) = primal.A_block(c);
  }
  return A;
}

// A robot of 9 dofs, two free bodies, joints, limits and contacts of all dimensions, with compliance.
ContactProblem mixed_primal() {
  ContactProblem problem;
  const MatrixX root = MatrixX::Random(9, 9);
  problem.primal.add_clique(root * root.transpose() + MatrixX::Identity(9, 9));
  problem.primal.add_clique(2.0 * MatrixX::Identity(6, 6));
  problem.primal.add_clique(0.1 * MatrixX::Identity(6, 6));
  const double mu[5] = {0.5, 0.7, 0.01, 0.02, 0.03};
  problem.blocks.add_equality(5);
  problem.blocks.add_nonnegative();
  problem.blocks.add_box(-1.0, 2.0);
  problem.blocks.add_coulomb(0.8);
  problem.blocks.add_coulomb(mu, 3);
  problem.blocks.add_coulomb(mu, 5);
  problem.row_length.assign(static_cast<std::size_t>(problem.nrow()), 1.0);
  for (const int r : {12, 16, 17, 18}) problem.row_length[static_cast<std::size_t>(r)] = 0.05;
  std::vector<JacobianBlock> jacobian;
  for (int i = 0; i < problem.nblock(); ++i) {
    const int m = problem.blocks.size(i);
    jacobian.push_back({i, 0, MatrixX::Random(m, 9)});
    jacobian.push_back({i, 1 + i % 2, MatrixX::Random(m, 6)});
  }
  problem.set_jacobian(jacobian);
  problem.primal.v_free = VectorX::Random(21);
  problem.primal.b = VectorX::Random(problem.nrow());
  problem.primal.R = VectorX::Random(problem.nrow()).cwiseAbs();
  return problem;
}

TEST(DualProblem, FromThePrimalAsDense) {
  const ContactProblem problem = mixed_primal();
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  const MatrixX J = problem.primal.J.dense(), A = dense_inertia(problem.primal);
  const MatrixX G = J * A.inverse() * J.transpose() + MatrixX(problem.primal.R.asDiagonal());
  const VectorX g = J * problem.primal.v_free + problem.primal.b;
  const MatrixX unscaled = dual.u_scale.asDiagonal() * dual.G.dense() * dual.lambda_scale.cwiseInverse().asDiagonal();
  EXPECT_LE((unscaled - G).norm(), 1e-13 * G.norm());
  EXPECT_LE((dual.u_scale.cwiseProduct(dual.g) - g).norm(), 1e-13 * g.norm());
  // Every block has a mean diagonal of one, the largest free velocity is one.
  for (int i = 0; i < dual.nblock(); ++i) {
    const int m = dual.blocks.size(i);
    EXPECT_NEAR(Eigen::Map<const MatrixX>(dual.diagonal_block(i), m, m).trace(), m, 1e-13);
    EXPECT_NEAR(dual.d[i], 1.0, 1e-15);
  }
  EXPECT_NEAR(dual.g.lpNorm<Eigen::Infinity>(), 1.0, 1e-15);
  // The velocity and the certificate in both units.
  const VectorX lambda = VectorX::Random(problem.nrow());
  VectorX scaled, u, v;
  scale_lambda(dual, lambda, scaled);
  compute_velocity(dual, scaled, u);
  EXPECT_LE((dual.u_scale.cwiseProduct(u) - (G * lambda + g)).norm(), 1e-12);
  const Residuals residuals = certify(problem, lambda);
  EXPECT_NEAR(natv(dual, ContactModel::kNcp, scaled, u), residuals.natv, 1e-12 * residuals.natv);
  EXPECT_NEAR(dual.velocity_scale * residuals.natv_relative, residuals.natv, 1e-12 * residuals.natv);
  compute_next_velocity(problem, dual, lambda, v);
  EXPECT_LE((v - problem.primal.v_free - A.inverse() * J.transpose() * lambda).norm(), 1e-12 * v.norm());
  EXPECT_LE((v - next_velocity(problem, lambda)).norm(), 1e-13 * v.norm());
}

TEST(DualProblem, WithoutBlockScalingKeepsG) {
  const ContactProblem problem = make_random_problem({.contacts = 5, .skew = 1e-3}, 3);
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {.scaling = DualScaling::kUnits}, dual).usable());
  EXPECT_LE((dual.G.dense() - problem.dual.G_dense).norm(), 1e-15);
  const VectorX lambda = VectorX::Random(15);
  VectorX scaled, u;
  scale_lambda(dual, lambda, scaled);
  compute_velocity(dual, scaled, u);
  const double expected = certify(problem, lambda).natv;
  EXPECT_NEAR(natv(dual, ContactModel::kNcp, scaled, u), expected, 1e-13 * expected);
}

TEST(DualProblem, DenseSparseAndIncompletePatternsAgree) {
  ContactProblem dense = make_random_problem({.contacts = 4}, 9);
  dense.dual.G_dense.block(0, 6, 3, 6).setZero();  // an unsymmetric pattern
  ContactProblem sparse = dense;
  std::vector<std::pair<int, int>> pattern;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (!(i == 0 && j >= 2)) pattern.emplace_back(i, j);
    }
  }
  BlockSparseMatrix G;
  G.set_pattern(dense.blocks.row, dense.blocks.row, pattern);
  for (int i = 0; i < 4; ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k)
      G.block(i, k) = dense.dual.G_dense.block(3 * i, 3 * G.col[k], 3, 3);
  }
  sparse.dual.set(G, dense.dual.g);
  DualProblem a, b;
  ASSERT_TRUE(prepare_dual(dense, {}, a).usable() && prepare_dual(sparse, {}, b).usable());
  EXPECT_EQ(a.G.entries(), 16);
  EXPECT_EQ(b.G.entries(), 16);
  EXPECT_EQ((a.G.dense() - b.G.dense()).norm(), 0.0);
}

class DenseOperator final : public DelassusOperator {
 public:
  explicit DenseOperator(MatrixX G) : G_(std::move(G)) {}
  int rows() const override { return static_cast<int>(G_.rows()); }
  void multiply(const double* x, double* y) const override {
    Eigen::Map<VectorX>(y, rows()) = G_ * Eigen::Map<const VectorX>(x, rows());
  }
  void diagonal(double* d) const override { Eigen::Map<VectorX>(d, rows()) = G_.diagonal(); }

 private:
  MatrixX G_;
};

TEST(DualProblem, MatrixFreeIsCertifiedButNotPrepared) {
  const ContactProblem dense = make_random_problem({.contacts = 4}, 2);
  ContactProblem free = dense;
  free.dual.set(std::make_shared<DenseOperator>(dense.dual.G_dense), dense.dual.g);
  const VectorX lambda = VectorX::Ones(12);
  EXPECT_NEAR(certify(free, lambda).natv, certify(dense, lambda).natv, 1e-14);
  EXPECT_TRUE(validate(free).usable());
  DualProblem dual;
  const Verdict verdict = prepare_dual(free, {}, dual);
  EXPECT_EQ(verdict.status, ProblemStatus::kUnsupported);
  EXPECT_THAT(verdict.message, HasSubstr("operator"));
}

TEST(DualProblem, AllocatesNothingForAProblemSeenBefore) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const ContactProblem primal = mixed_primal(), dense = make_random_problem({.contacts = 8}, 1);
  DualProblem dual, other;
  ASSERT_TRUE(prepare_dual(primal, {}, dual).usable() &&
              prepare_dual(dense, {.check_definiteness = true}, other).usable());
  const test::AllocationGuard guard;
  ASSERT_TRUE(prepare_dual(primal, {}, dual).usable() &&
              prepare_dual(dense, {.check_definiteness = true}, other).usable());
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(Validate, NamesWhatIsWrongWithThePrimal) {
  ContactProblem problem = make_cube({1.0, 0.0, 0.0});
  EXPECT_TRUE(validate(problem).usable());
  ContactProblem broken = problem;
  broken.primal.A[0] = -1.0;
  EXPECT_THAT(validate(broken).message, HasSubstr("clique 0 (6 dofs) is not positive definite"));
  broken = problem;
  broken.primal.v_free[2] = std::nan("");
  EXPECT_THAT(validate(broken).message, HasSubstr("v_free is nan at dof 2"));
  broken = problem;
  broken.primal.R = VectorX::Constant(12, -1e-3);
  EXPECT_THAT(validate(broken).message, HasSubstr("block 0 (coulomb): the compliance R is -0.001"));
  broken = problem;
  broken.primal.b.resize(7);
  EXPECT_THAT(validate(broken).message, HasSubstr("b has 7 entries, expected 12"));
  broken = problem;
  broken.blocks.add_nonnegative();
  EXPECT_FALSE(validate(broken).usable());
  broken = problem;
  broken.blocks.type[1] = BlockType::kBox;
  EXPECT_THAT(validate(broken).message, HasSubstr("limits and boxes 1"));
  broken = problem;
  broken.row_length[3] = 0.0;
  EXPECT_THAT(validate(broken).message, HasSubstr("the length of row 3 is 0"));
}

TEST(Blocks, RefuseImpossibleSizes) {
  Blocks blocks;
  EXPECT_THROW(blocks.add_equality(0), Error);
  EXPECT_THROW(blocks.add_equality(7), Error);
  ContactProblem problem;
  problem.primal.add_clique(MatrixX::Identity(2, 2));
  problem.blocks.add_nonnegative();
  EXPECT_THROW(problem.set_jacobian({{1, 0, MatrixX::Ones(1, 2)}}), Error);
  EXPECT_THROW(problem.set_jacobian({{0, 0, MatrixX::Ones(1, 3)}}), Error);
  EXPECT_THROW(problem.primal.add_clique(MatrixX::Ones(2, 3)), Error);
}

TEST(ScaleImpulses, GivesForces) {
  ContactProblem problem = mixed_primal();
  const VectorX impulse = VectorX::Random(problem.nrow());
  const VectorX v = next_velocity(problem, impulse);
  const Residuals before = certify(problem, impulse);
  scale_impulses(problem, 0.01);
  EXPECT_LE((next_velocity(problem, impulse / 0.01) - v).norm(), 1e-12 * v.norm());
  const Residuals after = certify(problem, impulse / 0.01);
  EXPECT_NEAR(after.natv, before.natv, 1e-12 * before.natv);
  EXPECT_NEAR(after.coulomb, before.coulomb / 0.01, 1e-10 * after.coulomb);
  EXPECT_THROW(scale_impulses(problem, 0.0), Error);
}

// Three scenes put together are three islands, each the scene it came from.
TEST(Islands, OfJoinedScenes) {
  const std::vector<ContactProblem> scenes = {make_cube({1.0, 0.0, 0.0}), make_box_stack(3), make_pile(20, 1)};
  for (const bool primal : {true, false}) {
    std::vector<ContactProblem> parts;
    for (const ContactProblem& scene : scenes) {
      parts.push_back(scene);
      if (primal) continue;
      DualProblem dual;
      ASSERT_TRUE(prepare_dual(scene, {.scaling = DualScaling::kUnits}, dual).usable());
      parts.back().primal = {};
      parts.back().has_primal = false;
      parts.back().dual.set(dual.G, dual.g);
    }
    ContactProblem whole = parts[0];
    append_problem(whole, parts[1]);
    append_problem(whole, parts[2]);
    ASSERT_TRUE(validate(whole).usable()) << validate(whole).message;
    Islands islands;
    find_islands(whole, islands);
    ASSERT_EQ(islands.count(), 3);
    const VectorX lambda = VectorX::Random(whole.nrow());
    VectorX copy = VectorX::Zero(whole.nrow()), own, v = VectorX::Zero(primal ? whole.primal.nv() : 0);
    ContactProblem part;
    double natv = 0.0;
    for (int k = 0; k < 3; ++k) {
      extract_island(whole, islands, k, part);
      ASSERT_TRUE(validate(part).usable()) << validate(part).message;
      EXPECT_EQ(part.nblock(), parts[static_cast<std::size_t>(k)].nblock());
      gather_rows(whole, islands, k, lambda, own);
      scatter_rows(whole, islands, k, own, copy);
      const Residuals residuals = certify(part, own), expected = certify(parts[static_cast<std::size_t>(k)], own);
      EXPECT_EQ(residuals.natv, expected.natv);
      natv = std::max(natv, residuals.natv);
      if (primal) scatter_dofs(whole, islands, k, next_velocity(part, own), v);
    }
    EXPECT_EQ((copy - lambda).norm(), 0.0);
    EXPECT_NEAR(certify(whole, lambda).natv, natv, 1e-13 * natv);
    if (primal) {
      EXPECT_LE((v - next_velocity(whole, lambda)).norm(), 1e-13 * v.norm());
    }
  }
}

TEST(Islands, OfDenseAndEmptyProblems) {
  ContactProblem problem;
  for (int k = 0; k < 4; ++k) problem.blocks.add_nonnegative();
  MatrixX G = MatrixX::Identity(4, 4);
  G(0, 2) = G(2, 0) = 0.5;
  problem.dual.set(G, VectorX::LinSpaced(4, 0.0, 3.0));
  Islands islands;
  find_islands(problem, islands);
  EXPECT_EQ(islands.of_block, (std::vector<int>{0, 1, 0, 2}));
  ContactProblem part;
  extract_island(problem, islands, 0, part);
  EXPECT_EQ(part.dual.G_dense, (Eigen::Matrix2d() << 1.0, 0.5, 0.5, 1.0).finished());
  EXPECT_EQ(part.dual.g, Vector2(0.0, 2.0));
  find_islands(ContactProblem(), islands);
  EXPECT_EQ(islands.count(), 0);
}

TEST(PrimalHessian, AsDense) {
  const ContactProblem problem = mixed_primal();
  BlockDiagonal W;
  W.set_partition(problem.blocks.row);
  MatrixX weight = MatrixX::Zero(problem.nrow(), problem.nrow());
  for (int i = 0; i < problem.nblock(); ++i) {
    const int m = problem.blocks.size(i), r = problem.blocks.row[i];
    weight.block(r, r, m, m) = MatrixX::Random(m, m);
    Eigen::Map<MatrixX>(W.data(i), m, m) = weight.block(r, r, m, m);
  }
  PrimalHessian hessian;
  hessian.set_pattern(problem);
  hessian.compute(problem, W);
  const MatrixX J = problem.primal.J.dense();
  const MatrixX expected = dense_inertia(problem.primal) + J.transpose() * weight * J;
  EXPECT_LE((hessian.H.dense() - expected).norm(), 1e-13 * expected.norm());
  if (!test::AllocationGuard::available()) return;
  const test::AllocationGuard guard;
  hessian.set_pattern(problem);
  hessian.compute(problem, W);
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(Generators, AreAsDescribed) {
  EXPECT_EQ(make_cube(Vector3::Zero()).nblock(), 4);
  EXPECT_EQ(make_box_stack(5).nblock(), 20);
  for (const int contacts : {10, 100, 1000}) {
    for (const ContactProblem& problem : {make_chain(contacts), make_pile(contacts, 1), make_wall(contacts)}) {
      EXPECT_TRUE(validate(problem).usable()) << validate(problem).message;
      EXPECT_GE(problem.nblock(), contacts - 1);
      EXPECT_LE(problem.nblock(), 2 * contacts);
    }
  }
  // The same seed gives the same problem.
  EXPECT_EQ(make_pile(50, 7).primal.v_free, make_pile(50, 7).primal.v_free);
  const ContactProblem problem =
      make_random_problem({.contacts = 12, .condition = 1e4, .hyperstaticity = 2.0, .skew = 1e-3}, 4);
  const MatrixX& G = problem.dual.G_dense;
  const VectorX values = Eigen::SelfAdjointEigenSolver<MatrixX>(0.5 * (G + G.transpose())).eigenvalues();
  EXPECT_NEAR(values[35], 1.0, 1e-12);
  EXPECT_NEAR(values[18], 1e-4, 1e-12);  // the rank is 18 of 36
  EXPECT_NEAR(values[17], 0.0, 1e-12);
  EXPECT_NEAR((G - G.transpose()).cwiseAbs().maxCoeff() / G.cwiseAbs().maxCoeff(), 2e-3, 1e-4);
}

// A body that turns about its contact normal: the rows of torsion and rolling come before the normal.
TEST(Generators, TorsionAndRollingRows) {
  SceneBuilder scene({.gravity = 0.0});
  const int ball = scene.add_body(1.0, {0, 0, 0.5}, Matrix3::Identity(), Vector3(0, 0, -2), Vector3(1.0, 3.0, 5.0));
  scene.add_contact(-1, ball, Vector3::Zero(), Vector3::UnitZ(), {0.5, 0.5, 0.1, 0.1, 0.1}, 0.5);
  const ContactProblem problem = scene.finish();
  const VectorX c = problem.primal.J * problem.primal.v_free;
  EXPECT_EQ(c[2], 5.0);                                         // torsion
  EXPECT_NEAR(std::hypot(c[3], c[4]), std::sqrt(10.0), 1e-15);  // rolling
  EXPECT_EQ(c[5], -2.0);                                        // normal
  EXPECT_EQ(problem.row_length, (std::vector<double>{1, 1, 0.5, 0.5, 0.5, 1}));
}

TEST(Islands, PartsKeepSymmetryAndCompliance) {
  ContactProblem one;
  one.blocks.add_nonnegative();
  one.dual.set(MatrixX(MatrixX::Constant(1, 1, 2.0)), VectorX(VectorX::Constant(1, -1.0)));
  one.dual.symmetric = true;
  one.primal.R = VectorX::Constant(1, 0.25);
  ContactProblem both = one;
  append_problem(both, one);
  EXPECT_TRUE(both.dual.symmetric);
  ASSERT_EQ(both.primal.R.size(), 2);
  Islands islands;
  find_islands(both, islands);
  ASSERT_EQ(islands.count(), 2);
  ContactProblem part;
  extract_island(both, islands, 1, part);
  EXPECT_TRUE(part.dual.symmetric);
  ASSERT_EQ(part.primal.R.size(), 1);
  EXPECT_EQ(part.primal.R[0], 0.25);
  one.dual.symmetric = false;
  append_problem(both, one);
  EXPECT_FALSE(both.dual.symmetric);
}

}  // namespace
}  // namespace touchstone

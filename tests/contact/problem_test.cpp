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
#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/primal_hessian.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;

// A robot of 9 dofs, two free bodies, joints, limits and contacts of all dimensions, with compliance.
ContactProblem mixed_primal() {
  ContactProblem problem;
  const MatrixX root = MatrixX::Random(9, 9);
  DenseInertia inertia;
  inertia.add(root * root.transpose() + MatrixX::Identity(9, 9));
  inertia.add(2.0 * MatrixX::Identity(6, 6));
  inertia.add(0.1 * MatrixX::Identity(6, 6));
  problem.primal.set_inertia(std::move(inertia));
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
  problem.b = VectorX::Random(problem.nrow());
  problem.R = VectorX::Random(problem.nrow()).cwiseAbs();
  return problem;
}

TEST(DualProblem, FromThePrimalAsDense) {
  const ContactProblem problem = mixed_primal();
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  const MatrixX J = problem.primal.J.dense(), A = problem.primal.A->matrix().dense();
  const MatrixX G = J * A.inverse() * J.transpose() + MatrixX(problem.R.asDiagonal());
  const VectorX g = J * problem.primal.v_free + problem.b;
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
  compute_next_velocity(problem, lambda, v);
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
  auto inertia = dynamic_cast<const DenseInertia&>(*problem.primal.A);
  MatrixX negative = inertia.block(0);
  negative(0, 0) = -1.0;
  inertia.set(0, negative);
  broken.primal.set_inertia(inertia);
  EXPECT_THAT(validate(broken).message, HasSubstr("clique 0 (6 dofs) is not positive definite"));
  broken = problem;
  broken.primal.v_free[2] = std::nan("");
  EXPECT_THAT(validate(broken).message, HasSubstr("v_free is nan at dof 2"));
  broken = problem;
  broken.R = VectorX::Constant(12, -1e-3);
  EXPECT_THAT(validate(broken).message, HasSubstr("block 0 (coulomb): the compliance R is -0.001"));
  broken = problem;
  broken.b.resize(7);
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

// A choice of blocks has the rows of J of these blocks alone.
TEST(PrimalHessian, OfAChoiceOfBlocks) {
  const ContactProblem problem = mixed_primal();
  const std::vector<int> chosen = {1, 3, 5};
  const JointSpace space{&problem, &chosen};
  std::vector<int> partition{0};
  for (const int i : chosen) partition.push_back(partition.back() + problem.blocks.size(i));
  BlockDiagonal W;
  W.set_partition(partition);
  MatrixX weight = MatrixX::Zero(problem.nrow(), problem.nrow());
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const int m = problem.blocks.size(chosen[k]), r = problem.blocks.row[static_cast<std::size_t>(chosen[k])];
    weight.block(r, r, m, m) = MatrixX::Random(m, m);
    Eigen::Map<MatrixX>(W.data(static_cast<int>(k)), m, m) = weight.block(r, r, m, m);
  }
  PrimalHessian hessian;
  hessian.set_pattern({&problem});  // another pattern before
  hessian.set_pattern(space);
  hessian.compute(space, W);
  const MatrixX J = problem.primal.J.dense();
  const MatrixX expected = problem.primal.A->matrix().dense() + J.transpose() * weight * J;
  EXPECT_LE((hessian.H.dense() - expected).norm(), 1e-13 * expected.norm());
}

// A pattern is that of blocks with their sizes: larger blocks on the same dofs are another one.
TEST(PrimalHessian, SeesThatBlocksHaveGrown) {
  PrimalHessian hessian;
  for (const int tangents : {0, 2, 5}) {
    ContactProblem problem;
    DenseInertia inertia;
    inertia.add(MatrixX::Identity(6, 6));
    problem.primal.set_inertia(inertia);
    const double mu[5] = {0.5, 0.5, 0.1, 0.1, 0.1};
    problem.blocks.add_coulomb(mu, tangents);
    problem.set_jacobian({{0, 0, MatrixX::Random(tangents + 1, 6)}});
    BlockDiagonal W;
    W.set_partition(problem.blocks.row);
    Eigen::Map<MatrixX>(W.data(0), tangents + 1, tangents + 1).setIdentity();
    hessian.set_pattern({&problem});
    hessian.compute({&problem}, W);
    const MatrixX J = problem.primal.J.dense();
    EXPECT_LE((hessian.H.dense() - MatrixX::Identity(6, 6) - J.transpose() * J).norm(), 1e-14);
  }
}

TEST(Inertia, ABrokenCliqueCanBeMended) {
  DenseInertia inertia;
  inertia.add(MatrixX::Identity(2, 2));
  inertia.add(-MatrixX::Identity(3, 3));
  EXPECT_EQ(inertia.broken_clique(), 1);
  inertia.set(1, MatrixX::Identity(3, 3));
  EXPECT_EQ(inertia.broken_clique(), -1);
}

// Every operation of an inertia against the matrix that it says it is.
TEST(Inertia, OperationsAgreeWithTheMatrix) {
  const ContactProblem problem = mixed_primal();
  const Inertia& inertia = *problem.primal.A;
  const MatrixX A = inertia.matrix().dense();
  for (int c = 0; c < inertia.nclique(); ++c) {
    const int first = inertia.first_dof(c), n = inertia.clique_size(c);
    const MatrixX block = A.block(first, first, n, n);
    const VectorX x = VectorX::Random(n);
    VectorX z = x;
    inertia.solve(c, z.data());
    EXPECT_LE((block * z - x).norm(), 1e-12 * x.norm());
    MatrixX S = MatrixX::Identity(n, n);
    inertia.half_solve(c, S.data(), n);
    EXPECT_LE((S.transpose() * S - block.inverse()).norm(), 1e-12 * S.squaredNorm());
  }
  EXPECT_LE((inertia.scaled(3.0)->matrix().dense() - 3.0 * A).norm(), 1e-14 * A.norm());
}

TEST(Blocks, RefuseImpossibleSizes) {
  Blocks blocks;
  EXPECT_THROW(blocks.add_equality(0), Error);
  EXPECT_THROW(blocks.add_equality(7), Error);
  ContactProblem problem;
  EXPECT_THROW(problem.set_jacobian({}), Error);  // the inertia comes first
  DenseInertia inertia;
  inertia.add(MatrixX::Identity(2, 2));
  EXPECT_THROW(inertia.add(MatrixX::Ones(2, 3)), Error);
  problem.primal.set_inertia(inertia);
  problem.blocks.add_nonnegative();
  EXPECT_THROW(problem.set_jacobian({{1, 0, MatrixX::Ones(1, 2)}}), Error);
  EXPECT_THROW(problem.set_jacobian({{0, 0, MatrixX::Ones(1, 3)}}), Error);
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
  hessian.set_pattern({&problem});
  hessian.compute({&problem}, W);
  const MatrixX J = problem.primal.J.dense();
  const MatrixX expected = problem.primal.A->matrix().dense() + J.transpose() * weight * J;
  EXPECT_LE((hessian.H.dense() - expected).norm(), 1e-13 * expected.norm());
  if (!test::AllocationGuard::available()) return;
  const test::AllocationGuard guard;
  hessian.set_pattern({&problem});
  hessian.compute({&problem}, W);
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

}  // namespace
}  // namespace touchstone

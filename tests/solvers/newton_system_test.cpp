// The linear systems of the Newton methods, in contact space and in joint space.
#include "touchstone/solvers/newton/newton_system.hpp"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "solver_support.hpp"
#include "support/dual_view.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/catalogue.hpp"
#include "touchstone/solvers/newton/ccp_newton.hpp"

namespace touchstone {
namespace {

// Lambda as the methods make it: fixed rows, sticking ones at the given size, sliding ones without symmetry.
void fill_lambda(const DualProblem& dual, double stick, std::uint32_t seed, BlockDiagonal& Lambda) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int i = 0; i < dual.nblock(); ++i) {
    const int m = dual.blocks.size(i);
    double* block = Lambda.data(i);
    std::fill(block, block + m * m, 0.0);
    const double kind = uniform(random);
    for (int k = 0; k < m; ++k) block[k * (m + 1)] = kind < 0.2 ? NewtonSystem::kFixed : stick;
    if (kind > 0.6) {
      for (int k = 0; k + 1 < m; ++k) {
        block[k * (m + 1)] = 0.1 + uniform(random);
        block[(m - 1) * m + k] = -uniform(random);
      }
    }
  }
}

double largest_residual(const DualProblem& dual, const BlockDiagonal& Lambda, const VectorX& x, const VectorX& b) {
  VectorX product = dual.G * x;
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    product.segment(r, m) += Eigen::Map<const MatrixX>(Lambda.data(i), m, m) * x.segment(r, m);
  }
  return (product - b).lpNorm<Eigen::Infinity>() / b.lpNorm<Eigen::Infinity>();
}

// A problem with compliance, many contacts and few bodies.
ContactProblem compliant_wall() {
  ContactProblem problem = make_wall(80);
  problem.R = VectorX::LinSpaced(problem.nrow(), 0.0, 1e-4);
  return problem;
}

TEST(NewtonSystem, JointSpaceSolvesTheSameSystem) {
  for (const ContactProblem& problem : {make_wall(80), make_box_stack(12), compliant_wall()}) {
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    NewtonSystem joint, contact;
    joint.prepare(dual, {&problem});
    contact.prepare(dual);
    ASSERT_TRUE(joint.in_joint_space());
    ASSERT_FALSE(contact.in_joint_space());
    const VectorX b = VectorX::LinSpaced(dual.nrow(), -1.0, 1.0);
    for (const double stick : {1e-2, 1e-5, 1e-9}) {
      fill_lambda(dual, stick, 3, joint.Lambda);
      contact.Lambda = joint.Lambda;
      ASSERT_TRUE(joint.factorize() && contact.factorize());
      VectorX x = b, y = b;
      joint.solve(x);
      contact.solve(y);
      // Joint space refines, and gives way to contact space where that does not get ahead. Contact space leaves what
      // rounding makes of a hyperstatic system, 1e-16 / stick and more.
      const double rounding = 1e-13 / stick;
      const bool gave_way = joint.factorizations() > 1;
      EXPECT_LE(largest_residual(dual, joint.Lambda, x, b), gave_way ? rounding : 1e-6) << stick;
      EXPECT_LE(largest_residual(dual, contact.Lambda, y, b), rounding) << stick;
      EXPECT_TRUE(!gave_way || stick < 1e-8) << stick;
      joint.reset_count();
    }
  }
}

// Blocks of all sizes in a full matrix; some do not move, some lack a row, and some have a Lambda without symmetry.
TEST(NewtonSystem, DenseMatricesOfMixedBlocks) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 60; ++trial) {
    ContactProblem problem;
    const double friction[5] = {0.8, 0.8, 0.01, 1e-3, 1e-3};
    for (int i = 0; i < 1 + trial / 3; ++i) {
      const int kind = static_cast<int>(random() % 6);
      if (kind == 0) problem.blocks.add_equality(1 + static_cast<int>(random() % 6));
      if (kind == 1) problem.blocks.add_nonnegative();
      if (kind == 2) problem.blocks.add_box(-1.0, 1.0);
      if (kind > 2) problem.blocks.add_coulomb(friction, kind == 3 ? 2 : kind == 4 ? 3 : 5);
    }
    const int n = problem.nrow();
    const MatrixX root = MatrixX::NullaryExpr(n, n, [&] { return normal(random); });
    problem.dual.set(MatrixX(root * root.transpose() + MatrixX::Identity(n, n)), VectorX::Ones(n));
    problem.dual.symmetric = trial % 4 != 0;
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    NewtonSystem system;
    system.prepare(dual);
    ASSERT_TRUE(system.is_dense());
    fill_lambda(dual, 1e-3, static_cast<std::uint32_t>(trial), system.Lambda);
    for (int i = 0; i < dual.nblock(); ++i) {
      if (random() % 4 == 0) system.Lambda.data(i)[0] = NewtonSystem::kFixed;
    }
    ASSERT_TRUE(system.factorize());
    const VectorX b = VectorX::LinSpaced(n, -1.0, 1.0);
    VectorX x = b;
    system.solve(x);
    VectorX residual = dual.G * x - b;
    for (int i = 0; i < dual.nblock(); ++i) {
      const int r = dual.blocks.row[i], m = dual.blocks.size(i);
      const Eigen::Map<const MatrixX> Lambda(system.Lambda.data(i), m, m);
      residual.segment(r, m) += Lambda * x.segment(r, m);
      for (int k = 0; k < m; ++k) {
        if (Lambda(k, k) < NewtonSystem::kFixed) continue;
        EXPECT_EQ(x[r + k], 0.0) << trial;
        residual[r + k] = 0.0;
      }
    }
    EXPECT_LT(residual.lpNorm<Eigen::Infinity>(), 1e-11 * (1.0 + x.lpNorm<Eigen::Infinity>())) << trial;
  }
}

// Sliding contacts: the impulse stays on a plane, by a penalty in contact space and exactly in joint space, also where
// friction is slight and the penalty, which grows with its inverse square, drowns all else.
TEST(NewtonSystem, JointSpaceHoldsSlidingContactsWithoutPenalty) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const ContactProblem problem = make_wall(80);
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  int held_rows = 0;
  for (const double friction : {1.0, 0.1, 1e-3}) {
    for (const double stick : {1e-2, 1e-4, 1e-6}) {
      NewtonSystem joint, contact;
      joint.prepare(dual, {&problem});
      contact.prepare(dual);
      const double penalty = 1e6;
      std::vector<HeldBlock> held;
      fill_lambda(dual, stick, 7, joint.Lambda);
      for (int i = 0; i < dual.nblock(); ++i) {
        double* block = joint.Lambda.data(i);
        if (dual.blocks.size(i) != 3 || block[0] >= NewtonSystem::kFixed || uniform(random) < 0.5) continue;
        const double angle = 6.28 * uniform(random), e[2] = {std::cos(angle), std::sin(angle)};
        const double stiffness = stick * std::pow(10.0, 16.0 * uniform(random));  // up to that of a contact that closes
        HeldBlock& h = held.emplace_back();
        h.block = i;
        for (int k = 0; k < 2; ++k) {
          h.loose[k * 4] = stiffness / (friction * friction);
          h.along[k] = h.across[k] = e[k] / friction;
        }
        h.loose[8] = stick;
        h.across[2] = -1.0;
        const Vector3 along(h.along[0], h.along[1], 0.0), across(h.across[0], h.across[1], h.across[2]);
        Eigen::Map<Matrix3>(block, 3, 3) = Eigen::Map<Matrix3>(h.loose, 3, 3) + penalty * along * across.transpose() -
                                           stiffness * along * along.transpose();
      }
      contact.Lambda = joint.Lambda;
      ASSERT_TRUE(joint.factorize(held) && contact.factorize());
      VectorX x = VectorX::LinSpaced(dual.nrow(), -1.0, 1.0), y = x;
      const VectorX b = x;
      joint.solve(x);
      contact.solve(y);
      EXPECT_EQ(joint.factorizations(), 1) << friction << ' ' << stick;  // contact space was not needed
      const double size = x.lpNorm<Eigen::Infinity>();
      for (const HeldBlock& h : held) {
        const int r = dual.blocks.row[h.block];
        const Vector3 across(h.across[0], h.across[1], h.across[2]), along(h.along[0], h.along[1], 0.0);
        EXPECT_LE(std::abs(across.dot(x.segment<3>(r))), 1e-10 * across.norm() * size);
        Vector3 residual =
            b.segment<3>(r) - (dual.G * x).segment<3>(r) - Eigen::Map<const Matrix3>(h.loose, 3, 3) * x.segment<3>(r);
        residual -= along * (along.dot(residual) / along.squaredNorm());
        EXPECT_LE(residual.lpNorm<Eigen::Infinity>() / (1.0 + h.loose[0]), 1e-6) << friction << ' ' << stick;
        ++held_rows;
      }
      // Contact space has the penalty's error: the multiplier over the penalty.
      if (friction == 1.0 && stick >= 1e-2) {
        EXPECT_LE((x - y).lpNorm<Eigen::Infinity>(), 1e-3 * size) << stick;
      }
    }
  }
  EXPECT_GT(held_rows, 100);
}

// Where bodies are many the contacts are fewer, and joint space would be dearer.
TEST(NewtonSystem, StaysInContactSpaceWhereThatIsCheaper) {
  const ContactProblem chain = make_chain(100), small = make_box_stack(2);
  for (const ContactProblem* problem : {&chain, &small}) {
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(*problem, {}, dual).usable());
    NewtonSystem system;
    system.prepare(dual, {problem});
    EXPECT_FALSE(system.in_joint_space());
  }
}

// Small systems are dense; one that knows G to be symmetric reads half of it and eliminates by Cholesky's method.
TEST(NewtonSystem, SmallSystemsWithAndWithoutSymmetry) {
  for (const ContactProblem& problem : {make_box_stack(2), make_chain(9), make_wall(3)}) {
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    ASSERT_LE(dual.nrow(), NewtonSystem::kLargestDense);
    const VectorX b = VectorX::LinSpaced(dual.nrow(), -1.0, 1.0);
    for (const bool symmetric : {false, true}) {
      dual.symmetric = symmetric;
      NewtonSystem system;
      system.prepare(dual);
      for (const double stick : {1e-2, 1e-5, 1e-9}) {
        fill_lambda(dual, stick, 3, system.Lambda);
        ASSERT_TRUE(system.factorize());
        VectorX x = b;
        system.solve(x);
        // Rows that must not move do not; the others obey their equations.
        VectorX moving = b;
        for (int i = 0; i < dual.nblock(); ++i) {
          const int r = dual.blocks.row[i], m = dual.blocks.size(i);
          if (system.Lambda.data(i)[0] < NewtonSystem::kFixed) continue;
          EXPECT_TRUE(x.segment(r, m).isZero(0.0));
          moving.segment(r, m) = (dual.G * x).segment(r, m);
        }
        EXPECT_LE(largest_residual(dual, system.Lambda, x, moving), 1e-13 / stick) << symmetric << ' ' << stick;
      }
    }
  }
}

// Two bodies that must leave each other in opposite ways: impulses grow along a ray and no velocity will do.
TEST(NewtonSystem, TheDefaultSolverSeesThatThereIsNoSolution) {
  ContactProblem problem;
  problem.blocks.add_nonnegative();
  problem.blocks.add_nonnegative();
  MatrixX G(2, 2);
  G << 1.0, -1.0, -1.0, 1.0;
  problem.dual.set(G, Vector2(-1.0, -1.0));
  const test::Solved squeezed = test::solve("auto", problem, {});
  EXPECT_EQ(squeezed.status, SolveStatus::kStalled);
  EXPECT_TRUE(squeezed.solution.infeasible);
  EXPECT_GT(squeezed.solution.shift, 0.0);
  problem.dual.set(G, Vector2(-1.0, 1.5));
  const test::Solved free = test::solve("auto", problem, {});
  EXPECT_EQ(free.status, SolveStatus::kSolved);
  EXPECT_FALSE(free.solution.infeasible);
}

TEST(NewtonSystem, NewtonMethodsAgreeWithBothViews) {
  for (const char* name : {"auto", "ncp-ipm", "ncp-newton", "ccp-newton"}) {
    const ContactProblem problem = make_wall(150);
    const ContactProblem other = test::dual_view(problem);
    const double speed = other.dual.g.lpNorm<Eigen::Infinity>();
    const test::Solved with = test::solve(name, problem, {}), without = test::solve(name, other, {});
    ASSERT_EQ(with.status, SolveStatus::kSolved) << name;
    ASSERT_EQ(without.status, SolveStatus::kSolved) << name;
    EXPECT_LE((with.solution.u - without.solution.u).lpNorm<Eigen::Infinity>(), 1e-6 * speed) << name;
  }
}

// ccp-newton goes to joint space too, and its answer does not depend on it: cones and pyramids, compliant rows and hard
// ones. With alpha = 1e-10 it solves this wall in neither space.
TEST(NewtonSystem, TheConvexMethodUsesJointSpace) {
  ContactProblem compliant = make_wall(150);
  compliant.R = VectorX::LinSpaced(compliant.nrow(), 1e-6, 1e-4);
  for (const ContactProblem& problem : {make_wall(150), compliant}) {
    const ContactProblem other = test::dual_view(problem);
    const double speed = other.dual.g.lpNorm<Eigen::Infinity>();
    for (const char* cone : {"cone=elliptic", "cone=pyramidal"}) {
      for (const char* alpha : {"alpha=1e-3", "alpha=1e-5", "alpha=1e-7"}) {
        const auto solver = make_solver("ccp-newton");
        const auto options = solver->make_options();
        options->max_iterations = 1000;
        for (const char* option : {cone, alpha}) set_option(*options, option);
        const auto workspace = solver->make_workspace();
        Solution with, without;
        ASSERT_EQ(solver->solve(problem, *options, *workspace, with), SolveStatus::kSolved)
            << cone << ' ' << alpha << ": " << with.message;
        EXPECT_GT(dynamic_cast<const CcpNewtonWorkspace&>(*workspace).weight.values.size(), 0u);
        const auto contact = solver->make_workspace();
        ASSERT_EQ(solver->solve(other, *options, *contact, without), SolveStatus::kSolved) << cone << ' ' << alpha;
        EXPECT_EQ(dynamic_cast<const CcpNewtonWorkspace&>(*contact).weight.values.size(), 0u);
        EXPECT_LE((with.u - without.u).lpNorm<Eigen::Infinity>(), 1e-6 * speed) << cone << ' ' << alpha;
      }
    }
  }
}

TEST(NewtonSystem, JointSpaceAllocatesNothingTheSecondTime) {
  for (const char* name : {"auto", "ccp-newton"}) test::expect_no_allocation(name, make_wall(150));
}

}  // namespace
}  // namespace touchstone

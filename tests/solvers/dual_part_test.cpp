// Parts of a dual problem: found, cut out with every property, put back.
#include "touchstone/solvers/auto/dual_part.hpp"

#include <gtest/gtest.h>

#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/newton/newton_system.hpp"

namespace touchstone {
namespace {

// Towers of boxes that do not touch, with compliance and rows of every size.
ContactProblem towers(int count, int height) {
  SceneBuilder scene;
  for (int t = 0; t < count; ++t) {
    int below = -1;
    for (int k = 0; k < height; ++k) {
      const Vector3 centre(10.0 * t, 0.0, k + 0.5);
      const int box = scene.add_box(1.0 + t + k, centre, Vector3::Constant(0.5));
      for (const double x : {-0.5, 0.5}) {
        for (const double y : {-0.5, 0.5})
          scene.add_contact(below, box, centre + Vector3(x, y, -0.5), Vector3::UnitZ());
      }
      if (t == 1) scene.add_contact(below, box, centre, Vector3::UnitZ(), {0.5, 0.4, 0.1}, 0.3);
      below = box;
    }
  }
  ContactProblem problem = scene.finish();
  problem.R = VectorX::LinSpaced(problem.nrow(), 0.0, 1e-4);
  return problem;
}

TEST(DualParts, KeepEveryPropertyOfTheirBlocks) {
  const ContactProblem problem = towers(3, 4);
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  ASSERT_TRUE(dual.symmetric);
  DualParts parts;
  parts.find(dual, std::vector<char>(static_cast<std::size_t>(dual.nblock()), 1));
  ASSERT_EQ(parts.count(), 3);
  std::vector<int> position;
  const VectorX lambda = VectorX::LinSpaced(dual.nrow(), -1.0, 2.0);
  VectorX copy = VectorX::Zero(dual.nrow()), own, u, own_u;
  compute_velocity(dual, lambda, u);
  double largest = 0.0;
  for (int p = 0; p < parts.count(); ++p) {
    const int* blocks = parts.blocks.data() + parts.start[static_cast<std::size_t>(p)];
    const int count = parts.start[static_cast<std::size_t>(p) + 1] - parts.start[static_cast<std::size_t>(p)];
    DualProblem part;
    extract_part(dual, blocks, count, position, part);
    gather_part(dual, blocks, count, lambda, own);
    scatter_part(dual, blocks, count, own, copy);
    EXPECT_EQ(part.symmetric, dual.symmetric);
    EXPECT_EQ(part.doubtful, dual.doubtful);
    EXPECT_EQ(part.velocity_scale, dual.velocity_scale);
    compute_velocity(part, own, own_u);
    largest = std::max(largest, natv(part, ContactModel::kNcp, own, own_u));
    for (int k = 0; k < count; ++k) {
      const int i = blocks[k], from = dual.blocks.row[static_cast<std::size_t>(i)];
      const int to = part.blocks.row[static_cast<std::size_t>(k)];
      ASSERT_EQ(part.blocks.size(k), dual.blocks.size(i));
      EXPECT_EQ(part.blocks.type[static_cast<std::size_t>(k)], dual.blocks.type[static_cast<std::size_t>(i)]);
      EXPECT_EQ(part.d[k], dual.d[i]);
      EXPECT_EQ(part.weight[k], dual.weight[i]);
      for (int r = 0; r < part.blocks.size(k); ++r) {
        EXPECT_EQ(part.lambda_scale[to + r], dual.lambda_scale[from + r]);
        EXPECT_EQ(part.u_scale[to + r], dual.u_scale[from + r]);
        EXPECT_EQ(part.blocks.mu[static_cast<std::size_t>(to + r)], dual.blocks.mu[static_cast<std::size_t>(from + r)]);
        EXPECT_NEAR(own_u[to + r], u[from + r], 1e-13);
      }
    }
  }
  EXPECT_EQ(copy, lambda);
  EXPECT_NEAR(largest, natv(dual, ContactModel::kNcp, lambda, u), 1e-12 * largest);
}

// A part is factored in joint space through the rows of J that belong to it.
TEST(DualParts, InJointSpaceSolveTheSameSystem) {
  const ContactProblem problem = towers(1, 14);
  DualProblem dual, part;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  std::vector<int> blocks, position;
  for (int i = 0; i < dual.nblock(); ++i) {
    if (i % 7 != 3) blocks.push_back(i);
  }
  extract_part(dual, blocks.data(), static_cast<int>(blocks.size()), position, part);
  NewtonSystem joint, contact;
  joint.prepare(part, {&problem, &blocks});
  contact.prepare(part);
  ASSERT_TRUE(joint.in_joint_space());
  for (int i = 0; i < part.nblock(); ++i) {
    const int m = part.blocks.size(i);
    for (int k = 0; k < m; ++k) joint.Lambda.data(i)[k * (m + 1)] = 1e-3 * (1.0 + k + i % 5);
  }
  contact.Lambda = joint.Lambda;
  ASSERT_TRUE(joint.factorize() && contact.factorize());
  VectorX x = VectorX::LinSpaced(part.nrow(), -1.0, 1.0), y = x;
  joint.solve(x);
  contact.solve(y);
  EXPECT_TRUE(joint.in_joint_space());
  EXPECT_LE((x - y).norm(), 1e-9 * y.norm());
}

}  // namespace
}  // namespace touchstone

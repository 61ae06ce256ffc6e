#include "touchstone/diff/contact_derivatives.hpp"

#include <map>

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::test {
namespace {

struct Problem {
  Blocks blocks;
  MatrixX G;
  VectorX g;
};

struct Solved {
  bool ok = false;
  VectorX lambda, u;
  std::vector<BlockMode> modes;
};

Problem random_problem(std::mt19937_64& random, int rank_loss = 0) {
  Problem p;
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int i = 0; i < 2; ++i) p.blocks.add_coulomb(0.3 + 0.7 * unit(random));
  const double spin[] = {0.6, 0.4, 0.1}, roll[] = {0.5, 0.7, 0.1, 0.05, 0.08};
  p.blocks.add_coulomb(spin, 3);
  p.blocks.add_coulomb(roll, 5);
  p.blocks.add_coulomb(nullptr, 0);
  p.blocks.add_equality(2);
  p.blocks.add_nonnegative();
  p.blocks.add_box(-0.5 * unit(random), 0.5 * unit(random));
  const int n = p.blocks.rows();
  MatrixX B(n, n + 3 - rank_loss);
  for (double& x : B.reshaped()) x = 2.0 * unit(random) - 1.0;
  p.G = B * B.transpose() / n + (rank_loss > 0 ? 0.0 : 0.05) * MatrixX::Identity(n, n);
  p.g = rank_loss > 0 ? VectorX(B * random_vector(static_cast<int>(B.cols()), random)) : random_vector(n, random);
  return p;
}

Solved solve(const Problem& p, ContactModel model) {
  ContactProblem problem;
  problem.blocks = p.blocks;
  problem.dual.set(p.G, p.g);
  problem.dual.symmetric = true;
  const auto solver = make_solver(model == ContactModel::kNcp ? "ncp-newton" : "ccp-admm");
  const auto options = solver->make_options();
  options->relative_tolerance = 1e-14;
  options->max_iterations = 20000;
  const auto workspace = solver->make_workspace();
  Solution solution;
  solver->solve(problem, *options, *workspace, solution);
  Solved s;
  s.lambda = solution.lambda;
  if (s.lambda.size() != p.g.size()) return s;
  s.u = p.G * s.lambda + p.g;
  double worst = 0.0;
  VectorX out(p.g.size());
  for (int b = 0; b < p.blocks.count(); ++b) {
    const int r = p.blocks.row[static_cast<std::size_t>(b)];
    worst = std::max(worst, natural_map_block(p.blocks, b, model, 1.0, s.lambda.data() + r, s.u.data() + r, &out[r]));
    s.modes.push_back(block_mode(p.blocks, b, s.lambda.data() + r, s.u.data() + r, 1e-7));
  }
  s.ok = worst < 1e-12;
  return s;
}

// d lambda / dt of a problem that moves along a line; empty if a block changes its mode on the way or a solve fails.
MatrixX difference(const std::function<Problem(double)>& at_time, ContactModel model, const Solved& here) {
  bool ok = true;
  const MatrixX result = derivative(
      [&](double t) -> MatrixX {
        const Solved s = solve(at_time(t), model);
        ok = ok && s.ok && s.modes == here.modes;
        return s.lambda.size() == here.lambda.size() ? s.lambda : here.lambda;
      },
      1e-3);
  return ok ? result : MatrixX();
}

class ContactDerivativesOf : public testing::TestWithParam<ContactModel> {};

TEST_P(ContactDerivativesOf, AllBlocksInAllModes) {
  const ContactModel model = GetParam();
  std::mt19937_64 random(1);
  std::map<BlockMode, int> seen;
  int checked = 0;
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(random);
    const Solved here = solve(p, model);
    if (!here.ok) continue;
    ContactDerivatives d;
    d.prepare(p.blocks, model, p.G, here.lambda, here.u, 1e-7);
    ASSERT_EQ(d.modes(), here.modes);
    const VectorX dg = random_vector(p.blocks.rows(), random);
    MatrixX dG = MatrixX::Zero(p.G.rows(), p.G.cols());
    for (int k = 0; k < 2; ++k) {
      const VectorX x = random_vector(p.blocks.rows(), random);
      dG += 0.1 * x * x.transpose();
    }
    const MatrixX expected = difference(
        [&](double t) {
          Problem moved = p;
          moved.g += t * dg;
          moved.G += t * dG;
          return moved;
        },
        model, here);
    if (expected.size() == 0) continue;
    MatrixX actual;
    d.jvp(dg + dG * here.lambda, actual);
    EXPECT_LT(relative_error(actual, expected), 1e-6) << i;

    VectorX dmu = random_vector(p.blocks.rows(), random);
    for (int b = 0; b < p.blocks.count(); ++b) dmu[p.blocks.row[static_cast<std::size_t>(b + 1)] - 1] = 0.0;
    dmu = dmu.cwiseProduct(Eigen::Map<const VectorX>(p.blocks.mu.data(), p.blocks.rows()));
    const MatrixX by_friction = difference(
        [&](double t) {
          Problem moved = p;
          for (int r = 0; r < p.blocks.rows(); ++r) moved.blocks.mu[static_cast<std::size_t>(r)] += t * dmu[r];
          return moved;
        },
        model, here);
    VectorX friction;
    d.jvp_friction(dmu, friction);
    if (by_friction.size() > 0) {
      EXPECT_LT((friction - by_friction).cwiseAbs().maxCoeff(), 1e-6 * (1.0 + by_friction.cwiseAbs().maxCoeff())) << i;
    }
    // Reverse mode: <lambda_bar, dlambda> = <w_bar, dw>.
    const VectorX bar = random_vector(p.blocks.rows(), random);
    ContactDerivatives::Gradients gradients;
    d.vjp(bar, gradients);
    const VectorX dw = dg + dG * here.lambda;
    EXPECT_NEAR(gradients.w.dot(dw), bar.dot(VectorX(actual)), 1e-9 * (1.0 + std::abs(bar.dot(VectorX(actual)))));
    EXPECT_NEAR(gradients.mu.dot(dmu), bar.dot(friction), 1e-9 * (1.0 + std::abs(bar.dot(friction))));
    for (const BlockMode mode : here.modes) ++seen[mode];
    ++checked;
  }
  EXPECT_GE(checked, 150);
  for (const BlockMode mode : {BlockMode::kHeld, BlockMode::kOpen, BlockMode::kClosed, BlockMode::kSticking,
                               BlockMode::kSliding, BlockMode::kInside, BlockMode::kAtLower, BlockMode::kAtUpper}) {
    EXPECT_GE(seen[mode], 10) << to_string(mode);
  }
}

// More rows than degrees of freedom: impulses are not unique, what they do is: G dlambda.
TEST_P(ContactDerivativesOf, VelocitiesWhereImpulsesAreNotUnique) {
  const ContactModel model = GetParam();
  std::mt19937_64 random(2);
  int checked = 0;
  for (int i = 0; i < 200; ++i) {
    const Problem p = random_problem(random, 12);
    const Solved here = solve(p, model);
    if (!here.ok) continue;
    ContactDerivatives d;
    d.prepare(p.blocks, model, p.G, here.lambda, here.u, 1e-7);
    const VectorX dg = p.G * random_vector(p.blocks.rows(), random);
    const MatrixX expected = difference(
        [&](double t) {
          Problem moved = p;
          moved.g += t * dg;
          return moved;
        },
        model, here);
    if (expected.size() == 0) continue;
    MatrixX actual;
    d.jvp(dg, actual);
    EXPECT_LT((p.G * (actual - expected)).norm(), 1e-6 * dg.norm()) << i << " rank " << d.rank();
    ++checked;
  }
  EXPECT_GE(checked, 30);
}

INSTANTIATE_TEST_SUITE_P(Models, ContactDerivativesOf, testing::Values(ContactModel::kNcp, ContactModel::kCcp),
                         [](const auto& model) { return model.param == ContactModel::kNcp ? "Ncp" : "Ccp"; });

// A point of mass m slides on a plane with speed s: u_t = g_t - mu lambda_n G_tt; d/dmu = -lambda_n/m along the slip.
TEST(ContactDerivatives, OfASlidingPoint) {
  const double m = 2.0, mu = 0.3, s = 1.5, closing = 0.2;
  Problem p;
  p.blocks.add_coulomb(mu);
  p.G = Matrix3::Identity() / m;
  p.g = Vector3(s, 0.0, -closing);
  const VectorX lambda = Vector3(-mu * m * closing, 0.0, m * closing), u = p.G * lambda + p.g;
  ContactDerivatives d;
  d.prepare(p.blocks, ContactModel::kNcp, p.G, lambda, u);
  VectorX by_friction;
  d.jvp_friction(Vector3(1, 1, 0), by_friction);
  EXPECT_NEAR(by_friction[0], -m * closing, 1e-12);
  EXPECT_NEAR(by_friction[2], 0.0, 1e-12);
  EXPECT_NEAR(d.jacobian()(2, 2), -m, 1e-12);
  EXPECT_NEAR(d.jacobian()(0, 2), mu * m, 1e-12);
  // Sideways, friction turns with the slip: lambda_y = -mu lambda_n u_y / |u_t|.
  const double k = mu * m * closing / u[0];
  EXPECT_NEAR(d.jacobian()(1, 1), -k / (1.0 + k / m), 1e-12);
}

TEST(ContactDerivatives, RefuseThePyramid) {
  Problem p;
  p.blocks.add_coulomb(0.5);
  ContactDerivatives d;
  EXPECT_THROW(d.prepare(p.blocks, ContactModel::kLcp, Matrix3::Identity(), Vector3::Zero(), Vector3::Zero()), Error);
}

}  // namespace
}  // namespace touchstone::test

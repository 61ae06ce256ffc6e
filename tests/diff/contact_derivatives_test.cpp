#include "touchstone/diff/contact_derivatives.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/solvers/catalogue.hpp"
#include "touchstone/solvers/lcp/pyramid.hpp"

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
  std::vector<int> facets;  // of the LCP: whether each is touched
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

// A law and a solver of it.
struct Case {
  const char* name;
  const char* solver;
  ContactLaw law;
  std::vector<std::string> options = {};
};

ContactLaw pyramid_law(int facets) {
  ContactLaw law = ContactModel::kLcp;
  law.facets = facets;
  return law;
}

ContactLaw raisim_law() {
  ContactLaw law;
  law.raisim = true;
  return law;
}

// How far a block is from its law, as an impulse; of RaiSim's law what all of its laws have in common.
double block_error(const Problem& p, const ContactLaw& law, int b, const VectorX& lambda, const VectorX& u) {
  const int r = p.blocks.row[static_cast<std::size_t>(b)], m = p.blocks.size(b);
  double out[kMaxBlockSize];
  if (p.blocks.type[static_cast<std::size_t>(b)] != BlockType::kCoulomb || (law.facets == 4 && !law.raisim)) {
    return natural_map_block(p.blocks, b, law.model, 1.0, &lambda[r], &u[r], out);
  }
  const int n = r + m - 1;
  if (law.raisim) return std::abs(lambda[n] - std::max(0.0, lambda[n] - u[n]));
  const Pyramid pyramid(law.facets);
  const VectorX point = lambda.segment(r, m) - u.segment(r, m);
  pyramid.project_tangent(m, p.blocks.mu.data() + r, lambda[n], point.data(), out);
  out[m - 1] = std::max(0.0, point[m - 1]);
  return (lambda.segment(r, m) - Eigen::Map<const VectorX>(out, m)).norm();
}

Solved solve(const Problem& p, const Case& c) {
  ContactProblem problem;
  problem.blocks = p.blocks;
  problem.dual.set(p.G, p.g);
  problem.dual.symmetric = true;
  const auto solver = make_solver(c.solver);
  const auto options = solver->make_options();
  options->relative_tolerance = 1e-14;
  options->max_iterations = 20000;
  for (const std::string& option : c.options) set_option(*options, option);
  const auto workspace = solver->make_workspace();
  Solution solution;
  solver->solve(problem, *options, *workspace, solution);
  Solved s;
  s.lambda = solution.lambda;
  if (s.lambda.size() != p.g.size()) return s;
  s.u = p.G * s.lambda + p.g;
  double worst = 0.0;
  for (int b = 0; b < p.blocks.count(); ++b) worst = std::max(worst, block_error(p, c.law, b, s.lambda, s.u));
  ContactDerivatives d;
  d.prepare(p.blocks, c.law, p.G, s.lambda, s.u, 1e-7);
  s.modes = d.modes();
  for (int b = 0; b < p.blocks.count() && c.law.model == ContactModel::kLcp; ++b) {
    const int r = p.blocks.row[static_cast<std::size_t>(b)], n = p.blocks.row[static_cast<std::size_t>(b + 1)] - 1;
    const double* mu = p.blocks.mu.data();
    for (int k = r; k < n && s.lambda[n] > 0.0; ++k) {
      const double y = s.lambda[k] / (mu[k] * s.lambda[n]),
                   z = k + 1 < n ? s.lambda[k + 1] / (mu[k + 1] * s.lambda[n]) : 0.0;
      for (int f = 0; f < c.law.facets; ++f) {
        const double angle = 2.0 * M_PI * f / c.law.facets;
        s.facets.push_back(std::cos(angle) * y + std::sin(angle) * z >= 1.0 - 1e-7);
      }
    }
  }
  s.ok = worst < 1e-12;
  return s;
}

// d lambda / dt of a problem that moves along a line; empty if a block changes its mode on the way or a solve fails.
MatrixX difference(const std::function<Problem(double)>& at_time, const Case& c, const Solved& here) {
  bool ok = true;
  const MatrixX result = derivative(
      [&](double t) -> MatrixX {
        const Solved s = solve(at_time(t), c);
        ok = ok && s.ok && s.modes == here.modes && s.facets == here.facets;
        return s.lambda.size() == here.lambda.size() ? s.lambda : here.lambda;
      },
      1e-3);
  return ok ? result : MatrixX();
}

const Case kCases[] = {
    {"Ncp", "ncp-newton", ContactModel::kNcp},
    {"Ccp", "ccp-admm", ContactModel::kCcp},
    {"Lcp", "lcp-lemke", ContactModel::kLcp},
    {"LcpOf12Facets", "lcp-lemke", pyramid_law(12), {"facets=12"}},
    {"Raisim", "raisim", raisim_law(), {"relaxation_decay=1"}},
    {"Staggered", "ncp-staggered", ContactModel::kNcp},
    {"LcpStaggered", "lcp-staggered", ContactModel::kLcp},
};

class ContactDerivativesOf : public testing::TestWithParam<Case> {};

TEST_P(ContactDerivativesOf, AllBlocksInAllModes) {
  const Case& c = GetParam();
  std::mt19937_64 random(1);
  std::map<BlockMode, int> seen;
  int checked = 0;
  const bool is_slow = c.law.raisim || c.law.facets > 4 || std::string(c.name).find("taggered") != std::string::npos;
  const int problems = is_slow ? 60 : 300;
  for (int i = 0; i < problems; ++i) {
    const Problem p = random_problem(random);
    const Solved here = solve(p, c);
    if (!here.ok) continue;
    ContactDerivatives d;
    d.prepare(p.blocks, c.law, p.G, here.lambda, here.u, 1e-7);
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
        c, here);
    if (expected.size() == 0) continue;
    MatrixX actual;
    VectorX dw = dg;
    d.add_mobility_change(dG, dw);
    d.jvp(dw, actual);
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
        c, here);
    VectorX friction;
    d.jvp_friction(dmu, friction);
    if (by_friction.size() > 0) {
      EXPECT_LT((friction - by_friction).cwiseAbs().maxCoeff(), 1e-6 * (1.0 + by_friction.cwiseAbs().maxCoeff())) << i;
    }
    // Reverse mode: <lambda_bar, dlambda> = <w_bar, dg> + <G_bar, dG>.
    const VectorX bar = random_vector(p.blocks.rows(), random);
    ContactDerivatives::Gradients gradients;
    d.vjp(bar, gradients);
    MatrixX G_bar = MatrixX::Zero(p.G.rows(), p.G.cols());
    d.add_mobility_gradient(gradients.w, G_bar);
    const double forward = bar.dot(VectorX(actual)), back = gradients.w.dot(dg) + G_bar.cwiseProduct(dG).sum();
    EXPECT_NEAR(back, forward, 1e-9 * (1.0 + std::abs(forward)));
    EXPECT_NEAR(gradients.mu.dot(dmu), bar.dot(friction), 1e-9 * (1.0 + std::abs(bar.dot(friction))));
    for (const BlockMode mode : here.modes) ++seen[mode];
    ++checked;
  }
  RecordProperty("checked", checked);
  EXPECT_GE(checked, problems / 3);
  for (const BlockMode mode : {BlockMode::kHeld, BlockMode::kOpen, BlockMode::kClosed, BlockMode::kSticking,
                               BlockMode::kSliding, BlockMode::kInside, BlockMode::kAtLower, BlockMode::kAtUpper}) {
    EXPECT_GE(seen[mode], is_slow ? 2 : 10) << to_string(mode);
  }
}

// The data of a body's problem: G = J A^-1 J' + R, g = J v_free + e J v of the normal rows.
TEST_P(ContactDerivativesOf, ByRowsRestitutionAndCompliance) {
  const Case& c = GetParam();
  std::mt19937_64 random(4);
  int checked = 0;
  for (int i = 0; i < 20; ++i) {
    Problem p;
    for (int k = 0; k < 3; ++k) p.blocks.add_coulomb(0.6);
    const int n = p.blocks.rows(), nv = 12;
    const MatrixX B = random_vector(nv * nv, random).reshaped(nv, nv),
                  A = B * B.transpose() / nv + MatrixX::Identity(nv, nv);
    const MatrixX J = random_vector(n * nv, random).reshaped(n, nv), dJ = random_vector(n * nv, random).reshaped(n, nv);
    const VectorX v_free = random_vector(nv, random), v = random_vector(nv, random);
    const VectorX R = VectorX::Constant(n, 0.05), dR = 0.05 * random_vector(n, random);
    VectorX e = VectorX::Zero(n), de = VectorX::Zero(n);
    for (int r = 2; r < n; r += 3) {
      e[r] = 0.3;
      de[r] = random_vector(1, random)[0];
    }
    const auto set = [&](double t) {
      Problem moved = p;
      const MatrixX rows = J + t * dJ;
      moved.G = rows * A.inverse() * rows.transpose();
      moved.G.diagonal() += R + t * dR;
      moved.g = rows * v_free + (e + t * de).cwiseProduct(rows * v);
      return moved;
    };
    p = set(0.0);
    const Solved here = solve(p, c);
    const MatrixX expected = here.ok ? difference(set, c, here) : MatrixX();
    if (expected.size() == 0 || here.lambda.isZero(0.0)) continue;
    ContactDerivatives d;
    d.prepare(p.blocks, c.law, p.G, here.lambda, here.u, 1e-7);
    const MatrixX Y = A.inverse() * J.transpose();
    MatrixX dG = dJ * Y + Y.transpose() * dJ.transpose(), actual;
    dG.diagonal() += dR;
    VectorX dw = dJ * v_free + de.cwiseProduct(J * v) + e.cwiseProduct(dJ * v);
    d.add_mobility_change(dG, dw);
    d.jvp(dw, actual);
    EXPECT_LT((actual - expected).cwiseAbs().maxCoeff(), 1e-6 * (1.0 + expected.cwiseAbs().maxCoeff())) << i;
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

// More rows than degrees of freedom: impulses are not unique, what they do is: G dlambda.
class RedundantContacts : public testing::TestWithParam<Case> {};

TEST_P(RedundantContacts, VelocitiesWhereImpulsesAreNotUnique) {
  const Case& c = GetParam();
  std::mt19937_64 random(2);
  int checked = 0;
  for (int i = 0; i < 200; ++i) {
    const Problem p = random_problem(random, 12);
    const Solved here = solve(p, c);
    if (!here.ok) continue;
    ContactDerivatives d;
    d.prepare(p.blocks, c.law, p.G, here.lambda, here.u, 1e-7);
    const VectorX dg = p.G * random_vector(p.blocks.rows(), random);
    const MatrixX expected = difference(
        [&](double t) {
          Problem moved = p;
          moved.g += t * dg;
          return moved;
        },
        c, here);
    if (expected.size() == 0) continue;
    MatrixX actual;
    d.jvp(dg, actual);
    EXPECT_LT((p.G * (actual - expected)).norm(), 1e-6 * dg.norm()) << i << " rank " << d.rank();
    ++checked;
  }
  EXPECT_GE(checked, 30);
}

const auto kCaseName = [](const auto& c) { return std::string(c.param.name); };

INSTANTIATE_TEST_SUITE_P(Models, ContactDerivativesOf, testing::ValuesIn(kCases), kCaseName);
INSTANTIATE_TEST_SUITE_P(Models, RedundantContacts, testing::Values(kCases[0], kCases[1]), kCaseName);

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

TEST(ContactDerivatives, RefusePyramidsThatAreNone) {
  Problem p;
  p.blocks.add_coulomb(0.5);
  ContactDerivatives d;
  EXPECT_THROW(d.prepare(p.blocks, pyramid_law(6), Matrix3::Identity(), Vector3::Zero(), Vector3::Zero()), Error);
}

}  // namespace
}  // namespace touchstone::test

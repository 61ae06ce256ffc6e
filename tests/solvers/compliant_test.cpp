// sap, lagged, similar: closed forms of single contacts, robustness over many orders of magnitude, what every solver
// must do.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solver_support.hpp"
#include "support/dual_view.hpp"
#include "support/effort.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/laws/certify_law.hpp"
#include "touchstone/solvers/compliant/compliant_newton.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;
using testing::HasSubstr;

constexpr const char* kModels[] = {"sap", "lagged", "similar"};
constexpr double kFall = 9.81;  // m/s^2

// A sphere of 1 kg that touches the ground at a point, 0.1 m below its centre.
struct Sphere {
  double h = 1e-3, friction = 0.5;
  Vector3 velocity = Vector3::Zero();
  ContactPhysics physics;

  ContactProblem problem() const {
    SceneBuilder scene({.time_step = h, .friction = friction});
    const int ball = scene.add_sphere(1.0, {0, 0, 0.1}, 0.1, velocity);
    scene.add_contact(-1, ball, {0, 0, 0}, {0, 0, 1});
    ContactProblem problem = scene.finish();
    problem.physics.assign(1, physics);
    return problem;
  }
};

// A body at its rest depth mg/k stays there, with the impulse of its weight.
TEST(Compliant, RestsAtTheDepthOfItsWeight) {
  for (const char* model : kModels) {
    for (const double k : {1e3, 1e5, 1e7}) {
      Sphere sphere;
      sphere.physics = {.gap = -kFall / k, .stiffness = k, .dissipation = 20.0};
      const Solved s = solve(model, sphere.problem(), {"relative_tolerance=1e-10"});
      ASSERT_EQ(s.status, SolveStatus::kSolved) << model << s.solution.message;
      EXPECT_NEAR(s.solution.lambda[2], kFall * sphere.h, 1e-9 * kFall * sphere.h) << model << ' ' << k;
      EXPECT_LE(s.solution.v.norm(), 1e-11) << model << ' ' << k;
      EXPECT_LE(s.residuals.law_natv, 1e-11) << model << ' ' << k;
    }
  }
}

// Sliding at the speed v, the normal impulse is that of the weight at the gap which eq. (24) and Table I say: mu (h +
// tau) v of SAP, mu h v of Similar, none of Lagged, less the rest depth.
TEST(Compliant, GlidesAsTableOneSays) {
  const double k = 1e6, mu = 0.5, speed = 2.0, h = 1e-3, tau = 2e-3;
  const double weight = kFall * h;
  struct Case {
    const char* model;
    double gap;
  };
  for (const Case& c : {Case{"sap", mu * (h + tau) * speed}, Case{"similar", mu * h * speed}, Case{"lagged", 0.0}}) {
    // The gap at which the vertical velocity stays zero: the impulse of a block that is held at a height.
    double low = -1e-3, high = 1e-2;
    for (int i = 0; i < 60; ++i) {
      const double gap = 0.5 * (low + high);
      Sphere sphere{.h = h, .friction = mu, .velocity = {speed, 0, 0}, .physics = {}};
      sphere.physics = {.gap = gap, .stiffness = k, .relaxation = std::string(c.model) == "sap" ? tau : 0.0};
      const Solved s = solve(c.model, sphere.problem(), {"relative_tolerance=1e-10"});
      ASSERT_EQ(s.status, SolveStatus::kSolved) << c.model << s.solution.message;
      (s.solution.lambda[2] > weight ? low : high) = gap;
    }
    const double rest = kFall / k;
    EXPECT_NEAR(low + rest, c.gap, 0.02 * c.gap + 1e-7) << c.model;
  }
}

// Pushed with less than friction can hold, a contact creeps slower than v_s: a sphere rolls, and 2/7 of the push is
// left to friction.
TEST(Compliant, SticksBelowTheStictionTolerance) {
  for (const char* model : {"lagged", "similar"}) {
    for (const double share : {0.1, 0.5, 0.9}) {
      Sphere sphere;
      sphere.physics = {.gap = -kFall / 1e5, .stiffness = 1e5, .sigma = 0.0};
      ContactProblem problem = sphere.problem();
      problem.primal.v_free[0] = share * 0.5 * kFall * sphere.h;
      const Solved s = solve(model, problem, {"relative_tolerance=1e-10"});
      ASSERT_EQ(s.status, SolveStatus::kSolved) << model;
      EXPECT_LT(std::hypot(s.solution.u[0], s.solution.u[1]), sphere.physics.stiction) << model << ' ' << share;
    }
  }
}

// SAP is the convex model with R and the bias of its spring: what ccp-newton solves.
TEST(Compliant, SapIsTheConvexModelWithCompliance) {
  ContactProblem problem = make_pile(60, 3);
  problem.R.resize(problem.nrow());
  for (int r = 0; r < problem.nrow(); ++r) problem.R[r] = 1e-2 * (1.0 + 0.3 * (r % 3));
  const Solved sap = solve("sap", problem, {"relative_tolerance=1e-11"});
  const Solved ccp = solve("ccp-newton", problem, {"relative_tolerance=1e-11"});
  ASSERT_EQ(sap.status, SolveStatus::kSolved) << sap.solution.message;
  ASSERT_EQ(ccp.status, SolveStatus::kSolved);
  EXPECT_LE((sap.solution.u - ccp.solution.u).lpNorm<Eigen::Infinity>(), 1e-9);
  EXPECT_EQ(sap.solution.shift, 0.0);
  EXPECT_LE(sap.residuals.model_natv, 1e-9);
  EXPECT_LE(sap.residuals.law_natv, 1e-9);
}

// A problem of hard contacts: sap and similar are near-rigid and say so, lagged has nothing to take friction from.
TEST(Compliant, HardProblemsAreNearRigidOrUnsupported) {
  const ContactProblem cube = make_cube({0.0, 0.0, -1.0});
  for (const char* model : {"sap", "similar"}) {
    const Solved s = solve(model, cube, {});
    ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
    EXPECT_GT(s.solution.shift, 0.0);
    EXPECT_LE(s.solution.u.lpNorm<Eigen::Infinity>(), 0.03) << model;
  }
  const Solved lagged = solve("lagged", cube, {});
  EXPECT_EQ(lagged.status, SolveStatus::kUnsupported);
  EXPECT_THAT(lagged.solution.message, HasSubstr("no physics"));
  const Solved dual = solve("sap", test::dual_view(cube), {});
  EXPECT_EQ(dual.status, SolveStatus::kUnsupported);
  EXPECT_THAT(dual.solution.message, HasSubstr("A, J and v_free"));
}

TEST(Compliant, BadPhysicsAreNamed) {
  const auto message = [](const ContactPhysics& physics) {
    Sphere sphere;
    sphere.physics = physics;
    const Solved s = solve("similar", sphere.problem(), {});
    EXPECT_EQ(s.status, SolveStatus::kInvalidProblem);
    return s.solution.message;
  };
  EXPECT_THAT(message({.stiffness = -1.0}), HasSubstr("block 0 (coulomb): the stiffness is -1"));
  EXPECT_THAT(message({.gap = std::nan("")}), HasSubstr("the gap is nan"));
  EXPECT_THAT(message({.dissipation = -2.0}), HasSubstr("the dissipation is -2"));
  EXPECT_THAT(message({.stiction = 0.0}), HasSubstr("the stiction velocity is 0; it must be a number > 0"));
  Sphere sphere{.h = 0.0};
  EXPECT_THAT(solve("sap", sphere.problem(), {}).solution.message, HasSubstr("the time step is 0"));
  Sphere hertz;
  hertz.physics.elasticity = Elasticity::kHertz;
  EXPECT_THAT(solve("sap", hertz.problem(), {}).solution.message, HasSubstr("linear springs only"));
}

// The certificate knows a wrong answer: half the impulse, none, and friction that pushes.
TEST(Compliant, CertificateSeesWrongImpulses) {
  for (const char* model : kModels) {
    Sphere sphere{.velocity = {0.5, 0, 0}, .physics = {}};
    sphere.physics = {.gap = -kFall / 1e5, .stiffness = 1e5, .dissipation = 1.0};
    const ContactProblem problem = sphere.problem();
    const Solved s = solve(model, problem, {"relative_tolerance=1e-10"});
    ASSERT_EQ(s.status, SolveStatus::kSolved);
    EXPECT_LE(s.residuals.law_natv_relative, 1e-9) << model;
    LawCertificateWorkspace workspace;
    Residuals residuals;
    const CompliantModel law = *find_solver(model).law;
    for (const double factor : {0.5, 0.99, 1.01, -1.0}) {
      certify_law(problem, factor * s.solution.lambda, law, workspace, residuals);
      const double wrong = std::abs(1.0 - factor) * s.solution.lambda[2];
      EXPECT_GE(residuals.law_impulse, 0.01 * wrong) << model << ' ' << factor;
      EXPECT_LE(residuals.law_impulse, 20.0 * wrong) << model << ' ' << factor;
    }
    certify_law(problem, VectorX::Zero(3), law, workspace, residuals);
    EXPECT_GE(residuals.law_natv, 0.1 * kFall * sphere.h) << model;
  }
}

TEST(Compliant, WarmStartsAtTheAnswerNeedNoStep) {
  for (const char* model : kModels) {
    Sphere sphere{.velocity = {0.1, 0, -0.2}, .physics = {}};
    sphere.physics = {.gap = -1e-4, .speed = -0.2, .stiffness = 1e5, .dissipation = 1.0};
    ContactProblem problem = sphere.problem();
    const Solved cold = solve(model, problem, {"relative_tolerance=1e-10"});  // far below what the next one asks for
    ASSERT_EQ(cold.status, SolveStatus::kSolved);
    problem.primal.v_start = cold.solution.v;
    const Solved warm = solve(model, problem, {"warm_start=true"}, &cold.solution);
    EXPECT_EQ(warm.solution.iterations, 0) << model;
  }
}

ContactProblem compliant_pile(int contacts, std::uint32_t seed) {
  ContactProblem problem = make_pile(contacts, seed);
  problem.physics.assign(static_cast<std::size_t>(problem.nblock()),
                         {.gap = -1e-5, .speed = -1e-3, .stiffness = 1e6, .dissipation = 10.0});
  return problem;
}

// The tolerance that is asked for is met, to 1e-10 and from any start.
TEST(Compliant, ConvergesToTheToleranceAsked) {
  for (const char* model : kModels) {
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      for (const double tolerance : {1e-3, 1e-6, 1e-10}) {
        ContactProblem problem = compliant_pile(60, seed);
        const Solved s = solve(model, problem, {fmt::format("relative_tolerance={}", tolerance)});
        ASSERT_EQ(s.status, SolveStatus::kSolved) << model << s.solution.message;
        EXPECT_LE(s.residuals.law_natv_relative, 1.001 * tolerance) << model << ' ' << seed;
      }
    }
  }
}

// H dv' = A dv_free: the kept factor says how the answer moves with the free velocity, dense and sparse.
TEST(Compliant, TheHessianIsKeptForDerivatives) {
  for (const char* model : kModels) {
    for (const int contacts : {12, 90}) {
      ContactProblem problem = compliant_pile(contacts, 8);
      const CatalogueEntry& entry = find_solver(model);
      const auto solver = entry.make();
      const auto options = solver->make_options();
      const auto workspace = solver->make_workspace();
      auto& own = dynamic_cast<CompliantWorkspace&>(*workspace);
      options->relative_tolerance = 1e-12;
      Solution solution;
      solver->solve(problem, *options, *workspace, solution);
      EXPECT_FALSE(own.has_hessian);
      dynamic_cast<CompliantOptions&>(*options).keep_hessian = true;
      ASSERT_EQ(solver->solve(problem, *options, *workspace, solution), SolveStatus::kSolved) << solution.message;
      ASSERT_TRUE(own.has_hessian);
      const VectorX v = solution.v, free = problem.primal.v_free;
      VectorX direction = VectorX::Ones(v.size());
      for (Eigen::Index i = 0; i < v.size(); ++i) direction[i] = std::sin(1.0 + static_cast<double>(i));
      VectorX expected = own.A * direction;
      own.solve_hessian(expected);
      const double step = 1e-9;
      VectorX moved[2];
      for (const int side : {0, 1}) {
        problem.primal.v_free = free + (side == 0 ? -step : step) * direction;
        ASSERT_EQ(solver->solve(problem, *options, *workspace, solution), SolveStatus::kSolved);
        moved[side] = solution.v;
      }
      const VectorX difference = (moved[1] - moved[0]) / (2.0 * step);
      EXPECT_LE((difference - expected).norm(), 1e-3 * expected.norm()) << model << ' ' << contacts;
    }
  }
}

TEST(Compliant, AllocateNothing) {
  for (const char* model : kModels) test::expect_no_allocation(model, compliant_pile(60, 4));
}

TEST(Compliant, AreInvariant) {
  for (const char* model : {"sap", "similar"}) test::expect_invariances(model, make_cube({0.4, 0.1, -0.2}), 1e-5);
}

TEST(Compliant, InvalidProblemsAreNamed) {
  ContactProblem problem = make_cube({0.0, 0.0, -1.0});
  problem.primal.v_free[2] = std::nan("");
  for (const char* model : kModels) EXPECT_EQ(solve(model, problem, {}).status, SolveStatus::kInvalidProblem);
}

// --- robustness ---

struct Extremes {
  std::mt19937 random;
  double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); }
  double magnitude(double low, double high) { return std::pow(10.0, uniform(low, high)); }
  Vector3 direction() {
    Vector3 d(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
    return d / d.norm();
  }
};

struct HardCase {
  ContactProblem problem;
  double stiffness_ratio = 0.0;  // the largest h^2 k w
};

// Spheres in a heap, masses, stiffnesses and steps from end to end of their ranges, gaps of the order of what the step
// moves and of the rest depth.
HardCase make_hard_case(std::uint32_t seed) {
  Extremes r{std::mt19937(seed)};
  const double h = r.magnitude(-5, -1.3), base = r.magnitude(-6, 4), spread = r.uniform(0.0, 2.0);
  SceneBuilder scene({.time_step = h});
  const int bodies = 1 + static_cast<int>(seed % 5), points = 1 + static_cast<int>(seed / 5 % 3);
  std::vector<double> mass;
  for (int i = 0; i < bodies; ++i) {
    mass.push_back(std::clamp(base * r.magnitude(-spread, spread), 1e-6, 1e4));
    const Vector3 velocity = r.magnitude(-3, 1) * r.direction();
    scene.add_sphere(mass.back(), {0.0, 0.0, 0.1 + 0.2 * i}, 0.1, velocity);
  }
  HardCase out;
  std::vector<ContactPhysics> physics;
  const double k = r.magnitude(2, 12), mu = r.uniform(0.0, 1.5);
  for (int i = 0; i < bodies; ++i) {
    const double below = i > 0 ? 1.0 / mass[static_cast<std::size_t>(i - 1)] : 0.0;
    out.stiffness_ratio = std::max(out.stiffness_ratio, h * h * k * (1.0 / mass[static_cast<std::size_t>(i)] + below));
    for (int point = 0; point < points; ++point) {
      Vector3 normal = Vector3(0, 0, 1) + 0.3 * r.direction();
      normal.normalize();
      scene.add_contact(i - 1, i, {0.05 * r.uniform(-1, 1), 0.05 * r.uniform(-1, 1), 0.2 * i}, normal, mu);
      const double reach = h * r.magnitude(-3, 1), rest = kFall * mass[static_cast<std::size_t>(i)] / k;
      physics.push_back({.gap = r.uniform(0, 1) < 0.5 ? -r.uniform(0, 2) * rest : r.uniform(-1.0, 0.5) * reach,
                         .speed = r.uniform(-1.0, 1.0) * reach / h,
                         .stiffness = k,
                         .dissipation = seed % 2 == 0 ? r.magnitude(-2, 2.7) : 0.0,
                         .relaxation = r.magnitude(-6, -1),
                         .damping = seed % 3 == 0 ? ContactDamping::kLinear : ContactDamping::kHuntCrossley,
                         .sigma = seed % 7 == 0 ? 0.0 : 1e-3,
                         .elasticity = seed % 11 == 0 ? Elasticity::kHertz : Elasticity::kLinear});
    }
  }
  out.problem = scene.finish();
  out.problem.physics = physics;
  return out;
}

class Robustness : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Robustness, ::testing::ValuesIn(kModels), [](const auto& test) { return test.param; });

// Stiffness 1e2 .. 1e12 N/m, steps 1e-5 .. 5e-2 s, masses 1e-6 .. 1e4 kg: every problem with h^2 k / m <= 1e8 is
// solved; beyond, the status says how far it got.
TEST_P(Robustness, ConvergesWherever) {
  const std::string model = GetParam();
  const int count = std::getenv("TOUCHSTONE_LONG") != nullptr ? 100000 : test::whole_family() ? 10000 : 300;
  std::vector<int> iterations;
  int beyond = 0, unsolved = 0, missed = 0;
  double worst_law = 0.0;
  for (int seed = 0; seed < count; ++seed) {
    HardCase hard = make_hard_case(static_cast<std::uint32_t>(seed));
    if (model == "sap") {
      for (ContactPhysics& physics : hard.problem.physics) {
        physics.sigma = 1e-3;
        physics.elasticity = Elasticity::kLinear;
      }
    }
    // Friction without (26) is as stiff as mu n_0 / (m v_s).
    BlockLaws laws;
    ASSERT_EQ(laws.prepare(hard.problem, *find_solver(model).law), "");
    hard.stiffness_ratio = std::max(hard.stiffness_ratio, laws.stiffness());
    const Solved s = solve(model.c_str(), hard.problem, {});
    ASSERT_TRUE(s.solution.lambda.allFinite()) << seed;
    if (hard.stiffness_ratio <= 1e8) {
      if (s.status != SolveStatus::kSolved) {
        ++missed;
        fmt::print("{} {}, h^2 k / m = {:.2g}: {}\n", model, seed, hard.stiffness_ratio, s.solution.message);
        EXPECT_FALSE(s.solution.message.empty()) << seed;
      }
      iterations.push_back(s.solution.iterations);
      if (s.status == SolveStatus::kSolved) worst_law = std::max(worst_law, s.residuals.law_natv_relative);
    } else {
      ++beyond;
      unsolved += s.status == SolveStatus::kSolved ? 0 : 1;
      EXPECT_EQ(s.solution.message.empty(), s.status == SolveStatus::kSolved) << seed;
    }
  }
  std::sort(iterations.begin(), iterations.end());
  const auto at = [&](double share) {
    return iterations[static_cast<std::size_t>(share * static_cast<double>(iterations.size() - 1))];
  };
  fmt::print(
      "{}: {} problems, iterations median {}, 90 % {}, 99 % {}, most {}; beyond 1e8: {}, of which {} unsolved; "
      "worst certificate {:.2g}\n",
      model, iterations.size(), at(0.5), at(0.9), at(0.99), at(1.0), beyond, unsolved, worst_law);
  EXPECT_EQ(missed, 0);
  EXPECT_LE(unsolved, beyond / 100);
  EXPECT_LE(worst_law, 1.001e-6);
  EXPECT_LE(at(0.99), 80);
}

}  // namespace
}  // namespace touchstone

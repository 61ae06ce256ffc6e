#include "touchstone/diff/smoothed_contact.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::test {
namespace {

struct SmoothedProblem {
  Blocks blocks;
  MatrixX G;
  VectorX g, lambda;

  VectorX u() const { return G * lambda + g; }
  VectorX relaxed(double width) const {
    SmoothedContact s;
    s.prepare(blocks, G, lambda, u(), width);
    EXPECT_TRUE(s.is_solved());
    return s.lambda();
  }
};

SmoothedProblem random_solved(std::mt19937_64& random) {
  SmoothedProblem p;
  const double spin[] = {0.6, 0.4, 0.1};
  for (const double mu : {0.3, 0.8, 0.5}) p.blocks.add_coulomb(mu);
  p.blocks.add_coulomb(spin, 3);
  p.blocks.add_coulomb(nullptr, 0);
  p.blocks.add_equality(2);
  p.blocks.add_nonnegative();
  p.blocks.add_box(-0.3, 0.4);
  const int n = p.blocks.rows();
  const MatrixX B = random_vector(n * (n + 3), random).reshaped(n, n + 3);
  p.G = B * B.transpose() / n + 0.05 * MatrixX::Identity(n, n);
  p.g = random_vector(n, random);
  ContactProblem problem;
  problem.blocks = p.blocks;
  problem.dual.set(p.G, p.g);
  problem.dual.symmetric = true;
  const auto solver = make_solver("ncp-newton");
  const auto options = solver->make_options();
  options->relative_tolerance = 1e-13;
  const auto workspace = solver->make_workspace();
  Solution solution;
  solver->solve(problem, *options, *workspace, solution);
  p.lambda = solution.lambda;
  return p;
}

ContactLaw relaxed_law(double width) {
  ContactLaw law;
  law.width = width;
  return law;
}

// lambda_n u_n = width^2 / G_nn of contacts and limits, friction within its cone and against the slip; derivatives by
// all data are those of the relaxed solution.
TEST(SmoothedContact, IsTheDerivativeOfTheRelaxedSolution) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    const SmoothedProblem p = random_solved(random);
    const int n = p.blocks.rows();
    const double width = std::pow(10.0, -3.0 + (i % 3));
    ContactDerivatives d;
    d.prepare(p.blocks, relaxed_law(width), p.G, p.lambda, p.u());
    ASSERT_TRUE(d.smoothed().is_solved()) << i;
    const VectorX lambda = d.smoothed().lambda(), u = p.G * lambda + p.g;
    for (int b = 0; b < p.blocks.count(); ++b) {
      const BlockType type = p.blocks.type[static_cast<std::size_t>(b)];
      const int last = p.blocks.row[static_cast<std::size_t>(b + 1)] - 1;
      if (type != BlockType::kCoulomb && type != BlockType::kNonNegative) continue;
      EXPECT_NEAR(lambda[last] * u[last] * p.G(last, last), width * width, 1e-6 * width * width) << i;
      double cone = 0.0, power = 0.0;
      for (int r = p.blocks.row[static_cast<std::size_t>(b)]; r < last; ++r) {
        cone += std::pow(lambda[r] / p.blocks.mu[static_cast<std::size_t>(r)], 2);
        power += lambda[r] * u[r];
      }
      EXPECT_LE(std::sqrt(cone), lambda[last]);
      EXPECT_LE(power, 0.0);
    }
    const VectorX dg = random_vector(n, random), x = random_vector(n, random);
    MatrixX dG = 0.1 * x * x.transpose();
    dG.diagonal().setZero();  // the mobility, from which the width is taken, is held
    VectorX dmu = VectorX::Zero(n), dlo = VectorX::Zero(n), dhi = VectorX::Zero(n);
    for (int r = 0; r < n; ++r) dmu[r] = 0.5 * p.blocks.mu[static_cast<std::size_t>(r)] * x[r];
    dlo[n - 1] = 0.2;
    dhi[n - 1] = -0.3;
    const MatrixX expected = derivative(
        [&](double t) -> MatrixX {
          SmoothedProblem moved = p;
          moved.g += t * dg;
          moved.G += t * dG;
          for (int r = 0; r < n; ++r) moved.blocks.mu[static_cast<std::size_t>(r)] += t * dmu[r];
          moved.blocks.lo[static_cast<std::size_t>(n - 1)] += t * dlo[n - 1];
          moved.blocks.hi[static_cast<std::size_t>(n - 1)] += t * dhi[n - 1];
          return moved.relaxed(width);
        },
        0.02 * width);
    VectorX dw = dg, by_friction, by_bounds;
    d.add_mobility_change(dG, dw);
    MatrixX actual;
    d.jvp(dw, actual);
    d.jvp_friction(dmu, by_friction);
    d.jvp_bounds(dlo, dhi, by_bounds);
    const VectorX sum = VectorX(actual) + by_friction + by_bounds;
    EXPECT_LT((sum - expected).cwiseAbs().maxCoeff(), 1e-6 * (1.0 + expected.cwiseAbs().maxCoeff())) << i;
    ContactDerivatives::Gradients gradients;
    d.vjp(x, gradients);
    EXPECT_NEAR(gradients.w.dot(dw), x.dot(VectorX(actual)), 1e-9 * (1.0 + std::abs(x.dot(VectorX(actual)))));
    EXPECT_NEAR(gradients.mu.dot(dmu), x.dot(by_friction), 1e-9 * (1.0 + std::abs(x.dot(by_friction))));
  }
}

TEST(SmoothedContact, MeetsTheExactDerivativeAsTheWidthFalls) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    const SmoothedProblem p = random_solved(random);
    ContactDerivatives exact, smooth;
    exact.prepare(p.blocks, ContactModel::kNcp, p.G, p.lambda, p.u(), 1e-7);
    const auto apart = [&](double width) {
      smooth.prepare(p.blocks, relaxed_law(width), p.G, p.lambda, p.u());
      return (smooth.jacobian() - exact.jacobian()).cwiseAbs().maxCoeff();
    };
    // The error is of the order of the width squared.
    const double size = exact.jacobian().cwiseAbs().maxCoeff(), middle = apart(1e-3);
    EXPECT_LT(middle, apart(1e-1)) << i;
    EXPECT_LT(apart(1e-5), 1e-2 * middle + 1e-6 * size) << i;
    EXPECT_LT(apart(1e-9), 1e-6 * size) << i;
  }
}

// A point of mass 1/d that is s above the ground at the end of the step, in m/s: d lambda = (-s + root(s^2 + 4 w^2))/2.
TEST(SmoothedContact, OfAPointAboutToTouch) {
  const double d = 2.0, width = 1e-3;
  for (const double s : {-5e-3, -1e-4, 0.0, 1e-4, 5e-3}) {
    SmoothedProblem p;
    p.blocks.add_coulomb(0.5);
    p.G = d * Matrix3::Identity();
    p.g = Vector3(0.0, 0.0, s);
    p.lambda = Vector3(0.0, 0.0, std::max(0.0, -s / d));
    ContactDerivatives smooth;
    smooth.prepare(p.blocks, relaxed_law(width), p.G, p.lambda, p.u());
    const double root = std::sqrt(s * s + 4.0 * width * width);
    EXPECT_NEAR(smooth.smoothed().lambda()[2], 0.5 * (root - s) / d, 1e-12);
    EXPECT_NEAR(smooth.jacobian()(2, 2), -0.5 * (1.0 - s / root) / d, 1e-10);
  }
}

// --- steps ---

constexpr const char* kBox = R"(<mujoco><option timestep="0.01"/><worldbody>
  <geom type="plane" size="5 5 1" friction="0.5"/>
  <body pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
  <geom type="box" size="0.1 0.1 0.1" mass="2" friction="0.5"/></body></worldbody>
  <actuator><motor joint="x"/></actuator></mujoco>)";

double push_gradient(double push, double width) {
  const ModelPtr model = load_mjcf_string(kBox);
  Simulator sim(model);
  sim.input().control.setConstant(push);
  sim.step();
  StepDerivatives d(*model);
  d.set_smoothing(width);
  d.compute(sim.context());
  VectorX x_bar(d.nx()), u_bar(1);
  d.vjp(VectorX::Unit(d.nx(), 2), x_bar, u_bar);
  EXPECT_NEAR(u_bar[0], d.B(2, 0), 1e-8 * 0.01 / 2.0);  // matrices subtract from the mobility without contacts
  return d.B(2, 0);
}

// mu m g = 9.81 N: below, a push does nothing; above, it accelerates all of the mass. Smoothed, it grows on the way.
TEST(SmoothedContact, OfABoxAboutToSlip) {
  const double free = 0.01 / 2.0, limit = 9.81;
  EXPECT_NEAR(push_gradient(0.99 * limit, 0.0), 0.0, 1e-9);
  EXPECT_NEAR(push_gradient(1.01 * limit, 0.0), free, 1e-9);
  const double width = 1e-3;
  double last = 0.0;
  for (const double share : {0.5, 0.9, 0.99, 1.01, 1.1, 1.5}) {
    const double gradient = push_gradient(share * limit, width);
    EXPECT_GT(gradient, last) << share;
    EXPECT_LT(gradient, free) << share;
    last = gradient;
  }
  EXPECT_GT(push_gradient(0.99 * limit, width), 0.02 * free);
  EXPECT_NEAR(push_gradient(0.99 * limit, 1e-7), 0.0, 1e-6 * free);
  EXPECT_NEAR(push_gradient(1.01 * limit, 1e-7), free, 1e-6 * free);
}

// The box lands on four corners at once (redundant), a gap above the ground.
TEST(SmoothedContact, OfABoxAboutToTouch) {
  const ModelPtr model = load_mjcf_string(kBox);
  const auto gradient = [&](double speed, double width) {  // of v_z after the step by v_z before it
    Simulator sim(model);
    State state = sim.state();
    state.q[1] = 1e-3;
    state.v[1] = -speed;
    sim.reset(state);
    sim.step();
    StepDerivatives d(*model);
    d.set_smoothing(width);
    d.compute(sim.context());
    return d.A(3, 3);
  };
  const double arrives = 1e-3 / 0.01 - 0.01 * 9.81;  // m/s: faster ones touch within the step
  EXPECT_NEAR(gradient(arrives - 1e-3, 0.0), 1.0, 1e-9);
  EXPECT_NEAR(gradient(arrives + 1e-3, 0.0), 0.0, 1e-6);
  double last = 1.0;
  for (const double more : {-1e-2, -1e-3, 0.0, 1e-3, 1e-2}) {
    const double value = gradient(arrives + more, 1e-3);
    EXPECT_LT(value, last) << more;
    EXPECT_GT(value, 0.0) << more;
    last = value;
  }
  EXPECT_NEAR(gradient(arrives - 1e-3, 1e-7), 1.0, 1e-6);
  EXPECT_NEAR(gradient(arrives + 1e-3, 1e-7), 0.0, 1e-6);
}

// Derivatives of a relaxed problem that was not solved are not passed off as those of one that was.
TEST(SmoothedContact, SaysWhereItsProblemWasNotSolved) {
  const ModelPtr model = load_mjcf_string(kBox);
  Simulator sim(model);
  sim.step();
  StepDerivatives d(*model);
  d.set_smoothing(1e-3);
  d.compute(sim.context());
  EXPECT_FALSE(d.held().smoothing);
  d.set_smoothing(1e200);  // m/s: its square is no number
  d.linearise(sim.context());
  EXPECT_TRUE(d.held().smoothing);
  EXPECT_FALSE(d.contact().smoothed().is_solved());
  d.set_smoothing(0.0);
  d.compute(sim.context());
  EXPECT_FALSE(d.held().smoothing);
}

TEST(SmoothedContact, RefusesWhatItDoesNotKnow) {
  Blocks blocks;
  blocks.add_coulomb(0.5);
  ContactDerivatives d;
  ContactLaw law = ContactModel::kCcp;
  law.width = 1e-3;
  EXPECT_THROW(d.prepare(blocks, law, Matrix3::Identity(), Vector3::Zero(), Vector3::Zero()), Error);
  EXPECT_THROW(d.prepare(blocks, relaxed_law(-1.0), Matrix3::Identity(), Vector3::Zero(), Vector3::Zero()), Error);
  const ModelPtr model = load_mjcf_string(kBox);
  SimulatorOptions options;
  options.solver = "sap";
  Simulator sim(model, options);
  sim.step();
  StepDerivatives step(*model);
  step.set_smoothing(1e-3);
  EXPECT_THROW(step.compute(sim.context()), Error);
}

}  // namespace
}  // namespace touchstone::test

// Steps and their derivatives against central differences, for tests of every part of a step.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/random_model.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/sim/integrators/contact_implicit.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {

inline SimulatorOptions exact_options(Stabilisation method = Stabilisation::kPosition) {
  SimulatorOptions options;
  options.tolerance = 1e-14;
  options.stabilisation.method = method;
  options.stabilisation.erp = 0.1;
  return options;
}

// A step from given x and u, for finite differences.
class Stepper {
 public:
  Stepper(ModelPtr model, const State& start, const SimulatorOptions& options)
      : model_(*model), sim_(model, options), start_(start), control_(VectorX::Zero(model_.nu)) {
    sim_.keep_starts();
  }

  VectorX& control() { return control_; }
  Simulator& sim() { return sim_; }
  // Velocities of three steps before, the last first: then the step goes on from them. NaN: there were none.
  void set_past(const VectorX& past) { past_ = past; }
  // Where mocap bodies were a step before: they come from there.
  void set_mocap_before(const std::vector<Transform>& mocap) { mocap_before_ = mocap; }

  // Moves dof `column` of x or a control by `way` first.
  const State& step(int column = -1, double way = 0.0) {
    State state = start_;
    VectorX control = control_;
    const int nv = model_.nv, na = model_.na;
    if (column >= 2 * nv + na) {
      control[column - 2 * nv - na] += way;
    } else if (column >= 2 * nv) {
      state.activation[column - 2 * nv] += way;
    } else if (column >= nv) {
      state.v[column - nv] += way;
    } else if (column >= 0) {
      state.q = moved(model_, start_.q, column, way);
    }
    sim_.reset(state);
    sim_.context().since_pass = 1.0;  // s: the pass is due
    if (past_.size() > 0) sim_.context().left_velocity << state.v, past_;
    if (!mocap_before_.empty()) {
      sim_.context().before.mocap = mocap_before_;
      sim_.context().has_before = true;
    }
    sim_.input().control = control;
    sim_.step();
    return sim_.state();
  }

  VectorX distance(const State& from, const State& to) const {
    VectorX x(2 * model_.nv + model_.na);
    VectorX dq(model_.nv);
    difference(model_, from.q, to.q, dq);
    x << dq, to.v - from.v, to.activation - from.activation;
    return x;
  }

  // Modes of all blocks and servos, and what the blocks are: where it differs the step is not smooth.
  std::vector<int> signature() const {
    Simulator& sim = const_cast<Simulator&>(sim_);
    std::vector<int> all;
    if (sim.options().substeps == 1 && sim.options().accuracy == 0.0) {
      add_signature(sim.context(), all);
    } else {
      sim.replay([&](const StepContext& s) {
        const auto bits = std::bit_cast<std::uint64_t>(s.h);  // sizes of parts may follow from errors
        all.insert(all.end(), {static_cast<int>(bits >> 32), static_cast<int>(bits & 0xffffffff)});
        add_signature(s, all);
      });
    }
    return all;
  }

  // Options ask for what rounding allows, and rounding decides whether a step gets there; differences need this much.
  // Where the variational rule has given up its equation there are no derivatives (they are refused).
  bool is_solved() const {
    const StepReport& report = sim_.report();
    if (report.warnings.variational_fallback) return false;
    return report.status == StepStatus::kOk ||
           (report.status == StepStatus::kNotConverged && report.residuals.model_natv_relative <= 1e-12);
  }

 private:
  static void add_signature(const StepContext& s, std::vector<int>& all) {
    if (s.options.integrator == Integrator::kEvent) {
      const EventReport& events = s.report.events;
      all.insert(all.end(), {events.events, events.impacts, events.fallbacks, s.constraints.count()});
      return;
    }
    if (s.options.integrator == Integrator::kContactImplicit) return add_knot_signature(s, all);
    const StepRecord record = record_step(s);
    for (int b = 0; b < record.constraints.count(); ++b) {
      const Constraint& c = record.constraints.list[static_cast<std::size_t>(b)];
      const int r = record.constraints.blocks.row[static_cast<std::size_t>(b)];
      const BlockMode mode =
          block_mode(record.constraints.blocks, b, record.lambda.data() + r, record.u.data() + r, 1e-6);
      all.insert(all.end(), {static_cast<int>(c.kind), c.index, c.side, static_cast<int>(mode)});
      const int last = record.constraints.blocks.row[static_cast<std::size_t>(b + 1)] - 1;
      // Each row of a pyramid has its own bound.
      for (int k = r; k < last && s.options.solver.compare(0, 3, "lcp") == 0; ++k) {
        const double bound =
            (1.0 - 1e-6) * record.constraints.blocks.mu[static_cast<std::size_t>(k)] * record.lambda[last];
        all.push_back(record.lambda[k] >= bound ? 1 : record.lambda[k] <= -bound ? -1 : 0);
      }
      all.push_back(record.constraints.position[static_cast<std::size_t>(last)] > 0.0 ? 1 : 0);
      all.push_back(s.constraints.recovery[last] < 0.0 ? 1 : 0);
    }
    for (const ServoMode mode : s.data.servo_mode) all.push_back(static_cast<int>(mode));
    if (!s.report.recovered) return;
    const Constraints& pass = s.pass.rows();
    // Beyond twice the slop the pass moves bodies by another metric.
    for (int b = 0; b < record.constraints.count(); ++b) {
      const int last = record.constraints.blocks.row[static_cast<std::size_t>(b + 1)] - 1;
      const double gap = s.constraints.position[static_cast<std::size_t>(last)] + s.remaining * s.row_velocity[last];
      all.push_back(-gap > 2.0 * s.options.stabilisation.slop ? 1 : 0);
    }
    // Which way is the longest, where it shortens all others.
    double longest = 0.0;
    int longest_row = -1;
    for (int r = 0; r < pass.rows(); ++r) {
      const double way = std::abs(pass.bias[r]) * pass.row_length[static_cast<std::size_t>(r)];
      if (way > longest * (1.0 + 1e-12)) longest_row = r;
      longest = std::max(longest, way);
    }
    if (longest > (1.0 - 1e-9) * s.h * s.options.stabilisation.recovery_speed) all.push_back(longest_row);
    for (int r = 0; r < pass.rows(); ++r) {
      all.push_back(s.pass.impulses()[r] == 0.0 ? 0 : s.pass.impulses()[r] > 0.0 ? 1 : -1);
      all.push_back(pass.bias[r] == 0.0 ? 0 : pass.bias[r] > 0.0 ? 1 : -1);
    }
  }

  // Of both contact problems of the contact-implicit rule.
  static void add_knot_signature(const StepContext& s, std::vector<int>& all) {
    all.push_back(s.knots != nullptr ? 1 : 0);
    if (s.knots == nullptr) return;
    const auto add = [&](const Survey& knot, const VectorX& lambda, const VectorX& u) {
      for (int b = 0; b < knot.c.count(); ++b) {
        const Constraint& c = knot.c.list[static_cast<std::size_t>(b)];
        const int r = knot.first(b);
        const BlockMode mode = block_mode(knot.c.blocks, b, lambda.data() + r, u.data() + r, 1e-6);
        const bool is_apart = knot.c.position[static_cast<std::size_t>(knot.normal(b))] > 0.0;
        all.insert(all.end(), {static_cast<int>(c.kind), c.index, c.side, static_cast<int>(mode), is_apart ? 1 : 0});
      }
    };
    const ContactKnots& k = *s.knots;
    add(k.here, k.lambda, k.target);
    VectorX u = VectorX::Zero(k.closed.c.rows() + kMaxBlockSize);
    constraint_velocity(s.model, k.closed.c, k.end.v, u);
    u.head(k.closed.c.rows()) += k.closed.c.bias.head(k.closed.c.rows());
    add(k.closed, k.lambda_end, u);
    for (const char bounces : k.bounces) all.push_back(bounces);
    for (const ServoMode mode : s.data.servo_mode) all.push_back(static_cast<int>(mode));
  }

  const Model& model_;
  Simulator sim_;
  State start_;
  VectorX control_;
  VectorX past_;
  std::vector<Transform> mocap_before_;
};

struct Figures {
  int columns = 0, kept = 0;  // of all, those whose modes hold on both sides
  int steps = 0, passes = 0;  // that were compared, of which the position pass moved something
  double worst = 0.0;         // error relative to the largest entry of the column's part
  double least_scale = 1e-3;  // of a column: smaller entries are compared as if they were so large
  std::map<BlockMode, int> modes;
};

constexpr double kMostError = 1e-6;  // of a column, relative to its largest entry
// Of what a difference is apart: with half of it rounding made an error of one column in some ten thousand.
constexpr double kUnknownShare = 0.05;

inline bool is_redundant(const ContactDerivatives& contact) { return contact.rank() < contact.unknowns(); }

// Both directions of products against the matrices, whether these are formed or not.
inline void expect_products(StepDerivatives& d, const std::string& what) {
  const int nx = d.nx(), nu = d.nu(), nt = d.ntheta();
  std::mt19937_64 random(5);
  const VectorX y = random_vector(nx, random), dx = random_vector(nx, random), du = random_vector(nu, random),
                dtheta = random_vector(nt, random);
  VectorX x_bar(nx), u_bar(nu), theta_bar(nt), moved(nx);
  d.vjp(y, x_bar, u_bar, theta_bar);
  d.jvp(dx, du, dtheta, moved);
  const auto close = [&](const VectorX& actual, const VectorX& expected) {
    if (expected.size() == 0) return;
    EXPECT_LT((actual - expected).cwiseAbs().maxCoeff(), 1e-9 * std::max(1.0, expected.cwiseAbs().maxCoeff())) << what;
  };
  close(x_bar, d.A.transpose() * y);
  close(u_bar, d.B.transpose() * y);
  close(theta_bar, d.C.transpose() * y);
  close(moved, d.A * dx + d.B * du + d.C * dtheta);
}

// One column against differences of the sizes `ways`, of which the best counts among those that stay in the modes of
// the step. `step`: makes it with the column's number changed by so much.
template <typename Step>
void compare_column(const Stepper& stepper, const State& here, const std::vector<int>& signature, const VectorX& actual,
                    const Step& step, const std::vector<double>& ways, Figures& figures, const std::string& what) {
  VectorX expected;
  double error = kInfinity;
  for (const double way : ways) {
    bool holds = true;
    const auto difference = [&](double size) -> VectorX {
      return derivative(
          [&](double t) -> MatrixX {
            const State& there = step(t);
            holds = holds && stepper.is_solved() && stepper.signature() == signature;
            return stepper.distance(here, there);
          },
          size);
    };
    const VectorX found = difference(way);
    const double scale = std::max(figures.least_scale, found.cwiseAbs().maxCoeff());
    const double apart = (actual - found).cwiseAbs().maxCoeff() / scale;
    if (!holds || !(apart < error)) continue;
    // A difference that is not known much better than it is apart, by that of half its size, says nothing: it bends,
    // has too few digits, or another corner hits first, which is a jump whatever the signature says.
    const double unknown = kUnknownShare * apart * scale;
    if (apart > kMostError && (difference(0.5 * way) - found).cwiseAbs().maxCoeff() > unknown) continue;
    error = apart;
    expected = found;
  }
  ++figures.columns;
  if (error == kInfinity) return;
  ++figures.kept;
  figures.worst = std::max(figures.worst, error);
  EXPECT_LT(error, kMostError) << what << "\nactual   " << actual.transpose() << "\nexpected " << expected.transpose();
}

struct RandomRobot {
  ModelPtr model;
  State state;
};

// The i-th of a family: free ones and, every other, smaller ones that are bound and slow.
inline RandomRobot random_robot(int i, std::mt19937_64& random) {
  const bool is_bound = i % 2 == 1;
  RandomModelOptions options;
  options.bodies = is_bound ? 5 : 8;
  options.damping = true;
  RandomRobot robot;
  robot.model = is_bound ? random_bound_model(random, options) : random_model(random, options);
  robot.state = random_state(*robot.model, random);
  if (is_bound) robot.state.v *= 0.3;
  return robot;
}

// Compares A and B with central differences column by column.
// Several ways of differences: the best of them counts, for laws that bend within little allow small ones alone, which
// have fewer digits.
inline void compare(Stepper& stepper, const Model& model, Figures& figures, const std::string& what,
                    const std::vector<double>& ways = {1e-5}) {
  stepper.step();
  if (!stepper.is_solved()) return;
  StepDerivatives d(model);
  d.compute(stepper.sim());
  const State here = stepper.sim().state();
  const std::vector<int> signature = stepper.signature();
  const std::vector<BlockMode>& modes = d.contact().modes();
  for (const BlockMode mode : modes) ++figures.modes[mode];
  // Friction of redundant sliding contacts depends on how they share the load, which is the solver's choice.
  const bool slides = std::count(modes.begin(), modes.end(), BlockMode::kSliding) > 0;
  if (slides && d.contact().rank() < d.contact().unknowns()) return;
  EXPECT_EQ(d.held().contacts, 0) << what;
  if (d.held().pass) return;  // it moved something as far as it may, or was hindered
  // Loops that say the same twice: the pass divides by its slack, and differences lose as many digits.
  if (d.has_pass() && (is_redundant(d.contact()) || is_redundant(d.pass_contact()))) return;
  ++figures.steps;
  figures.passes += d.has_pass() ? 1 : 0;
  expect_products(d, what);
  const int nx = d.nx();
  for (int column = 0; column < nx + model.nu; ++column) {
    const VectorX actual = column < nx ? VectorX(d.A.col(column)) : VectorX(d.B.col(column - nx));
    compare_column(
        stepper, here, signature, actual, [&](double t) -> const State& { return stepper.step(column, t); }, ways,
        figures, fmt::format("{}, column {} of {} + {}", what, column, nx, model.nu));
    if (testing::Test::HasFailure()) return;
  }
}

// Everything a step can be differentiated by, against differences of parameters.
inline StepParameters all_parameters(const Model& model) {
  StepParameters theta;
  theta.gravity = true;
  for (int b = 1; b < model.nbody; ++b) theta.inertias.push_back(b);
  for (int s = 0; s < static_cast<int>(model.shapes.size()); ++s) theta.frictions.push_back(s);
  for (int u = 0; u < model.nu; ++u) theta.gains.push_back(u);
  for (int i = 0; i < model.nv; ++i) {
    theta.dampings.push_back(i);
    if (model.joints[static_cast<std::size_t>(model.dof_joint[static_cast<std::size_t>(i)])].type != JointType::kFree)
      theta.armatures.push_back(i);  // none turns the rule of spinning bodies off
    theta.joint_frictions.push_back(i);
  }
  return theta;
}

// Differences are in units of `sizes`, where given.
inline void compare_theta(Stepper& stepper, const Model& model, const StepParameters& theta, Figures& figures,
                          const std::string& what, const std::vector<double>& ways, const VectorX& sizes = {}) {
  const Parameters parameters = stepper.sim().parameters();
  const VectorX values = theta.read(parameters);
  stepper.step();
  if (!stepper.is_solved()) return;
  StepDerivatives d(model, theta);
  d.compute(stepper.sim());
  const std::vector<BlockMode>& modes = d.contact().modes();
  const bool slides = std::count(modes.begin(), modes.end(), BlockMode::kSliding) > 0;
  if (d.held().pass || (slides && d.contact().rank() < d.contact().unknowns())) return;
  ++figures.steps;
  figures.passes += d.has_pass() ? 1 : 0;
  expect_products(d, what);
  const State here = stepper.sim().state();
  const std::vector<int> signature = stepper.signature();
  for (int column = 0; column < theta.size(); ++column) {
    const double size = sizes.size() > 0 ? sizes[column] : 1.0;
    const auto step = [&](double t) -> const State& {
      stepper.sim().parameters() = parameters;
      theta.write(values + t * size * VectorX::Unit(theta.size(), column), stepper.sim().parameters());
      return stepper.step();
    };
    compare_column(stepper, here, signature, size * d.C.col(column), step, ways, figures,
                   fmt::format("{}, parameter {} of {}", what, column, theta.size()));
    if (testing::Test::HasFailure()) return;
  }
  stepper.sim().parameters() = parameters;
}

inline void compare_parameters(Stepper& stepper, const Model& model, Figures& figures, const std::string& what,
                               const std::vector<double>& ways = {1e-5}) {
  compare_theta(stepper, model, all_parameters(model), figures, what, ways);
}

}  // namespace touchstone::test

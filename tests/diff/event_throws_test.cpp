// Derivatives of the event-driven integrator along throws: products of the matrices of all steps, from flight through
// landings on corners, edges and faces, slips and rolling, against differences of the whole way with the same sequence
// of events on both sides.
//
// A step that begins with closed contacts has derivatives along what keeps them closed: states near by are apart, or
// overlap. What comes out of the step before it is such a direction, so products are what can be compared.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/event_rollout.hpp"
#include "diff/step_compare.hpp"
#include "support/effort.hpp"
#include "support/event_models.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

const SmoothRule kThrowRules[] = {SmoothRule::kDormandPrince, SmoothRule::kRungeKutta, SmoothRule::kMidpoint,
                                  SmoothRule::kVariational};

struct Throw {
  ModelPtr model;
  State start;
  SimulatorOptions options;
  bool is_planar = false;
  std::string name;
};

// The k-th of a family: boxes, capsules and cylinders, with and without restitution and friction; every third in a
// plane, where edges land with two corners at once and faces with four (no cylinders: their ends land with points of a
// rim that are no points of the body).
Throw make_throw(int k) {
  std::mt19937_64 random(static_cast<std::uint64_t>(1000 + k));
  std::normal_distribution<double> speed(0.0, 1.0);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const char* shapes[] = {"box' size='.05 .06 .07", "capsule' size='.04 .06", "cylinder' size='.04 .06"};
  Throw t;
  t.is_planar = k % 3 == 2;
  const char* shape = shapes[(k / 2) % (t.is_planar ? 2 : 3)];
  const double mu = k % 5 == 0 ? 0.0 : unit(random), e = k % 2 == 0 ? 0.0 : 0.5 * unit(random);
  const double height = 0.12 + 0.02 * unit(random), turn = 90.0 * unit(random), tilt = 90.0 * unit(random);
  const char* joints = t.is_planar ? "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
                                     "<joint type='hinge' axis='0 1 0'/>"
                                   : "<freejoint/>";
  t.model = with_restitution(load_mjcf_string(world(fmt::format(
                                 "<geom type='plane' size='5 5 1' friction='0'/><body pos='0 "
                                 "0 {}' euler='{} {} {}'>{}<geom type='{}' mass='.5' "
                                 "friction='{}'/></body>",
                                 height, t.is_planar ? 0.0 : turn, tilt, t.is_planar ? 0.0 : 10.0, joints, shape, mu))),
                             e);
  t.start = State(*t.model);
  for (int i = 0; i < t.model->nv; ++i) t.start.v[i] = speed(random);
  t.options = event_options(0.01);
  t.options.events.rule = kThrowRules[(k / 6) % 4];
  t.options.events.tolerance = 1e-10;
  t.name = fmt::format("throw {}: {}, friction {}, restitution {}, rule {}", k, shape, mu, e, (k / 6) % 4);
  return t;
}

struct ThrowFigures {
  int throws = 0, refused = 0, steps = 0, columns = 0, kept = 0, impacts = 0, slides = 0, sticks = 0;
  double worst = 0.0;
};

// A_n .. A_1 for every n, to the first step that is not to be compared.
std::vector<MatrixX> products_of(const Throw& t, const EventRollout& way, ThrowFigures& figures) {
  Simulator sim(t.model, t.options);
  sim.reset(t.start);
  StepDerivatives d(*t.model);
  std::vector<MatrixX> products;
  for (std::size_t i = 0; i < way.states.size() && way.slips_settle[i] == 0; ++i) {
    sim.step();
    // More events than this: a body rattles, ever faster, and what is slow is taken to rest.
    if (sim.report().events.fallbacks > 0 || sim.report().events.events > 5) break;
    EXPECT_LT((sim.state().q - way.states[i].q).cwiseAbs().maxCoeff(), 1e-12) << t.name;
    try {
      d.compute(sim);
    } catch (const Error&) {
      ++figures.refused;
      break;
    }
    products.push_back(products.empty() ? d.A : MatrixX(d.A * products.back()));
  }
  return products;
}

// Errors of one column, by steps; infinite where the sequence of events is another one.
std::vector<double> column_errors(const Throw& t, const EventRollout& straight, const std::vector<MatrixX>& products,
                                  int column, double way, EventRollout& rollout) {
  const int nv = t.model->nv;
  const std::pair<double, double> kDifferences[] = {
      {1.0, -1.0 / 6.0}, {-1.0, 1.0 / 6.0}, {0.5, 4.0 / 3.0}, {-0.5, -4.0 / 3.0}};
  std::vector<VectorX> sums(products.size(), VectorX::Zero(2 * nv));
  std::size_t same = products.size();
  for (const auto& [share, weight] : kDifferences) {
    State start = t.start;
    if (column < nv) {
      start.q = moved(*t.model, t.start.q, column, share * way);
    } else {
      start.v[column - nv] += share * way;
    }
    rollout.roll(start, VectorX(), static_cast<int>(same));
    for (std::size_t i = 0; i < same; ++i) {
      if (rollout.traces[i] != straight.traces[i]) {
        same = i;
        break;
      }
      VectorX dq(nv), x(2 * nv);
      difference(*t.model, straight.states[i].q, rollout.states[i].q, dq);
      x << dq, rollout.states[i].v - straight.states[i].v;
      sums[i] += weight / way * x;
    }
  }
  std::vector<double> errors(products.size(), kInfinity);
  double before = 0.0;
  for (std::size_t i = 0; i < same; ++i) {
    // A body that comes to lie flat forgets most of what it came with: of columns that shrink so the error is that of
    // what was taken away, 1e-8 of it.
    const double size = sums[i].cwiseAbs().maxCoeff(), scale = std::max({1e-3, size, 1e-2 * before});
    before = std::max(before, size);
    errors[i] = (products[i].col(column) - sums[i]).cwiseAbs().maxCoeff() / scale;
  }
  return errors;
}

void compare_throw(const Throw& t, int steps, ThrowFigures& figures) {
  EventRollout straight(t.model, t.options), rollout(t.model, t.options);
  straight.most_sliding = t.is_planar ? 100 : 3;
  straight.roll(t.start, VectorX(), steps);
  const std::vector<MatrixX> products = products_of(t, straight, figures);
  ++figures.throws;
  figures.steps += static_cast<int>(products.size());
  straight.clear_counts();
  straight.roll(t.start, VectorX(), static_cast<int>(products.size()));
  figures.impacts += straight.impacts;
  figures.slides += straight.slides;
  figures.sticks += straight.sticks;
  // Two landings in so short a time: columns grow and shrink between them, as above, and a body lies so flat that
  // differences along columns tilt it to the other side.
  const double bound = straight.shortest < 1e-4 ? 5e-6 : 1e-6;
  for (int column = 0; column < 2 * t.model->nv; ++column) {
    std::vector<double> best(products.size(), kInfinity);
    for (const double way : {1e-4, 1e-5, 1e-6, 3e-5, 3e-6, 1e-3}) {
      const std::vector<double> errors = column_errors(t, straight, products, column, way, rollout);
      for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], errors[i]);
      if (best.empty() || *std::max_element(best.begin(), best.end()) < 1e-7) break;
    }
    for (std::size_t i = 0; i < best.size(); ++i) {
      ++figures.columns;
      if (best[i] == kInfinity) continue;
      ++figures.kept;
      figures.worst = std::max(figures.worst, best[i]);
      EXPECT_LT(best[i], bound) << t.name << ", column " << column << ", step " << i << "\n" << straight.text;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EventThrows, FromFlightToRest) {
  ThrowFigures figures;
  const bool is_long = std::getenv("TOUCHSTONE_LONG") != nullptr;
  const int throws = is_long ? 168 : whole_family() ? 48 : 6;
  for (int k = 0; k < throws; ++k) {
    compare_throw(make_throw(k), 16, figures);
    if (HasFailure()) return;
  }
  RecordProperty("worst", fmt::format("{:.2g}", figures.worst));
  fmt::print(
      "{} throws, {} refused, {} steps, {} impacts, {} motions with a slip, {} with a contact that sticks, {} of {} "
      "columns, worst {:.2g}\n",
      figures.throws, figures.refused, figures.steps, figures.impacts, figures.slides, figures.sticks, figures.kept,
      figures.columns, figures.worst);
  EXPECT_GE(figures.impacts, throws);
  EXPECT_GE(figures.slides, throws);
  const bool may_stick = throws > 6;  // few throws come to stick within their steps
  EXPECT_GE(figures.sticks, may_stick ? throws / 4 : 0);
  EXPECT_GE(figures.kept, figures.columns * 9 / 10) << figures.kept << " of " << figures.columns;
  EXPECT_LE(figures.refused, throws / 20);
}

}  // namespace
}  // namespace touchstone::test

// Some columns of the derivatives of a step, where families are too many for all of them.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"

namespace touchstone::test {

struct Tally {
  Figures figures;
  int instants = 0, contacts = 0, held = 0, redundant = 0;

  std::string text() const {
    return fmt::format(
        "{} of {} instants compared ({} held, {} redundant), {} contacts, {} of {} columns, worst {:.1e}",
        figures.steps, instants, held, redundant, contacts, figures.kept, figures.columns, figures.worst);
  }
};

// `columns` random ones of A and B at an instant, against differences of the sizes `ways`. Left out: steps with
// contacts whose points are held, sliding contacts that are redundant, and passes that were hindered
// (docs/derivatives.md, "What is held fixed").
inline void compare_instant(Stepper& stepper, const Model& model, const std::string& what, int columns,
                            const std::vector<double>& ways, std::mt19937_64& random, Tally& tally) {
  stepper.step();
  if (!stepper.is_solved()) return;
  ++tally.instants;
  tally.contacts += stepper.sim().report().contacts;
  StepDerivatives d(model);
  d.compute(stepper.sim());
  const std::vector<BlockMode>& modes = d.contact().modes();
  const bool slides = std::count(modes.begin(), modes.end(), BlockMode::kSliding) > 0;
  const bool is_held = d.held().contacts > 0 || d.held().pass || d.held().actuators > 0;
  const bool is_redundant_pass = d.has_pass() && (is_redundant(d.contact()) || is_redundant(d.pass_contact()));
  tally.held += is_held ? 1 : 0;
  if (is_held) return;
  if ((slides && is_redundant(d.contact())) || is_redundant_pass) {
    ++tally.redundant;
    return;
  }
  ++tally.figures.steps;
  // Pivots of redundant rows may be as small as 1e-8 of the largest: products lose as many digits.
  if (!is_redundant(d.contact())) expect_products(d, what);
  const State here = stepper.sim().state();
  const std::vector<int> signature = stepper.signature();
  std::uniform_int_distribution<int> any(0, d.nx() + model.nu - 1);
  for (int k = 0; k < columns; ++k) {
    const int column = any(random);
    const VectorX actual = column < d.nx() ? VectorX(d.A.col(column)) : VectorX(d.B.col(column - d.nx()));
    compare_column(
        stepper, here, signature, actual, [&](double t) -> const State& { return stepper.step(column, t); }, ways,
        tally.figures, fmt::format("{}, column {} of {} + {}", what, column, d.nx(), model.nu));
    if (testing::Test::HasFailure()) return;
  }
}

// Gravity, and some parameters of each other kind.
inline StepParameters some_parameters(const Model& model, std::mt19937_64& random) {
  StepParameters theta = all_parameters(model);
  const auto keep = [&](std::vector<int>& all, std::size_t count) {
    std::shuffle(all.begin(), all.end(), random);
    all.resize(std::min(all.size(), count));
  };
  keep(theta.inertias, 1);
  keep(theta.frictions, 1);
  keep(theta.gains, 1);
  for (std::vector<int>* dofs : {&theta.dampings, &theta.armatures, &theta.joint_frictions}) keep(*dofs, 2);
  return theta;
}

}  // namespace touchstone::test

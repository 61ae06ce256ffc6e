// The benchmark suite of Tsounis et al. 2025: what its Tab. II says about each system, and what a model has of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone {

// A row of the table, as printed; docs/loops.md lists the rows that disagree with themselves.
struct SuiteSystem {
  std::string_view name;   // as in the paper
  std::string_view scene;  // of the scene library
  bool fixed_base = false;
  int bodies = 0, joints = 0, total_dofs = 0, passive_dofs = 0, actuated_dofs = 0, constraints = 0;
  double mass_ratio = 1.0;
};

const std::vector<SuiteSystem>& suite_systems();

// Counted as the table does: every joint but free ones, of trees and of loops; joints on one body are one; a constraint
// for each of the six motions that a joint does not leave free.
struct SystemCounts {
  int bodies = 0, joints = 0, constraints = 0, coordinates = 0, actuators = 0;
  bool fixed_base = false;
  double mass_ratio = 1.0;
};
SystemCounts count_system(const Model& model);

// All systems of the suite: those of the table, and the other closed chains of the library.
std::vector<std::string> suite_scenes();

}  // namespace touchstone

// The one table that names all solvers. The same names hold in C++, on the command line and in Python.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "touchstone/contact/blocks.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

struct CatalogueEntry {
  std::string_view name;
  std::string_view model;      // LCP, CCP, RaiSim, NCP, compliant
  std::string_view algorithm;  // one line
  std::string_view blocks;     // supported blocks, and what is needed of the problem
  std::string_view reference;  // "KEY, PLACE; .." with keys of references.hpp; "Touchstone": of this library
  ContactModel certificate;    // the model whose own residual should vanish (certify)
  std::unique_ptr<ContactSolver> (*make)();
  std::optional<CompliantModel> law = {};  // of compliant models: whose residual should vanish instead (certify_law)
  // It may choose its way: it is given what equalities leave once they are solved for (sim/loop_elimination.hpp). Other
  // solvers get the problem as it is.
  bool eliminates = false;
};

// In the order of the design: by model, then by algorithm.
const std::vector<CatalogueEntry>& solver_catalogue();

// Throws Error that lists all names, the nearest first, if there is no such solver.
const CatalogueEntry& find_solver(std::string_view name);
std::unique_ptr<ContactSolver> make_solver(std::string_view name);

}  // namespace touchstone

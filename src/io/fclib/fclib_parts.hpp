// What the readers of contact problems share. Not for other folders.
#pragma once

#include <string>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/io/fclib.hpp"

namespace touchstone::fclib {

struct Entry {
  int row = 0, col = 0;
  double value = 0.0;
};

// A sparse matrix as files have it: any order, duplicates add up, indices within bounds.
struct Matrix {
  int rows = 0, cols = 0;
  std::vector<Entry> entries;
};

// In the file's order: normal first.
struct Local {
  Matrix W, V, R;  // V and R empty without equalities
  std::vector<double> q, s, mu;
};

struct Global {
  Matrix M, H, G;  // G empty without equalities
  std::vector<double> f, w, b, mu;
};

// Throw InputError if sizes do not fit.
ContactProblem assemble(const Local& local, const std::string& name);
ContactProblem assemble(const Global& global, const std::string& name, std::vector<int>& dof);

// Row of the problem for a row of the file and back, contacts first.
inline int row_from_file(int row, int contact_rows) {
  return row >= contact_rows ? row : 3 * (row / 3) + (row % 3 + 2) % 3;
}
inline int row_in_file(int row, int contact_rows) {
  return row >= contact_rows ? row : 3 * (row / 3) + (row % 3 + 1) % 3;
}

[[noreturn]] inline void fail(const std::string& name, const std::string& element, const std::string& message,
                              const std::string& remedy) {
  throw InputError({.where = {name, 0, element}, .message = message, .remedy = remedy});
}

}  // namespace touchstone::fclib

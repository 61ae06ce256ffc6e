// The rows of a mechanism as matrices: what its velocities and its mobility are computed from (sim/mechanism.hpp).
#pragma once

#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/sim/closure.hpp"

namespace touchstone {

// The rows of a closure, scaled to metres, as a matrix with its singular values.
struct RowFactor {
  MatrixX J;       // rows x nv
  MatrixX U;       // rows x rank
  VectorX values;  // rank: singular values of Y'
  int rank = 0;

  // `rows`: which of them. Needs the metric in closure.data().
  RowFactor(const Model& model, LoopClosure& closure, const std::vector<int>& rows);
  // V <- V - A^-1 J' (J A^-1 J')^+ (J V - rates); returns the multipliers of the last column.
  VectorX project(const Model& model, const Data& data, MatrixX& V) const;
  VectorX project(const Model& model, const Data& data, const MatrixX& rates, MatrixX& V) const;
};

// J of chosen rows, scaled to metres, or Y' if `half`.
MatrixX dense_rows(const Model& model, const Constraints& c, const std::vector<int>& rows, bool half);

std::vector<int> rows_of_loops(const Constraints& c);
std::vector<int> rows_at_limits(const Constraints& c);  // those that are reached

}  // namespace touchstone

// Parts of a prepared dual problem: a choice of its blocks as a dual problem of its own, still scaled as the whole.
#pragma once

#include <vector>

#include "touchstone/contact/dual.hpp"

namespace touchstone {

// The chosen blocks, sorted into parts that G does not couple. Numbered by their smallest block: deterministic.
struct DualParts {
  std::vector<int> start{0};  // count + 1
  std::vector<int> blocks;    // by part, ascending within one

  int count() const { return static_cast<int>(start.size()) - 1; }

  // `chosen`: nblock, whether a block takes part. Reuses memory.
  void find(const DualProblem& dual, const std::vector<char>& chosen);

 private:
  std::vector<int> part_;  // nblock
};

// `part` becomes the problem of `count` blocks (ascending) with the other impulses zero. Reuses memory; `position` is
// scratch.
void extract_part(const DualProblem& dual, const int* blocks, int count, std::vector<int>& position, DualProblem& part);

// Between the rows of a part and those of the whole.
void gather_part(const DualProblem& dual, const int* blocks, int count, const VectorX& whole, VectorX& part);
void scatter_part(const DualProblem& dual, const int* blocks, int count, const VectorX& part, VectorX& whole);

}  // namespace touchstone

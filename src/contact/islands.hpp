// Parts of a problem that do not influence each other: found, cut out, put together.
//
// Two blocks belong together when a clique moves under both (primal view) or when G couples them (dual view). The order
// is deterministic: islands are numbered by their smallest block, and blocks keep their order.
#pragma once

#include <utility>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/union_find.hpp"

namespace touchstone {

struct Islands {
  std::vector<int> of_block;   // nblock: the island of a block
  std::vector<int> of_clique;  // nclique (primal view), else empty: the island of a clique; -1 if nothing touches it
  std::vector<int> block_start, blocks;    // count + 1; blocks by island
  std::vector<int> clique_start, cliques;  // count + 1; cliques by island

  int count() const { return static_cast<int>(block_start.size()) - 1; }

  UnionFind groups;                          // scratch
  std::vector<int> position;                 // scratch
  std::vector<std::pair<int, int>> pattern;  // scratch
};

// A matrix-free G is taken to couple everything. Reuses memory.
void find_islands(const ContactProblem& problem, Islands& islands);

// One island as a problem of its own, with what belongs to its blocks and cliques. Reuses the memory of `part`.
void extract_island(const ContactProblem& problem, Islands& islands, int island, ContactProblem& part);

// Between the rows (or dofs) of an island and those of the whole.
void gather_rows(const ContactProblem& problem, const Islands& islands, int island, const VectorX& whole,
                 VectorX& part);
void scatter_rows(const ContactProblem& problem, const Islands& islands, int island, const VectorX& part,
                  VectorX& whole);
void scatter_dofs(const ContactProblem& problem, const Islands& islands, int island, const VectorX& part,
                  VectorX& whole);

// Adds the blocks of `other` behind those of `problem`, uncoupled. Both must have the same views; neither may be
// matrix-free. Optional fields that only one has are filled with their defaults.
void append_problem(ContactProblem& problem, const ContactProblem& other);

}  // namespace touchstone

#include "touchstone/sim/start_check.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/contact/units.hpp"
#include "touchstone/math/lanes.hpp"

namespace touchstone {
namespace {

// Calls visit(part, dofs, Y of the part) for the trees that a block moves.
template <typename Visit>
void for_parts(const Model& model, const Constraints& c, int block, Visit&& visit) {
  const Constraint& constraint = c.list[at(block)];
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& part = c.parts[at(constraint.first_part + i)];
    visit(part, c.dofs(model, part), c.Y.data() + part.start);
  }
}

// z += Y lambda, of one block.
void add_product(const Model& model, const Constraints& c, int block, const double* lambda, double* z) {
  const int rows = c.blocks.size(block), stride = c.stride(block);
  Lanes impulse[2] = {};
  for (int r = 0; r < rows; ++r) impulse[r / 4][r % 4] = lambda[r];
  for_parts(model, c, block, [&](const TreePart& part, const int* dofs, const double* y) {
    for (int k = 0; k < part.count; ++k, y += stride) {
      if (stride == 1) {
        z[dofs[k]] += *y * lambda[0];
        continue;
      }
      Lanes products = load_lanes(y) * impulse[0];
      if (stride == 8) products += load_lanes(y + 4) * impulse[1];
      z[dofs[k]] += sum(products);
    }
  });
}

// change = Y'z and diagonal = that of Y'Y, of one block.
void read_product(const Model& model, const Constraints& c, int block, const double* z, double* change,
                  double* diagonal) {
  const int rows = c.blocks.size(block), stride = c.stride(block);
  Lanes low{}, high{}, low_square{}, high_square{};
  for_parts(model, c, block, [&](const TreePart& part, const int* dofs, const double* y) {
    for (int k = 0; k < part.count; ++k, y += stride) {
      if (stride == 1) {
        low[0] += *y * z[dofs[k]];
        low_square[0] += *y * *y;
        continue;
      }
      const Lanes speed = broadcast(z[dofs[k]]), a = load_lanes(y);
      low += a * speed;
      low_square += a * a;
      if (stride < 8) continue;
      const Lanes b = load_lanes(y + 4);
      high += b * speed;
      high_square += b * b;
    }
  });
  for (int r = 0; r < rows; ++r) {
    change[r] = r < 4 ? low[r] : high[r - 4];
    diagonal[r] = r < 4 ? low_square[r] : high_square[r - 4];
  }
}

// Y lambda into scratch.whitened.
void whiten(const Model& model, const Constraints& c, const TreeIsland& island, const VectorX& lambda,
            TreeIslands::Scratch& s) {
  const Blocks& blocks = island.problem.blocks;
  s.whitened.resize(model.nv);
  for (const int tree : island.trees) {
    const int first = model.tree_first_dof[at(tree)];
    s.whitened.segment(first, model.tree_first_dof[at(tree + 1)] - first).setZero();
  }
  for (int i = 0; i < blocks.count(); ++i) {
    const double* own = lambda.data() + blocks.row[at(i)];
    const bool pushes = std::any_of(own, own + blocks.size(i), [](double x) { return x != 0.0; });
    if (pushes) add_product(model, c, island.blocks[at(i)], own, s.whitened.data());
  }
}

// Calls visit(block) when its rows of change and diagonal are there; ends when that is false, and returns it.
template <typename Visit>
bool read_products(const Model& model, const Constraints& c, const TreeIsland& island, const VectorX& lambda,
                   const TreeIslands::Scratch& s, VectorX& change, VectorX& diagonal, Visit&& visit) {
  const Blocks& blocks = island.problem.blocks;
  change.resize(blocks.rows());
  diagonal.resize(blocks.rows());
  for (int i = 0; i < blocks.count(); ++i) {
    const int row = blocks.row[at(i)];
    read_product(model, c, island.blocks[at(i)], s.whitened.data(), change.data() + row, diagonal.data() + row);
    for (int r = row; r < blocks.row[at(i + 1)]; ++r) {
      change[r] += island.problem.R[r] * lambda[r];
      diagonal[r] += island.problem.R[r];
    }
    if (!visit(i)) return false;
  }
  return true;
}

// A contact that pushes and opens or closes this much faster than the tolerance ends the check: most starts of islands
// that move are seen at their first contact.
constexpr double kPlain = 10.0;

}  // namespace

void multiply_rows(const Model& model, const Constraints& c, const TreeIsland& island, const VectorX& lambda,
                   TreeIslands::Scratch& scratch, VectorX& change, VectorX& diagonal) {
  whiten(model, c, island, lambda, scratch);
  read_products(model, c, island, lambda, scratch, change, diagonal, [](int) { return true; });
}

bool is_solution(const Model& model, const Constraints& c, const TreeIsland& island, const VectorX& lambda,
                 double tolerance, TreeIslands::Scratch& scratch, CertificateWorkspace& w, VectorX& u,
                 Residuals& residuals) {
  const ContactProblem& problem = island.problem;
  const double scale = std::max(problem.dual.g.lpNorm<Eigen::Infinity>(), kGravity * problem.time_step);
  const double plain = kPlain * tolerance * scale;
  whiten(model, c, island, lambda, scratch);
  const bool is_likely = read_products(model, c, island, lambda, scratch, w.change, w.diagonal, [&](int block) {
    const int row = problem.blocks.row[at(block + 1)] - 1;
    const bool pushes = problem.blocks.type[at(block)] == BlockType::kCoulomb && lambda[row] > 0.0;
    return !pushes || std::abs(problem.dual.g[row] + w.change[row]) <= plain;
  });
  if (!is_likely) return false;
  u = problem.dual.g + w.change;
  if (!u.allFinite()) return false;
  residuals = certify_product(problem, lambda, tolerance, w);
  return residuals.natv_relative <= tolerance;
}

}  // namespace touchstone

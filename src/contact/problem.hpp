// The contact problem of one step, free of any robot (docs/contact.md derives it).
//
//     A (v' - v_free) = J' lambda                              dynamics, v' the next velocity
//     u = J v' + b + R lambda = G lambda + g                   what the constraints see
//     G = J A^-1 J' + R,   g = J v_free + b                    G already holds R: count it once
//     each block: lambda_i and u_i obey the law of the block (contact/blocks.hpp)
//
// A problem is given by the dual view (G, g), by the primal view (A, J, v_free), or by both, which must then agree; R
// and b belong to both. Solvers ask prepare_dual (contact/dual.hpp) for G in the form they work with; a solver that
// needs the primal answers Unsupported when there is none. Impulses in N s, velocities in m/s (or their rotational
// counterparts; see row_length).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/contact/blocks.hpp"
#include "touchstone/contact/inertia.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

// The dual view. One of the forms of G is in use; G need not be symmetric.
struct DualData {
  enum class Form : std::uint8_t { kNone, kDense, kSparse };
  Form form = Form::kNone;
  MatrixX G_dense;             // kDense: nrow x nrow
  BlockSparseMatrix G_sparse;  // kSparse: partitions equal to Blocks::row
  VectorX g;                   // nrow
  bool symmetric = false;      // known to be: a solver may then read one half of G

  void set(MatrixX G, VectorX free_velocity);
  void set(BlockSparseMatrix G, VectorX free_velocity);
};

// The primal view: A (v' - v_free) = J' lambda.
struct PrimalData {
  std::shared_ptr<const Inertia> A;
  BlockSparseMatrix J;  // block rows: the constraint blocks; block columns: the groups of dofs of A
  VectorX v_free;       // nv
  VectorX v_start;      // nv or empty: a velocity to start from, such as that before the step

  int nv() const { return A ? A->nv() : 0; }
  void set_inertia(DenseInertia inertia) { A = std::make_shared<DenseInertia>(std::move(inertia)); }
};

// Y = S J' of a block on one clique, where A^-1 = S' S: column-major, clique size x block size. `entry` is the first
// one of J in that block row and clique; it moves behind the last one.
void half_solve_jacobian(const PrimalData& primal, int block, int& entry, double* Y);

// One block of J, for set_jacobian.
struct JacobianBlock {
  int block = 0;   // constraint block
  int group = 0;   // of dofs
  MatrixX values;  // block size x group size
};

struct ContactProblem {
  Blocks blocks;
  DualData dual;
  PrimalData primal;
  VectorX R;                             // nrow or empty (zero): compliance of each row, >= 0, which G holds too
  VectorX b;                             // nrow or empty (zero): bias velocity of the primal view, which g holds too
  double time_step = 0.0;                // s; 0: unknown. Only the relative certificate uses it
  std::vector<double> row_length;        // nrow or empty (all 1): a body length (m) for rotational rows, 1 for others
  std::vector<ContactPhysics> physics;   // nblock or empty: of Coulomb blocks, for compliant models; needs time_step
  std::vector<std::string> block_names;  // nblock or empty: for messages

  int nblock() const { return blocks.count(); }
  int nrow() const { return blocks.rows(); }
  double length(int row) const { return row_length.empty() ? 1.0 : row_length[static_cast<std::size_t>(row)]; }
  bool has_dual() const { return dual.form != DualData::Form::kNone; }
  bool has_primal() const { return primal.A != nullptr; }
  void clear();

  // Fills primal.J. The inertia must be set, and all blocks must have been added.
  void set_jacobian(const std::vector<JacobianBlock>& jacobian);

  // "block 3 'foot' (coulomb)".
  std::string describe_block(int block) const;
};

// Whoever made a problem by its dual view, and makes the primal one when a solver asks for it: most solves do not.
class PrimalSource {
 public:
  virtual ~PrimalSource() = default;
  virtual int dofs() const = 0;
  // Made by the first call; the same one until the problem changes.
  virtual const PrimalData& primal() = 0;
};

// v' = v_free + A^-1 J' lambda. Needs the primal view.
VectorX next_velocity(const ContactProblem& problem, const ConstVectorRef& lambda);

// The same problem with impulses measured in units of `scale`: new lambda = old lambda / scale. Velocities stay.
// With scale = time step impulses become forces.
void scale_impulses(ContactProblem& problem, double scale);

}  // namespace touchstone

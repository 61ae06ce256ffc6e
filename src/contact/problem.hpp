// The contact problem of one step, free of any robot (docs/contact.md derives it).
//
//     A (v' - v_free) = J' lambda                              dynamics, v' the next velocity
//     u = J v' + b + R lambda = G lambda + g                   what the constraints see
//     G = J A^-1 J' + R,   g = J v_free + b                    G already holds R: count it once
//     each block: lambda_i and u_i obey the law of the block (contact/blocks.hpp)
//
// A problem is given by the dual view (G, g), by the primal view (A, J, v_free, R, b), or by both, which must then
// agree. Solvers ask prepare_dual (contact/dual.hpp) for G in the form they work with; a solver that needs the primal
// answers Unsupported when there is none. Impulses in N s, velocities in m/s (or their rotational counterparts; see
// row_length).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "touchstone/contact/blocks.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

// G as a procedure, for problems whose entries are not worth forming. Only methods that need nothing but products use
// it.
class DelassusOperator {
 public:
  virtual ~DelassusOperator() = default;
  virtual int rows() const = 0;
  // y = G x; both of length rows(), not overlapping.
  virtual void multiply(const double* x, double* y) const = 0;
  // The diagonal of G; the certificate scales by it.
  virtual void diagonal(double* d) const = 0;
};

// The dual view. One of the forms of G is in use; G need not be symmetric.
struct DualData {
  enum class Form : std::uint8_t { kNone, kDense, kSparse, kOperator };
  Form form = Form::kNone;
  MatrixX G_dense;                                     // kDense: nrow x nrow
  BlockSparseMatrix G_sparse;                          // kSparse: partitions equal to Blocks::row
  std::shared_ptr<const DelassusOperator> G_operator;  // kOperator
  VectorX g;                                           // nrow
  bool symmetric = false;                              // known to be: a solver may then read one half of G

  void set(MatrixX G, VectorX free_velocity);
  void set(BlockSparseMatrix G, VectorX free_velocity);
  void set(std::shared_ptr<const DelassusOperator> G, VectorX free_velocity);
};

// The primal view. A is block-diagonal, one dense symmetric positive definite block for each clique: a kinematic tree,
// a free body, later a deformable one. What does not move has no clique.
struct PrimalData {
  std::vector<int> clique{0};            // nclique + 1: first dof of a clique, then the number of dofs
  std::vector<std::size_t> A_offset{0};  // nclique + 1: where the block of a clique begins in A
  AlignedVector A;                       // column-major blocks one after another
  BlockSparseMatrix J;                   // block rows: the constraint blocks; block columns: the cliques
  VectorX v_free;                        // nv
  VectorX R;                             // nrow or empty (zero): compliance of each row, >= 0
  VectorX b;                             // nrow or empty (zero): bias velocity

  int nclique() const { return static_cast<int>(clique.size()) - 1; }
  int nv() const { return clique.back(); }
  int clique_size(int c) const { return clique[c + 1] - clique[c]; }
  Eigen::Map<const MatrixX> A_block(int c) const { return {A.data() + A_offset[c], clique_size(c), clique_size(c)}; }
  void clear();
  // Returns the index of the new clique.
  int add_clique(const Eigen::Ref<const MatrixX>& inertia);
};

// One block of J, for set_jacobian.
struct JacobianBlock {
  int block = 0;  // constraint block
  int clique = 0;
  MatrixX values;  // block size x clique size
};

// Data of a physical law that does not fit (R, b), for compliant models.
struct ContactLaw {
  double phi = 0.0;    // signed distance at the start of the step, m
  double k = 0.0;      // stiffness, N/m
  double d = 0.0;      // Hunt-Crossley dissipation, s/m
  double tau = 0.0;    // relaxation time of linear dissipation, s
  double v_s = 0.0;    // stiction velocity, m/s
  double sigma = 0.0;  // dimensionless tangential regularisation
  double n0 = 0.0;     // normal impulse at the start of the step, N s
};

struct ContactProblem {
  Blocks blocks;
  DualData dual;
  PrimalData primal;
  bool has_primal = false;
  double time_step = 0.0;                // s; 0: unknown. Only the relative certificate uses it
  std::vector<double> row_length;        // nrow or empty (all 1): a body length (m) for rotational rows, 1 for others
  std::vector<std::string> block_names;  // nblock or empty: for messages
  std::vector<ContactLaw> laws;          // nblock or empty

  int nblock() const { return blocks.count(); }
  int nrow() const { return blocks.rows(); }
  bool has_dual() const { return dual.form != DualData::Form::kNone; }
  void clear();

  // Fills primal.J and sets has_primal. All cliques and blocks must have been added.
  void set_jacobian(const std::vector<JacobianBlock>& jacobian);

  // "block 3 'foot' (coulomb)".
  std::string describe_block(int block) const;
};

// v' = v_free + A^-1 J' lambda. Needs the primal view; for reports and tests, it factors A anew.
VectorX next_velocity(const ContactProblem& problem, const ConstVectorRef& lambda);

// The same problem with impulses measured in units of `scale`: new lambda = old lambda / scale. Velocities stay.
// With scale = time step impulses become forces.
void scale_impulses(ContactProblem& problem, double scale);

}  // namespace touchstone

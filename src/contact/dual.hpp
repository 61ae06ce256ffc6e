// The dual problem in the form solvers work with: G block-sparse with all its diagonal blocks, scaled to order one.
//
// Scaling. With L the body lengths of rotational rows, d_i = mean_r L_r^2 G_rr over the rows of block i, s_r = L_r /
// sqrt(d_i) and beta = max |s g|:
//
//     G' = s G s,  g' = s g / beta,  lambda = beta s lambda',  u = beta u' / s,  mu'_j = mu_j s_n / s_j
//
// so that one natural-map step of length 1 has consistent units, for any mixture of masses, lengths and units. The
// scalar sqrt(d_i) is one per block, therefore cones stay cones of the same shape. G or g whose largest entry is beyond
// 1e60 or below its inverse is first divided by a power of two.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/contact/definiteness.hpp"
#include "touchstone/contact/problem.hpp"
#include "touchstone/contact/validate.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

enum class DualScaling : std::uint8_t {
  kBlocks,  // as above
  kUnits,   // d_i = 1: only lengths and beta; for methods that bring their own preconditioning
};

struct PrepareOptions {
  DualScaling scaling = DualScaling::kBlocks;
  // Refuse a G with a large skew part or an indefinite symmetric part (limits in validate.hpp, cost in
  // definiteness.hpp). Not needed, and not done, when G is built from the primal: A > 0 and R >= 0 imply it.
  bool check_definiteness = false;
};

struct DualProblem {
  // --- prepare_dual ---
  Blocks blocks;              // with mu, lo, hi scaled
  BlockSparseMatrix G;        // scaled; the diagonal blocks are always present
  bool symmetric = false;     // G is known to be
  VectorX g;                  // nrow, scaled
  std::vector<int> diagonal;  // nblock: the entry of the diagonal block in G
  VectorX lambda_scale;       // nrow: lambda = lambda_scale * lambda'
  VectorX u_scale;            // nrow: u = u_scale * u'
  VectorX d;                  // nblock: mean diagonal of the scaled block with lengths; 1 with DualScaling::kBlocks
  VectorX weight;             // nblock: natv of a block = weight * |natural map of the scaled block with d|
  double velocity_scale = 1;  // m/s: max(|g|_inf, 9.81 time_step), or 1 if both are zero; natv is relative to it
  // The numbers are near the ends of their range, or a coefficient of friction was cut: what a solver calls solved must
  // be verified on the problem as given.
  bool doubtful = false;

  // --- scratch, reused from problem to problem ---
  int G_exponent = 0, g_exponent = 0;  // of the powers of two that G and g were divided by before all else
  struct Primal {
    // A block on a clique.
    struct Use {
      int block = 0, clique = 0;
      int entry = 0;          // first of J
      std::size_t start = 0;  // in Y
    };
    BlockSparseMatrix J_pattern;  // J of the last problem, to see whether the pattern still holds
    std::vector<int> clique_of;   // and the cliques of its columns
    std::vector<Use> uses;
    AlignedVector Y;                // S J' with A^-1 = S' S, clique size x block size for each use
    std::vector<int> clique_start;  // nclique + 1
    std::vector<int> clique_use;    // uses by clique
    std::vector<int> target;        // for each pair of uses of a clique: the entry of G it adds to
  } primal;
  std::vector<std::pair<int, int>> pattern;
  DefinitenessScratch definiteness;

  int nblock() const { return blocks.count(); }
  int nrow() const { return blocks.rows(); }
  const double* diagonal_block(int i) const { return G.data(diagonal[i]); }
};

// Validates the data, builds or copies G and scales it. No allocation when sizes and pattern are those of a problem
// seen before.
Verdict prepare_dual(const ContactProblem& problem, const PrepareOptions& options, DualProblem& dual);

// Between the problem's units and the scaled ones.
void scale_lambda(const DualProblem& dual, const VectorX& lambda, VectorX& scaled);
void unscale_lambda(const DualProblem& dual, const VectorX& scaled, VectorX& lambda);

// u' = G' lambda' + g'.
void compute_velocity(const DualProblem& dual, const VectorX& lambda, VectorX& u);

// natv of a scaled iterate in m/s: the largest over blocks of the unit-consistent natural map (contact/certify.hpp
// has the definition). u must be compute_velocity of lambda. This is what solvers stop on; their accuracy is reported
// by certify() from the original data.
double natv(const DualProblem& dual, ContactModel model, const VectorX& lambda, const VectorX& u);

// v' = v_free + A^-1 J' lambda with lambda in the problem's units. `v` is emptied without primal view.
void compute_next_velocity(const ContactProblem& problem, const VectorX& lambda, VectorX& v);

}  // namespace touchstone

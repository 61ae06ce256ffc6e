// The compliant laws of all blocks of a problem: what the solvers of the compliant models minimise, and what their
// certificate asks.
//
// A Coulomb block has the law of its physics (contact/blocks.hpp), as a function of J v: R and the b of its normal,
// which say what a rigid solver sees of it, are not part of it; b of its tangents is how fast the surfaces move. All
// other blocks are springs (quadratic.hpp) of compliance R and bias b, dry friction is regularised. Where a block has
// neither physics nor R, it is near-rigid: so stiff that it swings with a period of beta steps, the stiffest that a
// step can resolve (Castro et al. 2022, V-B; Castro et al. 2025, III-A):
//
//     R = beta^2 w / (4 pi^2),     k = 1 / (h^2 R)
//
// with beta = 1 for contacts and 0.1 for all others, whose period no material gives.
#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "touchstone/contact/laws/dry_friction.hpp"
#include "touchstone/contact/laws/lagged.hpp"
#include "touchstone/contact/laws/quadratic.hpp"
#include "touchstone/contact/laws/sap.hpp"
#include "touchstone/contact/laws/similar.hpp"
#include "touchstone/contact/problem.hpp"

namespace touchstone {

class BlockLaws {
 public:
  // For a valid problem (validate_data). Empty if all is well, else why the model has no law for the problem. No
  // allocation for a size that was seen before.
  std::string prepare(const ContactProblem& problem, CompliantModel model);

  // The same laws, but for contacts by Lagged and Similar no stiffer than `stiffest`: h^2 k w, and in slip W_t w. For
  // ways from soft to stiff; infinity: the laws as they are. Only after prepare of the same problem.
  void soften(const ContactProblem& problem, CompliantModel model, double stiffest);
  // The largest of these, as the laws are.
  double stiffness() const { return stiffness_; }
  // By how much the laws, of all blocks, multiply the rounding of a velocity: the largest slope of an impulse times the
  // mobility.
  double amplification() const { return std::max(stiffness_, amplification_); }

  int count() const { return static_cast<int>(laws_.size()); }
  // The largest R that was put where a problem without physics has none; else 0.
  double shift() const { return shift_; }

  // W_i of all blocks (contact/laws/mobility.hpp).
  const BlockDiagonal& mobility() const { return mobility_; }

  // The impulse of a block at its velocity J_i v = c + dc and, if W is given, the Hessian (column-major). A velocity in
  // two parts: for one c, the rounding of c is the same whatever dc, as if the gap and the speed of the surface were
  // others by that much. So what a stiff law makes of it does not keep Newton's method from converging.
  void evaluate(int block, const double* c, const double* dc, double* gamma, double* W) const {
    std::visit([&](const auto& law) { law.evaluate(c, dc, gamma, W); }, laws_[static_cast<std::size_t>(block)]);
  }
  void evaluate(int block, const double* c, double* gamma, double* W) const {
    constexpr double kNoChange[kMaxBlockSize] = {};
    evaluate(block, c, kNoChange, gamma, W);
  }

 private:
  using Law = std::variant<QuadraticLaw, DryFrictionLaw, SapLaw, LaggedLaw, SimilarLaw>;

  Law spring(const ContactProblem& problem, int block, CompliantModel model);
  Law contact(const ContactProblem& problem, int block, CompliantModel model, double stiffest);
  Law rigid_contact(const ContactProblem& problem, int block, CompliantModel model);
  double row_mobility(const ContactProblem& problem, int block, int k) const;
  double contact_mobility(int block, int size) const;

  std::vector<Law> laws_;  // nblock
  BlockDiagonal mobility_;
  AlignedVector scratch_;
  double fallback_ = 1.0;  // mobility of what does not move
  double shift_ = 0.0, stiffness_ = 0.0, amplification_ = 0.0;
};

}  // namespace touchstone

// One contact with Coulomb friction, solved exactly.
//
// Problem: lambda in K, b + A lambda + Gamma in K*, orthogonal, for the block's own matrix A and its velocity b without
//   itself; dimension 1, 3, 4 or 6, friction coefficients mu_j >= 0 that may differ.
// Method: three modes. Open: b_n >= 0, lambda = 0. Else with y = lambda_t / mu the sliding velocity is parallel to the
//   friction, mu u_t = -alpha y, alpha >= 0 (maximum dissipation). Eliminating lambda_n through u_n = 0:
//       (S + alpha I) y = -c,   lambda_n = -(b_n + w'y) / A_nn,
//       S = mu (A_tt - A_tn A_nt / A_nn) mu,   c = mu (b_t - A_tn b_n / A_nn),   w = mu A_nt.
//   Stick if alpha = 0 gives |y| <= lambda_n; else slide with the root of h(alpha) = lambda_n / |y| - 1, which is
//   nearly linear. Newton from the last alpha with a bracket: h(0) < 0 and h -> infinity. In dimension 3 everything is
//   a polynomial in alpha (squared, the quartic of Tsounis et al. 2025, Alg. 4); in other dimensions a symmetric S is
//   brought to tridiagonal form once, after which a step is a few divisions; where S is not symmetric it is a small LU.
// References: Tsounis et al. 2025, Alg. 4; Bonnefon and Daviet's quartic has the same roots.
// Deviations: Newton instead of the closed roots of a quartic, which lose digits when contacts are weakly coupled.
//   A nearly singular A gets a proximal shift A + eps I, b - eps lambda, which does not move the fixed point.
// Cost: dimension 3 about 50 ns when sliding, dimension 6 about 0.3 us.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/contact/dual.hpp"

namespace touchstone {

// Of the mean diagonal, added so that a singular block can be solved.
inline constexpr double kProximalShift = 1e-9;

enum class LocalMode : std::uint8_t { kOpen, kStick, kSlide };

class LocalContacts {
 public:
  // For all contacts of a scaled dual problem. Forgets the last alphas.
  void prepare(const DualProblem& dual);

  // Replaces lambda by the exact local solution; u is the block's velocity including its own lambda.
  LocalMode operator()(int block, const double* u, double* lambda);
  // Of a contact that slid in the last call: mu u_t = -alpha lambda_t / mu.
  double alpha(int block) const { return alpha_[static_cast<std::size_t>(block)]; }

 private:
  // Everything of a contact of dimension 3 that does not change in a solve.
  struct Contact3 {
    double A[9];     // column-major, with the proximal shift
    double S[2][2];  // the 2x2 matrix S above
    double w[2];     // mu A_nt
    double c_n[2];   // A_tn / A_nn
    double mu[2];
    double inverse_nn;  // 1 / A_nn
  };

  // The same of other dimensions, for the components with friction; made when a contact first needs it.
  struct Reduced {
    bool made = false;
    int k = 0;                                                       // components with friction,
    int index[kMaxBlockSize] = {};                                   // which they are,
    double share[kMaxBlockSize] = {};                                // A_tn / A_nn
    double w[kMaxBlockSize] = {};                                    // mu A_nt
    double Q[kMaxBlockSize * kMaxBlockSize];                         // S = Q T Q' if it is symmetric, else S itself
    double diagonal[kMaxBlockSize] = {}, below[kMaxBlockSize] = {};  // of T

    double along_w(const double* x) const;    // w' x
    void rotate(double* x, bool back) const;  // x <- Q' x, or back
    double trace(bool is_tridiagonal) const;  // of S
  };

  void prepare_contact3(int block);
  const Reduced& reduce(int block);
  LocalMode solve_contact3(int block, const double* u, double* lambda);
  LocalMode solve_general(int block, const double* u, double* lambda);

  const DualProblem* dual_ = nullptr;
  std::vector<Contact3> contact3_;  // nblock; unused for other blocks
  std::vector<Reduced> reduced_;    // nblock; unused for blocks of dimension 3
  std::vector<double> alpha_;       // nblock: the last root
};

}  // namespace touchstone

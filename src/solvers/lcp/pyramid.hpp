// The friction pyramid of the LCP models: Coulomb's cone with facets.
//
// The tangential rows of a contact form groups: translation (two rows), torsion (one), rolling (two). With 4 facets
// each row has an interval of its own, |lambda_j| <= mu_j lambda_n, as in Le Lidec et al. 2024, III-A. With k > 4
// facets, a multiple of 4, a group of two rows has the regular polygon around the disk |lambda_t / mu| <= lambda_n:
// facet normals at the angles 2 pi j / k, so k = 4 would be the square again. The polygon contains the disk; friction
// is too strong towards its corners, by 1 / cos(pi / k).
//
// The law: lambda_n >= 0, u_n >= 0, lambda_n u_n = 0, and the friction of each group minimises u_t . lambda_t over its
// polygon with the present lambda_n.
#pragma once

#include <array>
#include <string>

#include "touchstone/contact/dual.hpp"
#include "touchstone/math/cones.hpp"

namespace touchstone {

class Pyramid {
 public:
  static constexpr int kMaxFacets = 64;

  // Whether there is a pyramid of this many facets; the message names the remedy.
  static bool valid(int facets, std::string& message);

  explicit Pyramid(int facets);

  int facets() const { return facets_; }
  // Corner j of the polygon around the unit circle.
  const double* corner(int j) const { return corner_[static_cast<std::size_t>(j)].data(); }

  // Whether rows j and j + 1 of a contact of size m share a polygon.
  bool is_pair(int m, const double* mu, int j) const {
    return facets_ > 4 && (j == 0 || j == 3) && j + 2 <= m - 1 && mu[j] > 0.0 && mu[j + 1] > 0.0;
  }

  // The nearest point of the polygon { mu y : y in the polygon around the circle of this radius }; 2 numbers.
  void project_pair(const double* mu, double radius, const double* point, double* result) const;

  // The nearest point of the set of all tangential rows, for a given normal impulse. point and result may be the same.
  void project_tangent(int m, const double* mu, double normal, const double* point, double* result) const;

 private:
  int facets_;
  std::array<std::array<double, 2>, kMaxFacets> corner_{};
};

// natv of the pyramid law, in m/s; with 4 facets the same as natv(dual, ContactModel::kLcp, ...).
double pyramid_natv(const DualProblem& dual, const Pyramid& pyramid, const VectorX& lambda, const VectorX& u);

}  // namespace touchstone

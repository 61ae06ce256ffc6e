#include "touchstone/contact/laws/dry_friction.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

double DryFrictionLaw::evaluate(const double* v, double* gamma, double* W) const {
  constexpr double kOne = 1.0;
  const double c = *v - shift;
  const SoftNorm norm(1, &kOne, &c, epsilon);
  *gamma = -bound * norm.slope(0);
  if (W != nullptr) *W = bound * norm.curvature(0, 0);
  return bound * norm.value();
}

}  // namespace touchstone

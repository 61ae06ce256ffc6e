#include "touchstone/contact/laws/dry_friction.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {
namespace {

constexpr double kOne = 1.0;

}  // namespace

void DryFrictionLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  const double slip = (*v - shift) + *dv;
  const SoftNorm norm(1, &kOne, &slip, epsilon);
  *gamma = -bound * norm.slope(0);
  if (W != nullptr) norm.curvature(bound, W, 1);
}

double DryFrictionLaw::cost(const double* v) const {
  const double slip = *v - shift;
  return bound * SoftNorm(1, &kOne, &slip, epsilon).value();
}

}  // namespace touchstone

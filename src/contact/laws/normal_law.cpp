#include "touchstone/contact/laws/normal_law.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

// The integral of s^p from 0.
double integral(double s, Elasticity elasticity) {
  return elasticity == Elasticity::kHertz ? 0.4 * s * s * std::sqrt(s) : 0.5 * s * s;
}

// The integral of s^(p + 1) from 0.
double moment(double s, Elasticity elasticity) {
  return elasticity == Elasticity::kHertz ? s * s * s * std::sqrt(s) / 3.5 : s * s * s / 3.0;
}

}  // namespace

// In s, with 1 - d v = a + b s: l = h k / (h + tau) [a s^(p+1)/(p+1) + b s^(p+2)/(p+2)] from the s where it opens.
double NormalLaw::cost(double v) const {
  if (!at(v).pushes()) return 0.0;
  const double s = at(v).s;
  const double b = dissipation / reach();
  const double a = 1.0 - b * deformation;
  const double open = a < 0.0 ? std::min(s, -a / b) : 0.0;
  const double share = h * stiffness / reach();
  if (open > 0.0 && elasticity == Elasticity::kLinear) {
    const double t = s - open;  // a + b s = b t: no difference of large numbers
    return share * b * t * t * (0.5 * open + t / 3.0);
  }
  return share * (a * (integral(s, elasticity) - integral(open, elasticity)) +
                  b * (moment(s, elasticity) - moment(open, elasticity)));
}

}  // namespace touchstone

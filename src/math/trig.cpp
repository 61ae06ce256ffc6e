#include "touchstone/math/trig.hpp"

#include <cmath>

#include "touchstone/math/vec3.hpp"

namespace touchstone {

namespace {

using IntLanes = long long __attribute__((vector_size(32)));

// pi/2 in three parts of 33, 33 and 53 bits: n times a part is exact for |n| < 2^20.
constexpr double kHalfPi1 = 0x1.921fb54400000p+0;
constexpr double kHalfPi2 = 0x1.0b4611a600000p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kRound = 0x1.8p52;       // adding it rounds to an integer, which lies in the low bits
constexpr double kLargest = 1'000'000.0;  // beyond, the reduction loses bits: use the C library

// Minimax polynomials on [-pi/4, pi/4] in z = r^2: sin r = r + r z P(z), cos r = 1 - z/2 + z^2 Q(z).
constexpr double kSine[] = {-0.16666666666666632027,  0.0083333333333224136538,  -0.00019841269829807819727,
                            2.7557313691921986696e-6, -2.5050758115857872537e-8, 1.5896795685651955796e-10};
constexpr double kCosine[] = {0.041666666666666599476,   -0.0013888888888874123925, 0.000024801587289482184431,
                              -2.7557314352332995519e-7, 2.0875723273279623404e-9,  -1.1359647806894075977e-11};

Lanes polynomial(const double (&c)[6], Lanes z) {
  Lanes p = broadcast(c[5]);
  for (int i = 4; i >= 0; --i) p = p * z + broadcast(c[i]);
  return p;
}

void sincos4(Lanes x, double* sine, double* cosine) {
  const Lanes shifted = x * broadcast(kTwoOverPi) + broadcast(kRound);
  const Lanes n = shifted - broadcast(kRound);
  const Lanes r = ((x - n * broadcast(kHalfPi1)) - n * broadcast(kHalfPi2)) - n * broadcast(kHalfPi3);
  const Lanes z = r * r;
  const Lanes s = r + r * z * polynomial(kSine, z);
  const Lanes c = (broadcast(1.0) - broadcast(0.5) * z) + z * z * polynomial(kCosine, z);
  // Quadrant n mod 4: odd ones swap sine and cosine, and the signs follow from the second bit.
  const IntLanes quadrant = reinterpret_cast<IntLanes>(shifted);
  const IntLanes swap = -(quadrant & 1);
  const IntLanes s_bits = reinterpret_cast<IntLanes>(s), c_bits = reinterpret_cast<IntLanes>(c);
  const IntLanes sine_sign = (quadrant & 2) << 62;
  const IntLanes cosine_sign = ((quadrant + 1) & 2) << 62;
  *reinterpret_cast<Lanes*>(sine) = reinterpret_cast<Lanes>(((s_bits & ~swap) | (c_bits & swap)) ^ sine_sign);
  *reinterpret_cast<Lanes*>(cosine) = reinterpret_cast<Lanes>(((c_bits & ~swap) | (s_bits & swap)) ^ cosine_sign);
}

}  // namespace

void sincos(const double* angle, int count, double* sine, double* cosine) {
  for (int i = 0; i < count; i += 4) {
    const Lanes x = *reinterpret_cast<const Lanes*>(angle + i);
    sincos4(x, sine + i, cosine + i);
    for (int k = i; k < i + 4; ++k) {
      if (std::abs(angle[k]) <= kLargest) continue;  // also false for NaN
      sine[k] = std::sin(angle[k]);
      cosine[k] = std::cos(angle[k]);
    }
  }
}

}  // namespace touchstone

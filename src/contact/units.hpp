// What the certificate and the scaling of problems agree on.
#pragma once

namespace touchstone {

inline constexpr double kGravity = 9.81;   // m/s^2; velocities are compared with what it does in a step
inline constexpr double kHarmless = 1e60;  // numbers between its inverse and this can be squared without care

}  // namespace touchstone

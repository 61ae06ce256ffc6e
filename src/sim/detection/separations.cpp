#include "touchstone/sim/detection/separations.hpp"

#include <limits>

namespace touchstone {
namespace {

constexpr double kUnknown = -std::numeric_limits<double>::infinity();
// Share of the lengths at hand that rounding may have taken from a distance, or from the sums of many small ways.
constexpr double kRounding = 1e-9;

}  // namespace

void Separations::reset(int shapes) {
  odometer_.assign(at(shapes), 0.0);
  spent_.assign(at(shapes), 0.0);
  room_.clear();
}

void Separations::prepare(int count, std::span<const int> fresh_slots) {
  if (room_.size() < at(count)) room_.resize(2 * at(count), kUnknown);
  for (const int slot : fresh_slots) room_[at(slot)] = kUnknown;
}

void Separations::set(const BroadPhase::Pair& pair, double distance, double scale) {
  const double moved = odometer_[at(pair.a)] + odometer_[at(pair.b)];
  room_[at(pair.slot)] = distance + moved - kRounding * (moved + scale);
}

}  // namespace touchstone

// Sine and cosine of many angles at once.
#pragma once

namespace touchstone {

// sine[i] = sin(angle[i]), cosine[i] = cos(angle[i]) for i < count, within 2 units in the last place. The arrays
// must be padded to a multiple of four entries (the padding is overwritten) and 32-byte aligned.
void sincos(const double* angle, int count, double* sine, double* cosine);

}  // namespace touchstone

// Anderson's acceleration of a fixed-point iteration, such as sweeps: x becomes a mixture of the last few images.
//
// Problem: x = g(x), where x <- g(x) converges slowly. f = g(x) - x says how far it is.
// Method: the mixture of the last images whose f is the smallest, if f was linear,
//     x+ = g_k - dG gamma,   gamma = argmin |f_k - dF gamma|,
//   with the differences of consecutive g and f as columns. A step after which |f| has grown by more than half is the
//   last of its history: what was remembered belongs to other modes.
// Reference: Walker and Ni 2011.
// Deviations: normal equations with a small shift instead of QR; ten columns do not need more.
// Cost: two products of a vector with ten columns. No allocation once a size has been seen.
#pragma once

#include "touchstone/math/types.hpp"

namespace touchstone {

class Anderson {
 public:
  void start(int size);
  // `g` is the image of x; it becomes the next x.
  void mix(const VectorX& x, VectorX& g);

 private:
  static constexpr int kMemory = 10;

  MatrixX dF_, dG_;   // size x kMemory, columns used in turn
  MatrixX products_;  // dF' dF
  VectorX f_, last_f_, last_g_;
  int count_ = 0, next_ = 0;  // columns in use, and the one to be written
  bool has_last_ = false;
};

}  // namespace touchstone

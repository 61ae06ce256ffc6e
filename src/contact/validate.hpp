// Whether a problem can be solved at all, said in words.
#pragma once

#include <cstdint>
#include <string>

#include "touchstone/contact/problem.hpp"

namespace touchstone {

enum class ProblemStatus : std::uint8_t {
  kUsable,
  kInvalid,  // the data make no sense
};

struct Verdict {
  ProblemStatus status = ProblemStatus::kUsable;
  std::string message;  // what is wrong, where, its value and the remedy; empty when usable
  double skew = 0.0;    // of G where it was looked at: its skew part relative to its largest entry

  bool usable() const { return status == ProblemStatus::kUsable; }
};

// Largest skew part (G - G') / 2 of G that is taken for inexact data, relative to the largest entry of G: of the scaled
// matrix or of the matrix as given, whichever is less. A recorded pile of rocks has 1.3 %. Solvers take G as it is.
constexpr double kMaxRelativeSkew = 0.1;

// A larger skew part than that of rounded data is worth a warning.
constexpr double kNoticeableSkew = 1e-6;

// Most negative eigenvalue of the scaled symmetric part of G that is taken for rounding, relative to the largest.
constexpr double kMaxRelativeIndefiniteness = 1e-5;

// Sizes, finite numbers, friction >= 0, lo <= hi, R >= 0. One pass over the data, no allocation when all is well.
Verdict validate_data(const ContactProblem& problem);

// Also the skew part and the definiteness of G (see prepare_dual), and A positive definite.
Verdict validate(const ContactProblem& problem);

}  // namespace touchstone

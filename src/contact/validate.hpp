// Whether a problem can be solved at all, said in words.
#pragma once

#include <cstdint>
#include <string>

#include "touchstone/contact/problem.hpp"

namespace touchstone {

enum class ProblemStatus : std::uint8_t {
  kUsable,
  kInvalid,      // the data make no sense
  kUnsupported,  // the data are fine, but not what the caller can work with
};

struct Verdict {
  ProblemStatus status = ProblemStatus::kUsable;
  std::string message;  // what is wrong, where, its value and the remedy; empty when usable

  bool usable() const { return status == ProblemStatus::kUsable; }
};

// Largest skew part of G that is taken for inexact data, relative to the largest entry. Some recorded problems have
// 2e-3.
constexpr double kMaxRelativeSkew = 1e-2;

// Most negative eigenvalue of the scaled symmetric part of G that is taken for rounding, relative to the largest.
constexpr double kMaxRelativeIndefiniteness = 1e-5;

// Sizes, finite numbers, friction >= 0, lo <= hi, R >= 0. One pass over the data, no allocation when all is well.
Verdict validate_data(const ContactProblem& problem);

// Also the skew part and the definiteness of G (see prepare_dual), and A positive definite. Matrix-free operators are
// not probed.
Verdict validate(const ContactProblem& problem);

}  // namespace touchstone

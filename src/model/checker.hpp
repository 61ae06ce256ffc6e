// What the checks of all elements of a model have in common: what is wrong, where, and what to do.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone::checks {

template <typename Element>
Origin element_origin(const char* kind, const Element& element) {
  Origin origin = element.origin;
  if (origin.element.empty()) origin.element = fmt::format("{} '{}'", kind, element.name);
  return origin;
}

[[noreturn]] inline void fail(Origin where, std::string message, std::string remedy) {
  throw InputError({.where = std::move(where), .message = std::move(message), .remedy = std::move(remedy)});
}

// Checks of one element, with its location at hand.
class Checker {
 public:
  template <typename Element>
  Checker(const char* kind, const Element& element) : where_(element_origin(kind, element)) {}

  void require(bool condition, const std::string& message, const std::string& remedy) const {
    if (!condition) fail(where_, message, remedy);
  }
  void finite(const char* what, double value) const {
    if (!std::isfinite(value)) fail(where_, fmt::format("{} is {}", what, value), "give a finite number");
  }
  template <typename Derived>
  void finite(const char* what, const Eigen::DenseBase<Derived>& values) const {
    for (Eigen::Index i = 0; i < values.size(); ++i) finite(what, values.derived().coeff(i));
  }
  void finite(const char* what, const double* values, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) finite(what, values[i]);
  }
  void not_negative(const char* what, double value) const {
    finite(what, value);
    if (value < 0.0) fail(where_, fmt::format("{} is {}", what, value), "it must not be negative");
  }
  void pose(const char* what, const Transform& X) const {
    finite(what, X.position);
    finite(what, X.rotation.coeffs());
    const double length = X.rotation.norm();
    if (std::abs(length - 1.0) > 1e-6) {
      fail(where_, fmt::format("{} has a quaternion of length {}", what, length), "give a unit quaternion");
    }
  }
  void range(const char* what, bool limited, const Vector2& range) const {
    finite(what, range);
    if (limited && !(range[0] < range[1])) {
      fail(where_, fmt::format("{} is [{}, {}]", what, range[0], range[1]),
           "write the lower limit first, then a larger upper one");
    }
  }
  void index(const char* what, int value, std::size_t count) const {
    if (value < 0 || value >= static_cast<int>(count)) {
      fail(where_, fmt::format("{} is {}, but there are {}", what, value, count), "refer to an existing one");
    }
  }
  void impedance(const Impedance& impedance) const {
    finite("solref", impedance.solref.data(), impedance.solref.size());
    finite("solimp", impedance.solimp.data(), impedance.solimp.size());
  }

 private:
  Origin where_;
};

template <typename Element>
void check_names(const char* kind, const std::vector<Element>& elements) {
  std::unordered_map<std::string_view, const Element*> seen;
  for (const Element& element : elements) {
    if (element.name.empty()) continue;
    const auto [found, is_new] = seen.emplace(element.name, &element);
    if (is_new) continue;
    const std::string first = found->second->origin.text();
    fail(element_origin(kind, element),
         fmt::format("the name '{}' is taken{}", element.name, first.empty() ? "" : " by " + first),
         fmt::format("give every {} its own name", kind));
  }
}

}  // namespace touchstone::checks

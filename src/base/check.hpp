#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace touchstone {

// A broken invariant: a mistake in Touchstone, not in its input.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace detail
}  // namespace touchstone

// TOUCHSTONE_CHECK(condition) or TOUCHSTONE_CHECK(condition, "format {}", values...): an invariant
// that is checked in every build. The message is formatted only on failure. Not for inner loops.
#define TOUCHSTONE_CHECK(condition, ...)                                                         \
  do {                                                                                           \
    if (!(condition)) [[unlikely]] {                                                             \
      ::touchstone::detail::check_failed(#condition, __FILE__, __LINE__,                         \
                                         ::std::string{__VA_OPT__(::fmt::format(__VA_ARGS__))}); \
    }                                                                                            \
  } while (false)

#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace touchstone {

// Where in the user's input something is wrong; any part may be empty.
struct SourceLocation {
  std::string file;
  int line = 0;         // from 1; 0 when unknown
  std::string element;  // such as: joint 'knee'

  // "FILE:LINE: element", leaving out what is unknown.
  std::string text() const;
};

struct ErrorDetail {
  SourceLocation where;
  std::string message;  // what is wrong, with the offending value
  std::string remedy;   // what to do about it
};

// Something the caller or the input did wrong. what() is one readable line:
// "FILE:LINE: element: message; remedy", and safe to print (base/printable.hpp); the parts are as they were given.
//
//   throw Error("unknown solver '{}'", name);
//   throw InputError({.where = {path, line, "joint 'knee'"},
//                     .message = fmt::format("range is [{}, {}]", low, high),
//                     .remedy = "write the lower limit first"});
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorDetail detail);

  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : Error(make_detail(fmt::format(format, std::forward<Args>(args)...))) {}

  template <typename... Args>
  explicit Error(SourceLocation where, fmt::format_string<Args...> format, Args&&... args)
      : Error(make_detail(fmt::format(format, std::forward<Args>(args)...), std::move(where))) {}

  const SourceLocation& where() const noexcept { return detail_->where; }
  const std::string& message() const noexcept { return detail_->message; }
  const std::string& remedy() const noexcept { return detail_->remedy; }

 private:
  static ErrorDetail make_detail(std::string message);
  static ErrorDetail make_detail(std::string message, SourceLocation where);

  std::shared_ptr<const ErrorDetail> detail_;  // shared, because copying an exception must not throw
};

namespace detail {
[[noreturn]] void throw_wrong_size(const char* what, std::ptrdiff_t size, std::ptrdiff_t expected);
}

// The length of a vector that the caller gave. Cheap enough for every public call.
inline void require_size(const char* what, std::ptrdiff_t size, std::ptrdiff_t expected) {
  if (size != expected) [[unlikely]]
    detail::throw_wrong_size(what, size, expected);
}

// A file or a model that cannot be used.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace touchstone

#include "touchstone/base/error.hpp"

#include "touchstone/base/printable.hpp"

namespace touchstone {
namespace {

std::string one_line(const ErrorDetail& detail) {
  std::string line = detail.where.text();
  if (!line.empty()) line += ": ";
  line += detail.message;
  if (!detail.remedy.empty()) {
    line += "; ";
    line += detail.remedy;
  }
  return printable_lines(line);
}

}  // namespace

std::string SourceLocation::text() const {
  std::string text = file;
  if (!file.empty() && line > 0) {
    text += ':';
    text += std::to_string(line);
  }
  if (!element.empty()) {
    if (!text.empty()) text += ": ";
    text += element;
  }
  return text;
}

Error::Error(ErrorDetail detail)
    : std::runtime_error(one_line(detail)), detail_(std::make_shared<const ErrorDetail>(std::move(detail))) {}

ErrorDetail Error::make_detail(std::string message) { return make_detail(std::move(message), {}); }

ErrorDetail Error::make_detail(std::string message, SourceLocation where) {
  return {.where = std::move(where), .message = std::move(message), .remedy = {}};
}

void detail::throw_wrong_size(const char* what, std::ptrdiff_t size, std::ptrdiff_t expected) {
  throw Error("{} has {} entries, the model needs {}", what, size, expected);
}

}  // namespace touchstone

#include "touchstone/solvers/options.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

template <typename Number>
bool parse(std::string_view text, Number low, Number high, Number& value) {
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || !(parsed >= low && parsed <= high)) return false;
  value = parsed;
  return true;
}

template <typename Number>
std::string range_text(Number low, Number high) {
  return fmt::format("[{}, {}]", low, high);
}

std::string known_names(const std::vector<OptionField>& fields) {
  std::string names;
  for (const OptionField& field : fields) names += (names.empty() ? "" : ", ") + field.name;
  return names;
}

}  // namespace

void OptionList::add(std::string_view name, double& value, double low, double high, std::string_view help) {
  fields_.push_back({std::string(name), "a number", range_text(low, high), std::string(help),
                     [&value] { return fmt::format("{}", value); },
                     [&value, low, high](std::string_view text) { return parse(text, low, high, value); }});
}

void OptionList::add(std::string_view name, int& value, int low, int high, std::string_view help) {
  const std::string range =
      high == std::numeric_limits<int>::max() ? fmt::format("at least {}", low) : range_text(low, high);
  fields_.push_back({std::string(name), "an integer", range, std::string(help),
                     [&value] { return fmt::format("{}", value); },
                     [&value, low, high](std::string_view text) { return parse(text, low, high, value); }});
}

void OptionList::add(std::string_view name, bool& value, std::string_view help) {
  fields_.push_back({std::string(name), "a flag", "true or false", std::string(help),
                     [&value] { return std::string(value ? "true" : "false"); },
                     [&value](std::string_view text) {
                       const bool yes = text == "true" || text == "1" || text == "on" || text == "yes";
                       const bool no = text == "false" || text == "0" || text == "off" || text == "no";
                       if (yes || no) value = yes;
                       return yes || no;
                     }});
}

void OptionList::add_choice(std::string_view name, const std::vector<std::string_view>& names, std::string_view help,
                            std::function<int()> get, std::function<void(int)> set) {
  std::vector<std::string> choices(names.begin(), names.end());
  std::string range;
  for (const std::string& choice : choices) range += (range.empty() ? "" : "|") + choice;
  fields_.push_back({std::string(name), "a choice", range, std::string(help),
                     [choices, get = std::move(get)] { return choices[static_cast<std::size_t>(get())]; },
                     [choices, set = std::move(set)](std::string_view text) {
                       for (std::size_t i = 0; i < choices.size(); ++i) {
                         if (choices[i] != text) continue;
                         set(static_cast<int>(i));
                         return true;
                       }
                       return false;
                     }});
}

void SolverOptions::describe(OptionList& list) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  list.add("max_iterations", max_iterations, 0, std::numeric_limits<int>::max(), "iterations before giving up");
  list.add("absolute_tolerance", absolute_tolerance, 0.0, kLargest, "natv (m/s) that is good enough");
  list.add("relative_tolerance", relative_tolerance, 0.0, kLargest, "natv relative to the free velocity");
  list.add("time_limit", time_limit, 0.0, std::numeric_limits<double>::infinity(),
           "wall time of one solve (s), looked at between iterations; inf: none");
  list.add("warm_start", warm_start, "begin from the given impulses");
  list.add("record_history", record_history, "keep the residual of every iteration");
  list.add("validation", validation, {"data", "full"}, "how much of the problem is checked first");
}

std::vector<OptionField> list_options(SolverOptions& options) {
  OptionList list;
  options.describe(list);
  return list.fields();
}

void set_option(SolverOptions& options, std::string_view name, std::string_view value) {
  const std::vector<OptionField> fields = list_options(options);
  for (const OptionField& field : fields) {
    if (field.name != name) continue;
    if (field.set(value)) return;
    throw Error({.message = fmt::format("option '{}' cannot be '{}'", name, value),
                 .remedy = fmt::format("give {} ({})", field.kind, field.range)});
  }
  throw Error({.message = fmt::format("there is no option '{}'", name),
               .remedy = fmt::format("this solver has {}", known_names(fields))});
}

void set_option(SolverOptions& options, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw Error({.message = fmt::format("'{}' is not an option", assignment), .remedy = "write key=value"});
  }
  set_option(options, assignment.substr(0, equals), assignment.substr(equals + 1));
}

}  // namespace touchstone

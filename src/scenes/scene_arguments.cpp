#include "touchstone/scenes/scene_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/similar.hpp"

namespace touchstone {
namespace {

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace

std::string SceneParameter::default_text() const {
  return choices.empty() ? fmt::format("{:g}", value) : std::string(choices[static_cast<std::size_t>(value)]);
}

std::string SceneParameter::range_text() const {
  if (choices.empty()) {
    return fmt::format("{} to {}{}", minimum, maximum,
                       unit.empty() || unit == "integer" ? "" : fmt::format(" {}", unit));
  }
  return fmt::format("{}", fmt::join(choices, "|"));
}

SceneArguments::SceneArguments(const SceneInfo& info, std::string_view text) : info_(info) {
  for (const SceneParameter& parameter : info.parameters) values_.push_back(parameter.value);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view part = text.substr(start, comma - start);
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos) {
      set(index(part.substr(0, equals)), part.substr(equals + 1));
    } else {
      if (start != 0 || info.parameters.empty()) index(part);  // throws: no such parameter
      set(0, part);
    }
    start = comma + 1;
  }
}

std::size_t SceneArguments::index(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < info_.parameters.size(); ++i) {
    if (info_.parameters[i].name == name) return i;
    names.emplace_back(info_.parameters[i].name);
  }
  throw InputError({.where = {"", 0, fmt::format("scene '{}'", info_.name)},
                    .message = fmt::format("it has no parameter '{}'", name),
                    .remedy = names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "))});
}

void SceneArguments::set(std::size_t parameter, std::string_view value) {
  const SceneParameter& p = info_.parameters[parameter];
  double number = 0.0;
  bool good = false;
  if (p.choices.empty()) {
    good = parse_number(value, number) && number >= p.minimum && number <= p.maximum &&
           (p.unit != "integer" || number == std::floor(number));
  } else {
    const auto found = std::find(p.choices.begin(), p.choices.end(), value);
    good = found != p.choices.end();
    number = static_cast<double>(found - p.choices.begin());
  }
  if (!good) {
    throw InputError({.where = {"", 0, fmt::format("scene '{}'", info_.name)},
                      .message = fmt::format("{} is '{}'", p.name, value),
                      .remedy = fmt::format("give {}{} ({})", p.unit == "integer" ? "an integer from " : "",
                                            p.range_text(), p.help)});
  }
  values_[parameter] = number;
}

double SceneArguments::number(std::string_view name) const { return values_[index(name)]; }

std::string_view SceneArguments::choice(std::string_view name) const {
  const std::size_t i = index(name);
  TOUCHSTONE_CHECK(!info_.parameters[i].choices.empty(), "{} is no choice", name);
  return info_.parameters[i].choices[static_cast<std::size_t>(values_[i])];
}

}  // namespace touchstone

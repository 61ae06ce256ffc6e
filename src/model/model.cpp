#include "touchstone/model/model.hpp"

#include <algorithm>
#include <numeric>

#include "touchstone/base/error.hpp"

namespace touchstone {

std::string_view to_string(ElementKind kind) {
  switch (kind) {
    case ElementKind::kBody:
      return "body";
    case ElementKind::kJoint:
      return "joint";
    case ElementKind::kShape:
      return "shape";
    case ElementKind::kSite:
      return "site";
    case ElementKind::kTendon:
      return "tendon";
    case ElementKind::kActuator:
      return "actuator";
    case ElementKind::kSensor:
      return "sensor";
    case ElementKind::kEquality:
      return "equality";
    case ElementKind::kKeyframe:
      return "keyframe";
  }
  return "?";
}

int Model::find(ElementKind kind, std::string_view element_name) const {
  const auto index = static_cast<std::size_t>(kind);
  if (index >= names.size()) return -1;
  const auto found = names[index].find(std::string(element_name));
  return found == names[index].end() ? -1 : found->second;
}

namespace {

// Number of single-character edits between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

int find_or_throw(const Model& model, ElementKind kind, std::string_view name) {
  const int found = model.find(kind, name);
  if (found >= 0) return found;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const auto& [candidate, index] : model.names[static_cast<std::size_t>(kind)]) {
    near.emplace_back(edit_distance(name, candidate), candidate);
  }
  const std::size_t shown = std::min<std::size_t>(3, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(shown), near.end());
  std::string remedy = near.empty() ? "there is none" : "the nearest are";
  for (std::size_t i = 0; i < shown; ++i) remedy += (i == 0 ? " '" : ", '") + near[i].second + "'";
  throw Error({.where = {model.file, 0, {}},
               .message = fmt::format("no {} is called '{}'", to_string(kind), name),
               .remedy = remedy});
}

}  // namespace

int Model::body(std::string_view n) const { return find_or_throw(*this, ElementKind::kBody, n); }
int Model::joint(std::string_view n) const { return find_or_throw(*this, ElementKind::kJoint, n); }
int Model::shape(std::string_view n) const { return find_or_throw(*this, ElementKind::kShape, n); }
int Model::site(std::string_view n) const { return find_or_throw(*this, ElementKind::kSite, n); }
int Model::tendon(std::string_view n) const { return find_or_throw(*this, ElementKind::kTendon, n); }
int Model::actuator(std::string_view n) const { return find_or_throw(*this, ElementKind::kActuator, n); }
int Model::sensor(std::string_view n) const { return find_or_throw(*this, ElementKind::kSensor, n); }
int Model::keyframe(std::string_view n) const { return find_or_throw(*this, ElementKind::kKeyframe, n); }

double Model::total_mass() const {
  double mass = 0.0;
  for (const BodyInertia& body : defaults.body_inertia) mass += body.mass;
  return mass;
}

}  // namespace touchstone

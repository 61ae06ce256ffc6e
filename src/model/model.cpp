#include "touchstone/model/model.hpp"

#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/similar.hpp"

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
    case ElementKind::kLoopJoint:
      return "loop joint";
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

int find_or_throw(const Model& model, ElementKind kind, std::string_view name) {
  const int found = model.find(kind, name);
  if (found >= 0) return found;
  std::vector<std::string> names;
  for (const auto& [candidate, index] : model.names[static_cast<std::size_t>(kind)]) names.push_back(candidate);
  std::sort(names.begin(), names.end());
  const std::vector<std::string> near = nearest_names(name, names);
  std::string remedy = near.empty() ? "there is none" : "the nearest are";
  for (std::size_t i = 0; i < near.size(); ++i) remedy += (i == 0 ? " '" : ", '") + near[i] + "'";
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
int Model::loop_joint(std::string_view n) const { return find_or_throw(*this, ElementKind::kLoopJoint, n); }

double Model::total_mass() const {
  double mass = 0.0;
  for (const BodyInertia& body : defaults.body_inertia) mass += body.mass;
  return mass;
}

}  // namespace touchstone

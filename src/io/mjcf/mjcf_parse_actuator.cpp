// Actuators. All kinds are one: <motor>, <position>, ... are shortcuts that set gain, bias and dynamics of a general
// actuator. A default class has one actuator prototype; a shortcut takes its parameters from the nearest class that
// was written with the same shortcut or as <general>, and everything else from its own class.
#include <array>
#include <cmath>
#include <numbers>

#include "touchstone/io/mjcf/mjcf_parser.hpp"
#include "touchstone/io/mjcf/mjcf_schema.hpp"

namespace touchstone::mjcf {
namespace {

Shortcut shortcut_of(std::string_view tag) {
  if (tag == "general") return Shortcut::kGeneral;
  if (tag == "motor") return Shortcut::kMotor;
  if (tag == "position") return Shortcut::kPosition;
  if (tag == "velocity") return Shortcut::kVelocity;
  if (tag == "intvelocity") return Shortcut::kIntVelocity;
  if (tag == "damper") return Shortcut::kDamper;
  if (tag == "cylinder") return Shortcut::kCylinder;
  return Shortcut::kNone;
}

// MuJoCo keeps ten parameters; the supported types use the first three.
void read_parameters(const XmlElement& element, std::string_view attribute, std::array<double, 3>& out) {
  std::vector<double> numbers;
  if (!read(element, attribute, numbers)) return;
  for (std::size_t i = 0; i < std::min(numbers.size(), out.size()); ++i) out[i] = numbers[i];
}

void reset_parameters(Actuator& actuator) {
  actuator.dynamics = ActuatorDynamics::kNone;
  actuator.time_constant = 1.0;
  actuator.gain_type = ActuatorGain::kFixed;
  actuator.gain = {1.0, 0.0, 0.0};
  actuator.bias_type = ActuatorBias::kNone;
  actuator.bias = {0.0, 0.0, 0.0};
}

}  // namespace

void Parser::parse_actuators(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (!is_known_element("actuator", element.tag)) continue;
    count_element(element);
    const int index = class_of(element, 0);
    const DefaultClass& defaults = classes_[static_cast<std::size_t>(index)];
    ActuatorSpec spec = defaults.actuator;
    spec.id = new_id();
    spec.actuator.origin = origin(element);
    spec.compiler = compiler_;
    std::string unsupported = defaults.unsupported_actuator;
    if (!read_actuator(element, spec, index, unsupported)) {
      refuse(element, unsupported);
      spec_.dropped.push_back({Kind::kActuator, spec.actuator.name});
      continue;
    }
    finish_actuator(element, spec);
    spec_.actuators.push_back(std::move(spec));
  }
}

// False if the actuator is of a kind that is not supported.
bool Parser::read_actuator(const XmlElement& element, ActuatorSpec& spec, int class_index, std::string& unsupported) {
  read_actuator_common(element, spec);
  const Shortcut shortcut = shortcut_of(element.tag);
  if (shortcut == Shortcut::kNone) {
    unsupported = fmt::format("a {} actuator", element.tag);
    spec.shortcut = Shortcut::kNone;
    return false;
  }
  if (shortcut == Shortcut::kGeneral) {
    read_general(element, spec, unsupported);
    spec.shortcut = Shortcut::kGeneral;
  } else {
    unsupported.clear();
    read_shortcut(element, spec, shortcut, class_index);
  }
  read_inherited_range(element, spec);
  read_transmission(element, spec, unsupported);
  return unsupported.empty();
}

// A servo may take its range from its target. Between class and element the more specific one of inheritrange and the
// range itself wins; on one element they contradict each other.
void Parser::read_inherited_range(const XmlElement& element, ActuatorSpec& spec) const {
  const bool integrates = spec.actuator.dynamics == ActuatorDynamics::kIntegrator;
  const std::string_view attribute = integrates ? "actrange" : "ctrlrange";
  const bool given = element.has(attribute);
  const bool inherits = element.has("inheritrange") && spec.inherit_range > 0.0;
  if (given && inherits) fail(element, fmt::format("inheritrange and {} are both given", attribute));
  if (given) spec.inherit_range = 0.0;
  if (inherits) (integrates ? spec.activation : spec.control).range.setZero();
}

void Parser::read_actuator_common(const XmlElement& element, ActuatorSpec& spec) {
  Actuator& actuator = spec.actuator;
  read(element, "name", actuator.name);
  read(element, "group", actuator.group);
  read_switch(element, "ctrllimited", spec.control.limited);
  read(element, "ctrlrange", spec.control.range);
  read_switch(element, "forcelimited", spec.force.limited);
  read(element, "forcerange", spec.force.range);
  read_switch(element, "actlimited", spec.activation.limited);
  read(element, "actrange", spec.activation.range);
  read_numbers(element, "gear", actuator.gear.data(), 1, 6);
  read(element, "cranklength", actuator.crank_length);
  read(element, "actearly", actuator.early_activation);
  read(element, "inheritrange", spec.inherit_range);
  if (spec.inherit_range < 0.0) fail_attribute(element, "inheritrange", "it is negative");
  read_numbers(element, "damping", spec.damping.data(), 1, 3);
  read(element, "armature", spec.armature);
  int samples = 0;
  if (read(element, "nsample", samples) && samples != 0)
    refuse(element, fmt::format("a history (nsample '{}')", samples));
  double delay = 0.0;
  if (read(element, "delay", delay) && delay != 0.0) refuse(element, fmt::format("a delay of '{}'", delay));
}

void Parser::read_transmission(const XmlElement& element, ActuatorSpec& spec, std::string& unsupported) {
  struct Target {
    std::string_view attribute;
    TransmissionType type;
    Kind kind;
  };
  static constexpr Target kTargets[] = {{"joint", TransmissionType::kJoint, Kind::kJoint},
                                        {"jointinparent", TransmissionType::kJointInParent, Kind::kJoint},
                                        {"tendon", TransmissionType::kTendon, Kind::kTendon},
                                        {"cranksite", TransmissionType::kSliderCrank, Kind::kSite},
                                        {"site", TransmissionType::kSite, Kind::kSite}};
  int found = 0;
  for (const Target& target : kTargets) {
    std::string name;
    if (!read(element, target.attribute, name)) continue;
    ++found;
    spec.target = {target.kind, name};
    spec.actuator.transmission = target.type;
  }
  if (element.has("body")) unsupported = "an actuator on a body's contacts";
  if (found > 1) fail(element, "more than one of joint, jointinparent, tendon, site and cranksite is given");
  std::string site;
  if (read(element, "refsite", site) || read(element, "slidersite", site)) spec.second = {Kind::kSite, site};
  const bool crank = spec.actuator.transmission == TransmissionType::kSliderCrank;
  if (element.has("slidersite") && found == 1 && !crank) fail(element, "slidersite is given without cranksite");
  if (element.has("refsite") && found == 1 && spec.actuator.transmission != TransmissionType::kSite) {
    fail(element, "refsite is given without site");
  }
}

void Parser::read_general(const XmlElement& element, ActuatorSpec& spec, std::string& unsupported) const {
  Actuator& actuator = spec.actuator;
  const int dynamics = read_keyword(
      element, "dyntype", {"none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "pid", "user"});
  const int gain = read_keyword(element, "gaintype", {"fixed", "affine", "muscle", "dcmotor", "pid", "so3", "user"});
  const int bias = read_keyword(element, "biastype", {"none", "affine", "muscle", "dcmotor", "so3", "user"});
  if (dynamics >= 0 && dynamics <= 3) actuator.dynamics = static_cast<ActuatorDynamics>(dynamics);
  if (gain >= 0 && gain <= 1) actuator.gain_type = static_cast<ActuatorGain>(gain);
  if (bias >= 0 && bias <= 1) actuator.bias_type = static_cast<ActuatorBias>(bias);
  if (dynamics > 3) unsupported = fmt::format("an actuator with dyntype '{}'", *element.find("dyntype"));
  if (gain > 1) unsupported = fmt::format("an actuator with gaintype '{}'", *element.find("gaintype"));
  if (bias > 1) unsupported = fmt::format("an actuator with biastype '{}'", *element.find("biastype"));
  int dimension = -1;
  if (read(element, "actdim", dimension) && dimension > 1) {
    unsupported = fmt::format("an actuator with actdim '{}'", dimension);
  }
  read_parameters(element, "gainprm", actuator.gain);
  read_parameters(element, "biasprm", actuator.bias);
  std::array<double, 3> dynamics_parameters{actuator.time_constant, 0.0, 0.0};
  read_parameters(element, "dynprm", dynamics_parameters);
  actuator.time_constant = dynamics_parameters[0];
}

const ActuatorSpec* Parser::shortcut_source(const ActuatorSpec& spec, Shortcut shortcut, int class_index) const {
  const auto usable = [&](const ActuatorSpec& candidate) {
    if (candidate.shortcut == shortcut) return true;
    const bool gain_fits = candidate.actuator.gain_type == ActuatorGain::kFixed || shortcut == Shortcut::kDamper;
    return candidate.shortcut == Shortcut::kGeneral && gain_fits;
  };
  if (usable(spec)) return &spec;
  for (int c = class_index; c >= 0; c = classes_[static_cast<std::size_t>(c)].parent) {
    const DefaultClass& candidate = classes_[static_cast<std::size_t>(c)];
    if (candidate.unsupported_actuator.empty() && usable(candidate.actuator)) return &candidate.actuator;
  }
  return nullptr;
}

// bias[2] is minus kv, or a positive damping ratio.
void Parser::read_servo_damping(const XmlElement& element, ActuatorSpec& spec) const {
  double kv = 0.0, ratio = 0.0;
  const bool has_kv = read(element, "kv", kv);
  const bool has_ratio = read(element, "dampratio", ratio);
  if (has_kv && has_ratio) fail(element, "kv and dampratio are both given");
  if (kv < 0.0) fail_attribute(element, "kv", "it is negative");
  if (ratio < 0.0) fail_attribute(element, "dampratio", "it is negative");
  if (has_kv) spec.actuator.bias[2] = -kv;
  if (has_ratio) spec.actuator.bias[2] = ratio;
}

void Parser::read_position_servo(const XmlElement& element, ActuatorSpec& spec, const Actuator& inherited) const {
  Actuator& actuator = spec.actuator;
  double kp = inherited.gain[0];
  read(element, "kp", kp);
  actuator.gain[0] = kp;
  actuator.bias_type = ActuatorBias::kAffine;
  actuator.bias = {0.0, -kp, inherited.bias[2]};
  read_servo_damping(element, spec);
  if (spec.shortcut == Shortcut::kIntVelocity) {
    actuator.dynamics = ActuatorDynamics::kIntegrator;
    return;
  }
  double time_constant = inherited.dynamics == ActuatorDynamics::kFilterExact ? inherited.time_constant : 0.0;
  read(element, "timeconst", time_constant);
  if (time_constant < 0.0) fail_attribute(element, "timeconst", "it is negative");
  if (time_constant > 0.0) {
    actuator.dynamics = ActuatorDynamics::kFilterExact;
    actuator.time_constant = time_constant;
  }
}

void Parser::read_shortcut(const XmlElement& element, ActuatorSpec& spec, Shortcut shortcut, int class_index) const {
  const ActuatorSpec* source = shortcut_source(spec, shortcut, class_index);
  const Actuator inherited = source ? source->actuator : Actuator{};
  Actuator& actuator = spec.actuator;
  reset_parameters(actuator);
  spec.shortcut = shortcut;
  switch (shortcut) {
    case Shortcut::kPosition:
    case Shortcut::kIntVelocity:
      read_position_servo(element, spec, inherited);
      break;
    case Shortcut::kVelocity: {
      double kv = inherited.gain[0];
      read(element, "kv", kv);
      actuator.gain[0] = kv;
      actuator.bias_type = ActuatorBias::kAffine;
      actuator.bias = {0.0, 0.0, -kv};
      break;
    }
    case Shortcut::kDamper: {
      double kv = source ? -inherited.gain[2] : 1.0;
      read(element, "kv", kv);
      if (kv < 0.0) fail_attribute(element, "kv", "it is negative");
      actuator.gain_type = ActuatorGain::kAffine;
      actuator.gain = {0.0, 0.0, -kv};
      spec.control.limited = Switch::kTrue;
      if (spec.control.range.minCoeff() < 0.0) {
        fail(element, fmt::format("ctrlrange is [{}, {}]", spec.control.range[0], spec.control.range[1]),
             "the control of a damper cannot be negative");
      }
      break;
    }
    case Shortcut::kCylinder: {
      actuator.dynamics = ActuatorDynamics::kFilter;
      actuator.time_constant = inherited.time_constant;
      read(element, "timeconst", actuator.time_constant);
      actuator.gain[0] = inherited.gain[0];
      read(element, "area", actuator.gain[0]);
      double diameter = 0.0;
      if (read(element, "diameter", diameter)) actuator.gain[0] = std::numbers::pi / 4.0 * diameter * diameter;
      actuator.bias_type = ActuatorBias::kAffine;
      actuator.bias = inherited.bias;
      read(element, "bias", actuator.bias);
      break;
    }
    default:
      break;  // a motor has no parameters
  }
}

void Parser::finish_actuator(const XmlElement& element, ActuatorSpec& spec) {
  Actuator& actuator = spec.actuator;
  if (spec.target.kind == Kind::kNone) {
    fail(element, "it acts on nothing", "give one of joint, jointinparent, tendon, site and cranksite");
  }
  const bool crank = actuator.transmission == TransmissionType::kSliderCrank;
  if (crank && spec.second.kind == Kind::kNone) fail_missing(element, "slidersite");
  if (crank && actuator.crank_length <= 0.0) {
    fail(element, fmt::format("cranklength is {}", actuator.crank_length), "it must be positive");
  }
  if (spec.damping[1] != 0.0 || spec.damping[2] != 0.0) refuse(element, "polynomial damping");
  const bool will_inherit = spec.inherit_range > 0.0 && is_position_servo(actuator);
  if (!will_inherit || actuator.dynamics == ActuatorDynamics::kIntegrator)
    finish_limit(element, "ctrlrange", spec.control);
  if (!will_inherit || actuator.dynamics != ActuatorDynamics::kIntegrator)
    finish_limit(element, "actrange", spec.activation);
  finish_limit(element, "forcerange", spec.force);
  if (spec.activation.limited == Switch::kTrue && actuator.dynamics == ActuatorDynamics::kNone) {
    fail(element, "actrange limits an activation, but dyntype is none");
  }
}

}  // namespace touchstone::mjcf

#include "touchstone/viewer/protocol.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/viewer/json_parts.hpp"

namespace touchstone::viewer {
namespace {

constexpr int kVersion = 1;
constexpr double kFarthest = 1e6;  // m, of a drag's points

constexpr std::array<std::pair<std::string_view, CommandType>, 11> kCommands{{
    {"play", CommandType::kPlay},
    {"pause", CommandType::kPause},
    {"reset", CommandType::kReset},
    {"step", CommandType::kStep},
    {"speed", CommandType::kSpeed},
    {"solver", CommandType::kSolver},
    {"time_step", CommandType::kTimeStep},
    {"friction", CommandType::kFriction},
    {"control", CommandType::kControl},
    {"drag", CommandType::kDrag},
    {"release", CommandType::kRelease},
}};

[[noreturn]] void refuse(std::string message, std::string remedy = {}) {
  throw InputError(ErrorDetail{.where = {}, .message = std::move(message), .remedy = std::move(remedy)});
}

// A finite number of the message, within limits.
double number_at(const Json& message, const char* key, double low, double high) {
  const auto found = message.find(key);
  if (found == message.end() || !found->is_number()) refuse(fmt::format("'{}' must be a number", key));
  const auto value = found->get<double>();
  if (!(value >= low && value <= high)) {
    refuse(fmt::format("'{}' is {}", key, value), fmt::format("give a number from {} to {}", low, high));
  }
  return value;
}

int integer_at(const Json& message, const char* key, int low, int high) {
  const double value = number_at(message, key, low, high);
  if (value != std::floor(value)) refuse(fmt::format("'{}' is {}", key, value), "give a whole number");
  return static_cast<int>(value);
}

Vector3 point_at(const Json& message, const char* key) {
  const auto found = message.find(key);
  const bool good = found != message.end() && found->is_array() && found->size() == 3 &&
                    std::all_of(found->begin(), found->end(), [](const Json& c) { return c.is_number(); });
  if (!good) refuse(fmt::format("'{}' must be three numbers", key));
  Vector3 point((*found)[0].get<double>(), (*found)[1].get<double>(), (*found)[2].get<double>());
  if (!(point.norm() <= kFarthest)) refuse(fmt::format("'{}' is farther away than {} m", key, kFarthest));
  return point;
}

CommandType type_of(const Json& message) {
  const auto found = message.is_object() ? message.find("type") : message.end();
  if (found == message.end() || !found->is_string()) refuse("a message must be an object with a 'type'");
  const auto& name = found->get_ref<const std::string&>();
  const auto* const known =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const auto& entry) { return entry.first == name; });
  if (known == kCommands.end()) refuse(fmt::format("unknown command '{:.40}'", name));
  return known->second;
}

Json range_object(const LiveRange& range) {
  return {{"value", range.value}, {"minimum", range.minimum}, {"maximum", range.maximum}};
}

Json state_object(const LiveSource& source, const Pace& pace) {
  const LiveChoices choices = source.choices();
  Json state{{"playing", pace.playing}, {"speed", pace.speed}, {"can_drag", choices.drag}};
  if (!choices.solvers.empty()) {
    state["solvers"] = choices.solvers;
    state["solver"] = choices.solver;
  }
  if (choices.time_step) state["time_step"] = range_object(*choices.time_step);
  if (choices.friction) state["friction"] = range_object(*choices.friction);
  if (choices.controls) state["controls"] = source.controls();
  return state;
}

void check_range(const std::optional<LiveRange>& range, const char* what, double value) {
  if (!range) refuse(fmt::format("the {} cannot be chosen here", what));
  if (!(value >= range->minimum && value <= range->maximum)) {
    refuse(fmt::format("the {} is {}", what, value),
           fmt::format("give a number from {} to {}", range->minimum, range->maximum));
  }
}

void check_control(const Command& command, const LiveSource& source) {
  const Model& model = *source.model();
  if (!source.choices().controls) refuse("there are no controls to set");
  if (command.index >= model.nu) refuse(fmt::format("there is no control {}", command.index));
  const Actuator& actuator = model.actuators[static_cast<std::size_t>(command.index)];
  if (actuator.control_limited &&
      !(command.value >= actuator.control_range[0] && command.value <= actuator.control_range[1])) {
    refuse(fmt::format("control '{}' is {}", actuator.name, command.value),
           fmt::format("give a number from {} to {}", actuator.control_range[0], actuator.control_range[1]));
  }
}

void check_drag(const Command& command, const LiveSource& source) {
  const Model& model = *source.model();
  if (!source.choices().drag) refuse("bodies cannot be pulled here");
  if (command.drag.body >= model.nbody) refuse(fmt::format("there is no body {}", command.drag.body));
  if (model.body_kernels[static_cast<std::size_t>(command.drag.body)].tree < 0) {
    refuse(fmt::format("body '{}' does not move", model.bodies[static_cast<std::size_t>(command.drag.body)].name));
  }
}

}  // namespace

Command parse_command(std::string_view text) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr int kMostElements = std::numeric_limits<int>::max();
  const Json message = Json::parse(text, nullptr, false);
  if (message.is_discarded()) refuse("the message is not JSON");
  Command command;
  command.type = type_of(message);
  switch (command.type) {
    case CommandType::kStep:
      if (message.contains("count")) command.count = integer_at(message, "count", 1, kMostSteps);
      break;
    case CommandType::kSpeed:
      command.value = number_at(message, "value", kSlowest, kFastest);
      break;
    case CommandType::kTimeStep:
    case CommandType::kFriction:
      command.value = number_at(message, "value", 0.0, kLargest);
      break;
    case CommandType::kSolver:
      if (!message.contains("name") || !message["name"].is_string()) refuse("'name' must be text");
      command.name = message["name"].get<std::string>();
      break;
    case CommandType::kControl:
      command.index = integer_at(message, "index", 0, kMostElements);
      command.value = number_at(message, "value", -kLargest, kLargest);
      break;
    case CommandType::kDrag:
      command.drag.body = integer_at(message, "body", 1, kMostElements);
      command.drag.point = point_at(message, "point");
      command.drag.target = point_at(message, "target");
      break;
    case CommandType::kPlay:
    case CommandType::kPause:
    case CommandType::kReset:
    case CommandType::kRelease:
      break;
  }
  return command;
}

void check_command(const Command& command, const LiveSource& source) {
  switch (command.type) {
    case CommandType::kSolver: {
      const std::vector<std::string> solvers = source.choices().solvers;
      if (std::find(solvers.begin(), solvers.end(), command.name) == solvers.end()) {
        refuse(fmt::format("there is no solver '{:.40}' to choose here", command.name));
      }
      break;
    }
    case CommandType::kTimeStep:
      check_range(source.choices().time_step, "time step", command.value);
      break;
    case CommandType::kFriction:
      check_range(source.choices().friction, "friction", command.value);
      break;
    case CommandType::kControl:
      check_control(command, source);
      break;
    case CommandType::kDrag:
      check_drag(command, source);
      break;
    default:
      break;
  }
}

std::string hello_message(const LiveSource& source, const Pace& pace) {
  Json channels = Json::array();
  for (const Channel& channel : source.channels()) channels.push_back(channel_object(channel));
  return dump({{"type", "hello"},
               {"version", kVersion},
               {"title", source.title()},
               {"subtitle", source.subtitle()},
               {"scene", scene_object(*source.model(), source.initial_state())},
               {"channels", std::move(channels)},
               {"state", state_object(source, pace)}});
}

std::string state_message(const LiveSource& source, const Pace& pace) {
  return dump({{"type", "state"}, {"state", state_object(source, pace)}});
}

std::string error_message(std::string_view message) { return dump({{"type", "error"}, {"message", message}}); }

std::string frame_message(const Frame& frame) {
  Json parts{{"time", frame.time},
             {"contacts", frame.contacts.size()},
             {"values", frame.values},
             {"certificate", certificate_array(frame.certificate)}};
  if (!frame.asleep.empty()) parts["asleep"] = frame.asleep;
  for (const Mark& mark : frame.marks) parts["marks"].push_back({mark.time, static_cast<int>(mark.kind)});
  if (!frame.low.empty()) parts["low"] = frame.low;
  if (!frame.high.empty()) parts["high"] = frame.high;
  std::string header = dump(parts);
  header.append((4 - header.size() % 4) % 4, ' ');

  std::vector<float> numbers;
  numbers.reserve(7 * frame.poses.size() + 15 * frame.contacts.size());
  const auto add = [&numbers](double x) { numbers.push_back(static_cast<float>(x)); };
  const auto add_vector = [&add](const Vector3& v) {
    for (int k = 0; k < 3; ++k) add(v[k]);
  };
  for (const Transform& X : frame.poses) {
    add_vector(X.position);
    for (const double c : {X.rotation.w(), X.rotation.x(), X.rotation.y(), X.rotation.z()}) add(c);
  }
  for (const FrameContact& contact : frame.contacts) {
    add_vector(contact.position);
    add_vector(contact.normal);
    add_vector(contact.force);
    add(contact.distance);
    add(contact.friction);
    for (const int label : {contact.body_a, contact.body_b, static_cast<int>(contact.mode), contact.island}) add(label);
  }

  const auto length = static_cast<std::uint32_t>(header.size());
  std::string message(sizeof length + header.size() + numbers.size() * sizeof(float), '\0');
  std::memcpy(message.data(), &length, sizeof length);
  std::memcpy(message.data() + sizeof length, header.data(), header.size());
  if (!numbers.empty()) {
    std::memcpy(message.data() + sizeof length + header.size(), numbers.data(), numbers.size() * sizeof(float));
  }
  return message;
}

std::string live_document() { return dump({{"format", "touchstone-live"}, {"version", kVersion}}); }

}  // namespace touchstone::viewer

#include "touchstone/model/elements.hpp"

#include <utility>

namespace touchstone {

std::string_view to_string(SleepPolicy policy) {
  switch (policy) {
    case SleepPolicy::kAuto:
      return "auto";
    case SleepPolicy::kNever:
      return "never";
    case SleepPolicy::kAllowed:
      return "allowed";
    case SleepPolicy::kInit:
      return "init";
  }
  return "";
}

std::string_view to_string(JointType type) {
  switch (type) {
    case JointType::kFree:
      return "free";
    case JointType::kBall:
      return "ball";
    case JointType::kHinge:
      return "hinge";
    case JointType::kSlide:
      return "slide";
    case JointType::kScrew:
      return "screw";
  }
  return "?";
}

int configuration_size(JointType type) {
  if (type == JointType::kFree) return 7;
  return type == JointType::kBall ? 4 : 1;
}

int dof_count(JointType type) {
  if (type == JointType::kFree) return 6;
  return type == JointType::kBall ? 3 : 1;
}

namespace {

struct EqualityInfo {
  std::string_view name;
  EqualitySides sides;
};

// What models need to know about a type; its rows are in sim/constraints/.
EqualityInfo info_of(EqualityType type) {
  switch (type) {
    case EqualityType::kConnect:
      return {"connect", EqualitySides::kBodies};
    case EqualityType::kWeld:
      return {"weld", EqualitySides::kBodies};
    case EqualityType::kJoint:
      return {"joint", EqualitySides::kJoints};
    case EqualityType::kTendon:
      return {"tendon", EqualitySides::kTendons};
  }
  return {"?", EqualitySides::kBodies};
}

}  // namespace

std::string_view to_string(EqualityType type) { return info_of(type).name; }
EqualitySides sides_of(EqualityType type) { return info_of(type).sides; }

std::string_view to_string(TransmissionType type) {
  switch (type) {
    case TransmissionType::kJoint:
      return "joint";
    case TransmissionType::kJointInParent:
      return "joint in parent";
    case TransmissionType::kTendon:
      return "tendon";
    case TransmissionType::kSite:
      return "site";
    case TransmissionType::kSliderCrank:
      return "slider-crank";
    case TransmissionType::kLoopJoint:
      return "loop joint";
  }
  return "?";
}

std::string_view to_string(ActuatorDynamics dynamics) {
  switch (dynamics) {
    case ActuatorDynamics::kNone:
      return "none";
    case ActuatorDynamics::kIntegrator:
      return "integrator";
    case ActuatorDynamics::kFilter:
      return "filter";
    case ActuatorDynamics::kFilterExact:
      return "exact filter";
  }
  return "?";
}

std::string_view to_string(FrameType type) {
  switch (type) {
    case FrameType::kNone:
      return "none";
    case FrameType::kBody:
      return "body";
    case FrameType::kBodyInertial:
      return "inertial frame";
    case FrameType::kShape:
      return "shape";
    case FrameType::kSite:
      return "site";
    case FrameType::kJoint:
      return "joint";
    case FrameType::kTendon:
      return "tendon";
    case FrameType::kActuator:
      return "actuator";
  }
  return "?";
}

namespace {

constexpr FrameType kNothing = FrameType::kNone;
constexpr FrameType kBody = FrameType::kBody;
constexpr FrameType kSite = FrameType::kSite;
constexpr FrameType kJoint = FrameType::kJoint;
constexpr FrameType kTendon = FrameType::kTendon;
constexpr FrameType kActuator = FrameType::kActuator;
constexpr std::optional<FrameType> kAnyFrame;

struct SensorInfo {
  std::string_view name;
  int dimension;
  std::optional<FrameType> object;
};

// In the order of the enumeration; the names are MJCF's.
constexpr SensorInfo kSensors[] = {
    {"jointpos", 1, kJoint},       {"jointvel", 1, kJoint},       {"jointactuatorfrc", 1, kJoint},
    {"jointlimitpos", 1, kJoint},  {"jointlimitvel", 1, kJoint},  {"jointlimitfrc", 1, kJoint},
    {"tendonpos", 1, kTendon},     {"tendonvel", 1, kTendon},     {"tendonactuatorfrc", 1, kTendon},
    {"actuatorpos", 1, kActuator}, {"actuatorvel", 1, kActuator}, {"actuatorfrc", 1, kActuator},
    {"ballquat", 4, kJoint},       {"ballangvel", 3, kJoint},     {"framepos", 3, kAnyFrame},
    {"framequat", 4, kAnyFrame},   {"framexaxis", 3, kAnyFrame},  {"frameyaxis", 3, kAnyFrame},
    {"framezaxis", 3, kAnyFrame},  {"framelinvel", 3, kAnyFrame}, {"frameangvel", 3, kAnyFrame},
    {"framelinacc", 3, kAnyFrame}, {"frameangacc", 3, kAnyFrame}, {"gyro", 3, kSite},
    {"accelerometer", 3, kSite},   {"velocimeter", 3, kSite},     {"magnetometer", 3, kSite},
    {"force", 3, kSite},           {"torque", 3, kSite},          {"touch", 1, kSite},
    {"rangefinder", 1, kSite},     {"subtreecom", 3, kBody},      {"subtreelinvel", 3, kBody},
    {"subtreeangmom", 3, kBody},   {"clock", 1, kNothing},        {"e_potential", 1, kNothing},
    {"e_kinetic", 1, kNothing},
};
static_assert(std::size(kSensors) == static_cast<std::size_t>(SensorType::kKineticEnergy) + 1);

const SensorInfo& info_of(SensorType type) { return kSensors[static_cast<int>(type)]; }

}  // namespace

std::string_view to_string(SensorType type) { return info_of(type).name; }
int sensor_dimension(SensorType type) { return info_of(type).dimension; }
std::optional<FrameType> sensor_object(SensorType type) { return info_of(type).object; }

std::optional<SensorType> find_sensor_type(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kSensors); ++i) {
    if (kSensors[i].name == name) return static_cast<SensorType>(i);
  }
  return std::nullopt;
}

}  // namespace touchstone

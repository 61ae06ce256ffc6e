#include "touchstone/model/elements.hpp"

#include <utility>

namespace touchstone {

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

struct SensorInfo {
  std::string_view name;
  int dimension;
};

// In the order of the enumeration; the names are MJCF's.
constexpr SensorInfo kSensors[] = {
    {"jointpos", 1},      {"jointvel", 1},      {"jointactuatorfrc", 1},
    {"jointlimitpos", 1}, {"jointlimitvel", 1}, {"jointlimitfrc", 1},
    {"tendonpos", 1},     {"tendonvel", 1},     {"tendonactuatorfrc", 1},
    {"actuatorpos", 1},   {"actuatorvel", 1},   {"actuatorfrc", 1},
    {"ballquat", 4},      {"ballangvel", 3},    {"framepos", 3},
    {"framequat", 4},     {"framexaxis", 3},    {"frameyaxis", 3},
    {"framezaxis", 3},    {"framelinvel", 3},   {"frameangvel", 3},
    {"framelinacc", 3},   {"frameangacc", 3},   {"gyro", 3},
    {"accelerometer", 3}, {"velocimeter", 3},   {"magnetometer", 3},
    {"force", 3},         {"torque", 3},        {"touch", 1},
    {"rangefinder", 1},   {"subtreecom", 3},    {"subtreelinvel", 3},
    {"subtreeangmom", 3}, {"clock", 1},         {"e_potential", 1},
    {"e_kinetic", 1},
};
static_assert(std::size(kSensors) == static_cast<std::size_t>(SensorType::kKineticEnergy) + 1);

}  // namespace

std::string_view to_string(SensorType type) { return kSensors[static_cast<int>(type)].name; }
int sensor_dimension(SensorType type) { return kSensors[static_cast<int>(type)].dimension; }

}  // namespace touchstone

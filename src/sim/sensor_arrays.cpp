#include "touchstone/sim/sensor_arrays.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/array_parts.hpp"
#include "touchstone/sim/backend_features.hpp"

namespace touchstone {
namespace {

// gpu::SensorKind, or -1.
int kind_of(SensorType type) {
  constexpr std::pair<SensorType, gpu::SensorKind> kKinds[] = {
      {SensorType::kJointPosition, gpu::kJointPositionSensor},
      {SensorType::kJointVelocity, gpu::kJointVelocitySensor},
      {SensorType::kJointActuatorForce, gpu::kJointActuatorForceSensor},
      {SensorType::kJointLimitForce, gpu::kJointLimitForceSensor},
      {SensorType::kActuatorPosition, gpu::kActuatorPositionSensor},
      {SensorType::kActuatorVelocity, gpu::kActuatorVelocitySensor},
      {SensorType::kActuatorForce, gpu::kActuatorForceSensor},
      {SensorType::kBallQuaternion, gpu::kBallQuaternionSensor},
      {SensorType::kBallAngularVelocity, gpu::kBallAngularVelocitySensor},
      {SensorType::kFramePosition, gpu::kFramePositionSensor},
      {SensorType::kFrameQuaternion, gpu::kFrameQuaternionSensor},
      {SensorType::kFrameXAxis, gpu::kFrameXAxisSensor},
      {SensorType::kFrameYAxis, gpu::kFrameYAxisSensor},
      {SensorType::kFrameZAxis, gpu::kFrameZAxisSensor},
      {SensorType::kFrameLinearVelocity, gpu::kFrameLinearVelocitySensor},
      {SensorType::kFrameAngularVelocity, gpu::kFrameAngularVelocitySensor},
      {SensorType::kFrameLinearAcceleration, gpu::kFrameLinearAccelerationSensor},
      {SensorType::kFrameAngularAcceleration, gpu::kFrameAngularAccelerationSensor},
      {SensorType::kGyro, gpu::kGyroSensor},
      {SensorType::kAccelerometer, gpu::kAccelerometerSensor},
      {SensorType::kVelocimeter, gpu::kVelocimeterSensor},
      {SensorType::kMagnetometer, gpu::kMagnetometerSensor},
      {SensorType::kForce, gpu::kForceSensor},
      {SensorType::kTorque, gpu::kTorqueSensor},
      {SensorType::kTouch, gpu::kTouchSensor},
      {SensorType::kSubtreeCom, gpu::kSubtreeComSensor},
      {SensorType::kSubtreeLinearVelocity, gpu::kSubtreeLinearVelocitySensor},
      {SensorType::kSubtreeAngularMomentum, gpu::kSubtreeAngularMomentumSensor},
      {SensorType::kClock, gpu::kClockSensor},
  };
  const auto* found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return k.first == type; });
  return found != std::end(kKinds) ? found->second : -1;
}

struct SensorFrame {
  int body = -1;
  Transform pose;
  bool inertial = false;
};

SensorFrame frame_of(const Model& model, FrameType type, int index) {
  switch (type) {
    case FrameType::kBody:
      return {index, {}, false};
    case FrameType::kBodyInertial:
      return {index, {}, true};
    case FrameType::kShape:
      return {model.shapes[at(index)].body, model.shapes[at(index)].pose, false};
    case FrameType::kSite:
      return {model.sites[at(index)].body, model.sites[at(index)].pose, false};
    default:
      return {};
  }
}

bool is_touch_volume(int shape) {
  return shape == gpu::kSphereShape || shape == gpu::kCapsuleShape || shape == gpu::kBoxShape ||
         shape == gpu::kEllipsoidShape || shape == gpu::kCylinderShape;
}

bool has_body_loops(const Model& model) {
  const auto joins_bodies = [](const Equality& e) {
    return e.active && (e.type == EqualityType::kConnect || e.type == EqualityType::kWeld);
  };
  return (model.options.equalities_enabled &&
          std::any_of(model.equalities.begin(), model.equalities.end(), joins_bodies)) ||
         std::any_of(model.loop_joints.begin(), model.loop_joints.end(), [](const LoopJoint& j) { return j.active; });
}

// Whether an actuator pulls at a joint by way of a tendon, or may do so by way of a loop joint.
bool is_pulled(const Model& model, int joint) {
  return std::any_of(model.actuators.begin(), model.actuators.end(), [&](const Actuator& a) {
    if (a.transmission == TransmissionType::kLoopJoint) return true;
    if (a.transmission != TransmissionType::kTendon) return false;
    const auto& terms = model.tendons[at(a.target)].terms;
    return std::any_of(terms.begin(), terms.end(), [&](const Tendon::Term& term) { return term.joint == joint; });
  });
}

// What of a sensor the backend cannot do; empty: nothing.
std::string why_not(const Model& model, const Sensor& sensor) {
  const bool at_actuator = sensor.type == SensorType::kActuatorForce;
  const bool at_joint = sensor.type == SensorType::kJointActuatorForce;
  if (kind_of(sensor.type) < 0) return "is not in the backend";
  if ((sensor.type == SensorType::kForce || sensor.type == SensorType::kTorque) && has_body_loops(model))
    return "is in a model with connect or weld equalities or loop joints";
  if (sensor.type == SensorType::kTouch && !is_touch_volume(backend_shape(model.sites[at(sensor.object)].shape.type)))
    return "has a site that is no sphere, capsule, box, ellipsoid or cylinder";
  if (at_joint && is_pulled(model, sensor.object))
    return "is of a joint that actuators at tendons or loop joints pull at";
  const auto pulls = [&](const Actuator& a) {
    return a.transmission == TransmissionType::kTendon || a.transmission == TransmissionType::kLoopJoint;
  };
  const bool at_pull = at_actuator && pulls(model.actuators[at(sensor.object)]);
  const int joint =
      at_joint ? sensor.object : (at_actuator && !at_pull ? model.actuators[at(sensor.object)].target : -1);
  if (joint >= 0 && joint < model.njoint && model.joints[at(joint)].actuator_force_limited)
    return "is of a joint whose actuator forces are limited";
  return "";
}

}  // namespace

std::vector<std::string> unsupported_sensors(const Model& model, const SimulatorOptions& options) {
  std::vector<std::string> list;
  // Its forces are evaluated half a step after the state that sensors show.
  if (options.integrator == Integrator::kMoreauMidpoint && !model.sensors.empty())
    list.emplace_back("sensors with the integrator midpoint");
  for (const Sensor& sensor : model.sensors) {
    const std::string why = why_not(model, sensor);
    if (!why.empty()) list.push_back(fmt::format("{} '{}', which {}", to_string(sensor.type), sensor.name, why));
  }
  return list;
}

void fill_sensors(const Model& model, const SimulatorOptions& options, gpu::ModelArrays& a) {
  if (!unsupported_sensors(model, options).empty()) return;
  a.sensor_start.push_back(0);
  for (const Sensor& sensor : model.sensors) {
    const SensorFrame object = frame_of(model, sensor.object_type, sensor.object);
    const SensorFrame reference =
        sensor.reference >= 0 ? frame_of(model, sensor.reference_type, sensor.reference) : SensorFrame{};
    const bool is_turn = sensor.type == SensorType::kFrameQuaternion || sensor.type == SensorType::kBallQuaternion;
    const bool of_subtree = sensor.type == SensorType::kSubtreeCom ||
                            sensor.type == SensorType::kSubtreeLinearVelocity ||
                            sensor.type == SensorType::kSubtreeAngularMomentum;
    Vector3 size = Vector3::Zero();
    if (sensor.type == SensorType::kTouch) size = model.sites[at(sensor.object)].shape.size;
    if (sensor.type == SensorType::kMagnetometer) size = model.options.magnetic_field;
    a.sensor_type.push_back(kind_of(sensor.type));
    a.sensor_object.push_back(object.body >= 0 && !of_subtree ? object.body : sensor.object);
    a.sensor_reference.push_back(reference.body);
    a.sensor_flags.push_back((object.inertial ? gpu::kInertialObject : 0) |
                             (reference.inertial ? gpu::kInertialReference : 0));
    a.sensor_shape.push_back(
        sensor.type == SensorType::kTouch ? backend_shape(model.sites[at(sensor.object)].shape.type) : -1);
    push(a.sensor_pose, object.pose);
    push(a.sensor_pose, reference.pose);
    push(a.sensor_size, size);
    a.sensor_cutoff.push_back(is_turn ? 0.0 : sensor.cutoff);
    a.sensor_start.push_back(a.sensor_start.back() + sensor_dimension(sensor.type));
  }
  a.sizes.sensors = static_cast<int>(model.sensors.size());
  a.sizes.sensor_numbers = a.sensor_start.back();
}

}  // namespace touchstone

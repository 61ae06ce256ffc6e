#include "touchstone/io/mjcf/mjcf_keyframes.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/io/mjcf/mjcf_attach.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

using Entries = std::vector<StateLayout::Entry>;
using Parts = std::map<int, std::vector<double>>;

[[noreturn]] void fail_length(const KeyframeSpec& key, const char* what, std::size_t found, int expected) {
  fail(key.origin, fmt::format("{} has {} numbers, the model takes {}", what, found, expected));
}

std::vector<double> whole_vector(const KeyframeSpec& key, const char* what, const std::vector<double>& written,
                                 const Parts* parts, const Entries& entries) {
  const int size = StateLayout::total(entries);
  if (written.size() > static_cast<std::size_t>(size)) fail_length(key, what, written.size(), size);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(size));
  for (const StateLayout::Entry& entry : entries) {
    const auto part = parts ? parts->find(entry.id) : Parts::const_iterator{};
    const bool given = parts && part != parts->end();
    const std::vector<double>& from = given ? part->second : entry.reference;
    values.insert(values.end(), from.begin(), from.end());
  }
  std::copy(written.begin(), written.end(), values.begin());
  return values;
}

void split(const std::vector<double>& written, const Entries& entries, Parts& parts) {
  std::size_t at = 0;
  for (const StateLayout::Entry& entry : entries) {
    if (at >= written.size()) return;
    std::vector<double>& values = parts[entry.id] = entry.reference;
    for (std::size_t i = 0; i < values.size() && at < written.size(); ++i) values[i] = written[at++];
  }
}

Transform free_joint_reference(const ModelSpec& spec, const BodySpec& body) {
  Transform X = body.pose.transform();
  const std::vector<FrameSpec>& frames = spec.bodies[0].frames;
  for (int f = body.frame; f >= 0; f = frames[static_cast<std::size_t>(f)].parent) {
    X = frames[static_cast<std::size_t>(f)].pose * X;
  }
  return X;
}

std::vector<double> seven_numbers(const Transform& X) {
  return {X.position.x(), X.position.y(), X.position.z(), X.rotation.w(),
          X.rotation.x(), X.rotation.y(), X.rotation.z()};
}

VectorX eigen(const std::vector<double>& values) {
  return Eigen::Map<const VectorX>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// Quaternions of keyframes need not be unit length; zero means no rotation.
void normalize(double* wxyz) {
  Eigen::Map<Eigen::Vector4d> q(wxyz);
  const double length = q.norm();
  if (length < 1e-14)
    q << 1.0, 0.0, 0.0, 0.0;
  else if (std::abs(length - 1.0) > 1e-15)
    q /= length;
}

}  // namespace

int StateLayout::total(const std::vector<Entry>& entries) {
  int sum = 0;
  for (const Entry& entry : entries) sum += entry.size;
  return sum;
}

StateLayout state_layout(const ModelSpec& spec) {
  StateLayout layout;
  for (const int index : depth_first(spec)) {
    const BodySpec& body = spec.bodies[static_cast<std::size_t>(index)];
    if (body.mocap) layout.mocap.push_back({body.id, 7, seven_numbers(free_joint_reference(spec, body))});
    for (const JointSpec& joint : body.joints) {
      const int nv = dof_count(joint.joint.type);
      std::vector<double> reference{joint.joint.reference};
      if (joint.joint.type == JointType::kFree) reference = seven_numbers(free_joint_reference(spec, body));
      if (joint.joint.type == JointType::kBall) reference = {1.0, 0.0, 0.0, 0.0};
      layout.q.push_back({joint.id, static_cast<int>(reference.size()), reference});
      layout.v.push_back({joint.id, nv, std::vector<double>(static_cast<std::size_t>(nv), 0.0)});
    }
  }
  for (const ActuatorSpec& actuator : spec.actuators) {
    layout.control.push_back({actuator.id, 1, {0.0}});
    if (actuator.actuator.dynamics != ActuatorDynamics::kNone) layout.activation.push_back({actuator.id, 1, {0.0}});
  }
  return layout;
}

void split_keyframes(ModelSpec& spec) {
  if (spec.keyframes.empty()) return;
  const StateLayout layout = state_layout(spec);
  for (KeyframeSpec& key : spec.keyframes) {
    if (key.parts) continue;
    assemble_keyframe(key, layout);  // checks the lengths
    KeyframeParts parts;
    split(key.q, layout.q, parts.joint_q);
    split(key.v, layout.v, parts.joint_v);
    split(key.activation, layout.activation, parts.activation);
    split(key.control, layout.control, parts.control);
    const bool has_mocap = !key.mocap_position.empty() || !key.mocap_rotation.empty();
    for (std::size_t i = 0; has_mocap && i < layout.mocap.size(); ++i) {
      std::vector<double> pose = layout.mocap[i].reference;
      for (std::size_t k = 0; k < 3 && 3 * i + k < key.mocap_position.size(); ++k)
        pose[k] = key.mocap_position[3 * i + k];
      for (std::size_t k = 0; k < 4 && 4 * i + k < key.mocap_rotation.size(); ++k) {
        pose[3 + k] = key.mocap_rotation[4 * i + k];
      }
      parts.mocap[layout.mocap[i].id] = std::move(pose);
    }
    key.q = key.v = key.activation = key.control = key.mocap_position = key.mocap_rotation = {};
    key.parts = std::move(parts);
  }
}

Keyframe assemble_keyframe(const KeyframeSpec& key, const StateLayout& layout) {
  Keyframe result;
  result.name = key.name;
  result.time = key.time;
  result.origin = key.origin;
  const KeyframeParts* parts = key.parts ? &*key.parts : nullptr;
  std::vector<double> q = whole_vector(key, "qpos", key.q, parts ? &parts->joint_q : nullptr, layout.q);
  std::size_t at = 0;
  for (const StateLayout::Entry& entry : layout.q) {
    if (entry.size == 7) normalize(&q[at + 3]);
    if (entry.size == 4) normalize(&q[at]);
    at += static_cast<std::size_t>(entry.size);
  }
  // Left to the builder, which knows the reference configuration of aligned bodies too.
  if (parts || !key.q.empty()) result.q = eigen(q);
  result.v = eigen(whole_vector(key, "qvel", key.v, parts ? &parts->joint_v : nullptr, layout.v));
  result.activation =
      eigen(whole_vector(key, "act", key.activation, parts ? &parts->activation : nullptr, layout.activation));
  result.control = eigen(whole_vector(key, "ctrl", key.control, parts ? &parts->control : nullptr, layout.control));

  const std::size_t bodies = layout.mocap.size();
  if (key.mocap_position.size() > 3 * bodies) {
    fail_length(key, "mpos", key.mocap_position.size(), static_cast<int>(3 * bodies));
  }
  if (key.mocap_rotation.size() > 4 * bodies) {
    fail_length(key, "mquat", key.mocap_rotation.size(), static_cast<int>(4 * bodies));
  }
  std::vector<double> mocap = whole_vector(key, "mpos", {}, parts ? &parts->mocap : nullptr, layout.mocap);
  for (std::size_t i = 0; i < bodies; ++i) {
    double* pose = &mocap[7 * i];
    for (std::size_t k = 0; k < 3 && 3 * i + k < key.mocap_position.size(); ++k)
      pose[k] = key.mocap_position[3 * i + k];
    for (std::size_t k = 0; k < 4 && 4 * i + k < key.mocap_rotation.size(); ++k)
      pose[3 + k] = key.mocap_rotation[4 * i + k];
    normalize(pose + 3);
    result.mocap.push_back({{pose[0], pose[1], pose[2]}, Quaternion(pose[3], pose[4], pose[5], pose[6])});
  }
  return result;
}

}  // namespace touchstone::mjcf

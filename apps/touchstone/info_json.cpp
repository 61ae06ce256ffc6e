#include <cstddef>
#include <string>
#include <vector>

#include "info.hpp"
#include "json_text.hpp"
#include "names.hpp"
#include "touchstone/base/version.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace touchstone::cli {
namespace {

Json rows(const Matrix3& matrix) {
  Json list = Json::array();
  for (int i = 0; i < 3; ++i) list.push_back(numbers(matrix.row(i)));
  return list;
}

Json pose_json(const Transform& pose) {
  const Quaternion& r = pose.rotation;
  return {{"position", numbers(pose.position)}, {"quaternion", {r.w(), r.x(), r.y(), r.z()}}};
}

Json range_json(bool limited, const Vector2& range) { return limited ? numbers(range) : Json(nullptr); }

template <typename Element>
Json name_json(const std::vector<Element>& elements, int index) {
  const bool valid = index >= 0 && static_cast<std::size_t>(index) < elements.size();
  return valid ? Json(elements[static_cast<std::size_t>(index)].name) : Json(nullptr);
}

Json origin_json(const Origin& origin) {
  if (origin.file.empty()) return nullptr;
  return {{"file", origin.file}, {"line", origin.line}, {"element", origin.element}};
}

Json body_json(const Model& model, int index) {
  const Body& body = model.bodies[static_cast<std::size_t>(index)];
  const MassProperties inertia = model.defaults.mass_properties(index);
  return {{"name", body.name},
          {"parent", index == 0 ? Json(nullptr) : name_json(model.bodies, body.parent)},
          {"pose", pose_json(body.pose)},
          {"mass", inertia.mass},
          {"com", numbers(inertia.com)},
          {"inertia", rows(inertia.inertia)},
          {"gravity_compensation", body.gravity_compensation},
          {"sleep", to_string(body.sleep)},
          {"mocap", body.mocap},
          {"origin", origin_json(body.origin)}};
}

// MuJoCo's softness.
Json impedance_json(const Impedance& impedance) {
  return {{"solref", numbers(impedance.solref)}, {"solimp", numbers(impedance.solimp)}};
}

Json joint_json(const Model& model, std::size_t index) {
  const Joint& joint = model.joints[index];
  return {{"name", joint.name},
          {"type", to_string(joint.type)},
          {"body", name_json(model.bodies, joint.body)},
          {"q", model.joint_q[index]},
          {"dof", model.joint_dof[index]},
          {"dofs", dof_count(joint.type)},
          {"axis", numbers(joint.axis)},
          {"anchor", numbers(joint.anchor)},
          {"pitch", joint.pitch},
          {"reference", joint.reference},
          {"range", range_json(joint.limited, joint.range)},
          {"limit_margin", joint.limit_margin},
          {"limit_impedance", impedance_json(joint.limit_impedance)},
          {"friction_impedance", impedance_json(joint.friction_impedance)},
          {"stiffness", joint.stiffness},
          {"spring_reference", joint.spring_reference},
          {"damping", joint.damping},
          {"armature", joint.armature},
          {"friction", joint.friction},
          {"velocity_limit", joint.velocity_limit},
          {"effort_limit", joint.effort_limit},
          {"origin", origin_json(joint.origin)}};
}

Json shape_json(const Model& model, const ShapeElement& shape) {
  Json json{{"name", shape.name},
            {"body", name_json(model.bodies, shape.body)},
            {"type", to_string(shape.shape.type)},
            {"size", numbers(shape.shape.size)},
            {"pose", pose_json(shape.pose)},
            {"contact_type", shape.contact_type},
            {"contact_affinity", shape.contact_affinity},
            {"contact_dimension", shape.contact_dimension},
            {"friction", numbers(shape.material.friction)},
            {"restitution", shape.material.restitution},
            {"impedance", impedance_json(shape.material.impedance)},
            {"mixing", shape.material.mixing},
            {"priority", shape.material.priority},
            {"margin", shape.margin},
            {"gap", shape.gap},
            {"color", numbers(shape.color)},
            {"visual_material", shape.visual_material},
            {"visual_only", shape.visual_only},
            {"group", shape.group}};
  if (shape.shape.mesh) {
    json["mesh"] = {{"name", shape.shape.mesh->name},
                    {"file", shape.shape.mesh->file},
                    {"vertices", shape.shape.mesh->vertices.size()},
                    {"triangles", shape.shape.mesh->triangles.size()}};
  }
  if (shape.shape.height_field) {
    json["height_field"] = {{"name", shape.shape.height_field->name},
                            {"rows", shape.shape.height_field->rows},
                            {"columns", shape.shape.height_field->columns}};
  }
  json["origin"] = origin_json(shape.origin);
  return json;
}

Json tendon_json(const Model& model, const Tendon& tendon) {
  Json terms = Json::array();
  for (const Tendon::Term& term : tendon.terms) {
    terms.push_back({{"joint", name_json(model.joints, term.joint)}, {"coefficient", term.coefficient}});
  }
  return {{"name", tendon.name},
          {"terms", terms},
          {"stiffness", tendon.stiffness},
          {"damping", tendon.damping},
          {"armature", tendon.armature},
          {"friction", tendon.friction},
          {"range", range_json(tendon.limited, tendon.range)},
          {"limit_impedance", impedance_json(tendon.limit_impedance)},
          {"friction_impedance", impedance_json(tendon.friction_impedance)}};
}

Json actuator_json(const Model& model, const Actuator& actuator) {
  return {{"name", actuator.name},
          {"kind", actuator_kind(actuator)},
          {"transmission", to_string(actuator.transmission)},
          {"target", transmission_target(model, actuator)},
          {"gear", numbers(actuator.gear)},
          {"dynamics", to_string(actuator.dynamics)},
          {"time_constant", actuator.time_constant},
          {"gain", numbers(actuator.gain)},
          {"bias", numbers(actuator.bias)},
          {"control_range", range_json(actuator.control_limited, actuator.control_range)},
          {"force_range", range_json(actuator.force_limited, actuator.force_range)},
          {"activation_range", range_json(actuator.activation_limited, actuator.activation_range)}};
}

Json equality_json(const Model& model, const Equality& equality) {
  return {{"name", equality.name},
          {"type", to_string(equality.type)},
          {"active", equality.active},
          {"between", equality_text(model, equality)},
          {"polynomial", numbers(equality.polynomial)},
          {"impedance", impedance_json(equality.impedance)}};
}

Json loop_joint_json(const Model& model, std::size_t index) {
  const LoopJoint& joint = model.loop_joints[index];
  Json coordinates = Json::array();
  for (std::size_t k = 0; k < joint.coordinates.size(); ++k) {
    const LoopCoordinate& c = joint.coordinates[k];
    coordinates.push_back({{"unit", is_rotation(joint.type, static_cast<int>(k)) ? "rad" : "m"},
                           {"loop_q", model.loop_coordinate[index] + static_cast<int>(k)},
                           {"reference", c.reference},
                           {"range", range_json(c.limited, c.range)},
                           {"limit_margin", c.limit_margin},
                           {"stiffness", c.stiffness},
                           {"spring_reference", c.spring_reference},
                           {"damping", c.damping},
                           {"armature", c.armature},
                           {"friction", c.friction}});
  }
  return {{"name", joint.name},
          {"type", to_string(joint.type)},
          {"active", joint.active},
          {"body_a", name_json(model.bodies, joint.body_a)},
          {"body_b", name_json(model.bodies, joint.body_b)},
          {"frame_a", pose_json(joint.frame_a)},
          {"frame_b", pose_json(joint.frame_b)},
          {"rows", row_count(joint.type)},
          {"length", joint.length},
          {"pitch", joint.pitch},
          {"coordinates", coordinates},
          {"impedance", impedance_json(joint.impedance)},
          {"origin", origin_json(joint.origin)}};
}

Json sensor_json(const Model& model, const Sensor& sensor) {
  return {{"name", sensor.name},
          {"type", to_string(sensor.type)},
          {"dimension", sensor_dimension(sensor.type)},
          {"object_type", to_string(sensor.object_type)},
          {"object", frame_name(model, sensor.object_type, sensor.object)}};
}

Json options_json(const SimulationOptions& options) {
  return {{"time_step", options.time_step},
          {"integrator", options.integrator},
          {"cone", options.cone},
          {"friction_impedance_ratio", options.friction_impedance_ratio}};
}

// A list of one JSON value for each element.
template <typename Element, typename Function>
Json list(const std::vector<Element>& elements, Function to_json) {
  Json json = Json::array();
  for (const Element& element : elements) json.push_back(to_json(element));
  return json;
}

Json contact_json(const Model& model) {
  Json json;
  json["pairs"] = list(model.contact_pairs, [&](const ContactPair& pair) {
    return Json{{"a", name_json(model.shapes, pair.shape_a)},
                {"b", name_json(model.shapes, pair.shape_b)},
                {"contact_dimension", pair.contact_dimension},
                {"friction", numbers(pair.friction)},
                {"impedance", impedance_json(pair.impedance)},
                {"margin", pair.margin},
                {"gap", pair.gap}};
  });
  json["exclusions"] = list(model.contact_exclusions, [&](const ContactExclusion& exclusion) {
    return Json{{"a", name_json(model.bodies, exclusion.body_a)}, {"b", name_json(model.bodies, exclusion.body_b)}};
  });
  return json;
}

// null without loops.
Json mobility_json(const ModelPtr& model) {
  if (!has_loops(*model)) return nullptr;
  const Mobility m = Mechanism(model).mobility(scene_of(model).start);
  if (m.rows == 0) return nullptr;
  Json json{{"dofs", m.dofs}, {"rows", m.rows}, {"gruebler", m.gruebler()}, {"error", m.error}};
  if (!m.known) return json;
  json["rank"] = m.rank;
  json["generic_rank"] = m.generic_rank;
  json["mobility"] = m.mobility();
  json["redundancy"] = m.redundancy();
  return json;
}

}  // namespace

std::string model_json(const ModelPtr& pointer) {
  const Model& model = *pointer;
  Json json{{"touchstone", kVersion},
            {"name", model.name},
            {"file", model.file},
            {"nbody", model.nbody},
            {"njoint", model.njoint},
            {"nq", model.nq},
            {"nv", model.nv},
            {"nu", model.nu},
            {"na", model.na},
            {"ntree", model.ntree},
            {"nmocap", model.nmocap},
            {"total_mass", model.total_mass()},
            {"gravity", numbers(model.defaults.gravity)},
            {"options", options_json(model.options)},
            {"reference_q", numbers(model.reference_q)}};
  json["bodies"] = Json::array();
  for (int i = 0; i < model.nbody; ++i) json["bodies"].push_back(body_json(model, i));
  json["joints"] = Json::array();
  for (std::size_t i = 0; i < model.joints.size(); ++i) json["joints"].push_back(joint_json(model, i));
  json["shapes"] = list(model.shapes, [&](const ShapeElement& shape) { return shape_json(model, shape); });
  json["sites"] = list(model.sites, [&](const Site& site) {
    return Json{{"name", site.name}, {"body", name_json(model.bodies, site.body)}, {"pose", pose_json(site.pose)}};
  });
  json["tendons"] = list(model.tendons, [&](const Tendon& tendon) { return tendon_json(model, tendon); });
  json["actuators"] = list(model.actuators, [&](const Actuator& actuator) { return actuator_json(model, actuator); });
  json["equalities"] = list(model.equalities, [&](const Equality& e) { return equality_json(model, e); });
  json["loop_joints"] = Json::array();
  for (std::size_t i = 0; i < model.loop_joints.size(); ++i) json["loop_joints"].push_back(loop_joint_json(model, i));
  json["sensors"] = list(model.sensors, [&](const Sensor& sensor) { return sensor_json(model, sensor); });
  json["keyframes"] = list(model.keyframes, [](const Keyframe& key) {
    return Json{{"name", key.name},
                {"time", key.time},
                {"q", numbers(key.q)},
                {"v", numbers(key.v)},
                {"activation", numbers(key.activation)},
                {"control", numbers(key.control)}};
  });
  json["mobility"] = mobility_json(pointer);
  json["contact"] = contact_json(model);
  json["warnings"] = list(model.warnings, [](const Warning& warning) {
    return Json{{"message", warning.message}, {"origin", origin_json(warning.origin)}};
  });
  return json_text(json);
}

}  // namespace touchstone::cli

// A model as JSON, for the comparisons with other engines.
#pragma once

#include <nlohmann/json.hpp>

#include "touchstone/model/model.hpp"

namespace touchstone::peers {

using Json = nlohmann::json;

inline Json to_json(const Vector3& v) { return {v.x(), v.y(), v.z()}; }
inline Json to_json(const Vector2& v) { return {v.x(), v.y()}; }
inline Json to_json(const VectorX& v) { return std::vector<double>(v.data(), v.data() + v.size()); }
inline Json to_json(const Quaternion& r) { return {r.w(), r.x(), r.y(), r.z()}; }
inline Json to_json(const Transform& X) {
  return {{"position", to_json(X.position)}, {"rotation", to_json(X.rotation)}};
}
inline Json to_json(const Impedance& i) { return {{"solref", i.solref}, {"solimp", i.solimp}}; }

inline Json to_json(const Matrix3& m) {
  Json rows = Json::array();
  for (int i = 0; i < 3; ++i) rows.push_back({m(i, 0), m(i, 1), m(i, 2)});
  return rows;
}

inline Json describe_bodies(const Model& model) {
  Json result = Json::array();
  for (int i = 0; i < model.nbody; ++i) {
    const Body& body = model.bodies[static_cast<std::size_t>(i)];
    const MassProperties mass = model.defaults.mass_properties(i);
    result.push_back({{"name", body.name},
                      {"parent", body.parent},
                      {"pose", to_json(body.pose)},
                      {"mass", mass.mass},
                      {"com", to_json(mass.com)},
                      {"inertia", to_json(mass.inertia)},
                      {"mocap", body.mocap},
                      {"gravity_compensation", model.defaults.body_gravity_compensation[i]}});
  }
  return result;
}

inline Json describe_joints(const Model& model) {
  Json result = Json::array();
  for (std::size_t i = 0; i < model.joints.size(); ++i) {
    const Joint& j = model.joints[i];
    const int dof = model.joint_dof[i];
    result.push_back({{"name", j.name},
                      {"type", to_string(j.type)},
                      {"body", j.body},
                      {"q", model.joint_q[i]},
                      {"dof", dof},
                      {"axis", to_json(j.axis)},
                      {"anchor", to_json(j.anchor)},
                      {"limited", j.limited},
                      {"range", to_json(j.range)},
                      {"margin", j.limit_margin},
                      {"limit_impedance", to_json(j.limit_impedance)},
                      {"friction_impedance", to_json(j.friction_impedance)},
                      {"stiffness", model.defaults.joint_stiffness[static_cast<Eigen::Index>(i)]},
                      {"damping", model.defaults.dof_damping[dof]},
                      {"armature", model.defaults.dof_armature[dof]},
                      {"friction", model.defaults.dof_friction[dof]},
                      {"actuator_force_limited", j.actuator_force_limited},
                      {"actuator_force_range", to_json(j.actuator_force_range)},
                      {"actuator_gravity_compensation", j.actuator_gravity_compensation}});
  }
  return result;
}

inline Json describe_shapes(const Model& model) {
  Json result = Json::array();
  for (std::size_t i = 0; i < model.shapes.size(); ++i) {
    const ShapeElement& s = model.shapes[i];
    const Material& material = model.defaults.shape_material[i];
    result.push_back({{"name", s.name},
                      {"body", s.body},
                      {"type", to_string(s.shape.type)},
                      {"pose", to_json(s.pose)},
                      {"size", to_json(s.shape.size)},
                      {"contype", s.contact_type},
                      {"conaffinity", s.contact_affinity},
                      {"condim", s.contact_dimension},
                      {"margin", s.margin},
                      {"gap", s.gap},
                      {"group", s.group},
                      {"friction", to_json(material.friction)},
                      {"impedance", to_json(material.impedance)},
                      {"priority", material.priority},
                      {"solmix", material.mixing},
                      {"mesh", s.shape.mesh ? s.shape.mesh->name : ""}});
  }
  return result;
}

inline Json describe_sites(const Model& model) {
  Json result = Json::array();
  for (const Site& s : model.sites) result.push_back({{"name", s.name}, {"body", s.body}, {"pose", to_json(s.pose)}});
  return result;
}

inline Json describe_actuators(const Model& model) {
  Json result = Json::array();
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& a = model.actuators[i];
    result.push_back({{"name", a.name},
                      {"transmission", static_cast<int>(a.transmission)},
                      {"target", a.target},
                      {"reference_site", a.reference_site},
                      {"crank_length", a.crank_length},
                      {"gear", a.gear},
                      {"dynamics", static_cast<int>(a.dynamics)},
                      {"time_constant", a.time_constant},
                      {"gain_type", static_cast<int>(a.gain_type)},
                      {"bias_type", static_cast<int>(a.bias_type)},
                      {"gain", model.defaults.actuator_gain[i]},
                      {"bias", model.defaults.actuator_bias[i]},
                      {"control_limited", a.control_limited},
                      {"control_range", to_json(a.control_range)},
                      {"force_limited", a.force_limited},
                      {"force_range", to_json(a.force_range)},
                      {"activation_limited", a.activation_limited},
                      {"activation_range", to_json(a.activation_range)},
                      {"early", a.early_activation}});
  }
  return result;
}

inline Json describe_tendons(const Model& model) {
  Json result = Json::array();
  for (std::size_t i = 0; i < model.tendons.size(); ++i) {
    const Tendon& t = model.tendons[i];
    const auto index = static_cast<Eigen::Index>(i);
    const Parameters& p = model.defaults;
    Json terms = Json::array();
    for (const Tendon::Term& term : t.terms)
      terms.push_back({{"joint", term.joint}, {"coefficient", term.coefficient}});
    result.push_back({{"name", t.name},
                      {"terms", terms},
                      {"limited", t.limited},
                      {"range", to_json(t.range)},
                      {"stiffness", p.tendon_stiffness[index]},
                      {"damping", p.tendon_damping[index]},
                      {"armature", p.tendon_armature[index]},
                      {"friction", p.tendon_friction[index]},
                      {"spring_length", to_json(p.tendon_spring_length[i])},
                      {"actuator_force_limited", t.actuator_force_limited},
                      {"actuator_force_range", to_json(t.actuator_force_range)}});
  }
  return result;
}

inline Json describe_equalities(const Model& model) {
  Json result = Json::array();
  for (const Equality& e : model.equalities) {
    result.push_back({{"name", e.name},
                      {"type", static_cast<int>(e.type)},
                      {"active", e.active},
                      {"a", e.a},
                      {"b", e.b},
                      {"anchor_a", to_json(e.anchor_a)},
                      {"anchor_b", to_json(e.anchor_b)},
                      {"relative_pose", to_json(e.relative_pose)},
                      {"torque_scale", e.torque_scale},
                      {"polynomial", e.polynomial},
                      {"impedance", to_json(e.impedance)}});
  }
  return result;
}

inline Json describe_keyframes(const Model& model) {
  Json result = Json::array();
  for (const Keyframe& k : model.keyframes) {
    Json mocap = Json::array();
    for (const Transform& pose : k.mocap) mocap.push_back(to_json(pose));
    result.push_back({{"name", k.name},
                      {"time", k.time},
                      {"q", to_json(k.q)},
                      {"v", to_json(k.v)},
                      {"activation", to_json(k.activation)},
                      {"control", to_json(k.control)},
                      {"mocap", mocap}});
  }
  return result;
}

inline Json describe_contact_rules(const Model& model) {
  Json pairs = Json::array(), exclusions = Json::array();
  for (const ContactPair& p : model.contact_pairs) {
    pairs.push_back({{"shapes", {p.shape_a, p.shape_b}},
                     {"condim", p.contact_dimension},
                     {"friction", p.friction},
                     {"impedance", to_json(p.impedance)},
                     {"margin", p.margin},
                     {"gap", p.gap}});
  }
  for (const ContactExclusion& e : model.contact_exclusions) exclusions.push_back({e.body_a, e.body_b});
  return {{"pairs", pairs}, {"exclusions", exclusions}};
}

inline Json describe(const Model& model) {
  Json warnings = Json::array();
  for (const Warning& w : model.warnings) warnings.push_back(w.origin.element + ": " + w.message);
  return {{"name", model.name},
          {"sizes",
           {{"nbody", model.nbody},
            {"njoint", model.njoint},
            {"nq", model.nq},
            {"nv", model.nv},
            {"nu", model.nu},
            {"na", model.na},
            {"nshape", model.nshape},
            {"nsite", model.nsite},
            {"ntendon", model.ntendon},
            {"nmocap", model.nmocap}}},
          {"gravity", to_json(model.defaults.gravity)},
          {"time_step", model.options.time_step},
          {"reference_q", to_json(model.reference_q)},
          {"spring_reference", to_json(model.defaults.spring_reference)},
          {"activation_index", model.activation_index},
          {"row_start", model.row_start},
          {"row_length", model.row_length},
          {"row_dof", model.row_dof},
          {"bodies", describe_bodies(model)},
          {"joints", describe_joints(model)},
          {"shapes", describe_shapes(model)},
          {"sites", describe_sites(model)},
          {"actuators", describe_actuators(model)},
          {"tendons", describe_tendons(model)},
          {"equalities", describe_equalities(model)},
          {"keyframes", describe_keyframes(model)},
          {"contact", describe_contact_rules(model)},
          {"warnings", warnings}};
}

}  // namespace touchstone::peers

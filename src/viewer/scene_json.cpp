#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/viewer/json_parts.hpp"
#include "touchstone/viewer/replay.hpp"

namespace touchstone {
namespace viewer {
namespace {

constexpr double kLargestStep = 65535.0;  // of 16 bits
constexpr int kFirstHiddenGroup = 3;      // as in MuJoCo: groups 0 to 2 are shown, 3 and above are not

std::uint16_t fraction(double value, double low, double high) {
  if (!(high > low)) return 0;
  return static_cast<std::uint16_t>(std::round(std::clamp((value - low) / (high - low), 0.0, 1.0) * kLargestStep));
}

// Vertices on a grid of 2^16 steps along each side of the bounds.
Json mesh_json(const TriangleMesh& given) {
  const TriangleMesh hull = given.triangles.empty() ? convex_hull(given) : TriangleMesh{};
  const TriangleMesh& mesh = given.triangles.empty() ? hull : given;
  const Bounds box = bounds(mesh);
  std::vector<std::uint16_t> vertices;
  vertices.reserve(3 * mesh.vertices.size());
  for (const Vector3& vertex : mesh.vertices) {
    for (int k = 0; k < 3; ++k) vertices.push_back(fraction(vertex[k], box.lower[k], box.upper[k]));
  }
  std::vector<std::uint32_t> triangles;
  triangles.reserve(3 * mesh.triangles.size());
  for (const Eigen::Vector3i& triangle : mesh.triangles) {
    for (int k = 0; k < 3; ++k) triangles.push_back(static_cast<std::uint32_t>(triangle[k]));
  }
  return {{"name", given.name},
          {"lower", vector_json(box.lower)},
          {"upper", vector_json(box.upper)},
          {"vertices", packed_json(pack(vertices, 3, Delta::kRows))},
          {"triangles", packed_json(pack(triangles, 3, Delta::kRows))}};
}

Json height_field_json(const HeightField& field) {
  std::vector<std::uint16_t> values;
  values.reserve(field.values.size());
  for (const double value : field.values) values.push_back(fraction(value, 0.0, 1.0));
  return {{"name", field.name},
          {"rows", field.rows},
          {"columns", field.columns},
          {"radius", {field.radius_x, field.radius_y}},
          {"elevation", field.elevation},
          {"base", field.base},
          {"values", packed_json(pack(values, static_cast<std::size_t>(std::max(1, field.columns)), Delta::kRows))}};
}

// Data that several shapes share is written once.
template <typename Data>
class Shared {
 public:
  // Index of the data in list().
  template <typename Write>
  std::size_t index(const Data* data, Write write) {
    const auto [entry, is_new] = indices_.try_emplace(data, list_.size());
    if (is_new) list_.push_back(write(*data));
    return entry->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<const Data*, std::size_t> indices_;
  Json list_ = Json::array();
};

Json shapes_json(const Model& model, Shared<TriangleMesh>& meshes, Shared<HeightField>& fields) {
  Json shapes = Json::array();
  for (const ShapeElement& element : model.shapes) {
    Json shape{{"name", element.name},
               {"body", element.body},
               {"type", to_string(element.shape.type)},
               {"size", vector_json(element.shape.size)},
               {"pose", pose_json(element.pose)},
               {"color", {element.color[0], element.color[1], element.color[2], element.color[3]}},
               {"group", element.group},
               {"visual", element.group < kFirstHiddenGroup},
               {"collides", !element.visual_only},
               {"friction", element.material.friction[0]}};
    const auto material =
        std::find_if(model.visual_materials.begin(), model.visual_materials.end(),
                     [&](const VisualMaterial& known) { return known.name == element.visual_material; });
    if (!element.visual_material.empty() && material != model.visual_materials.end()) {
      shape["material"] = {{"name", material->name},
                           {"shininess", material->shininess},
                           {"specular", material->specular},
                           {"emission", material->emission}};
    }
    if (element.shape.mesh != nullptr) shape["mesh"] = meshes.index(element.shape.mesh.get(), mesh_json);
    if (element.shape.height_field != nullptr) {
      shape["height_field"] = fields.index(element.shape.height_field.get(), height_field_json);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Json bodies_json(const Model& model, const std::vector<Transform>& poses) {
  Json bodies = Json::array();
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const Body& element = model.bodies[i];
    Json body{{"name", element.name},
              {"parent", i == 0 ? -1 : element.parent},
              {"pose", pose_json(poses[i])},
              {"mass", element.inertia.mass},
              {"moves", model.body_kernels[i].tree >= 0 || element.mocap}};
    if (element.inertia.mass > 0.0) {
      const PrincipalInertia principal = principal_inertia(element.inertia.inertia);
      body["com"] = vector_json(element.inertia.com);
      body["inertia"] = {{"moments", vector_json(principal.moments)}, {"axes", rotation_json(principal.axes)}};
    }
    bodies.push_back(std::move(body));
  }
  return bodies;
}

Json joints_json(const Model& model) {
  Json joints = Json::array();
  for (const Joint& element : model.joints) {
    Json joint{{"name", element.name}, {"type", to_string(element.type)}, {"body", element.body}};
    if (element.type != JointType::kFree) joint["anchor"] = vector_json(element.anchor);
    if (element.type != JointType::kFree && element.type != JointType::kBall) joint["axis"] = vector_json(element.axis);
    if (element.limited) joint["range"] = {element.range[0], element.range[1]};
    joints.push_back(std::move(joint));
  }
  return joints;
}

// What closes loops: connects, welds and loop joints, by a frame in each body. `held`: ways along the axes of the first
// frame; `turn`: "all", "axis" (z against z), "square" (z against x of the second frame) or "none"; `length`: of the
// way between the origins; `pitch`: metres along z per radian about it.
Json loops_json(const Model& model) {
  Json loops = Json::array();
  for (const Equality& e : model.equalities) {
    if (sides_of(e.type) != EqualitySides::kBodies) continue;
    const bool is_weld = e.type == EqualityType::kWeld;
    const Transform in_b{is_weld ? e.anchor_a : e.anchor_b, Quaternion::Identity()};
    const Transform in_a = is_weld ? e.relative_pose * in_b : Transform{e.anchor_a, Quaternion::Identity()};
    loops.push_back({{"name", e.name},
                     {"type", to_string(e.type)},
                     {"active", e.active},
                     {"a", e.a},
                     {"b", std::max(e.b, 0)},
                     {"frame_a", pose_json(in_a)},
                     {"frame_b", pose_json(in_b)},
                     {"held", {true, true, true}},
                     {"turn", is_weld ? "all" : "none"}});
  }
  for (const LoopJoint& joint : model.loop_joints) {
    const HeldMotions held = held_motions(joint.type);
    const char* const turns[] = {"none", "axis", "all", "square"};
    Json loop{{"name", joint.name},
              {"type", to_string(joint.type)},
              {"active", joint.active},
              {"a", joint.body_a},
              {"b", joint.body_b},
              {"frame_a", pose_json(joint.frame_a)},
              {"frame_b", pose_json(joint.frame_b)},
              {"held", held.ways},
              {"turn", turns[static_cast<std::size_t>(held.turn)]}};
    if (held.distance) loop["length"] = joint.length;
    if (held.travel) loop["pitch"] = joint.pitch;
    loops.push_back(std::move(loop));
  }
  return loops;
}

Json controls_json(const Model& model) {
  Json controls = Json::array();
  for (const Actuator& actuator : model.actuators) {
    Json control{{"name", actuator.name}};
    if (actuator.control_limited) control["range"] = {actuator.control_range[0], actuator.control_range[1]};
    controls.push_back(std::move(control));
  }
  return controls;
}

}  // namespace

Json scene_object(const Model& model, const State& state) {
  Shared<TriangleMesh> meshes;
  Shared<HeightField> fields;
  Json scene{{"name", model.name},
             {"dofs", model.nv},
             {"gravity", vector_json(model.defaults.gravity)},
             {"bodies", bodies_json(model, body_poses(model, state))},
             {"shapes", shapes_json(model, meshes, fields)},
             {"joints", joints_json(model)},
             {"loops", loops_json(model)},
             {"controls", controls_json(model)}};
  scene["meshes"] = meshes.list();
  scene["height_fields"] = fields.list();
  return scene;
}

}  // namespace viewer

std::string scene_json(const Model& model, const State& state) {
  return viewer::dump(viewer::scene_object(model, state));
}

}  // namespace touchstone

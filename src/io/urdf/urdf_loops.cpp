#include "touchstone/io/urdf/urdf_loops.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/similar.hpp"
#include "touchstone/io/yaml.hpp"
#include "touchstone/model/loop_joint.hpp"

namespace touchstone {
namespace {

const std::vector<std::string> kLoopKeys = {
    "type",    "between",          "position", "axis",     "rpy",       "position_b",
    "rpy_b",   "length",           "pitch",    "limits",   "reference", "stiffness",
    "damping", "spring_reference", "armature", "friction", "active"};

// A link: the body that it is or has become part of, and where it is in that body.
struct LinkPlace {
  int body = 0;
  Transform X_BL;
};

class UrdfLoops {
 public:
  explicit UrdfLoops(ModelBuilder& builder) : builder_(builder) {}

  void add(const yaml::Node& root) {
    root.allow({"loops", "couplings"});
    if (root["loops"].exists()) {
      require_map(root["loops"]);
      for (const yaml::Node& node : root["loops"].items()) add_loop(node);
    }
    if (root["couplings"].exists()) {
      require_map(root["couplings"]);
      for (const yaml::Node& node : root["couplings"].items()) add_coupling(node);
    }
  }

 private:
  static void require_map(const yaml::Node& node) {
    if (!node.is_map()) node.fail("it is not a map", "write a name for each, such as 'pin: {type: revolute, ...}'");
  }

  LinkPlace place_of(const yaml::Node& node) const {
    const std::string name = node.text();
    if (name == "world") return {};
    std::vector<std::string> names = {"world"};
    for (std::size_t i = 1; i < builder_.bodies().size(); ++i) {
      if (builder_.bodies()[i].name == name) return {static_cast<int>(i), {}};
      names.push_back(builder_.bodies()[i].name);
    }
    for (const Site& site : builder_.sites()) {  // links behind fixed joints
      if (site.name == name) return {site.body, site.pose};
      names.push_back(site.name);
    }
    node.fail(fmt::format("there is no link '{}'", name),
              did_you_mean(name, names) + " Name two links of the URDF file, or 'world'");
  }

  // At the reference configuration.
  Transform world_pose(int body) const {
    Transform X;
    for (int i = body; i > 0; i = builder_.bodies()[at(i)].parent) X = builder_.bodies()[at(i)].pose * X;
    return X;
  }

  static LoopJointType type_of(const yaml::Node& loop) {
    const yaml::Node node = loop["type"];
    if (!node.exists()) loop.fail("it has no type", "give one of " + loop_joint_types());
    const std::optional<LoopJointType> type = find_loop_joint_type(node.text());
    if (!type)
      node.fail(fmt::format("there is no loop joint of type '{}'", node.text()), "give one of " + loop_joint_types());
    return *type;
  }

  // As URDF has it: about the fixed axes x, y, z in this order.
  static Quaternion rotation_of(const yaml::Node& rpy) {
    const Vector3 angles = rpy.vector3();
    return Quaternion(Eigen::AngleAxisd(angles[2], Vector3::UnitZ()) * Eigen::AngleAxisd(angles[1], Vector3::UnitY()) *
                      Eigen::AngleAxisd(angles[0], Vector3::UnitX()));
  }

  static Transform frame_of(const yaml::Node& loop) {
    Transform frame;
    if (loop["position"].exists()) frame.position = loop["position"].vector3();
    if (loop["axis"].exists()) {
      if (loop["rpy"].exists()) loop["rpy"].fail("the axis is given too", "give axis or rpy");
      const Vector3 axis = loop["axis"].vector3();
      if (!(axis.norm() > 0.0)) loop["axis"].fail("it is zero", "give a direction, such as [0, 0, 1]");
      frame.rotation = Quaternion::FromTwoVectors(Vector3::UnitZ(), axis);
    } else if (loop["rpy"].exists()) {
      frame.rotation = rotation_of(loop["rpy"]);
    }
    return frame;
  }

  static Vector2 range_of(const yaml::Node& node) {
    const VectorX range = node.vector();
    if (range.size() != 2) node.fail(fmt::format("it has {} numbers", range.size()), "write [lower, upper]");
    if (!(range[0] <= range[1]))
      node.fail(fmt::format("the lower limit {} is above the upper one {}", range[0], range[1]), "swap them");
    return range;
  }

  // One pair, or a list with a pair or '~' for each coordinate.
  static void set_limits(const yaml::Node& node, std::vector<LoopCoordinate>& coordinates) {
    if (!node.exists()) return;
    const std::vector<yaml::Node> items = node.items();
    const bool is_pair = items.size() == 2 && items[0].is_scalar() && items[1].is_scalar();
    if (is_pair && coordinates.size() == 1) {
      coordinates[0].limited = true;
      coordinates[0].range = range_of(node);
      return;
    }
    if (is_pair || items.size() != coordinates.size())
      node.fail(fmt::format("the joint has {} coordinates", coordinates.size()),
                "write a pair for each, such as [[-1, 1], ~], '~' for one without limits");
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (!items[k].exists()) continue;
      coordinates[k].limited = true;
      coordinates[k].range = range_of(items[k]);
    }
  }

  // One number for all coordinates, or a list.
  static void set_numbers(const yaml::Node& node, double LoopCoordinate::*field,
                          std::vector<LoopCoordinate>& coordinates) {
    if (!node.exists()) return;
    if (coordinates.empty()) node.fail("a joint of this type has no coordinates", "leave it out");
    VectorX values = VectorX::Constant(static_cast<Eigen::Index>(coordinates.size()), 0.0);
    if (node.is_scalar()) {
      values.setConstant(node.number());
    } else {
      const VectorX given = node.vector();
      if (given.size() != values.size())
        node.fail(fmt::format("it has {} numbers, the joint {} coordinates", given.size(), values.size()),
                  "write one number for all, or one for each");
      values = given;
    }
    for (std::size_t k = 0; k < coordinates.size(); ++k) coordinates[k].*field = values[static_cast<Eigen::Index>(k)];
  }

  static std::vector<LoopCoordinate> coordinates_of(const yaml::Node& loop, LoopJointType type) {
    std::vector<LoopCoordinate> coordinates(at(coordinate_count(type)));
    set_limits(loop["limits"], coordinates);
    const std::pair<const char*, double LoopCoordinate::*> fields[] = {
        {"reference", &LoopCoordinate::reference}, {"stiffness", &LoopCoordinate::stiffness},
        {"damping", &LoopCoordinate::damping},     {"spring_reference", &LoopCoordinate::spring_reference},
        {"armature", &LoopCoordinate::armature},   {"friction", &LoopCoordinate::friction}};
    for (const auto& [name, field] : fields) set_numbers(loop[name], field, coordinates);
    return coordinates;
  }

  // A number that joints of one type have.
  static void read_own(const yaml::Node& node, LoopJointType type, LoopJointType owner, double& value) {
    if (!node.exists()) return;
    if (type != owner)
      node.fail(fmt::format("a loop of type {} has none", to_string(type)),
                fmt::format("remove it, or choose type {}", to_string(owner)));
    value = node.number();
  }

  void add_loop(const yaml::Node& node) {
    node.allow(kLoopKeys);
    LoopJoint joint;
    joint.name = node.key();
    joint.type = type_of(node);
    joint.origin = node.where();
    joint.origin.element = fmt::format("loop '{}'", joint.name);
    const yaml::Node between = node["between"];
    if (!between.exists()) node.fail("it does not say what it joins", "write between: [LINK, LINK]");
    const std::vector<yaml::Node> links = between.items();
    if (links.size() != 2) between.fail(fmt::format("it has {} links", links.size()), "write between: [LINK, LINK]");
    const LinkPlace a = place_of(links[0]), b = place_of(links[1]);
    joint.body_a = a.body;
    joint.body_b = b.body;
    const Transform in_a = frame_of(node);
    const Transform X_WB = world_pose(b.body) * b.X_BL;
    Transform in_b = X_WB.inverse() * (world_pose(a.body) * a.X_BL * in_a);
    if (node["position_b"].exists()) in_b.position = node["position_b"].vector3();
    if (node["rpy_b"].exists()) in_b.rotation = rotation_of(node["rpy_b"]);
    joint.frame_a = a.X_BL * in_a;
    joint.frame_b = b.X_BL * in_b;
    if (joint.type == LoopJointType::kDistance)
      joint.length = (world_pose(a.body) * joint.frame_a.position - X_WB * in_b.position).norm();
    read_own(node["length"], joint.type, LoopJointType::kDistance, joint.length);
    read_own(node["pitch"], joint.type, LoopJointType::kScrew, joint.pitch);
    if (joint.type == LoopJointType::kScrew && !node["pitch"].exists())
      node.fail("a screw needs its pitch", "write pitch: METRES, of travel per radian");
    if (node["active"].exists()) joint.active = node["active"].flag();
    joint.coordinates = coordinates_of(node, joint.type);
    builder_.add_loop_joint(std::move(joint));
  }

  // A joint of the URDF file, or a coordinate of a loop: "pin", or "pin[1]" for its second one.
  void set_side(const yaml::Node& node, int& index, int& coordinate) const {
    std::string name = node.text();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < builder_.joints().size(); ++i) {
      names.push_back(builder_.joints()[i].name);
      if (names.back() == name) {
        index = static_cast<int>(i);
        return;
      }
    }
    int k = 0;
    const std::size_t open = name.rfind('[');
    if (open != std::string::npos && name.back() == ']') {
      const char* last = name.data() + name.size() - 1;
      if (std::from_chars(name.data() + open + 1, last, k).ptr != last)
        node.fail(fmt::format("'{}' has no number between the brackets", name), "count coordinates from 0");
      name.resize(open);
    }
    for (std::size_t i = 0; i < builder_.loop_joints().size(); ++i) {
      names.push_back(builder_.loop_joints()[i].name);
      if (names.back() != name) continue;
      index = static_cast<int>(i);
      coordinate = k;
      return;
    }
    node.fail(fmt::format("there is no joint or loop '{}'", name), did_you_mean(name, names));
  }

  void add_coupling(const yaml::Node& node) {
    node.allow({"joint", "driver", "polynomial"});
    Equality equality;
    equality.name = node.key();
    equality.type = EqualityType::kJoint;
    equality.origin = node.where();
    equality.origin.element = fmt::format("coupling '{}'", equality.name);
    if (!node["joint"].exists()) node.fail("it has no joint", "name the joint that follows");
    set_side(node["joint"], equality.a, equality.coordinate_a);
    if (node["driver"].exists()) set_side(node["driver"], equality.b, equality.coordinate_b);
    if (node["polynomial"].exists()) {
      const VectorX c = node["polynomial"].vector();
      if (c.size() < 1 || c.size() > 5)
        node["polynomial"].fail(fmt::format("it has {} numbers", c.size()), "write 1 to 5: c0 + c1 x + ...");
      equality.polynomial.fill(0.0);
      std::copy(c.begin(), c.end(), equality.polynomial.begin());
    }
    builder_.add_equality(std::move(equality));
  }

  ModelBuilder& builder_;
};

}  // namespace

std::optional<std::filesystem::path> find_urdf_loops(const std::filesystem::path& urdf, const LoadOptions& options) {
  if (options.loops == "none") return std::nullopt;
  if (!options.loops.empty()) return options.loops;
  if (urdf.empty()) return std::nullopt;
  std::filesystem::path file = urdf;
  file.replace_extension(".loops.yaml");
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  return file;
}

void add_urdf_loops(const std::filesystem::path& file, ModelBuilder& builder) {
  UrdfLoops(builder).add(yaml::Node::parse(read_file(file, file_kind::kScene), file.string(), "loops:"));
}

}  // namespace touchstone

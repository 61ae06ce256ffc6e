#include "touchstone/io/urdf/urdf_assembly.hpp"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "touchstone/io/urdf/urdf_shapes.hpp"

namespace touchstone {
namespace {

constexpr const char* kRootJoint = "root_joint";

// Where a link ended up.
struct Placement {
  int body = 0;
  Transform X_BL;      // link in that body
  bool moves = false;  // relative to the world
  Transform X_WL;      // of a link that does not move
  int fixed_base = 0;  // the base that a link is part of which does not move
};

class Assembler {
 public:
  Assembler(const UrdfRobot& robot, const UrdfTree& tree, const LoadOptions& options, UrdfResources& resources,
            UrdfNotes& notes, ModelBuilder& builder)
      : robot_(robot),
        tree_(tree),
        options_(options),
        notes_(notes),
        builder_(builder),
        shapes_(robot, resources, notes, builder),
        placements_(robot.links.size()) {}

  void run() {
    builder_.set_allow_massless(options_.allow_ignored, options_.names.allow_ignored);
    for (const int link : tree_.order) {
      placements_[index(link)] = link == tree_.root ? place_root(link) : place_below(link);
      add_contents(link);
    }
    shapes_.hide_hulls();
    for (const UrdfJoint& joint : robot_.joints) {
      if (!joint.mimic.joint.empty()) add_mimic(joint);
      if (joint.locked) add_lock(joint);
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  Placement place_root(int link) {
    const UrdfLink& root = robot_.links[index(link)];
    Placement fixed;
    if (options_.floating_base && !is_world(link)) {
      const int body = add_body(root, 0, {});
      Joint joint;
      joint.name = kRootJoint;
      joint.type = JointType::kFree;
      joint.body = body;
      joint.origin = root.origin;
      builder_.add_joint(std::move(joint));
      return {.body = body, .X_BL = {}, .moves = true, .X_WL = {}, .fixed_base = 0};
    }
    fixed.fixed_base = ++fixed_bases_;
    if (is_world(link)) return fixed;
    if (options_.merge_fixed) {
      add_site(root, 0, {});
    } else {
      fixed.body = add_body(root, 0, {});
    }
    return fixed;
  }

  // A root of this name is not part of a robot but what the robot stands on.
  bool is_world(int link) const { return link == tree_.root && robot_.links[index(link)].name == "world"; }

  Placement place_below(int link) {
    const UrdfLink& child = robot_.links[index(link)];
    const int joint_index = tree_.parent_joint[index(link)];
    const UrdfJoint& joint = robot_.joints[index(joint_index)];
    const int parent_link = tree_.parent_link[index(joint_index)];
    const Placement& parent = placements_[index(parent_link)];
    Placement placement{.body = parent.body,
                        .X_BL = parent.X_BL * joint.pose,
                        .moves = parent.moves,
                        .X_WL = parent.X_WL * joint.pose,
                        .fixed_base = parent.fixed_base};
    // What is bolted to the world is a base of its own.
    if (joint.type == UrdfJointType::kFixed && is_world(parent_link)) placement.fixed_base = ++fixed_bases_;
    if (joint.type == UrdfJointType::kFixed && options_.merge_fixed) {
      add_site(child, placement.body, placement.X_BL);
      return placement;
    }
    // A free joint is one to the world: its configuration is a pose in the world.
    const bool to_world = joint.type == UrdfJointType::kFloating && !parent.moves;
    placement.body = to_world ? add_body(child, 0, placement.X_WL) : add_body(child, parent.body, placement.X_BL);
    placement.X_BL = {};
    if (joint.type != UrdfJointType::kFixed) {
      placement.moves = true;
      // A floating joint holds nothing: such a body lies on the base rather than being mounted on it.
      if (!to_world) builder_.body(placement.body).fixed_base = placement.fixed_base;
      placement.fixed_base = 0;
      add_joint(joint, placement.body, to_world);
    }
    return placement;
  }

  int add_body(const UrdfLink& link, int parent, const Transform& pose) {
    Body body;
    body.name = link.name;
    body.parent = parent;
    body.pose = pose;
    body.origin = link.origin;
    return builder_.add_body(std::move(body));
  }

  void add_site(const UrdfLink& link, int body, const Transform& pose) {
    Site site;
    site.name = link.name;
    site.body = body;
    site.pose = pose;
    site.shape.size = Vector3::Constant(0.005);  // metres, as MuJoCo shows sites
    site.origin = link.origin;
    builder_.add_site(std::move(site));
  }

  // What is fixed to the world needs no inertia.
  void add_contents(int link) {
    const UrdfLink& source = robot_.links[index(link)];
    const Placement& placement = placements_[index(link)];
    if (placement.body != 0) {
      MassProperties& inertia = builder_.body(placement.body).inertia;
      inertia = located(source.origin, [&] { return inertia + transformed(placement.X_BL, source.inertia); });
    }
    shapes_.add(source, {.body = placement.body,
                         .X_BL = placement.X_BL,
                         .fixed_base = placement.fixed_base,
                         .exclude_overlaps = !is_world(link)});
  }

  void add_joint(const UrdfJoint& source, int body, bool to_world) {
    Joint joint;
    joint.name = source.name;
    joint.body = body;
    joint.axis = source.axis;
    joint.limited = source.limited;
    joint.range = source.range;
    joint.damping = source.damping;
    joint.friction = source.friction;
    joint.effort_limit = source.effort;
    joint.velocity_limit = source.velocity;
    joint.origin = source.origin;
    switch (source.type) {
      case UrdfJointType::kPlanar:
        builder_.add_planar_joint(joint);
        return;
      case UrdfJointType::kFloating:
        if (!to_world) return add_relative_free_joint(joint);
        joint.type = JointType::kFree;
        break;
      case UrdfJointType::kSpherical:
        joint.type = JointType::kBall;
        break;
      case UrdfJointType::kPrismatic:
        joint.type = JointType::kSlide;
        break;
      default:
        joint.type = JointType::kHinge;
        break;
    }
    moving_joints_[source.name] = builder_.add_joint(std::move(joint));
  }

  // Six dofs against a body that moves itself: three slides along the parent's axes, then a ball.
  void add_relative_free_joint(const Joint& whole) {
    for (int i = 0; i < 4; ++i) {
      Joint part = whole;
      part.name = fmt::format("{}/{}", whole.name, i + 1);
      part.type = i < 3 ? JointType::kSlide : JointType::kBall;
      part.axis = Vector3::Unit(i % 3);
      builder_.add_joint(std::move(part));
    }
  }

  void add_mimic(const UrdfJoint& joint) {
    const UrdfMimic& mimic = joint.mimic;
    const int follower = scalar_joint(joint.name, mimic, "a mimicking joint");
    Equality equality;
    equality.name = joint.name + "/mimic";
    equality.type = EqualityType::kJoint;
    equality.a = follower;
    equality.polynomial = {mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0};
    equality.origin = mimic.origin;
    if (const UrdfJoint* leader = find_joint(mimic.joint); !leader) {
      fail_mimic(mimic, fmt::format("the joint '{}' does not exist", mimic.joint), "name a joint of this file");
    } else if (leader == &joint) {
      fail_mimic(mimic, "the joint mimics itself", "name another joint");
    } else if (leader->type == UrdfJointType::kFixed) {
      notes_.warn(mimic.origin, fmt::format("joint '{}' is fixed: '{}' is held at its offset {}", mimic.joint,
                                            joint.name, mimic.offset));
    } else {
      equality.b = scalar_joint(mimic.joint, mimic, "a joint that is mimicked");
    }
    builder_.add_equality(std::move(equality));
  }

  // A range of no width is not a limit but an equality.
  void add_lock(const UrdfJoint& joint) {
    Equality equality;
    equality.name = joint.name + "/locked";
    equality.type = EqualityType::kJoint;
    equality.a = moving_joints_.at(joint.name);
    equality.polynomial = {joint.range[0], 0.0, 0.0, 0.0, 0.0};
    equality.origin = joint.origin;
    builder_.add_equality(std::move(equality));
  }

  const UrdfJoint* find_joint(const std::string& name) {
    if (joints_by_name_.empty()) {
      for (const UrdfJoint& joint : robot_.joints) joints_by_name_[joint.name] = &joint;
    }
    const auto found = joints_by_name_.find(name);
    return found == joints_by_name_.end() ? nullptr : found->second;
  }

  // The builder's index of a joint with one dof.
  int scalar_joint(const std::string& name, const UrdfMimic& mimic, const char* role) const {
    const auto found = moving_joints_.find(name);
    if (found != moving_joints_.end()) {
      const JointType type = builder_.joints()[index(found->second)].type;
      if (type == JointType::kHinge || type == JointType::kSlide) return found->second;
    }
    fail_mimic(mimic, fmt::format("{} ('{}') has more than one degree of freedom", role, name),
               "mimic works between revolute, continuous and prismatic joints");
  }

  [[noreturn]] static void fail_mimic(const UrdfMimic& mimic, std::string message, std::string remedy) {
    throw InputError(ErrorDetail{.where = mimic.origin, .message = std::move(message), .remedy = std::move(remedy)});
  }

  const UrdfRobot& robot_;
  const UrdfTree& tree_;
  const LoadOptions& options_;
  UrdfNotes& notes_;
  ModelBuilder& builder_;
  UrdfShapes shapes_;
  std::vector<Placement> placements_;                   // for each link
  int fixed_bases_ = 0;                                 // so many so far
  std::unordered_map<std::string, int> moving_joints_;  // name -> builder index; composite joints are left out
  std::unordered_map<std::string, const UrdfJoint*> joints_by_name_;
};

}  // namespace

void assemble_urdf(const UrdfRobot& robot, const UrdfTree& tree, const LoadOptions& options, UrdfResources& resources,
                   UrdfNotes& notes, ModelBuilder& builder) {
  Assembler(robot, tree, options, resources, notes, builder).run();
}

}  // namespace touchstone

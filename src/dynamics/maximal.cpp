#include "touchstone/dynamics/maximal.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/fields.hpp"
#include "touchstone/model/validate.hpp"

namespace touchstone {
namespace {

constexpr double kSame = 1e-9;  // m or rad: axes and points that are meant to be one

// The joints of a body as one loop joint.
struct Plan {
  int body = 0;
  LoopJointType type = LoopJointType::kFixed;
  Transform frame;  // in the body
  struct Part {
    int joint = 0;
    double sign = 1.0;  // of the loop joint's coordinate against the joint's
  };
  std::vector<Part> parts;  // by coordinate; a ball is one part
};

bool are_parallel(const Vector3& a, const Vector3& b) { return a.cross(b).norm() < kSame; }
bool are_square(const Vector3& a, const Vector3& b) { return std::abs(a.dot(b)) < kSame; }

Quaternion axes(const Vector3& x, const Vector3& y, const Vector3& z) {
  Matrix3 R;
  R << x, y, z;
  return Quaternion(R).normalized();
}

// The point where the axes of hinges meet.
std::optional<Vector3> common_point(const std::vector<const Joint*>& hinges) {
  const Joint &a = *hinges[0], &b = *hinges[1];
  // At right angles: along the first axis, as far as the second is.
  Vector3 point = a.anchor + a.axis * a.axis.dot(b.anchor - a.anchor);
  for (const Joint* hinge : hinges) {
    if ((point - hinge->anchor).cross(hinge->axis).norm() > kSame) return std::nullopt;
  }
  return point;
}

// What joints with these types are together; nothing if there is no such type.
std::optional<Plan> combine(const Model& model, int first, int count) {
  std::vector<const Joint*> joints;
  int slides = 0, hinges = 0;
  for (int j = first; j < first + count; ++j) {
    joints.push_back(&model.joints[at(j)]);
    slides += joints.back()->type == JointType::kSlide ? 1 : 0;
    hinges += joints.back()->type == JointType::kHinge ? 1 : 0;
  }
  const Joint &a = *joints[0], &b = *joints[at(std::min(1, count - 1))], &c = *joints.back();
  Plan plan;
  const auto done = [&](LoopJointType type, const Vector3& origin, const Quaternion& rotation,
                        std::vector<Plan::Part> parts) {
    plan.type = type;
    plan.frame = {origin, rotation};
    plan.parts = std::move(parts);
    return plan;
  };
  if (count == 1) {
    if (a.type == JointType::kBall) return done(LoopJointType::kSpherical, a.anchor, Quaternion::Identity(), {{first}});
    const LoopJointType type = a.type == JointType::kHinge   ? LoopJointType::kRevolute
                               : a.type == JointType::kSlide ? LoopJointType::kPrismatic
                                                             : LoopJointType::kScrew;
    return done(type, a.anchor, rotation_from_z(a.axis), {{first}});
  }
  if (slides + hinges != count) return std::nullopt;
  if (count == 2 && slides == 1 && are_parallel(a.axis, b.axis)) {
    const int slide = a.type == JointType::kSlide ? 0 : 1;
    const Joint& hinge = *joints[at(1 - slide)];
    return done(LoopJointType::kCylindrical, hinge.anchor, rotation_from_z(hinge.axis),
                {{first + slide, a.axis.dot(b.axis) > 0.0 ? 1.0 : -1.0}, {first + 1 - slide}});
  }
  if (!are_square(a.axis, b.axis)) return std::nullopt;
  if (count == 2 && hinges == 2) {
    const std::optional<Vector3> point = common_point(joints);
    if (!point) return std::nullopt;
    return done(LoopJointType::kUniversal, *point, axes(b.axis, a.axis.cross(b.axis), a.axis), {{first}, {first + 1}});
  }
  if (count != 3 || !are_square(a.axis, c.axis) || !are_square(b.axis, c.axis)) return std::nullopt;
  const Vector3 third = a.axis.cross(b.axis);
  const double hand = third.dot(c.axis) > 0.0 ? 1.0 : -1.0;
  if (hinges == 3) {
    const std::optional<Vector3> point = common_point(joints);
    if (!point) return std::nullopt;
    return done(LoopJointType::kGimbal, *point, axes(b.axis, third, a.axis), {{first}, {first + 1}, {first + 2, hand}});
  }
  if (slides == 3) {
    return done(LoopJointType::kCartesian, Vector3::Zero(), axes(a.axis, b.axis, third),
                {{first}, {first + 1}, {first + 2, hand}});
  }
  if (slides == 2 && c.type == JointType::kHinge) {
    return done(LoopJointType::kPlanar, c.anchor, axes(a.axis, b.axis, third),
                {{first}, {first + 1}, {first + 2, hand}});
  }
  return std::nullopt;
}

bool is_free(const Model& model, int body) {
  const BodyKernel& kernel = model.body_kernels[at(body)];
  return kernel.joint_count > 0 && model.joints[at(kernel.first_joint)].type == JointType::kFree;
}

// One for each body with joints that are not free, in the order of bodies.
std::vector<Plan> plans_of(const Model& model) {
  std::vector<Plan> plans;
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& kernel = model.body_kernels[at(b)];
    if (kernel.joint_count == 0 || is_free(model, b)) continue;
    std::optional<Plan> plan = combine(model, kernel.first_joint, kernel.joint_count);
    if (!plan) {
      std::string list;
      for (int j = kernel.first_joint; j < kernel.first_joint + kernel.joint_count; ++j) {
        const Joint& joint = model.joints[at(j)];
        list += fmt::format("{}{} '{}'", list.empty() ? "" : ", ", to_string(joint.type), joint.name);
      }
      throw InputError({.where = origin_of(model, ElementKind::kBody, b),
                        .message = fmt::format("its joints ({}) are no loop joint", list),
                        .remedy = "put a body with mass between them, or keep reduced coordinates"});
    }
    plan->body = b;
    plans.push_back(std::move(*plan));
  }
  return plans;
}

// --- elements ---

LoopCoordinate coordinate_of(const Joint& joint, double sign) {
  LoopCoordinate c;
  c.reference = sign * joint.reference;
  c.limited = joint.limited;
  c.range = sign > 0.0 ? joint.range : Vector2(-joint.range[1], -joint.range[0]);
  c.limit_margin = joint.limit_margin;
  c.limit_impedance = joint.limit_impedance;
  c.stiffness = joint.stiffness;
  c.spring_reference = sign * joint.spring_reference;
  c.damping = joint.damping;
  c.armature = joint.armature;
  c.friction = joint.friction;
  c.friction_impedance = joint.friction_impedance;
  return c;
}

LoopJoint loop_joint_of(const Model& model, const Plan& plan) {
  const Body& body = model.bodies[at(plan.body)];
  LoopJoint loop;
  loop.type = plan.type;
  loop.body_a = body.parent;
  loop.body_b = plan.body;
  loop.frame_a = body.pose * plan.frame;
  loop.frame_b = plan.frame;
  loop.origin = model.joints[at(plan.parts[0].joint)].origin;
  for (const Plan::Part& part : plan.parts) {
    const Joint& joint = model.joints[at(part.joint)];
    loop.name += (loop.name.empty() ? "" : "+") + joint.name;
    if (joint.type == JointType::kScrew) loop.pitch = joint.pitch;
    loop.coordinates.push_back(coordinate_of(joint, part.sign));
  }
  if (plan.type != LoopJointType::kSpherical) return loop;
  loop.coordinates[0].reference = loop.coordinates[0].spring_reference = 0.0;
  loop.coordinates.resize(3, loop.coordinates[0]);
  for (std::size_t k = 1; k < 3; ++k) loop.coordinates[k].limited = false;
  return loop;
}

// Where a joint of the model has gone: a free joint, or a coordinate of a loop joint.
struct Place {
  int free_joint = -1, loop_joint = -1, coordinate = 0;
  double sign = 1.0;
};

void require_mass(const Model& model) {
  std::vector<double> mass(at(model.nbody), 0.0);
  for (int b = 1; b < model.nbody; ++b) {
    mass[at(model.body_weld[at(b)])] += model.defaults.body_inertia[at(b)].mass;
  }
  for (int b = 1; b < model.nbody; ++b) {
    if (model.body_kernels[at(b)].joint_count == 0 || mass[at(b)] > 0.0) continue;
    throw InputError({.where = origin_of(model, ElementKind::kBody, b),
                      .message = "it has no mass, so it cannot move freely",
                      .remedy = "give it mass, or keep reduced coordinates"});
  }
}

// Bodies that were neighbours in a tree still do not collide.
void exclude_neighbours(const Model& model, Model& draft) {
  if (!model.options.filter_parent_contacts) return;
  std::vector<char> has_shape(at(model.nbody), 0);
  for (const ShapeElement& shape : model.shapes) {
    if (!shape.visual_only) has_shape[at(shape.body)] = 1;
  }
  for (int a = 1; a < model.nbody; ++a) {
    const int child = model.body_weld[at(a)];
    if (has_shape[at(a)] == 0 || child == 0) continue;
    const int parent = model.body_weld[at(model.bodies[at(child)].parent)];
    if (parent == 0) continue;
    for (int b = 1; b < model.nbody; ++b) {
      if (has_shape[at(b)] == 0 || model.body_weld[at(b)] != parent) continue;
      draft.contact_exclusions.push_back({.name = {}, .body_a = a, .body_b = b, .origin = {}});
    }
  }
}

class Converter {
 public:
  explicit Converter(const Model& model) : model_(model), plans_(plans_of(model)), place_(at(model.njoint)) {
    require_mass(model);
    if (!model.tendons.empty()) {
      throw InputError({.where = origin_of(model, ElementKind::kTendon, 0),
                        .message = "tendons act on joints of trees",
                        .remedy = "keep reduced coordinates, or replace it by couplings of joints"});
    }
    copy_fields(model, draft_);
    draft_.keyframes.clear();
    name_lost_limits();
    convert_joints();
    convert_actuators();
    convert_equalities();
    drop_sensors();
    exclude_neighbours(model, draft_);
  }
  const Model& draft() const { return draft_; }

 private:
  void convert_joints() {
    Data data(model_);
    forward_kinematics(model_, model_.defaults, model_.reference_q, data);
    draft_.joints.clear();
    for (int b = 1; b < model_.nbody; ++b) {
      const BodyKernel& kernel = model_.body_kernels[at(b)];
      if (kernel.joint_count == 0) continue;
      if (is_free(model_, b)) {
        place_[at(kernel.first_joint)].free_joint = static_cast<int>(draft_.joints.size());
        draft_.joints.push_back(model_.joints[at(kernel.first_joint)]);
        continue;
      }
      draft_.bodies[at(b)].parent = 0;
      draft_.bodies[at(b)].pose = body_pose(data, b);
      Joint joint;
      joint.name = model_.bodies[at(b)].name + "/free";
      while (model_.find(ElementKind::kJoint, joint.name) >= 0) joint.name += '_';
      joint.body = b;
      joint.type = JointType::kFree;
      draft_.joints.push_back(std::move(joint));
    }
    for (const Plan& plan : plans_) {
      for (std::size_t k = 0; k < plan.parts.size(); ++k) {
        const Plan::Part& part = plan.parts[k];
        place_[at(part.joint)] = {-1, static_cast<int>(draft_.loop_joints.size()), static_cast<int>(k), part.sign};
      }
      draft_.loop_joints.push_back(loop_joint_of(model_, plan));
    }
  }

  // Gravity compensation acts on bodies; no force of a joint is left that could be limited with it.
  void name_lost_limits() {
    if ((model_.defaults.body_gravity_compensation.array() == 0.0).all()) return;
    for (int j = 0; j < model_.njoint; ++j) {
      const Joint& joint = model_.joints[at(j)];
      if (!joint.actuator_gravity_compensation || !joint.actuator_force_limited) continue;
      draft_.warnings.push_back({origin_of(model_, ElementKind::kJoint, j),
                                 "in maximal coordinates gravity compensation does not count as a force of actuators: "
                                 "the limit of that force leaves it out"});
    }
  }

  // The limit that a joint has for its actuators becomes that of its only one.
  void limit_force(const Joint& joint, int u) {
    if (!joint.actuator_force_limited) return;
    const auto pulls = [&](const Actuator& other) {
      const bool at_joint =
          other.transmission == TransmissionType::kJoint || other.transmission == TransmissionType::kJointInParent;
      return at_joint && &model_.joints[at(other.target)] == &joint;
    };
    if (std::count_if(model_.actuators.begin(), model_.actuators.end(), pulls) > 1) {
      throw InputError({.where = origin_of(model_, ElementKind::kActuator, u),
                        .message = fmt::format("it shares the force limit of joint '{}' with others", joint.name),
                        .remedy = "limit the actuators themselves, or keep reduced coordinates"});
    }
    Actuator& actuator = draft_.actuators[at(u)];
    const double gear = model_.actuators[at(u)].gear[0];
    if (gear == 0.0) return;
    const Vector2 range = joint.actuator_force_range / gear;
    const Vector2 own = actuator.force_limited ? actuator.force_range : Vector2(-kInfinity, kInfinity);
    actuator.force_limited = true;
    actuator.force_range = {std::max(own[0], range.minCoeff()), std::min(own[1], range.maxCoeff())};
  }

  void convert_actuators() {
    for (int u = 0; u < model_.nu; ++u) {
      Actuator& actuator = draft_.actuators[at(u)];
      actuator.damping_ratio = 0.0;  // its damping is that of the tree, which bodies alone would not give
      const bool in_parent = actuator.transmission == TransmissionType::kJointInParent;
      if (!in_parent && actuator.transmission != TransmissionType::kJoint) continue;
      const Place& place = place_[at(actuator.target)];
      const Joint& joint = model_.joints[at(actuator.target)];
      if (place.free_joint >= 0) {
        actuator.target = place.free_joint;
        continue;
      }
      if (in_parent && joint.type == JointType::kBall) {
        throw InputError({.where = origin_of(model_, ElementKind::kActuator, u),
                          .message = "it turns a ball joint about axes of the parent",
                          .remedy = "keep reduced coordinates"});
      }
      if (is_scalar(joint)) {
        const double gear = place.sign * actuator.gear[0];
        actuator.gear.fill(0.0);
        actuator.gear[at(place.coordinate)] = gear;
        limit_force(joint, u);
      }
      actuator.transmission = TransmissionType::kLoopJoint;
      actuator.target = place.loop_joint;
    }
  }

  // y = s_y y', x = s_x x': y' - y0' = s_y sum c_k (s_x (x' - x0'))^k.
  void convert_equalities() {
    for (Equality& equality : draft_.equalities) {
      if (equality.type != EqualityType::kJoint) continue;
      const double sign_a = move_side(equality.a, equality.coordinate_a);
      const double sign_b = equality.b >= 0 ? move_side(equality.b, equality.coordinate_b) : 1.0;
      for (int k = 0; k < 5; ++k) equality.polynomial[at(k)] *= sign_a * std::pow(sign_b, k);
    }
  }
  double move_side(int& joint, int& coordinate) const {
    if (coordinate >= 0) return 1.0;  // it was a loop joint before, and those keep their numbers
    const Place& place = place_[at(joint)];
    joint = place.loop_joint;
    coordinate = place.coordinate;
    return place.sign;
  }

  void drop_sensors() {
    std::vector<Sensor> kept;
    for (Sensor& sensor : draft_.sensors) {
      if (sensor.object_type == FrameType::kJoint) {
        draft_.warnings.push_back(
            {sensor.origin, fmt::format("sensor '{}' of a joint is left out in maximal coordinates", sensor.name)});
      } else {
        kept.push_back(std::move(sensor));
      }
    }
    draft_.sensors = std::move(kept);
  }

  const Model& model_;
  std::vector<Plan> plans_;
  std::vector<Place> place_;  // njoint
  Model draft_;
};

// --- states ---

// The free joint of a body of the maximal model, by the body's name.
int free_joint_of(const Model& maximal, const std::string& body) {
  return maximal.body_kernels[at(maximal.body(body))].first_joint;
}

void require_same_machine(const Model& reduced, const Model& maximal, const std::vector<Plan>& plans) {
  if (maximal.loop_joints.size() == reduced.loop_joints.size() + plans.size() && maximal.nbody == reduced.nbody) return;
  throw Error(
      {.message = "the second model is not the first one in maximal coordinates", .remedy = "make it with to_maximal"});
}

}  // namespace

State to_maximal_state(const Model& reduced, const Model& maximal, const State& state) {
  const std::vector<Plan> plans = plans_of(reduced);
  require_same_machine(reduced, maximal, plans);
  state.validate(reduced);
  Data data(reduced);
  forward_kinematics(reduced, reduced.defaults, state, data);
  forward_velocity(reduced, state.v, data);
  State result(maximal);
  result.time = state.time;
  result.activation = state.activation;
  result.mocap = state.mocap;
  for (int b = 1; b < reduced.nbody; ++b) {
    if (reduced.body_kernels[at(b)].joint_count == 0) continue;
    const int joint = free_joint_of(maximal, reduced.bodies[at(b)].name);
    const int q = maximal.joint_q[at(joint)], dof = maximal.joint_dof[at(joint)];
    const Transform X = body_pose(data, b);
    const Vector6 velocity = point_velocity(reduced, data, b, X.position);
    result.q.segment<3>(q) = X.position;
    result.q.segment<4>(q + 3) << X.rotation.w(), X.rotation.vec();
    result.v.segment<3>(dof) = velocity.head<3>();
    result.v.segment<3>(dof + 3) = X.rotation.conjugate() * Vector3(velocity.tail<3>());
  }
  result.loop_q.head(reduced.nloop) = state.loop_q;
  int next = reduced.nloop;
  for (const Plan& plan : plans) {
    for (const Plan::Part& part : plan.parts) {
      const int q = reduced.joint_q[at(part.joint)];
      if (plan.type == LoopJointType::kSpherical) {
        result.loop_q.segment<3>(next) = so3_log(quaternion_at(state.q, q).normalized());
        next += 3;
      } else {
        result.loop_q[next++] = part.sign * state.q[q];
      }
    }
  }
  return result;
}

State to_reduced_state(const Model& reduced, const Model& maximal, const State& state) {
  const std::vector<Plan> plans = plans_of(reduced);
  require_same_machine(reduced, maximal, plans);
  state.validate(maximal);
  Data data(maximal);
  forward_kinematics(maximal, maximal.defaults, state, data);
  forward_velocity(maximal, state.v, data);
  State result(reduced);
  result.time = state.time;
  result.activation = state.activation;
  result.mocap = state.mocap;
  result.loop_q = state.loop_q.head(reduced.nloop);
  for (int b = 1; b < reduced.nbody; ++b) {
    if (!is_free(reduced, b)) continue;
    const int from = free_joint_of(maximal, reduced.bodies[at(b)].name);
    const int to = reduced.body_kernels[at(b)].first_joint;
    result.q.segment<7>(reduced.joint_q[at(to)]) = state.q.segment<7>(maximal.joint_q[at(from)]);
    result.v.segment<6>(reduced.joint_dof[at(to)]) = state.v.segment<6>(maximal.joint_dof[at(from)]);
  }
  int loop = static_cast<int>(reduced.loop_joints.size());
  for (const Plan& plan : plans) {
    LoopRow rows[kMostLoopCoordinates];
    loop_coordinates(maximal, data, state.loop_memory(), loop, rows);
    ++loop;
    for (std::size_t k = 0; k < plan.parts.size(); ++k) {
      const Plan::Part& part = plan.parts[k];
      const int q = reduced.joint_q[at(part.joint)], dof = reduced.joint_dof[at(part.joint)];
      if (plan.type == LoopJointType::kSpherical) {
        const Quaternion turn = so3_exp(Vector3(rows[0].value, rows[1].value, rows[2].value));
        result.q.segment<4>(q) << turn.w(), turn.vec();
        for (int i = 0; i < 3; ++i) result.v[dof + i] = rows[i].rate;
      } else {
        result.q[q] = part.sign * rows[k].value;
        result.v[dof] = part.sign * rows[k].rate;
      }
    }
  }
  return result;
}

ModelPtr to_maximal(const Model& model) {
  const Converter converter(model);
  ModelBuilder builder(converter.draft());
  ModelPtr without_keyframes = builder.build();
  if (model.keyframes.empty()) return without_keyframes;
  for (const Keyframe& key : model.keyframes) {
    const State moved = to_maximal_state(model, *without_keyframes, State(model, key));
    Keyframe copy = key;
    copy.q = moved.q;
    copy.v = moved.v;
    copy.loop_q = moved.loop_q;
    builder.add_keyframe(std::move(copy));
  }
  return builder.build();
}

}  // namespace touchstone

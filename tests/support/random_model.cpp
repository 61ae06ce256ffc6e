#include "support/random_model.hpp"

#include <algorithm>

#include "support/effort.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone::test {

int property_count() { return whole_family() ? 1000 : 50; }

VectorX random_vector(int size, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  VectorX v(size);
  for (int i = 0; i < size; ++i) v[i] = normal(random);
  return v;
}

Vector3 random_vector3(std::mt19937_64& random) { return random_vector(3, random); }

namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

int choose(std::mt19937_64& random, int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); }

MassProperties random_inertia(std::mt19937_64& random) {
  // The inertia of a box of random size and orientation is physical.
  Shape box{.type = ShapeType::kBox,
            .size = Vector3(uniform(random, 0.05, 0.3), uniform(random, 0.05, 0.3), uniform(random, 0.05, 0.3))};
  const Transform X{0.2 * random_vector3(random), so3_exp(random_vector3(random))};
  return transformed(X, with_mass(mass_properties(box, 1000.0), uniform(random, 0.1, 5.0)));
}

Vector3 random_axis(std::mt19937_64& random) {
  const int kind = choose(random, 4);
  return kind < 3 ? Vector3(Vector3::Unit(kind)) : random_vector3(random).normalized();
}

Joint random_joint(std::mt19937_64& random, int body, const RandomModelOptions& options) {
  static constexpr JointType kTypes[] = {JointType::kHinge, JointType::kHinge, JointType::kSlide, JointType::kScrew};
  Joint joint{.body = body, .type = kTypes[choose(random, 4)], .axis = random_axis(random)};
  if (choose(random, 2) == 0) joint.anchor = 0.2 * random_vector3(random);
  if (joint.type == JointType::kScrew) joint.pitch = uniform(random, -0.2, 0.2);
  joint.reference = choose(random, 2) == 0 ? 0.0 : uniform(random, -1.0, 1.0);
  if (options.armature) joint.armature = uniform(random, 0.0, 0.1);
  if (options.damping) joint.damping = uniform(random, 0.0, 0.5);
  return joint;
}

void add_joints(ModelBuilder& builder, std::mt19937_64& random, int body, bool top, const RandomModelOptions& options) {
  if (top && (options.only_floating || choose(random, 2) == 0)) {
    builder.add_joint({.body = body, .type = JointType::kFree});
    return;
  }
  // Several joints without armature may coincide, and then the mass matrix is singular with good reason.
  switch (options.armature ? choose(random, 6) : choose(random, 2) * 4) {
    case 0:
      return;  // welded to its parent
    case 1: {
      Joint ball = random_joint(random, body, options);
      ball.type = JointType::kBall;
      builder.add_joint(ball);
      return;
    }
    case 2:
      builder.add_joint(random_joint(random, body, options));
      [[fallthrough]];
    case 3:
      builder.add_joint(random_joint(random, body, options));
      [[fallthrough]];
    default:
      builder.add_joint(random_joint(random, body, options));
      return;
  }
}

}  // namespace

ModelPtr random_model(std::mt19937_64& random, const RandomModelOptions& options) {
  ModelBuilder builder("random");
  for (int i = 0; i < options.bodies; ++i) {
    const int count = static_cast<int>(builder.bodies().size());
    // Mostly extend a recent body, sometimes branch, sometimes start a new tree.
    const int parent = count == 1 || choose(random, 6) == 0 ? 0 : std::max(1, count - 1 - choose(random, 3));
    Transform pose{0.3 * random_vector3(random), Quaternion::Identity()};
    if (choose(random, 2) == 0) pose.rotation = so3_exp(random_vector3(random));
    const int body = builder.add_body({.parent = parent, .pose = pose, .inertia = random_inertia(random)});
    add_joints(builder, random, body, parent == 0, options);
  }
  return builder.build();
}

namespace {

Impedance random_impedance(std::mt19937_64& random) {
  Impedance impedance;
  impedance.solref[0] = uniform(random, 0.01, 0.1);
  return impedance;
}

void add_equalities(ModelBuilder& builder, std::mt19937_64& random, const std::vector<int>& scalar, int tendons) {
  const int bodies = static_cast<int>(builder.bodies().size());
  for (int i = 0; i < 4; ++i) {
    Equality equality{.type = i % 2 == 0 ? EqualityType::kConnect : EqualityType::kWeld};
    equality.a = 1 + choose(random, bodies - 1);
    do equality.b = choose(random, bodies);
    while (equality.b == equality.a);
    equality.anchor_a = 0.2 * random_vector3(random);
    equality.anchor_b = 0.2 * random_vector3(random);
    equality.relative_pose = {0.3 * random_vector3(random), so3_exp(0.5 * random_vector3(random))};
    equality.torque_scale = uniform(random, 0.5, 1.5);
    equality.impedance = random_impedance(random);
    builder.add_equality(equality);
  }
  if (scalar.size() > 1) {
    builder.add_equality({.type = EqualityType::kJoint, .a = scalar[0], .b = scalar[1], .polynomial = {0.1, 0.5, 0.1}});
  }
  if (tendons > 1) {
    builder.add_equality({.type = EqualityType::kTendon, .a = 0, .b = 1, .polynomial = {0.0, 0.4, 0.1}});
  }
}

}  // namespace

ModelPtr random_bound_model(std::mt19937_64& random, const RandomModelOptions& options) {
  ModelBuilder builder(*random_model(random, options));
  std::vector<int> scalar;
  for (int j = 0; j < static_cast<int>(builder.joints().size()); ++j) {
    Joint& joint = builder.joint(j);
    joint.friction = choose(random, 2) == 0 ? uniform(random, 0.1, 1.0) : 0.0;
    if (joint.type == JointType::kFree) continue;
    joint.limited = choose(random, 2) == 0;
    joint.range = joint.type == JointType::kBall ? Vector2(0.0, 0.01) : Vector2(-0.01, 0.01);
    joint.limit_impedance = random_impedance(random);
    if (joint.type != JointType::kBall) scalar.push_back(j);
  }
  std::shuffle(scalar.begin(), scalar.end(), random);
  const int tendons = scalar.empty() ? 0 : 2;
  for (int t = 0; t < tendons; ++t) {
    Tendon tendon{.limited = true, .range = Vector2(-0.01, 0.01), .friction = uniform(random, 0.1, 1.0)};
    for (std::size_t k = static_cast<std::size_t>(t); k < std::min<std::size_t>(scalar.size(), 4); k += 2)
      tendon.terms.push_back({scalar[k], uniform(random, -1.0, 1.0)});
    if (tendon.terms.empty()) tendon.terms.push_back({scalar[0], 1.0});
    builder.add_tendon(tendon);
  }
  add_equalities(builder, random, scalar, tendons);
  Actuator servo{.gain = {500.0, 0.0, 0.0}, .bias = {0.0, -500.0, -10.0}};
  servo.bias_type = ActuatorBias::kAffine;
  servo.force_limited = true;
  servo.force_range = Vector2(-0.01, 0.01);
  servo.gear[0] = uniform(random, 0.5, 2.0);
  for (std::size_t k = 0; k < std::min<std::size_t>(scalar.size(), 3); ++k) {
    servo.target = scalar[k];
    builder.add_actuator(servo);
  }
  servo.transmission = TransmissionType::kTendon;
  servo.target = 0;
  if (tendons > 0) builder.add_actuator(servo);
  return builder.build();
}

State random_state(const Model& model, std::mt19937_64& random) {
  State state(model);
  random_configuration(model, random, state.q);
  state.v = random_vector(model.nv, random);
  state.activation = random_vector(model.na, random);
  return state;
}

double relative_error(const MatrixX& actual, const MatrixX& expected) {
  if (actual.rows() != expected.rows() || actual.cols() != expected.cols()) return 1e300;
  if (expected.size() == 0) return 0.0;
  const double largest = std::max(expected.cwiseAbs().maxCoeff(), 1e-300);
  return (actual - expected).cwiseAbs().maxCoeff() / largest;
}

}  // namespace touchstone::test

// Configurations, velocities and mobility of closed chains, against closed forms and on random families.
#include "touchstone/sim/mechanism.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numbers>

#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone {
namespace {

using std::numbers::pi;

// The angle of the rocker of a four-bar from x to z, from its pin at the ground to the coupler (Freudenstein).
struct FourBar {
  double crank = 0.5, coupler = 1.25, rocker = 1.0, ground = 1.0;

  Vector2 pin(double angle) const {  // where coupler and rocker meet, on the open branch
    const Vector2 B(crank * std::cos(angle), crank * std::sin(angle)), D(ground, 0.0), way = D - B;
    const double d = way.norm(), along = (coupler * coupler - rocker * rocker + d * d) / (2.0 * d);
    const double height = std::sqrt(coupler * coupler - along * along);
    return B + way * (along / d) + height / d * Vector2(-way.y(), way.x());
  }
};

// Angle of body `name` about -y since the start.
double turn_of(const Model& model, const Data& data, const std::string& name) {
  const Matrix3 R = data.X_WB[static_cast<std::size_t>(model.body(name))].R.eigen();
  return std::atan2(R(2, 0), R(0, 0));
}

double wrapped(double angle) { return std::remainder(angle, 2.0 * pi); }

TEST(Mechanism, FourBarTurnsAsItsClosedForm) {
  const Scene scene = make_scene("loops/four-bar");
  const Model& model = *scene.model;
  const FourBar bars;
  Mechanism mechanism(scene.model);
  Data data(model);
  State state = scene.start;
  const double start = pi / 3.0;
  const Vector2 D(bars.ground, 0.0), first = bars.pin(start);
  const auto rocker_angle = [&](const Vector2& C) { return std::atan2(C.y() - D.y(), C.x() - D.x()); };
  for (int k = 1; k <= 36; ++k) {  // a full turn
    const double angle = 2.0 * pi * k / 36.0;
    const ClosureReport report = mechanism.move_to(state, {model.joint("crank")}, {angle});
    ASSERT_TRUE(report.closed) << k << ": " << report.error;
    EXPECT_EQ(report.reached, 1.0);
    EXPECT_EQ(state.q[model.joint_q[0]], angle);
    forward_kinematics(model, model.defaults, state, data);
    EXPECT_NEAR(wrapped(turn_of(model, data, "rocker") - (rocker_angle(bars.pin(start + angle)) - rocker_angle(first))),
                0.0, 1e-8);
    // Rates, against differences of the closed form.
    const MechanismJacobian J = mechanism.jacobian(state, {model.joint("crank")});
    const double e = 1e-6;
    const double rate =
        wrapped(rocker_angle(bars.pin(start + angle + e)) - rocker_angle(bars.pin(start + angle - e))) / (2.0 * e);
    EXPECT_NEAR(J.J.col(0).sum(), rate, 1e-8);  // angles of the chain add up
    EXPECT_EQ(J.free, 0);
    EXPECT_LT(J.error.maxCoeff(), 1e-10);
  }
  EXPECT_NEAR(wrapped(state.q[1] - scene.start.q[1]), 0.0, 1e-7);
}

TEST(Mechanism, SliderCrankTurnsAsItsClosedForm) {
  const Scene scene = make_scene("loops/slider-crank");
  const Model& model = *scene.model;
  Mechanism mechanism(scene.model);
  State state = scene.start;
  const double r = 0.2, l = 0.6, start = 40.0 * pi / 180.0;
  const auto piston = [&](double angle) {
    return r * std::cos(angle) + std::sqrt(l * l - r * r * std::sin(angle) * std::sin(angle));
  };
  const int slide = model.joint_q[static_cast<std::size_t>(model.joint("piston"))];
  for (int k = 1; k <= 72; ++k) {  // two turns, through both dead centres
    const double angle = 4.0 * pi * k / 72.0;
    ASSERT_TRUE(mechanism.move_to(state, {model.joint("crank")}, {angle}).closed) << k;
    EXPECT_NEAR(state.q[slide], piston(start + angle) - piston(start), 1e-8) << k;
  }
}

// Through both flat configurations, where the crossed branch begins: bars stay parallel.
TEST(Mechanism, ParallelogramKeepsItsBranch) {
  const Scene scene = make_scene("loops/four-bar:crank=0.5,coupler=1,rocker=0.5,ground=1,angle=60");
  const Model& model = *scene.model;
  Mechanism mechanism(scene.model);
  Data data(model);
  State state = scene.start;
  for (int k = 1; k <= 20; ++k) {
    const double angle = -0.37 * k;
    const ClosureReport report = mechanism.move_to(state, {0}, {angle});
    ASSERT_TRUE(report.closed) << k << ", " << report.reached;
    forward_kinematics(model, model.defaults, state, data);
    EXPECT_NEAR(turn_of(model, data, "coupler"), 0.0, 1e-5) << k;
  }
}

TEST(Mechanism, SaysHowFarATargetCanBeReached) {
  // The crank of a double rocker stops where coupler and rocker are stretched.
  const Scene scene = make_scene("loops/four-bar:crank=1,coupler=0.6,rocker=0.5,ground=1.2,angle=40");
  Mechanism mechanism(scene.model);
  State state = scene.start;
  const ClosureReport report = mechanism.move_to(state, {0}, {1.0});
  EXPECT_FALSE(report.closed);
  const double largest = std::acos((1.0 + 1.44 - 1.1 * 1.1) / (2.0 * 1.2)) - 40.0 * pi / 180.0;
  EXPECT_NEAR(report.reached, largest, 1e-5);
  EXPECT_GT(report.error, 0.0);
  ASSERT_FALSE(report.open.empty());
  EXPECT_EQ(report.open[0].name, "equality 'ground'");
  EXPECT_LT(mechanism.mobility(state).error, 1e-8);  // it stays where loops are closed
}

TEST(Mechanism, OpenLoopsAreNamedWithTheirErrors) {
  // Two points 0.2 m apart that one point is to be at: both are missed by half of that.
  ModelBuilder b("contradiction");
  const int ball = b.add_body({.name = "ball", .inertia = {1.0, Vector3::Zero(), Matrix3::Identity()}});
  b.add_joint({.name = "free", .body = ball, .type = JointType::kFree});
  for (const double x : {-0.1, 0.1})
    b.add_equality({.name = x < 0 ? "left" : "right", .a = ball, .b = 0, .anchor_b = {x, 0, 0}});
  const ModelPtr model = b.build();
  State state(*model);
  state.q.head<3>() = Vector3(0.5, 0.3, -0.2);
  const ClosureReport report = Mechanism(model).close(state);
  EXPECT_FALSE(report.closed);
  EXPECT_NEAR(report.error, 0.1, 1e-6);
  ASSERT_EQ(report.open.size(), 2U);
  EXPECT_NEAR(report.open[1].error, 0.1, 1e-6);
  EXPECT_NE(report.open[0].name.find("equality"), std::string::npos);
  EXPECT_LT(state.q.head<3>().norm(), 1e-6);
}

// A nut on a screw with little pitch, and a wheel geared to it, over many turns: the way there counts them.
TEST(Mechanism, CountsTheTurnsOfLoopJoints) {
  constexpr double kPitch = 0.004;
  ModelBuilder b("screw and gear");
  const MassProperties inertia{1.0, Vector3::Zero(), Matrix3(0.1 * Matrix3::Identity())};
  for (int k = 0; k < 2; ++k) {
    const Transform place{{0.5 * k, 0.0, 0.0}, Quaternion::Identity()};
    const int wheel = b.add_body({.name = "wheel" + std::to_string(k), .pose = place, .inertia = inertia});
    b.add_joint({.body = wheel, .type = JointType::kFree});
    b.add_loop_joint({.name = k == 0 ? "screw" : "axle",
                      .type = k == 0 ? LoopJointType::kScrew : LoopJointType::kRevolute,
                      .body_b = wheel,
                      .frame_a = place,
                      .pitch = kPitch});
  }
  Equality gear{.type = EqualityType::kJoint, .a = 1, .b = 0, .polynomial = {0.0, -2.0, 0.0, 0.0, 0.0}};
  gear.coordinate_a = gear.coordinate_b = 0;
  b.add_equality(gear);
  const ModelPtr model = b.build();
  Mechanism mechanism(model);
  State state(*model);
  const Drive screw[] = {{.loop_joint = 0}};
  for (const double turn : {4.0 * pi, -3.0 * pi, 0.7}) {
    const ClosureReport report = mechanism.move_to(state, screw, {turn});
    ASSERT_TRUE(report.closed) << turn << ", " << report.reached << ", " << report.error;
    EXPECT_NEAR(state.loop_q[0], turn, 1e-8);
    EXPECT_NEAR(state.loop_q[1], -2.0 * turn, 1e-8);
    EXPECT_NEAR(state.q[2], kPitch * turn, 1e-8);
    State again = state;
    EXPECT_LT(mechanism.close(again).error, 1e-8) << "where it is, it is closed";
    EXPECT_LT((again.q - state.q).norm(), 1e-8);
  }
  const MechanismJacobian J = mechanism.jacobian(state, screw);
  EXPECT_NEAR(J.J(5, 0), 1.0, 1e-9);
  EXPECT_NEAR(J.J(2, 0), kPitch, 1e-9);
  EXPECT_NEAR(J.J(11, 0), -2.0, 1e-9);
  EXPECT_LT(J.error[0], 1e-10);
  EXPECT_EQ(J.free, 0);
}

// In maximal coordinates every joint is a loop joint: the same places and rates as in reduced ones.
TEST(Mechanism, LoopJointsDriveAsJointsOfTreesDo) {
  for (const char* name : {"loops/four-bar", "loops/slider-crank", "loops/fourbar-fixed", "loops/scissor-lift:3"}) {
    const Scene scene = make_scene(name);
    const ModelPtr maximal = to_maximal(*scene.model);
    int joint = 0;
    while (dof_count(scene.model->joints[static_cast<std::size_t>(joint)].type) != 1) ++joint;
    int loop = 0;
    const std::string& wanted = scene.model->joints[static_cast<std::size_t>(joint)].name;
    while (maximal->loop_joints[static_cast<std::size_t>(loop)].name != wanted) ++loop;
    Mechanism tree(scene.model), bodies(maximal);
    State a = scene.start, b = to_maximal_state(*scene.model, *maximal, scene.start);
    const double value = a.q[scene.model->joint_q[static_cast<std::size_t>(joint)]] - 0.1;
    const Drive drive[] = {{.loop_joint = loop}};
    ASSERT_TRUE(tree.move_to(a, {joint}, {value}).closed) << name;
    const ClosureReport report = bodies.move_to(b, drive, {value});
    ASSERT_TRUE(report.closed) << name << ", " << report.reached;
    const MechanismJacobian J = tree.jacobian(a, {joint}), K = bodies.jacobian(b, drive);
    EXPECT_EQ(K.free, J.free) << name;
    EXPECT_LT(K.error.maxCoeff(), 1e-9) << name;
    if (J.free > 0) continue;  // the rest moves least, by other metrics
    const State there = to_reduced_state(*scene.model, *maximal, b);
    EXPECT_LT((there.q - a.q).lpNorm<Eigen::Infinity>(), 1e-7) << name;
    b.v = K.J.col(0);
    const VectorX rate = to_reduced_state(*scene.model, *maximal, b).v;
    EXPECT_LT((rate - J.J.col(0)).lpNorm<Eigen::Infinity>(), 1e-7) << name;
  }
}

// Two coordinates that a gear ties cannot move on their own.
TEST(Mechanism, SaysWhatLoopsForbid) {
  const Scene scene = make_scene("loops/four-bar");
  const ModelPtr maximal = to_maximal(*scene.model);
  Mechanism mechanism(maximal);
  State state = to_maximal_state(*scene.model, *maximal, scene.start);
  const Drive both[] = {{.loop_joint = 0}, {.loop_joint = 1}};
  const State start = state;
  const ClosureReport report = mechanism.move_to(state, both, {state.loop_q[0] + 0.2, state.loop_q[1] + 0.2});
  EXPECT_FALSE(report.closed);
  EXPECT_LT(report.reached, 1e-4);
  ASSERT_FALSE(report.open.empty());
  EXPECT_LT((state.q - start.q).norm(), 1e-4);
  EXPECT_GT(mechanism.jacobian(state, both).error.minCoeff(), 1e-3);
  EXPECT_LT(mechanism.mobility(state).error, 1e-8) << "what drove it is forgotten";
  const Drive missing[] = {{.loop_joint = 99}}, second[] = {{.loop_joint = 0, .coordinate = 1}};
  EXPECT_THROW(mechanism.move_to(state, missing, {0.0}), Error);
  EXPECT_THROW(mechanism.jacobian(state, second), InputError);
}

TEST(Mechanism, StaysWithinLimits) {
  // A four-bar that starts open, with a rocker that may not reach the nearest closed place.
  Scene scene = make_scene("loops/four-bar");
  ModelBuilder b(*scene.model);
  b.joint(2).limited = true;
  b.joint(2).range = {0.4, 0.8};
  const ModelPtr model = b.build();
  Mechanism mechanism(model);
  State state(*model);
  state.q << 0.1, 0.0, 0.0;
  const ClosureReport report = mechanism.close(state);
  ASSERT_TRUE(report.closed) << report.error;
  EXPECT_GE(state.q[2], 0.4 - 1e-8);
  // At the limit a velocity out of it is left alone, one into it is not.
  State at_limit = state;
  ASSERT_TRUE(mechanism.move_to(at_limit, {2}, {0.4}).closed);
  const MatrixX J = mechanism.jacobian(at_limit, {2}).J;
  for (const double sign : {1.0, -1.0}) {
    at_limit.v = sign * J.col(0);
    mechanism.project_velocity(at_limit);
    EXPECT_NEAR(at_limit.v[2], sign > 0 ? 1.0 : 0.0, 1e-9);
  }
}

TEST(Mechanism, HeldJointsStay) {
  const Scene scene = make_scene("loops/stewart");
  Mechanism mechanism(scene.model);
  State state = scene.start;
  ClosureOptions options;
  std::vector<int> legs;
  for (int i = 1; i <= 6; ++i) legs.push_back(scene.model->joint("leg" + std::to_string(i)));
  for (const int leg : legs) state.q[scene.model->joint_q[static_cast<std::size_t>(leg)]] += 0.02;
  options.held = legs;
  for (const ClosureMetric metric : {ClosureMetric::kMass, ClosureMetric::kPlain}) {
    State other = state;
    options.metric = metric;
    const ClosureReport report = mechanism.close(other, options);
    ASSERT_TRUE(report.closed) << report.error;
    EXPECT_LE(report.iterations, 8);
    for (const int leg : legs) {
      const int q = scene.model->joint_q[static_cast<std::size_t>(leg)];
      EXPECT_EQ(other.q[q], state.q[q]);
    }
  }
  // Six legs move six dofs of the platform: square, and invertible.
  const MechanismJacobian J = mechanism.jacobian(scene.start, legs);
  EXPECT_EQ(J.free, 0);
  EXPECT_LT(J.error.maxCoeff(), 1e-10);
  EXPECT_GT(std::abs(J.J.topRows(6).determinant()), 1e-6);
}

// Velocities: consistent, nearest in the metric (v' - v is orthogonal to what is allowed), and projected once is
// enough.
TEST(Mechanism, VelocitiesAreTheNearestConsistentOnes) {
  std::mt19937_64 random(5);
  for (const char* name :
       {"loops/four-bar:joint=pin", "loops/bennett", "loops/stewart", "loops/delta", "loops/jansen"}) {
    const Scene scene = make_scene(name);
    Mechanism mechanism(scene.model);
    const int nv = scene.model->nv;
    MatrixX V(nv, 5);
    for (int k = 0; k < 5; ++k) V.col(k) = test::random_vector(nv, random);
    const MatrixX once = mechanism.project_velocities(scene.start, V);
    EXPECT_LT((mechanism.project_velocities(scene.start, once) - once).norm(), 1e-9 * V.norm()) << name;
    Data data(*scene.model);
    forward_kinematics(*scene.model, scene.model->defaults, scene.start, data);
    crba(*scene.model, scene.model->defaults, data);
    const MatrixX M = dense_mass_matrix(*scene.model, data);
    EXPECT_LT((once.transpose() * M * (V - once)).lpNorm<Eigen::Infinity>(), 1e-8 * M.norm() * V.squaredNorm()) << name;
    // One at a time gives the same.
    EXPECT_LT((mechanism.project_velocities(scene.start, V.col(2)) - once.col(2)).norm(), 1e-10) << name;
  }
}

TEST(Mechanism, MobilityOfKnownLinkages) {
  struct Row {
    const char* scene;
    int dofs, rows, rank, redundancy;
  };
  const Row rows[] = {
      {"loops/four-bar", 3, 3, 2, 1},                                          // planar
      {"loops/four-bar:joint=pin", 3, 6, 2, 4},                                // over-constrained in 3D
      {"loops/four-bar:crank=0.5,coupler=1,rocker=0.5,ground=1", 3, 3, 2, 1},  // parallelogram
      {"loops/slider-crank", 3, 6, 2, 4},
      {"loops/bennett", 3, 6, 2, 4},  // counts -3, has 1
      {"loops/table", 6, 9, 6, 3},    // a structure
      {"loops/ladder:5", 15, 15, 10, 5},
      {"loops/scissor-lift:3", 9, 12, 8, 4},
      {"loops/stewart", 24, 18, 18, 0},
      {"loops/delta", 21, 18, 18, 0},
      {"loops/spring-leg", 9, 6, 5, 1},
  };
  for (const Row& row : rows) {
    const Scene scene = make_scene(row.scene);
    const Mobility m = Mechanism(scene.model).mobility(scene.start);
    EXPECT_EQ(m.dofs, row.dofs) << row.scene;
    EXPECT_EQ(m.rows, row.rows) << row.scene;
    EXPECT_EQ(m.generic_rank, row.rank) << row.scene;
    EXPECT_EQ(m.redundancy(), row.redundancy) << row.scene;
    EXPECT_EQ(m.mobility(), row.dofs - row.rank) << row.scene;
    EXPECT_FALSE(m.is_singular()) << row.scene;
    EXPECT_LT(m.error, 2e-9) << row.scene;
  }
  // Flat, a parallelogram has one row less to say: two branches meet.
  const Scene flat = make_scene("loops/four-bar:crank=0.5,coupler=1,rocker=0.5,ground=1,angle=0");
  const Mobility m = Mechanism(flat.model).mobility(flat.start);
  EXPECT_EQ(m.rank, 1);
  EXPECT_EQ(m.generic_rank, 2);
  EXPECT_TRUE(m.is_singular());
  EXPECT_EQ(m.mobility(), 1);
}

TEST(Mechanism, MobilityOfCassie) {
  const char* data = std::getenv("TOUCHSTONE_DATA");
  const std::filesystem::path file =
      std::filesystem::path(data != nullptr ? data : "/nonexistent") / "models/mjcf/agility_cassie/scene.xml";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no robots: set TOUCHSTONE_DATA to the folder that holds models/";
  const ModelPtr model = load_model(file.string());
  const Mobility m = Mechanism(model).mobility(State(*model));
  EXPECT_EQ(m.dofs, 32);
  EXPECT_EQ(m.rows, 12);
  // Base 6; of each leg 5 motors, two springs and a rod that spins about itself.
  EXPECT_EQ(m.mobility(), 6 + 2 * 8);
  EXPECT_EQ(m.redundancy(), 2);  // plantar rods move in a plane
}

// Random trees with connects, welds and couplings that one random configuration obeys, some of them twice: from another
// one nearby the closure finds a place.
TEST(Mechanism, ClosesRandomMechanisms) {
  std::mt19937_64 random(7);
  const int count = test::whole_family() ? 300 : 40;
  int closed = 0, most = 0;
  double worst = 0.0;
  for (int k = 0; k < count; ++k) {
    const ModelPtr tree = test::random_model(random, {.bodies = 4 + k % 9});
    const State consistent = test::random_state(*tree, random);
    Data data(*tree);
    forward_kinematics(*tree, tree->defaults, consistent, data);
    ModelBuilder b(*tree);
    std::uniform_int_distribution<int> body(0, tree->nbody - 1);
    for (int e = 0; e < 1 + k % 3; ++e) {
      const int a = body(random), c = body(random);
      if (a == c || tree->body_weld[static_cast<std::size_t>(a)] == tree->body_weld[static_cast<std::size_t>(c)])
        continue;
      const Transform X_A = body_pose(data, a), X_C = body_pose(data, c);
      Equality equality;
      equality.a = a;
      equality.b = c;
      if (k % 4 == 3) {
        equality.type = EqualityType::kWeld;
        equality.relative_pose = X_A.inverse() * X_C;
      } else {
        const Vector3 point = X_A * test::random_vector3(random);
        equality.anchor_a = X_A.inverse() * point;
        equality.anchor_b = X_C.inverse() * point;
      }
      b.add_equality(equality);
      if (k % 2 == 0) b.add_equality(equality);  // the same twice
    }
    const ModelPtr model = b.build();
    Mechanism mechanism(model);
    State state = consistent;
    integrate(*model, consistent.q, 0.1 * test::random_vector(model->nv, random), 1.0, state.q);
    const ClosureReport report =
        mechanism.close(state, {.metric = k % 2 == 0 ? ClosureMetric::kMass : ClosureMetric::kPlain, .limits = false});
    closed += report.closed ? 1 : 0;
    most = std::max(most, report.iterations);
    worst = std::max(worst, report.error);
    EXPECT_EQ(report.closed, report.open.empty());
    if (!report.closed)
      std::cout << "model " << k << " open by " << report.error << " after " << report.iterations << "\n";
    const VectorX v = test::random_vector(model->nv, random);
    const MatrixX projected = mechanism.project_velocities(state, v);
    EXPECT_LT((mechanism.project_velocities(state, projected) - projected).norm(), 1e-8 * (1.0 + v.norm())) << k;
  }
  std::cout << closed << " of " << count << " closed, most iterations " << most << "\n";
  EXPECT_EQ(closed, count) << worst;
}

TEST(Mechanism, BadInputIsNamed) {
  const Scene scene = make_scene("loops/stewart");
  Mechanism mechanism(scene.model);
  State state = scene.start;
  EXPECT_THROW(mechanism.move_to(state, {scene.model->joint("platform")}, {0.1}), InputError);
  EXPECT_THROW(mechanism.move_to(state, {1}, {0.1, 0.2}), Error);
  EXPECT_THROW(mechanism.move_to(state, {1}, {std::nan("")}), Error);
  EXPECT_THROW(mechanism.close(state, {.tolerance = 0.0}), Error);
  EXPECT_THROW(mechanism.close(state, {.held = {99}}), Error);
  EXPECT_THROW(mechanism.project_velocities(state, MatrixX::Zero(3, 1)), Error);
  EXPECT_THROW(Mechanism(nullptr), Error);
}

}  // namespace
}  // namespace touchstone

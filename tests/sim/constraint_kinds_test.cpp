// Each kind of constraint on random states of models that have all of them: its rows against finite differences of what
// they constrain, dJ/dt v likewise, and its wrench against J' lambda.
#include "touchstone/sim/constraints/kinds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"

namespace touchstone {
namespace {

constexpr double kStep = 1e-3, kDifference = 1e-5;

// Arms with every joint type, and everything that can bind them. Limits and force ranges are so tight that random
// states violate them.
ModelPtr everything_mjcf() {
  return load_mjcf_string(R"(
<mujoco>
  <option timestep="0.001"/>
  <default><joint damping="0.1"/><geom type="box" size="0.1 0.07 0.05" density="500"/></default>
  <worldbody>
    <body name="base" pos="0 0 1"><freejoint/><geom/>
      <body name="upper" pos="0.3 0 0"><joint name="a" axis="0 1 0.2" range="-1 1" limited="true" frictionloss="0.3"/><geom/>
        <body name="lower" pos="0.3 0.05 0"><joint name="b" type="slide" axis="1 0 0.3" range="-1 1" limited="true"/><geom/>
          <body name="tip" pos="0.2 0 0.1"><joint name="ball" type="ball" range="0 5" limited="true"/><geom/></body>
        </body>
      </body>
    </body>
    <body name="other" pos="0.5 0.5 1"><joint name="x" type="slide" axis="1 0 0"/><joint name="c" axis="1 0 1"/>
      <joint name="d" axis="0 1 0"/><geom/></body>
    <body name="lone" pos="1 0 1"><freejoint/><geom/></body>
  </worldbody>
  <tendon>
    <fixed name="t" limited="true" range="-0.01 0.01" frictionloss="0.2"><joint joint="a" coef="0.7"/><joint joint="b" coef="-0.4"/></fixed>
    <fixed name="across" stiffness="40" damping="3" springlength="0.7"><joint joint="b" coef="0.6"/><joint joint="d" coef="-1.1"/></fixed>
    <fixed name="s"><joint joint="c" coef="1.3"/></fixed>
  </tendon>
  <equality>
    <connect name="point" body1="tip" body2="other" anchor="0.05 0.02 0.01"/>
    <connect name="ground" body1="lone" anchor="0.05 0.02 0.01"/>
    <weld name="weld" body1="lower" body2="lone" torquescale="0.7"/>
    <joint name="gear" joint1="c" joint2="d" polycoef="0.1 0.5 0.3 0.2 0.1"/>
    <tendon name="pulley" tendon1="t" tendon2="s" polycoef="0 0.5 0.3 0 0"/>
  </equality>
  <actuator>
    <position name="servo" joint="a" kp="500" kv="10" gear="1.5" forcerange="-0.1 0.1"/>
    <position name="puller" tendon="t" kp="500" kv="10" forcerange="-0.1 0.1"/>
    <position name="joins" tendon="across" kp="30" kv="1"/>
  </actuator>
</mujoco>)");
}

// With every type of loop joint, everything along their coordinates, couplings and servos.
ModelPtr everything() {
  ModelBuilder builder(*everything_mjcf());
  const char* const bodies[] = {"world", "base", "upper", "lower", "tip", "other", "lone"};
  constexpr int kTypes = static_cast<int>(LoopJointType::kPointOnPlane) + 1;
  const Model model = *everything_mjcf();
  std::mt19937_64 random(17);
  for (int i = 0; i < kTypes; ++i) {
    LoopJoint joint{.name = fmt::format("loop{}", i), .type = static_cast<LoopJointType>(i)};
    joint.body_a = model.body(bodies[i % 7]);
    joint.body_b = model.body(bodies[(i + 1 + i / 7) % 7]);
    joint.frame_a = {0.2 * test::random_vector3(random), so3_exp(test::random_vector3(random))};
    joint.frame_b = {0.2 * test::random_vector3(random), so3_exp(test::random_vector3(random))};
    joint.length = 0.3;
    joint.pitch = 0.1;
    const bool is_ball = joint.type == LoopJointType::kSpherical;
    for (int k = 0; k < coordinate_count(joint.type); ++k) {
      LoopCoordinate c{.reference = is_ball ? 0.0 : 0.3, .limited = !is_ball || k == 0};
      c.range = is_ball ? Vector2(0.0, 0.01) : Vector2(-0.01, 0.01);
      c.stiffness = 20.0;
      c.damping = 2.0;
      c.armature = 0.1;
      c.friction = 0.5;
      joint.coordinates.push_back(c);
    }
    builder.add_loop_joint(joint);
  }
  const int revolute = static_cast<int>(LoopJointType::kRevolute), planar = static_cast<int>(LoopJointType::kPlanar);
  Equality gear{.name = "loop gear", .type = EqualityType::kJoint, .a = revolute, .b = planar};
  gear.polynomial = {0.1, 0.5, 0.3, 0.2, 0.1};
  gear.coordinate_a = 0;
  gear.coordinate_b = 1;
  builder.add_equality(gear);
  Equality mimic{.name = "loop mimic", .type = EqualityType::kJoint, .a = model.joint("c"), .b = planar};
  mimic.coordinate_b = 2;
  builder.add_equality(mimic);
  Actuator servo{.name = "loop servo", .transmission = TransmissionType::kLoopJoint, .target = planar};
  servo.gear = {0.3, 1.2, -0.7, 0.0, 0.0, 0.0};
  servo.bias_type = ActuatorBias::kAffine;
  servo.gain = {500.0, 0.0, 0.0};
  servo.bias = {0.0, -500.0, -10.0};
  servo.force_limited = true;
  servo.force_range = {-0.1, 0.1};
  builder.add_actuator(servo);
  return builder.build();
}

struct Case {
  ModelPtr model;
  int states;
};

// The model above and random ones.
std::vector<Case> cases() {
  std::vector<Case> all{{everything(), 20}};
  std::mt19937_64 random(11);
  for (int k = 0; k < (test::whole_family() ? 100 : 10); ++k) {
    const test::RandomModelOptions options{.bodies = 4 + k % 9, .damping = true};
    all.push_back({test::random_bound_model(random, options), 3});
  }
  return all;
}

class Assembly {
 public:
  Assembly(const ModelPtr& model, ConstraintModel kind)
      : model_(model), rules_(rules_of(kind)), data_(*model), weights_(*model), state_(*model), input_(*model) {}

  const Constraints& operator()(const VectorX& q, const VectorX& v, std::span<const Contact> contacts = {}) {
    state_.q = q;
    state_.v = v;
    contacts_ = contacts;
    const bool ok =
        rules_.implicit_forces
            ? compute_free_motion(*model_, model_->defaults, state_, input_, kStep, data_, ServoMode::kBounded)
            : compute_explicit_motion(*model_, model_->defaults, state_, input_, kStep, data_);
    EXPECT_TRUE(ok);
    assemble_constraints({scene(), model_->defaults, state_, weights_, kStep, kStep, stabilisation_}, constraints_);
    return constraints_;
  }
  ConstraintScene scene() const { return {*model_, data_, contacts_, rules_}; }
  const Data& data() const { return data_; }

 private:
  ModelPtr model_;
  const ConstraintRules& rules_;
  Data data_;
  ReferenceWeights weights_;
  State state_;
  Input input_;
  StabilisationOptions stabilisation_;
  std::span<const Contact> contacts_;
  Constraints constraints_;
};

struct RandomState {
  VectorX q, v;
};

RandomState random_state(const Model& model, std::mt19937_64& random) {
  RandomState s{VectorX(model.nq), test::random_vector(model.nv, random)};
  random_configuration(model, random, s.q);
  // Limits are violated or near, so that they take part.
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[at(j)];
    if (joint.limited && joint.type != JointType::kBall) s.q[model.joint_q[at(j)]] = j % 2 == 0 ? 1.2 : -1.3;
  }
  return s;
}

VectorX moved(const Model& model, const RandomState& s, double time) {
  VectorX q(model.nq);
  integrate(model, s.q, s.v, time, q);
  return q;
}

int find(const Constraints& c, ConstraintKind kind, int index, int side) {
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& one = c.list[at(block)];
    if (one.kind == kind && one.index == index && one.side == side) return block;
  }
  return -1;
}

// Finite differences are good to this, relative to what they measure.
double near(double expected, double tolerance) { return tolerance * (1.0 + std::abs(expected)); }

VectorX row_velocity(const Model& model, const Constraints& c, const VectorX& v) {
  VectorX result(c.rows());
  constraint_velocity(model, c, v, result);
  return result;
}

// d/dt position = J v for all rows that have a position. The hard weld only where its error is zero.
void expect_rates(const Case& one_case, ConstraintModel kind, std::set<ConstraintKind>& seen) {
  const ModelPtr& model = one_case.model;
  std::mt19937_64 random(3);
  for (int trial = 0; trial < one_case.states; ++trial) {
    const RandomState s = random_state(*model, random);
    Assembly now(model, kind), earlier(model, kind), later(model, kind);
    const Constraints& c = now(s.q, s.v);
    const Constraints& c0 = earlier(moved(*model, s, -kDifference), s.v);
    const Constraints& c1 = later(moved(*model, s, kDifference), s.v);
    for (int block = 0; block < c.count(); ++block) {
      const Constraint& one = c.list[at(block)];
      if (entry_of(one.kind).violation == Violation::kNone) continue;
      const bool weld =
          one.kind == ConstraintKind::kEquality && model->equalities[at(one.index)].type == EqualityType::kWeld;
      if (weld && kind == ConstraintModel::kRigid) continue;
      const int b0 = find(c0, one.kind, one.index, one.side), b1 = find(c1, one.kind, one.index, one.side);
      if (b0 < 0 || b1 < 0) continue;
      seen.insert(one.kind);
      for (int r = 0; r < c.blocks.size(block); ++r) {
        const double rate = (c1.position[at(c1.blocks.row[at(b1)] + r)] - c0.position[at(c0.blocks.row[at(b0)] + r)]) /
                            (2.0 * kDifference);
        EXPECT_NEAR(c.velocity[c.blocks.row[at(block)] + r], rate, near(rate, 2e-7))
            << describe(*model, c, {}, block) << " row " << r;
      }
    }
  }
}

TEST(ConstraintKinds, RowsAreTheRatesOfTheirPositions) {
  for (const ConstraintModel kind : {ConstraintModel::kRigid, ConstraintModel::kMujoco}) {
    std::set<ConstraintKind> seen;
    for (const Case& one : cases()) expect_rates(one, kind, seen);
    EXPECT_EQ(seen, (std::set{ConstraintKind::kJointLimit, ConstraintKind::kTendonLimit, ConstraintKind::kEquality,
                              ConstraintKind::kLoopJoint, ConstraintKind::kLoopLimit}));
  }
}

// A hard weld without error, while its bodies move against each other.
TEST(ConstraintKinds, RowsOfAHardWeldAreTheRatesAtZeroError) {
  const ModelPtr model = load_mjcf_string(R"(
<mujoco><worldbody>
  <body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom size="0.1"/></body>
  <body name="b" pos="0.3 0.1 1" euler="-40 5 80"><freejoint/><geom size="0.1"/></body>
</worldbody><equality><weld body1="a" body2="b" anchor="0.1 0.2 0.05" torquescale="0.8"/></equality></mujoco>)");
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const RandomState s{model->reference_q, test::random_vector(model->nv, random)};
    Assembly now(model, ConstraintModel::kRigid), earlier(model, ConstraintModel::kRigid),
        later(model, ConstraintModel::kRigid);
    const Constraints& c = now(s.q, s.v);
    ASSERT_EQ(c.rows(), 6);
    for (int r = 0; r < 6; ++r) EXPECT_NEAR(c.position[at(r)], 0.0, 1e-12);
    const Constraints& c0 = earlier(moved(*model, s, -kDifference), s.v);
    const Constraints& c1 = later(moved(*model, s, kDifference), s.v);
    for (int r = 0; r < 6; ++r) {
      EXPECT_NEAR(c.velocity[r], (c1.position[at(r)] - c0.position[at(r)]) / (2.0 * kDifference), 1e-7) << r;
    }
  }
}

// Rates of dofs, tendons and transmissions, for kinds that have no position.
void expect_transmission_rates(const Case& one_case, std::set<ConstraintKind>& seen) {
  const ModelPtr& model = one_case.model;
  std::mt19937_64 random(4);
  for (int trial = 0; trial < one_case.states; ++trial) {
    const RandomState s = random_state(*model, random);
    Assembly now(model, ConstraintModel::kRigid), earlier(model, ConstraintModel::kRigid),
        later(model, ConstraintModel::kRigid);
    const Constraints& c = now(s.q, s.v);
    earlier(moved(*model, s, -kDifference), s.v);
    later(moved(*model, s, kDifference), s.v);
    for (int block = 0; block < c.count(); ++block) {
      const Constraint& one = c.list[at(block)];
      const auto rate = [&](const VectorX Data::*length) {
        return ((later.data().*length)[one.index] - (earlier.data().*length)[one.index]) / (2.0 * kDifference);
      };
      double expected = 0.0, tolerance = 1e-8;
      if (one.kind == ConstraintKind::kJointFriction) {
        expected = s.v[one.index];
      } else if (one.kind == ConstraintKind::kTendonFriction || one.kind == ConstraintKind::kTendonSpring) {
        expected = rate(&Data::tendon_length);
      } else if (one.kind == ConstraintKind::kServo) {
        expected = rate(&Data::actuator_length);
      } else if (one.kind == ConstraintKind::kLoopFriction || one.kind == ConstraintKind::kLoopSpring) {
        const int j = loop_joint_of(*model, one.index), k = one.index - model->loop_coordinate[at(j)];
        const State memory(*model);
        LoopRow before[kMostLoopCoordinates], after[kMostLoopCoordinates];
        loop_coordinates(*model, earlier.data(), memory.loop_memory(), j, before);
        loop_coordinates(*model, later.data(), memory.loop_memory(), j, after);
        expected = (after[k].value - before[k].value) / (2.0 * kDifference);
        tolerance = 2e-7;  // a twist is curved where the axes are nearly opposite
        if (model->loop_joints[at(j)].type == LoopJointType::kSpherical) {  // the angular velocity about an axis of b
          loop_coordinates(*model, now.data(), memory.loop_memory(), j, before);
          expected = before[k].rate;
        }
      } else {
        continue;
      }
      seen.insert(one.kind);
      EXPECT_NEAR(c.velocity[c.blocks.row[at(block)]], expected, near(expected, tolerance))
          << describe(*model, c, {}, block);
    }
  }
}

TEST(ConstraintKinds, RowsOfFrictionAndServosAreTheRatesOfTheirTransmissions) {
  std::set<ConstraintKind> seen;
  for (const Case& one : cases()) expect_transmission_rates(one, seen);
  EXPECT_EQ(seen,
            (std::set{ConstraintKind::kJointFriction, ConstraintKind::kTendonFriction, ConstraintKind::kServo,
                      ConstraintKind::kTendonSpring, ConstraintKind::kLoopFriction, ConstraintKind::kLoopSpring}));
}

Contact random_contact(int a, int b, int dimension, std::mt19937_64& random) {
  Contact contact;
  contact.body_a = a;
  contact.body_b = b;
  contact.position = Vec3(test::random_vector3(random));
  const Quaternion turn(Eigen::Vector4d(test::random_vector(4, random)).normalized());
  contact.frame = Mat3(Matrix3(turn.toRotationMatrix()));
  contact.distance = -0.001;
  contact.material.dimension = dimension;
  contact.material.friction.fill(0.5);
  return contact;
}

// Two bodies, one of which moves; one may be the world.
std::pair<int, int> random_bodies(const Model& model, std::mt19937_64& random) {
  std::uniform_int_distribution<int> body(0, model.nbody - 1);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int a = body(random), b = body(random);
    if (a != b && std::max(model.body_last_dof[at(a)], model.body_last_dof[at(b)]) >= 0) return {a, b};
  }
  return {0, 0};
}

// The displacement of material points, and the turn, of body b against body a; features frozen.
void expect_motion_of_points(const Case& one_case, int& contacts) {
  const ModelPtr& model = one_case.model;
  std::mt19937_64 random(5);
  for (const int m : {1, 3, 4, 6}) {
    for (int trial = 0; trial < one_case.states; ++trial) {
      const RandomState s = random_state(*model, random);
      const auto [body_a, body_b] = random_bodies(*model, random);
      const Contact contact = random_contact(body_a, body_b, m, random);
      Assembly now(model, ConstraintModel::kRigid), earlier(model, ConstraintModel::kRigid),
          later(model, ConstraintModel::kRigid);
      const Constraints& c = now(s.q, s.v, {&contact, 1});
      if (find(c, ConstraintKind::kContact, 0, 0) < 0) continue;  // its bodies cannot move against each other
      ASSERT_EQ(c.list[0].kind, ConstraintKind::kContact);
      ++contacts;
      earlier(moved(*model, s, -kDifference), s.v);
      later(moved(*model, s, kDifference), s.v);
      const auto point = [&](const Assembly& at_time, int body) {
        const Transform X = body_pose(now.data(), body), Y = body_pose(at_time.data(), body);
        return Vector3(Y * (X.inverse() * contact.position.eigen()));
      };
      const auto turn = [&](int body) {
        const Quaternion from = body_pose(earlier.data(), body).rotation, to = body_pose(later.data(), body).rotation;
        return Vector3(so3_log((to * from.conjugate()).normalized()));
      };
      const int a = contact.body_a, b = contact.body_b;
      const Vector3 v = (point(later, b) - point(earlier, b) - point(later, a) + point(earlier, a)) / (2 * kDifference);
      const Vector3 w = (turn(b) - turn(a)) / (2 * kDifference);
      const Matrix3 F = contact.frame.eigen();
      std::vector<double> expected{F.col(0).dot(v), F.col(1).dot(v), F.col(2).dot(w), F.col(0).dot(w), F.col(1).dot(w)};
      expected.resize(at(m - 1));
      expected.push_back(F.col(2).dot(v));
      for (int r = 0; r < m; ++r)
        EXPECT_NEAR(c.velocity[r], expected[at(r)], near(expected[at(r)], 3e-7)) << m << ' ' << r;
    }
  }
}

TEST(ConstraintKinds, RowsOfContactsAreTheMotionOfMaterialPoints) {
  int contacts = 0;
  for (const Case& one : cases()) expect_motion_of_points(one, contacts);
  EXPECT_GT(contacts, 150);
}

// dJ/dt v of connects and welds in MuJoCo's model: the rate of J v when v stays.
void expect_drift(const Case& one_case, int& rows) {
  const ModelPtr& model = one_case.model;
  std::mt19937_64 random(6);
  for (int trial = 0; trial < one_case.states; ++trial) {
    const RandomState s = random_state(*model, random);
    Assembly now(model, ConstraintModel::kMujoco), earlier(model, ConstraintModel::kMujoco),
        later(model, ConstraintModel::kMujoco);
    const Constraints& c = now(s.q, s.v);
    const Constraints& c0 = earlier(moved(*model, s, -kDifference), s.v);
    const Constraints& c1 = later(moved(*model, s, kDifference), s.v);
    const VectorX u0 = row_velocity(*model, c0, s.v), u1 = row_velocity(*model, c1, s.v);
    for (int block = 0; block < c.count(); ++block) {
      const Constraint& one = c.list[at(block)];
      const int i = one.index;
      if (one.kind != ConstraintKind::kEquality && one.kind != ConstraintKind::kLoopJoint) continue;
      if (one.kind == ConstraintKind::kEquality && sides_of(model->equalities[at(i)].type) != EqualitySides::kBodies)
        continue;
      const int b0 = find(c0, one.kind, i, 0), b1 = find(c1, one.kind, i, 0);
      ASSERT_GE(std::min(b0, b1), 0);
      for (int r = 0; r < c.blocks.size(block); ++r) {
        const double rate = (u1[c1.blocks.row[at(b1)] + r] - u0[c0.blocks.row[at(b0)] + r]) / (2.0 * kDifference);
        ++rows;
        EXPECT_NEAR(c.drift[at(c.blocks.row[at(block)] + r)], rate, near(rate, 2e-6))
            << describe(*model, c, {}, block) << ' ' << r;
      }
    }
  }
}

TEST(ConstraintKinds, DriftIsTheRateOfTheRows) {
  int rows = 0;
  for (const Case& one : cases()) expect_drift(one, rows);
  EXPECT_GT(rows, 500);
}

// The force that reports and sensors see is the one that moves the bodies, at the same points.
void expect_wrenches(const Case& one_case, std::map<ConstraintKind, int>& seen) {
  const ModelPtr& model = one_case.model;
  std::mt19937_64 random(7);
  for (const ConstraintModel kind : {ConstraintModel::kRigid, ConstraintModel::kMujoco}) {
    for (int trial = 0; trial < one_case.states; ++trial) {
      const RandomState s = random_state(*model, random);
      const auto [body_a, body_b] = random_bodies(*model, random);
      const Contact contact = random_contact(body_a, body_b, 6, random);
      Assembly assembly(model, kind);
      const Constraints& c = assembly(s.q, s.v, {&contact, 1});
      for (int block = 0; block < c.count(); ++block) {
        VectorX lambda = VectorX::Zero(c.rows()), of_rows = VectorX::Zero(model->nv);
        lambda.segment(c.blocks.row[at(block)], c.blocks.size(block)) =
            test::random_vector(c.blocks.size(block), random);
        add_constraint_force(*model, c, lambda, of_rows);
        PairWrench w;
        const double* impulse = lambda.data() + c.blocks.row[at(block)];
        if (!entry_of(c.list[at(block)].kind).wrench(assembly.scene(), c.list[at(block)], impulse, w)) continue;
        ++seen[c.list[at(block)].kind];
        Matrix6X J_a(6, model->nv), J_b(6, model->nv);
        point_jacobian(*model, assembly.data(), w.body_a, w.point_a.eigen(), J_a);
        point_jacobian(*model, assembly.data(), w.body_b, w.point_b.eigen(), J_b);
        Vector6 wrench;
        wrench << w.force.eigen(), w.torque.eigen();
        const VectorX of_wrench = (J_b - J_a).transpose() * wrench;
        EXPECT_LE((of_wrench - of_rows).norm(), 1e-12 * (1.0 + of_rows.norm()))
            << describe(*model, c, {&contact, 1}, block);
      }
    }
  }
}

TEST(ConstraintKinds, WrenchesDoWhatTheRowsDo) {
  for (const Case& one : cases()) {
    std::map<ConstraintKind, int> seen;
    expect_wrenches(one, seen);
    int loops = 0;
    for (const Equality& e : one.model->equalities) {
      loops += sides_of(e.type) == EqualitySides::kBodies ? 1 : 0;
    }
    EXPECT_EQ(seen[ConstraintKind::kEquality], 2 * one.states * loops);
    EXPECT_GT(seen[ConstraintKind::kContact], 0);
    // Loop joints act on bodies, and so does everything along their coordinates.
    EXPECT_EQ(seen.size(), one.model->loop_joints.empty() ? 2u : 6u);
  }
}

TEST(ConstraintKinds, AllHaveNamesAndKeysOfTheirOwn) {
  std::set<std::string> names;
  for (const KindEntry& kind : constraint_kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  const ModelPtr model = everything();
  std::mt19937_64 random(8);
  const RandomState s = random_state(*model, random);
  const Contact contact = random_contact(model->body("tip"), model->body("lone"), 3, random);
  Assembly assembly(model, ConstraintModel::kRigid);
  const Constraints& c = assembly(s.q, s.v, {&contact, 1});
  std::set<std::pair<std::uint64_t, std::uint64_t>> keys;
  for (const Constraint& one : c.list) {
    const WarmStartKey key = entry_of(one.kind).key({&contact, 1}, one);
    EXPECT_TRUE(keys.emplace(key.owner, key.feature).second);
  }
}

}  // namespace
}  // namespace touchstone

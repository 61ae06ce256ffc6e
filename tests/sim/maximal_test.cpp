// Maximal coordinates: the same accelerations, forces and reactions as in reduced ones, states that come back, motions
// that meet as the step shrinks.
#include "touchstone/dynamics/maximal.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "support/random_model.hpp"
#include "support/robot_runs.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

constexpr double kStep = 1e-3;

// --- random trees of every joint and combination that has a loop joint ---

class TreeMaker {
 public:
  explicit TreeMaker(unsigned seed) : random_(seed) {}

  ModelPtr make(int bodies, bool with_forces, bool with_couplings = true) {
    with_forces_ = with_forces;
    ModelBuilder builder("tree");
    std::vector<int> joints;
    for (int i = 0; i < bodies; ++i) {
      const int parent = i == 0 ? 0 : std::max(0, i - choose(3));
      const Shape box{.type = ShapeType::kBox, .size = {uniform(0.05, 0.2), uniform(0.05, 0.2), uniform(0.05, 0.2)}};
      const Transform X{0.1 * test::random_vector3(random_), so3_exp(test::random_vector3(random_))};
      const int body = builder.add_body({.parent = parent,
                                         .pose = {0.3 * test::random_vector3(random_), turn()},
                                         .inertia = transformed(X, mass_properties(box, 500.0))});
      add_joints(builder, body, joints);
    }
    if (with_forces) add_relations(builder, joints, with_couplings);
    return builder.build();
  }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int choose(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  Quaternion turn() { return so3_exp(test::random_vector3(random_)); }

  Joint joint(int body, JointType type, const Vector3& axis, const Vector3& anchor) {
    Joint j{.body = body, .type = type, .axis = axis, .anchor = anchor};
    if (type != JointType::kBall) j.reference = uniform(-0.5, 0.5);
    if (type == JointType::kScrew) j.pitch = uniform(-0.2, 0.2);
    if (with_forces_) {
      j.stiffness = uniform(0.0, 20.0);
      if (type != JointType::kBall) j.spring_reference = uniform(-0.3, 0.3);
      j.damping = uniform(0.0, 1.0);
      j.armature = uniform(0.0, 0.1);
    }
    return j;
  }
  void add_joints(ModelBuilder& b, int body, std::vector<int>& joints) {
    const Matrix3 R = turn().toRotationMatrix();
    const Vector3 x = R.col(0), y = R.col(1), z = R.col(2), p = 0.1 * test::random_vector3(random_);
    const auto add = [&](JointType type, const Vector3& axis) {
      const int j = b.add_joint(joint(body, type, axis, p));
      if (type != JointType::kBall) joints.push_back(j);
    };
    constexpr JointType kHinge = JointType::kHinge, kSlide = JointType::kSlide;
    switch (choose(10)) {
      case 0:
        return add(kSlide, z);
      case 1:
        return add(JointType::kScrew, z);
      case 2:
        return add(JointType::kBall, z);
      case 3:
        add(kSlide, choose(2) == 0 ? z : Vector3(-z));
        return add(kHinge, z);
      case 4:
        add(kHinge, z);
        return add(kHinge, x);
      case 5:
        add(kHinge, z);
        add(kHinge, x);
        return add(kHinge, choose(2) == 0 ? y : Vector3(-y));
      case 6:
        add(kSlide, x);
        add(kSlide, y);
        return add(kHinge, choose(2) == 0 ? z : Vector3(-z));
      case 7:
        add(kSlide, x);
        add(kSlide, y);
        return add(kSlide, choose(2) == 0 ? z : Vector3(-z));
      default:
        return add(kHinge, z);
    }
  }
  void add_relations(ModelBuilder& b, const std::vector<int>& joints, bool with_couplings) {
    for (std::size_t k = 0; k < joints.size(); k += 2) {
      Actuator servo{.target = joints[k]};
      servo.gear[0] = uniform(0.5, 2.0);
      servo.bias_type = ActuatorBias::kAffine;
      servo.gain = {50.0, 0.0, 0.0};
      servo.bias = {0.0, -50.0, -1.0};
      b.add_actuator(servo);
    }
    for (std::size_t k = 1; with_couplings && k + 1 < joints.size(); k += 4) {
      b.add_equality(
          {.type = EqualityType::kJoint, .a = joints[k], .b = joints[k + 1], .polynomial = {0.05, 0.5, 0.2, 0.1, 0.0}});
    }
  }

  std::mt19937_64 random_;
  bool with_forces_ = false;
};

State random_tree_state(const Model& model, std::mt19937_64& random) {
  State state(model);
  random_configuration(model, random, state.q);
  std::uniform_real_distribution<double> angle(-1.2, 1.2);  // a gimbal has no angles beyond a right one
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[at(j)];
    if (is_scalar(joint)) state.q[model.joint_q[at(j)]] = joint.reference + angle(random);
  }
  state.v = test::random_vector(model.nv, random);
  return state;
}

// --- one step with all its rows, dense ---

MatrixX dense_rows(const Model& model, const Constraints& c) {
  MatrixX J = MatrixX::Zero(c.rows(), model.nv);
  VectorX lambda = VectorX::Zero(c.rows()), column(model.nv);
  for (int r = 0; r < c.rows(); ++r) {
    lambda.setZero();
    lambda[r] = 1.0;
    column.setZero();
    add_constraint_force(model, c, lambda, column);
    J.row(r) = column;
  }
  return J;
}

struct Step {
  VectorX v_next, lambda;
  Constraints constraints;
  Data data;
  std::vector<int> rows;  // where blocks begin
  explicit Step(const Model& model) : data(model) {}
};

// A (v' - v_free) = J' lambda, J v' + h dJ/dt v + b + R lambda = 0 for all rows: hard ones with R = 0. dJ/dt v by
// central differences of J v, extrapolated.
Step solve_step(const Model& model, const State& state) {
  Step result(model);
  const Input input(model);
  const ReferenceWeights weights(model);
  const StabilisationOptions stabilisation;
  const ConstraintRules& rules = rules_of(ConstraintModel::kRigid);
  const auto assemble = [&](const State& s, Data& data, Constraints& c) {
    EXPECT_TRUE(compute_free_motion(model, model.defaults, s, input, kStep, data, ServoMode::kBounded));
    assemble_constraints({{model, data, {}, rules}, model.defaults, s, weights, kStep, kStep, stabilisation}, c);
  };
  assemble(state, result.data, result.constraints);
  const Constraints& c = result.constraints;
  const auto rates = [&](double time) {
    State moved = state;
    integrate(model, state.q, state.v, time, moved.q);
    Data data(model);
    Constraints there;
    assemble(moved, data, there);
    VectorX u(c.rows());
    EXPECT_EQ(there.rows(), c.rows());
    constraint_velocity(model, there, state.v, u);
    return u;
  };
  constexpr double kDifference = 1e-4;
  const VectorX coarse = (rates(2.0 * kDifference) - rates(-2.0 * kDifference)) / (4.0 * kDifference);
  const VectorX fine = (rates(kDifference) - rates(-kDifference)) / (2.0 * kDifference);
  const VectorX drift = (4.0 * fine - coarse) / 3.0;
  const MatrixX J = dense_rows(model, c);
  // A^-1 J' column by column.
  MatrixX solved = J.transpose();
  for (int r = 0; r < c.rows(); ++r) {
    VectorX column = solved.col(r);
    solve(model, result.data, column);
    solved.col(r) = column;
  }
  MatrixX G = J * solved;
  VectorX g = J * result.data.v_free + kStep * drift;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& one = c.list[at(block)];
    if (one.kind == ConstraintKind::kLoopSpring) {  // its law has the share of armature already
      const int row = c.blocks.row[at(block)];
      g[row] -= kStep * drift[row] * loop_coordinate(model, one.index).armature * c.compliance[row];
    }
    for (int r = c.blocks.row[at(block)]; r < c.blocks.row[at(block + 1)]; ++r) {
      if (entry_of(one.kind).violation != Violation::kNone) continue;  // held: neither b nor R
      G(r, r) += c.compliance[r];
      g[r] += c.bias[r];
    }
  }
  result.lambda = c.rows() > 0 ? VectorX(G.completeOrthogonalDecomposition().solve(-g)) : VectorX();
  result.v_next = result.data.v_free + solved * result.lambda;
  return result;
}

// The wrench that body b gets through its joint, about a point, from how its subtree accelerates.
Vector6 wrench_through_joint(const Model& model, const Data& data, int body, const Vector3& point) {
  Vector6 total = Vector6::Zero();
  for (int b = body; b < model.nbody; ++b) {
    int ancestor = b;
    while (ancestor > body) ancestor = model.bodies[at(ancestor)].parent;
    if (ancestor != body) continue;
    const BodyInertia& I = model.defaults.body_inertia[at(b)];
    const Vector3 com = (data.X_WB[at(b)] * I.com).eigen();
    const Vector6 acceleration = point_acceleration(model, data, b, com);
    const Matrix3 R = data.X_WB[at(b)].R.eigen(), inertia = R * I.inertia.eigen() * R.transpose();
    const Vector3 w = data.velocity[at(b)].angular.eigen(), alpha = acceleration.tail<3>();
    const Vector3 force = I.mass * (acceleration.head<3>() - model.defaults.gravity);
    total.head<3>() += force;
    total.tail<3>() += inertia * alpha + w.cross(inertia * w) + (com - point).cross(force);
  }
  return total;
}

struct Worst {
  double acceleration = 0.0, reaction = 0.0;
};

void compare(const ModelPtr& reduced, const ModelPtr& maximal, const State& state, Worst& worst) {
  const State there = to_maximal_state(*reduced, *maximal, state);
  const Step a = solve_step(*reduced, state), b = solve_step(*maximal, there);
  // Accelerations of bodies in reduced coordinates.
  Data data(*reduced);
  forward_kinematics(*reduced, reduced->defaults, state, data);
  forward_velocity(*reduced, state.v, data);
  forward_acceleration(*reduced, state.v, (a.v_next - state.v) / kStep, data);
  double scale = 1.0;
  for (int i = 1; i < reduced->nbody; ++i) {
    if (reduced->body_kernels[at(i)].joint_count == 0) continue;
    const Transform X = body_pose(data, i);
    Vector6 expected = point_acceleration(*reduced, data, i, X.position);
    expected.tail<3>() = X.rotation.conjugate() * Vector3(expected.tail<3>());
    const int body = maximal->body(reduced->bodies[at(i)].name);
    const int dof = maximal->body_kernels[at(body)].first_dof;
    const Vector6 actual = (b.v_next - there.v).segment<6>(dof) / kStep;
    scale = std::max(scale, expected.norm());
    worst.acceleration = std::max(worst.acceleration, (actual - expected).norm() / scale);
  }
  // Everything that acts through the joint of a body.
  std::vector<Vector6> through(maximal->loop_joints.size(), Vector6::Zero());
  const ConstraintRules& rules = rules_of(ConstraintModel::kRigid);
  const ConstraintScene scene{*maximal, b.data, {}, rules};
  const Constraints& c = b.constraints;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& one = c.list[at(block)];
    PairWrench w;
    if (!entry_of(one.kind).wrench(scene, one, b.lambda.data() + c.blocks.row[at(block)], w)) continue;
    const int j = one.kind == ConstraintKind::kLoopJoint ? one.index : loop_joint_of(*maximal, one.index);
    through[at(j)].head<3>() += w.force.eigen() / kStep;
    through[at(j)].tail<3>() += w.torque.eigen() / kStep;
  }
  for (std::size_t j = 0; j < through.size() && maximal->nu == 0 && maximal->equalities.empty(); ++j) {
    const LoopJoint& joint = maximal->loop_joints[j];
    const int body = reduced->body(maximal->bodies[at(joint.body_b)].name);
    const Vector3 point = body_pose(data, body) * joint.frame_b.position;
    const Vector6 expected = wrench_through_joint(*reduced, data, body, point);
    worst.reaction = std::max(worst.reaction, (through[j] - expected).norm() / (1.0 + expected.norm()));
  }
}

TEST(Maximal, AccelerationsAndReactionsOfRandomTreesAreThoseOfReducedCoordinates) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const bool with_forces : {false, true}) {
      const ModelPtr reduced = TreeMaker(seed).make(2 + static_cast<int>(seed) % 6, with_forces);
      const ModelPtr maximal = to_maximal(*reduced);
      std::mt19937_64 random(seed);
      Worst worst;
      for (int k = 0; k < 20; ++k) compare(reduced, maximal, random_tree_state(*reduced, random), worst);
      EXPECT_LT(worst.acceleration, 1e-8) << seed << ' ' << with_forces;
      EXPECT_LT(worst.reaction, 1e-8) << seed << ' ' << with_forces;
    }
  }
}

TEST(Maximal, StatesComeBack) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const ModelPtr reduced = TreeMaker(seed).make(6, true), maximal = to_maximal(*reduced);
    std::mt19937_64 random(seed);
    State state = random_tree_state(*reduced, random);
    for (int j = 0; j < reduced->njoint; ++j) {  // turns are kept, but for gimbals, whose angles are no longer known
      const Joint& joint = reduced->joints[at(j)];
      if (joint.type == JointType::kHinge && reduced->body_kernels[at(joint.body)].joint_count < 3) {
        state.q[reduced->joint_q[at(j)]] += 4.0 * M_PI;
      }
    }
    const State back = to_reduced_state(*reduced, *maximal, to_maximal_state(*reduced, *maximal, state));
    for (int j = 0; j < reduced->njoint; ++j) {
      const int q = reduced->joint_q[at(j)];
      if (reduced->joints[at(j)].type != JointType::kBall) {
        EXPECT_NEAR(back.q[q], state.q[q], 1e-12) << seed << ' ' << j;
        continue;
      }
      const double dot = std::abs(back.q.segment<4>(q).dot(state.q.segment<4>(q).normalized()));
      EXPECT_NEAR(dot, 1.0, 1e-12);
    }
    EXPECT_LT((back.v - state.v).norm(), 1e-11 * (1.0 + state.v.norm())) << seed;
  }
}

// The difference to reduced coordinates is of first order.
TEST(Maximal, MotionsMeetAsTheStepShrinks) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const ModelPtr reduced = TreeMaker(100 + seed).make(3, true, false), maximal = to_maximal(*reduced);
    std::mt19937_64 random(seed);
    State state = random_tree_state(*reduced, random);
    state.v *= 0.3;
    std::vector<double> difference;
    for (const double h : {1e-3, 5e-4, 2.5e-4}) {
      const SimulatorOptions options{.time_step = h};
      Simulator a(reduced, options), b(maximal, options);
      a.reset(state);
      b.reset(to_maximal_state(*reduced, *maximal, state));
      const int steps = static_cast<int>(std::lround(0.1 / h));
      for (int i = 0; i < steps; ++i) {
        ASSERT_EQ(a.step().status, StepStatus::kOk);
        ASSERT_EQ(b.step().status, StepStatus::kOk);
      }
      const State there = to_maximal_state(*reduced, *maximal, a.state());
      double worst = 0.0;
      for (int body = 1; body < maximal->nbody; ++body) {
        const int q = maximal->joint_q[at(maximal->body_kernels[at(body)].first_joint)];
        worst = std::max(worst, (there.q.segment<3>(q) - b.state().q.segment<3>(q)).norm());
      }
      difference.push_back(worst);
    }
    EXPECT_LT(difference[0], 1e-2) << seed;
    EXPECT_NEAR(difference[0] / difference[1], 2.0, 0.4) << seed << ' ' << difference[0];
    EXPECT_NEAR(difference[1] / difference[2], 2.0, 0.4) << seed << ' ' << difference[1];
  }
}

// Every solver makes every step of chains in maximal coordinates, or says that it has not reached its tolerance: sweeps
// need more of them the longer a chain is. Compliant laws are soft in loops, too, so they miss those of hard contact by
// design; what should vanish there is the residual of their own law.
TEST(Maximal, EverySolverRunsOnChainsOrSaysWhyNot) {
  for (const int links : {5, 20}) {
    ModelBuilder b("chain");
    for (int i = 0; i < links; ++i) {
      const Matrix3 inertia = Vector3(1e-4, 2e-4, 2e-4).asDiagonal();
      const int link = b.add_body({.name = fmt::format("link{}", i),
                                   .parent = i,
                                   .pose = Transform{{i == 0 ? 0.0 : 0.1, 0, 0}},
                                   .inertia = {0.1, {0.05, 0, 0}, inertia}});
      b.add_joint({.name = fmt::format("hinge{}", i), .body = link, .axis = Vector3::Unit(1 + i % 2)});
    }
    const ModelPtr maximal = to_maximal(*b.build());
    for (const CatalogueEntry& entry : solver_catalogue()) {
      SimulatorOptions options{.time_step = 1e-3};
      options.solver = entry.name;
      Simulator sim(maximal, options);
      int solved = 0;
      for (int k = 0; k < 20; ++k) {
        const StepReport& report = sim.step();
        ASSERT_NE(report.status, StepStatus::kDiverged) << entry.name << ", " << links;
        ASSERT_LT(report.violation, 1e-4) << entry.name << ", " << links;
        if (report.status != StepStatus::kOk) continue;
        ++solved;
        const double residual = entry.law ? report.residuals.law_natv_relative : report.residuals.natv_relative;
        EXPECT_LT(residual, 1e-4) << entry.name << ", " << links;
      }
      const bool sweeps = entry.algorithm.find("Seidel") != std::string_view::npos ||
                          entry.name.starts_with("raisim") || entry.name == "ncp-prox";
      if (!sweeps || links == 5) {
        EXPECT_EQ(solved, 20) << entry.name << ", " << links;
      }
    }
  }
}

// Bodies that a joint holds together do not collide, also where the last of their shapes is there to be seen alone.
TEST(Maximal, NeighboursDoNotCollide) {
  ModelBuilder b("arm");
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3::Constant(0.1)};
  int parent = 0;
  for (int i = 0; i < 3; ++i) {
    parent = b.add_body({.parent = parent, .inertia = mass_properties(ball, 1000.0)});
    b.body(parent).pose.position = Vector3(0.15, 0.0, 0.0);  // neighbours overlap
    b.add_joint({.body = parent, .axis = Vector3::UnitY()});
    b.add_shape({.body = parent, .shape = ball});
    b.add_shape({.body = parent, .shape = ball, .visual_only = true});
  }
  const ModelPtr reduced = b.build();
  for (const ModelPtr& model : {reduced, to_maximal(*reduced)}) {
    Simulator sim(model);
    EXPECT_EQ(sim.step().contacts, 0) << model->nv;
  }
}

TEST(Maximal, WhatHasNoLoopJointIsNamed) {
  const auto message = [](const std::string& body) {
    try {
      to_maximal(*load_mjcf_string("<mujoco><worldbody><body name='arm'>" + body + "</body></worldbody></mujoco>"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("<joint name='a' axis='1 0 0'/><joint name='b' axis='1 1 0'/><geom size='0.1'/>").find("'arm'"),
            std::string::npos);
  ModelBuilder builder;
  const int arm = builder.add_body({.name = "arm"});
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3::Constant(0.1)};
  const int hand = builder.add_body({.name = "hand", .parent = arm, .inertia = mass_properties(ball, 1000.0)});
  builder.body(hand).pose.position = Vector3(0.0, 0.0, 1.0);
  builder.add_joint({.body = arm, .axis = Vector3::UnitX()});
  builder.add_joint({.body = hand, .axis = Vector3::UnitY()});
  try {
    to_maximal(*builder.build());
    ADD_FAILURE() << "a body without mass moves freely";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("body 'arm'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("no mass"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace touchstone

// Steps of softened constraints (constraints=mujoco) and of ccp-newton, by states, controls and parameters against
// central differences.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_compare.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/models/soft.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

struct SoftCase {
  const char* name;
  const char* scene;
  const char* option;  // of the model
  ConstraintModel constraints = ConstraintModel::kMujoco;
  const char* solver = "auto";
  std::vector<std::string> solver_options = {};
};

ModelPtr model_of(const SoftCase& soft) {
  std::string xml = scene_named(soft.scene).xml;
  const std::string start = "<mujoco>";
  return load_mjcf_string(xml.insert(xml.find(start) + start.size(), soft.option));
}

SimulatorOptions options_of(const SoftCase& soft) {
  SimulatorOptions options = exact_options();
  options.constraints = soft.constraints;
  options.solver = soft.solver;
  options.solver_options = soft.solver_options;
  // Compliances of softened models are so large that 1e-14 is beyond rounding at times.
  if (soft.constraints == ConstraintModel::kMujoco) options.tolerance = 1e-13;
  return options;
}

// Of differences: softened laws bend within a millimetre, those of ccp-newton on hard contact within much less.
const std::vector<double> kWays = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7};

class StepSoft : public testing::TestWithParam<SoftCase> {};

TEST_P(StepSoft, AgreesWithDifferences) {
  const SoftCase& soft = GetParam();
  const Scene& scene = scene_named(soft.scene);
  const ModelPtr model = model_of(soft);
  const SimulatorOptions options = options_of(soft);
  const auto prepare = [&](Simulator& sim) {
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.parameters().shape_material[0].friction[0] += 1e-3;  // no tie: the first surface decides
    // Nor gains of zero, which hard models have implicit as they grow and explicit as they fall.
    for (auto& bias : sim.parameters().actuator_bias) bias[1] -= 0.1;
    for (int i = 0; i < model->nv; ++i) {
      if (model->nu > 0) sim.parameters().dof_friction[i] = 0.02;
    }
  };
  Simulator sim(model, options);
  prepare(sim);
  Figures states, parameters;
  int blocks = 0;
  for (int k = 0; k < 10; ++k) {
    sim.step(43);
    Stepper stepper(model, sim.state(), options);
    prepare(stepper.sim());
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    const std::string what = std::string(soft.name) + " " + std::to_string(k);
    compare(stepper, *model, states, what, kWays);
    if (k % 2 == 0) compare_parameters(stepper, *model, parameters, what, kWays);
    blocks += stepper.sim().context().constraints.count();
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(std::max(states.worst, parameters.worst) * 1e9));
  EXPECT_GE(blocks, 3);  // a ball on a ball has fallen off after some 150 steps
  EXPECT_GE(states.kept, states.columns / 2) << states.kept << " of " << states.columns;
  EXPECT_GE(parameters.kept, parameters.columns / 2) << parameters.kept << " of " << parameters.columns;
}

constexpr const char *kElliptic = R"(<option cone="elliptic" impratio="3"/>)",
                     *kPyramidal = R"(<option impratio="2"/>)",
                     *kImplicit = R"(<option integrator="implicitfast" cone="elliptic"/>)";
constexpr auto kHard = ConstraintModel::kRigid;

const SoftCase kCases[] = {
    {"RollingSphereElliptic", "RollingSphere", kElliptic},
    {"RollingSpherePyramidal", "RollingSphere", kPyramidal},
    {"TiltedPlaneElliptic", "BallOnATiltedPlane", kElliptic},
    {"TiltedPlanePyramidal", "BallOnATiltedPlane", kPyramidal},
    {"TwoBallsElliptic", "TwoBalls", kElliptic},
    {"TwoBallsPyramidal", "TwoBalls", kPyramidal},
    {"AnisotropicElliptic", "AnisotropicBalls", kElliptic},
    {"CapsuleElliptic", "CapsuleRolls", kElliptic},
    {"BoxElliptic", "BoxSticks", kElliptic},
    {"BoxPyramidal", "BoxSticks", kPyramidal},
    {"TripodElliptic", "TripodSlides", kElliptic},
    {"TripodPyramidal", "TripodSlides", kPyramidal},
    {"ArmElliptic", "ArmPushesABall", kElliptic},
    {"ArmImplicit", "ArmPushesABall", kImplicit},
    {"CouplingsElliptic", "BoundByLimitsAndCouplings", kElliptic},
    {"CouplingsImplicit", "BoundByLimitsAndCouplings", kImplicit},
    {"TwoBallsNcp", "TwoBalls", kElliptic, ConstraintModel::kMujoco, "ncp-newton"},
    {"TripodCcp", "TripodSlides", kElliptic, ConstraintModel::kMujoco, "ccp-admm"},
    {"HardRollingSphere", "RollingSphere", "", kHard, "ccp-newton"},
    {"HardTwoBalls", "TwoBalls", "", kHard, "ccp-newton", {"alpha=1e-2"}},
    {"HardTwoBallsPyramidal", "TwoBalls", "", kHard, "ccp-newton", {"cone=pyramidal", "alpha=1e-3"}},
    {"HardTripod", "TripodSlides", "", kHard, "ccp-newton"},
    {"HardBox", "BoxSticks", "", kHard, "ccp-newton", {"alpha=1e-3"}},
    {"HardArm", "ArmPushesABall", "", kHard, "ccp-newton"},
};

INSTANTIATE_TEST_SUITE_P(Scenes, StepSoft, testing::ValuesIn(kCases),
                         [](const auto& soft) { return std::string(soft.param.name); });

// Robots with limits, dry friction and tendons, half of them with connects, welds and couplings.
TEST(StepSoft, OfRandomRobots) {
  std::mt19937_64 random(12);
  Figures states, parameters;
  for (int i = 0; i < 40; ++i) {
    RandomModelOptions small;
    small.bodies = 4;
    ModelBuilder builder(*random_bound_model(random, small));
    builder.options().equalities_enabled = i % 2 == 0;
    const ModelPtr model = builder.build();
    State state = random_state(*model, random);
    state.v *= 0.3;
    SimulatorOptions options = exact_options();
    options.constraints = ConstraintModel::kMujoco;
    options.tolerance = 1e-13;
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, states, "model " + std::to_string(i), {1e-3, 1e-4, 1e-5, 1e-6});
    compare_parameters(stepper, *model, parameters, "model " + std::to_string(i), {1e-2, 1e-3, 1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(std::max(states.worst, parameters.worst) * 1e9));
  EXPECT_GE(states.steps, 20);
  EXPECT_GE(states.kept, states.columns / 2) << states.kept << " of " << states.columns;
  EXPECT_GE(parameters.kept, parameters.columns / 2) << parameters.kept << " of " << parameters.columns;
}

constexpr int kLoopJointTypes = static_cast<int>(LoopJointType::kPointOnPlane) + 1;

bool couples_loops(const Model& model, const Constraint& constraint) {
  if (constraint.kind != ConstraintKind::kEquality) return false;
  const Equality& equality = model.equalities[static_cast<std::size_t>(constraint.index)];
  return equality.coordinate_a >= 0 || equality.coordinate_b >= 0;
}

// Trees that loop joints of all types join, apart by some centimetres, with limits, friction and motors, and then with
// springs, dampers, armature and curved couplings along their coordinates.
TEST(StepSoft, OfLoopJoints) {
  std::mt19937_64 random(31);
  Figures states, parameters;
  int springs = 0, couplings = 0;
  for (int type = 0; type < kLoopJointTypes; ++type) {
    for (int i = 0; i < 4; ++i) {
      const auto [made, state] = looped(static_cast<LoopJointType>(type), random, i >= 2, 0.02);
      ModelBuilder builder(*made);
      if (i == 0) builder.options().equalities_enabled = false;
      const ModelPtr model = builder.build();
      SimulatorOptions options = exact_options();
      options.constraints = ConstraintModel::kMujoco;
      options.tolerance = 1e-13;
      Stepper stepper(model, state, options);
      if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
      const std::string what = "type " + std::to_string(type) + ", model " + std::to_string(i);
      compare(stepper, *model, states, what, {1e-3, 1e-4, 1e-5, 1e-6});
      for (const Constraint& constraint : stepper.sim().context().constraints.list) {
        springs += constraint.kind == ConstraintKind::kLoopSpring ? 1 : 0;
        couplings += couples_loops(*model, constraint) ? 1 : 0;
      }
      if (i % 2 == 0) {
        compare_parameters(stepper, *model, parameters, what, {1e-2, 1e-3, 1e-4, 1e-5, 1e-6});
      }
      if (HasFailure()) return;
    }
  }
  RecordProperty("worst", std::to_string(std::max(states.worst, parameters.worst) * 1e9));
  EXPECT_GE(springs, 2 * kLoopJointTypes);
  EXPECT_GE(couplings, kLoopJointTypes);
  EXPECT_GE(states.steps, 3 * kLoopJointTypes);
  EXPECT_GE(states.kept, states.columns / 2) << states.kept << " of " << states.columns;
  EXPECT_GE(parameters.kept, parameters.columns / 2) << parameters.kept << " of " << parameters.columns;
}

// The slope of the impedance against differences, at all places of curves of all kinds.
TEST(StepSoft, SlopeOfTheImpedance) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int trial = 0; trial < 500; ++trial) {
    const std::array<double, 5> solimp{0.3 + 0.5 * unit(random), 0.9 + 0.09 * unit(random), 1e-3 * (0.1 + unit(random)),
                                       0.2 + 0.6 * unit(random), trial % 3 == 0 ? 1.0 : 1.0 + 4.0 * unit(random)};
    const double r = 1.5e-3 * (2.0 * unit(random) - 1.0), way = 1e-3 * std::abs(r);
    const auto d = [&](double x) { return soft::impedance_at(solimp, x); };
    const double expected = (8.0 * (d(r + 0.5 * way) - d(r - 0.5 * way)) - (d(r + way) - d(r - way))) / (6.0 * way);
    const double x = std::abs(r) / solimp[2];
    if (std::abs(x - 1.0) < 2e-3 || std::abs(x - solimp[3]) < 2e-3) continue;  // a kink between
    EXPECT_NEAR(soft::impedance_slope(solimp, r), expected, 1e-6 * (solimp[1] - solimp[0]) / solimp[2])
        << "trial " << trial;
  }
}

TEST(StepSoft, AllocatesNothingOnceWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  for (const SoftCase& soft : {kCases[0], kCases[1], kCases[4], kCases[5], kCases[13], kCases[19]}) {
    const ModelPtr model = model_of(soft);
    SimulatorOptions options = options_of(soft);
    options.tolerance = SimulatorOptions().tolerance;
    Simulator sim(model, options);
    StepDerivatives d(*model);
    VectorX y = VectorX::Ones(d.nx()), x_bar(d.nx()), u_bar(model->nu), theta_bar(d.ntheta());
    std::size_t allocations = 0;
    for (int k = 0; k < 200; ++k) {
      sim.step();
      const AllocationGuard guard;
      d.compute(sim.context());
      d.vjp(y, x_bar, u_bar, theta_bar);
      if (k >= 150) allocations += guard.allocations();
    }
    EXPECT_EQ(allocations, 0u) << soft.name;
  }
}

}  // namespace
}  // namespace touchstone::test

#include "touchstone/diff/step_derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

TEST(StepDerivatives, OfFreeMotionOnRandomRobots) {
  std::mt19937_64 random(1);
  Figures figures;
  RandomModelOptions with_damping;
  with_damping.damping = true;
  for (int i = 0; i < 40; ++i) {
    const ModelPtr model = random_model(random, with_damping);
    Stepper stepper(model, random_state(*model, random), exact_options());
    compare(stepper, *model, figures, "model " + std::to_string(i), {1e-4});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns * 9 / 10);
}

TEST(StepDerivatives, OfRobotsThatEverythingBinds) {
  std::mt19937_64 random(2);
  Figures figures;
  for (int i = 0; i < 40; ++i) {
    RandomModelOptions small;
    small.bodies = 5;
    const ModelPtr model = random_bound_model(random, small);
    State state = random_state(*model, random);
    state.v *= 0.3;
    Stepper stepper(model, state, exact_options(Stabilisation::kBaumgarte));
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, "model " + std::to_string(i));
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

// A ball deep in the ground that is brought back faster than it would bounce: v' = -erp gap / h, whatever v is.
TEST(StepDerivatives, OfADeepContactThatWouldBounce) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 1" friction="0"/>
         <body pos="0 0 0.097"><joint type="slide" axis="0 0 1"/><geom name="ball" type="sphere" size="0.1"/></body></worldbody></mujoco>)");
  Simulator sim(model, exact_options(Stabilisation::kBaumgarte));
  for (Material& material : sim.parameters().shape_material) material.restitution = 0.5;
  State state(*model);
  state.v[0] = -0.2;
  sim.reset(state);
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim.context());
  const double erp = sim.options().stabilisation.erp, slop = sim.options().stabilisation.slop;
  EXPECT_NEAR(sim.state().v[0], erp * (0.003 - slop) / 0.001, 1e-9);
  EXPECT_NEAR(d.A(1, 0), -erp / 0.001, 1e-6);
  EXPECT_NEAR(d.A(1, 1), 0.0, 1e-9);
}

class StepDerivativesOf : public testing::TestWithParam<Scene> {};

// After a while, from states along the way.
TEST_P(StepDerivativesOf, Contacts) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  std::mt19937_64 random(8);
  std::optional<Simulator> sim;
  for (int k = 0; k < 12; ++k) {
    const SimulatorOptions options = exact_options(k < 6 ? Stabilisation::kBaumgarte : Stabilisation::kPosition);
    if (k % 6 == 0) sim.emplace(model, options);
    if (model->nu > 0) sim->input().control.setConstant(scene.push);
    sim->step(37);
    State state = sim->state();
    // Deeper than the slop at times, loops open and limits violated, so that the pass has something to do.
    if (k % 2 == 1 && model->joints[0].type == JointType::kFree) state.q[2] -= 5e-4 * k;
    if (k % 2 == 1 && scene.mode == BlockMode::kHeld) {
      const VectorX q = state.q;
      integrate(*model, q, random_vector(model->nv, random), 1e-3 * k, state.q);
    }
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    compare(stepper, *model, figures, std::string(scene.name) + " " + std::to_string(k), {1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.modes[scene.mode], 1);
  EXPECT_GE(figures.passes, scene.mode == BlockMode::kHeld ? 2 : 0) << "of " << figures.steps;
  EXPECT_GE(figures.columns, 2 * model->nv);
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
}

INSTANTIATE_TEST_SUITE_P(Scenes, StepDerivativesOf, testing::ValuesIn(kScenes),
                         [](const auto& scene) { return std::string(scene.param.name); });

// --- compliant laws ---

struct LawCase {
  const char* solver;
  const char* scene;
  Integrator rule = Integrator::kSemiImplicitEuler;
};

class StepDerivativesOfLaws : public testing::TestWithParam<LawCase> {};

TEST_P(StepDerivativesOfLaws, Contacts) {
  const LawCase& law = GetParam();
  const Scene& scene = scene_named(law.scene);
  const ModelPtr model = load_mjcf_string(scene.xml);
  SimulatorOptions options = exact_options();
  options.solver = law.solver;
  options.integrator = law.rule;
  Simulator sim(model, options);
  if (model->nu > 0) sim.input().control.setConstant(scene.push);
  Figures figures;
  int contacts = 0;
  for (int k = 0; k < 8; ++k) {
    sim.step(41);
    Stepper stepper(model, sim.state(), options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    // Laws bend within a stiction tolerance (1e-4 m/s) and a deformation of some 1e-6 m: differences must be small.
    compare(stepper, *model, figures, std::string(law.solver) + " " + law.scene + " " + std::to_string(k),
            {1e-5, 1e-6, 1e-7, 1e-8});
    contacts += stepper.sim().report().contacts;
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(figures.worst * 1e9));
  EXPECT_GE(contacts, 4);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

const LawCase kLaws[] = {
    {"sap", "RollingSphere"},      {"lagged", "RollingSphere"},      {"similar", "RollingSphere"},
    {"sap", "BallOnATiltedPlane"}, {"lagged", "BallOnATiltedPlane"}, {"similar", "BallOnATiltedPlane"},
    {"sap", "TwoBalls"},           {"lagged", "TwoBalls"},           {"similar", "TwoBalls"},
    {"sap", "BoxSticks"},          {"lagged", "BoxSticks"},          {"similar", "BoxSticks"},
    {"sap", "ArmPushesABall"},     {"lagged", "ArmPushesABall"},     {"similar", "ArmPushesABall"},
    {"sap", "TripodSlides"},       {"similar", "TripodSlides"},      {"lagged", "CapsuleRolls"},
};

// Other models of hard contact.
const LawCase kModels[] = {
    {"lcp-lemke", "RollingSphere"}, {"lcp-lemke", "BallOnATiltedPlane"}, {"lcp-lemke", "TwoBalls"},
    {"lcp-lemke", "TripodSlides"},  {"lcp-lemke", "ArmPushesABall"},     {"lcp-dantzig", "TwoBalls"},
    {"lcp-staggered", "TwoBalls"},  {"raisim", "BallOnATiltedPlane"},    {"raisim", "RollingSphere"},
    {"raisim", "TwoBalls"},         {"raisim", "TripodSlides"},          {"raisim", "ArmPushesABall"},
    {"raisim", "CylinderOnItsRim"}, {"lcp-lemke", "AnisotropicBalls"},   {"auto", "AnisotropicBalls"},
    {"ncp-staggered", "TwoBalls"},  {"ncp-staggered", "TripodSlides"},
};

// RaiSim's law has the mobility of the middle in it there.
const LawCase kMidpointRules[] = {
    {"raisim", "BallOnATiltedPlane", Integrator::kMoreauMidpoint},
    {"raisim", "BallOnATiltedPlane", Integrator::kVariational},
    {"raisim", "TripodSlides", Integrator::kMoreauMidpoint},
    {"raisim", "TripodSlides", Integrator::kVariational},
    {"raisim", "ArmPushesABall", Integrator::kMoreauMidpoint},
    {"raisim", "ArmPushesABall", Integrator::kVariational},
};

std::string law_name(const testing::TestParamInfo<LawCase>& law) {
  std::string name = std::string(law.param.solver) + "_" + law.param.scene;
  if (law.param.rule != Integrator::kSemiImplicitEuler) name += "_" + std::string(entry_of(law.param.rule).name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, StepDerivativesOfLaws, testing::ValuesIn(kModels), law_name);

INSTANTIATE_TEST_SUITE_P(MidpointRules, StepDerivativesOfLaws, testing::ValuesIn(kMidpointRules), law_name);

INSTANTIATE_TEST_SUITE_P(Laws, StepDerivativesOfLaws, testing::ValuesIn(kLaws), law_name);

// A ball in free flight under gravity g for h: v' = v + h g, p' = p + h v'; a push by a motor of gear 1 on mass m.
TEST(StepDerivatives, OfASlider) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><option timestep="0.01"/><worldbody><body><joint name="s" type="slide" axis="1 0 0" damping="3" stiffness="50"/>
         <geom type="sphere" size="0.1" mass="2"/></body></worldbody><actuator><motor joint="s" gear="4"/></actuator></mujoco>)");
  Simulator sim(model, exact_options());
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim.context());
  const double h = 0.01, m = 2.0, k = 50.0, c = 3.0, A = m + h * c + h * h * k;
  EXPECT_NEAR(d.A(1, 1), m / A, 1e-12);
  EXPECT_NEAR(d.A(1, 0), -h * k / A, 1e-12);
  EXPECT_NEAR(d.A(0, 1), h * m / A, 1e-12);
  EXPECT_NEAR(d.A(0, 0), 1.0 - h * h * k / A, 1e-12);
  EXPECT_NEAR(d.B(1, 0), h * 4.0 / A, 1e-12);
  VectorX x_bar(2), u_bar(1);
  d.vjp(Vector2(1.0, 2.0), x_bar, u_bar);
  EXPECT_NEAR(x_bar[0], d.A(0, 0) + 2.0 * d.A(1, 0), 1e-14);
  EXPECT_NEAR(u_bar[0], d.B(0, 0) + 2.0 * d.B(1, 0), 1e-14);
}

TEST(StepDerivatives, ByParametersOfBoundRobots) {
  std::mt19937_64 random(6);
  Figures figures;
  for (int i = 0; i < 24; ++i) {
    RandomModelOptions small;
    small.bodies = 4;
    const ModelPtr model = random_bound_model(random, small);
    State state = random_state(*model, random);
    state.v *= 0.3;
    // Gains in the metric of the pass are taken to be constant.
    Stepper stepper(model, state, exact_options(Stabilisation::kBaumgarte));
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare_parameters(stepper, *model, figures, "model " + std::to_string(i));
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

class StepParametersOf : public testing::TestWithParam<Scene> {};

TEST_P(StepParametersOf, Contacts) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Simulator sim(model, exact_options());
  Figures figures;
  for (int k = 0; k < 4; ++k) {
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.step(50);
    Stepper stepper(model, sim.state(), exact_options());
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    stepper.sim().parameters().shape_material[0].friction[0] += 1e-3;  // no tie: the first surface decides
    // Nor gains of zero, which are implicit as they grow and explicit as they fall.
    for (auto& bias : stepper.sim().parameters().actuator_bias) bias[1] -= 0.1;
    compare_parameters(stepper, *model, figures, std::string(scene.name) + " " + std::to_string(k));
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

// Those without loops: the slack of the pass follows the masses, which is left out.
INSTANTIATE_TEST_SUITE_P(Scenes, StepParametersOf, testing::ValuesIn(std::begin(kScenes), std::begin(kScenes) + 8),
                         [](const auto& scene) { return std::string(scene.param.name); });

TEST(StepDerivatives, AllocateNothingOnceWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  for (const Scene& scene : kScenes) {
    const ModelPtr model = load_mjcf_string(scene.xml);
    Simulator sim(model);
    StepDerivatives d(*model);
    VectorX y = VectorX::Ones(d.nx()), x_bar(d.nx()), u_bar(model->nu), none(0);
    std::size_t allocations = 0;
    for (int k = 0; k < 200; ++k) {
      sim.step();
      const AllocationGuard guard;
      d.compute(sim.context());
      d.vjp(y, x_bar, u_bar, none);
      if (k >= 150) allocations += guard.allocations();
    }
    EXPECT_EQ(allocations, 0u) << scene.name;
  }
}

TEST(StepDerivatives, RefuseParametersThatAreNotThere) {
  std::mt19937_64 random(3);
  const ModelPtr model = random_model(random);
  StepParameters theta;
  theta.inertias = {model->nbody};
  EXPECT_THROW(StepDerivatives(*model, theta), Error);
  theta.inertias = {0};
  EXPECT_THROW(StepDerivatives(*model, theta), Error);
}

TEST(StepDerivatives, RefuseWhatTheyDoNotKnow) {
  std::mt19937_64 random(3);
  const ModelPtr model = random_model(random);
  StepDerivatives d(*model);
  VectorX x_bar = VectorX::Zero(d.nx()), u_bar = VectorX::Zero(d.nu());
  const VectorX y = x_bar;
  const auto has_nothing = [&] {
    EXPECT_THAT([&] { d.vjp(y, x_bar, u_bar); }, testing::ThrowsMessage<Error>(testing::HasSubstr("compute first")));
  };
  has_nothing();
  Simulator fresh(model);
  EXPECT_THROW(d.compute(fresh.context()), Error);
  has_nothing();
  fresh.step();
  d.linearise(fresh.context());
  EXPECT_NO_THROW(d.vjp(y, x_bar, u_bar));
  SimulatorOptions options;
  options.constraints = ConstraintModel::kMujoco;
  options.solver = "raisim";
  Simulator sim(model, options);
  sim.step();
  EXPECT_THAT([&] { d.compute(sim.context()); }, testing::ThrowsMessage<Error>(testing::HasSubstr("'raisim'")));
  has_nothing();
  const ModelPtr ball = load_mjcf_string(
      "<mujoco><worldbody><body pos='0 0 1'><freejoint/><geom type='sphere' size='0.1'/></body></worldbody></mujoco>");
  StepParameters theta;
  theta.stiffnesses = {0};
  options = {};
  options.integrator = Integrator::kContactImplicit;
  Simulator other(ball, options);
  other.step();
  EXPECT_THROW(StepDerivatives(*ball, theta).compute(other.context()), Error);
  EXPECT_NO_THROW(StepDerivatives(*ball).compute(other.context()));
}

TEST(StepDerivatives, RefuseStepsOfAnotherModel) {
  const ModelPtr model = load_mjcf_string(scene_named("TwoBalls").xml),
                 other = load_mjcf_string(scene_named("ArmPushesABall").xml);
  Simulator sim(other);
  sim.step();
  StepDerivatives d(*model);
  const auto is_named = testing::ThrowsMessage<Error>(testing::HasSubstr("another model"));
  EXPECT_THAT([&] { d.compute(sim); }, is_named);
  EXPECT_THAT([&] { d.compute(sim.context()); }, is_named);
  EXPECT_THAT([&] { d.linearise(sim); }, is_named);
  EXPECT_THAT([&] { d.linearise(sim.context()); }, is_named);
}

// Any armature takes the spin of a free body off the implicit midpoint rule, by a jump: there is no derivative.
TEST(StepDerivatives, RefuseTheArmatureOfABodyThatSpins) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody><body pos="0 0 1"><freejoint/>
    <geom type="box" size="0.1 0.2 0.3" mass="1"/></body></worldbody></mujoco>)");
  State start(*model);
  start.v << 0, 0, 0, 3.0, -2.0, 5.0;
  Simulator sim(model);
  sim.reset(start);
  sim.step();
  const VectorX alone = sim.state().v;
  StepDerivatives d(*model, {.armatures = {4}});
  EXPECT_THAT([&] { d.compute(sim); }, testing::ThrowsMessage<Error>(testing::HasSubstr("armature of dof 4")));
  sim.parameters().dof_armature[4] = 1e-12;
  sim.reset(start);
  sim.step();
  EXPECT_GT((sim.state().v - alone).norm(), 1e-6);  // the jump
  // With an armature there is one.
  sim.parameters().dof_armature.setConstant(0.01);
  Stepper stepper(model, start, exact_options());
  stepper.sim().parameters().dof_armature.setConstant(0.01);
  Figures figures;
  compare_theta(stepper, *model, {.armatures = {0, 4, 5}}, figures, "armature", {1e-4});
  EXPECT_EQ(figures.kept, 3);
}

// Limits that rebound: a slider in closed form, v' = -e v with the e of its spring; a ball, whose axis turns.
TEST(StepDerivatives, OfLimitsThatRebound) {
  const ModelPtr slider = load_mjcf_string(
      R"(<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" axis="1 0 0" limited="true" range="-1 0.1" solreflimit="-4000 -10"/>
         <geom size="0.1" mass="1"/></body></worldbody></mujoco>)");
  const ModelPtr ball = load_mjcf_string(
      R"(<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody><body><joint type="ball" limited="true" range="0 0.5" solreflimit="-4000 -10"/>
         <geom type="box" size="0.1 0.2 0.3" mass="1"/></body></worldbody></mujoco>)");
  State start(*slider);
  start.q[0] = 0.1;
  start.v[0] = 1.5;
  Stepper stepper(slider, start, exact_options());
  stepper.step();
  const double v = stepper.sim().state().v[0];
  ASSERT_LT(v, -0.1);
  StepDerivatives d(*slider);
  d.compute(stepper.sim());
  EXPECT_NEAR(d.A(1, 1), v / 1.5, 1e-9);
  State turned(*ball);
  turned.q << std::cos(0.25), 0.0, std::sin(0.25) * 0.6, std::sin(0.25) * 0.8;
  turned.v << 0.3, 1.2, 1.5;
  Stepper other(ball, turned, exact_options());
  other.step();
  ASSERT_LT(other.sim().state().v.dot(Vector3(0.0, 0.6, 0.8)), -0.1);
  Figures figures;
  compare(other, *ball, figures, "ball", {1e-4, 1e-5});
  EXPECT_GE(figures.kept, 3);
}

}  // namespace
}  // namespace touchstone::test

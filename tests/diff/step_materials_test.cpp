// Steps by what their materials are made of (stiffness, dissipation, relaxation time, restitution), and compliant laws
// with midpoint rules, against central differences.
#include <string>

#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

enum class Spring { kLinear, kHertz, kModulus };

struct MaterialCase {
  const char* solver;
  const char* scene;
  Spring spring;
  bool linear_damping = false;
};

// Surfaces that differ, so that no friction ties.
void set_materials(Parameters& parameters, Spring spring, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (Material& m : parameters.shape_material) {
    m.friction[0] *= 0.8 + 0.4 * unit(random);
    m.dissipation = 5.0 * unit(random);
    m.relaxation_time = 0.01 * unit(random);
    m.hertz = spring == Spring::kHertz;
    const double share = std::pow(10.0, unit(random));
    if (spring == Spring::kModulus) m.youngs_modulus = 5e5 * share;
    if (spring == Spring::kLinear) m.stiffness = 1e4 * share;
    if (spring == Spring::kHertz) m.stiffness = 2e5 * share;
  }
}

StepParameters material_parameters(const Model& model) {
  StepParameters theta;
  for (int s = 0; s < static_cast<int>(model.shapes.size()); ++s) {
    theta.frictions.push_back(s);
    theta.stiffnesses.push_back(s);
    theta.dissipations.push_back(s);
    theta.relaxations.push_back(s);
  }
  return theta;
}

// Units in which differences are made: a share of a stiffness.
VectorX material_sizes(const StepParameters& theta, const Parameters& parameters) {
  VectorX sizes = theta.read(parameters);
  const auto shapes = static_cast<Eigen::Index>(theta.frictions.size());
  sizes.head(shapes).setOnes();
  sizes.segment(2 * shapes, shapes).setConstant(10.0);  // s/m
  sizes.tail(shapes).setConstant(0.02);                 // s
  return sizes;
}

std::string case_name(const testing::TestParamInfo<MaterialCase>& c) {
  static constexpr const char* kSprings[] = {"springs", "Hertz", "moduli"};
  std::string name = fmt::format("{}_{}_{}{}", c.param.solver, c.param.scene,
                                 kSprings[static_cast<int>(c.param.spring)], c.param.linear_damping ? "_linear" : "");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class StepMaterials : public testing::TestWithParam<MaterialCase> {};

TEST_P(StepMaterials, AgreeWithDifferences) {
  const MaterialCase& material = GetParam();
  const Scene& scene = scene_named(material.scene);
  const ModelPtr model = load_mjcf_string(scene.xml);
  SimulatorOptions options = exact_options();
  options.solver = material.solver;
  options.laws.linear_damping = material.linear_damping;
  const StepParameters theta = material_parameters(*model);
  Figures figures, states;
  figures.least_scale = 1e-5;
  int contacts = 0;
  for (int seed = 0; seed < 3; ++seed) {
    std::mt19937_64 random(seed);
    Simulator sim(model, options);
    set_materials(sim.parameters(), material.spring, random);
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    for (int k = 0; k < 2; ++k) {
      sim.step(53);
      Stepper stepper(model, sim.state(), options);
      stepper.sim().parameters() = sim.parameters();
      if (model->nu > 0) stepper.control().setConstant(scene.push);
      const std::string what = fmt::format("{} {} {}", material.solver, material.scene, 2 * seed + k);
      compare_theta(stepper, *model, theta, figures, what, {1e-2, 1e-3, 1e-4, 1e-5, 1e-6},
                    material_sizes(theta, sim.parameters()));
      compare(stepper, *model, states, what, {1e-4, 1e-5, 1e-6, 1e-7, 1e-8});
      contacts += stepper.sim().report().contacts;
      if (HasFailure()) return;
    }
  }
  RecordProperty("worst", std::to_string(figures.worst * 1e9));
  EXPECT_GE(contacts, 3);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(states.kept, states.columns / 2) << states.kept << " of " << states.columns;
}

const MaterialCase kCases[] = {
    {"sap", "RollingSphere", Spring::kLinear},         {"sap", "TwoBalls", Spring::kLinear},
    {"sap", "TripodSlides", Spring::kLinear},          {"sap", "BoxSticks", Spring::kLinear},
    {"lagged", "BallOnATiltedPlane", Spring::kLinear}, {"lagged", "TwoBalls", Spring::kHertz},
    {"lagged", "CapsuleRolls", Spring::kModulus},      {"lagged", "TripodSlides", Spring::kLinear, true},
    {"lagged", "ArmPushesABall", Spring::kLinear},     {"similar", "RollingSphere", Spring::kModulus},
    {"similar", "BoxSticks", Spring::kLinear},         {"similar", "TwoBalls", Spring::kLinear, true},
    {"similar", "ArmPushesABall", Spring::kHertz},     {"auto", "RollingSphere", Spring::kLinear},
    {"auto", "TripodSlides", Spring::kLinear},         {"auto", "TwoBalls", Spring::kHertz},
    {"auto", "CapsuleRolls", Spring::kModulus},        {"ccp-pgs", "BallOnATiltedPlane", Spring::kLinear},
    {"lcp-lemke", "TwoBalls", Spring::kLinear},
};

INSTANTIATE_TEST_SUITE_P(Materials, StepMaterials, testing::ValuesIn(kCases), case_name);

// Bodies that are thrown onto a plane, in the steps in which they bounce.
class StepRestitution : public testing::TestWithParam<const char*> {};

TEST_P(StepRestitution, AgreesWithDifferences) {
  const ModelPtr model = load_mjcf_string(fmt::format(
      R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.3"/><body pos="0 0 0.4"><freejoint/>
         <geom type="{}" size="0.1 0.07 0.05" friction="0.2"/></body></worldbody></mujoco>)",
      GetParam()));
  const StepParameters theta{.frictions = {0}, .restitutions = {0, 1}};
  Figures figures;
  std::mt19937_64 random(7);
  int bounces = 0;
  for (int throws = 0; throws < 8; ++throws) {
    Simulator sim(model, exact_options());
    sim.parameters().shape_material[0].restitution = 0.3;
    sim.parameters().shape_material[1].restitution = throws % 2 == 0 ? 0.7 : 0.1;
    sim.state().v = random_vector(6, random);
    bool has_bounced = false;
    for (int k = 0; k < 400 && !has_bounced; ++k) {
      const State before = sim.state();
      sim.step();
      StepDerivatives d(*model, theta);
      d.compute(sim);
      if (d.C.rightCols(2).isZero(0.0)) continue;
      EXPECT_EQ(d.C.col(1).isZero(0.0), throws % 2 == 0);  // the greater one counts
      ++bounces;
      has_bounced = true;
      Stepper stepper(model, before, exact_options());
      stepper.sim().parameters() = sim.parameters();
      compare_theta(stepper, *model, theta, figures, fmt::format("throw {}", throws), {1e-4, 1e-5});
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(bounces, 8);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

INSTANTIATE_TEST_SUITE_P(Shapes, StepRestitution, testing::Values("sphere", "box", "capsule"),
                         [](const auto& shape) { return std::string(shape.param); });

// --- midpoint rules ---

struct RuleCase {
  Integrator rule;
  const char* solver;
  const char* scene;
  Spring spring;
};

class StepLawsOfMidpointRules : public testing::TestWithParam<RuleCase> {};

TEST_P(StepLawsOfMidpointRules, AgreeWithDifferences) {
  const RuleCase& rule = GetParam();
  const Scene& scene = scene_named(rule.scene);
  const ModelPtr model = load_mjcf_string(scene.xml);
  SimulatorOptions options = exact_options();
  options.solver = rule.solver;
  options.integrator = rule.rule;
  const StepParameters theta = material_parameters(*model);
  Figures figures, parameters;
  parameters.least_scale = 1e-5;
  int contacts = 0;
  for (int k = 0; k < 6; ++k) {
    std::mt19937_64 random(k);
    Simulator sim(model, options);
    if (k % 2 == 0) set_materials(sim.parameters(), rule.spring, random);  // else near-rigid
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.step(61 + 10 * k);
    Stepper stepper(model, sim.state(), options);
    stepper.sim().parameters() = sim.parameters();
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    const std::string what = fmt::format("{} {} {}", rule.solver, rule.scene, k);
    compare(stepper, *model, figures, what, {1e-4, 1e-5, 1e-6, 1e-7, 1e-8});
    if (k % 2 == 0) {
      compare_theta(stepper, *model, theta, parameters, what, {1e-2, 1e-3, 1e-4, 1e-5},
                    material_sizes(theta, sim.parameters()));
    }
    contacts += stepper.sim().report().contacts;
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(figures.worst * 1e9));
  EXPECT_GE(contacts, 4);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

const RuleCase kRules[] = {
    {Integrator::kMoreauMidpoint, "sap", "RollingSphere", Spring::kLinear},
    {Integrator::kMoreauMidpoint, "lagged", "TwoBalls", Spring::kHertz},
    {Integrator::kMoreauMidpoint, "similar", "TripodSlides", Spring::kLinear},
    {Integrator::kMoreauMidpoint, "sap", "BoxSticks", Spring::kLinear},
    {Integrator::kMoreauMidpoint, "lagged", "ArmPushesABall", Spring::kLinear},
    {Integrator::kVariational, "sap", "RollingSphere", Spring::kLinear},
    {Integrator::kVariational, "lagged", "TwoBalls", Spring::kHertz},
    {Integrator::kVariational, "similar", "TripodSlides", Spring::kLinear},
    {Integrator::kVariational, "lagged", "CapsuleRolls", Spring::kModulus},
    {Integrator::kVariational, "sap", "ArmPushesABall", Spring::kLinear},
};

INSTANTIATE_TEST_SUITE_P(Rules, StepLawsOfMidpointRules, testing::ValuesIn(kRules), [](const auto& c) {
  return fmt::format("{}_{}_{}", c.param.rule == Integrator::kVariational ? "variational" : "midpoint", c.param.solver,
                     c.param.scene);
});

TEST(StepMaterials, RefuseTheStiffnessOfWhatIsRigid) {
  const ModelPtr model = load_mjcf_string(scene_named("RollingSphere").xml);
  Simulator sim(model);
  sim.step();
  StepDerivatives d(*model, {.stiffnesses = {1}});
  EXPECT_THROW(d.compute(sim), Error);
  EXPECT_THROW(StepDerivatives(*model, {.dissipations = {2}}), Error);
}

TEST(StepMaterials, AllocateNothingOnceWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  for (const char* solver : {"sap", "lagged", "auto"}) {
    const ModelPtr model = load_mjcf_string(scene_named("TwoBalls").xml);
    SimulatorOptions options;
    options.solver = solver;
    Simulator sim(model, options);
    std::mt19937_64 random(1);
    set_materials(sim.parameters(), Spring::kLinear, random);
    StepDerivatives d(*model, material_parameters(*model));
    VectorX y = VectorX::Ones(d.nx()), x_bar(d.nx()), u_bar(model->nu), theta_bar(d.ntheta());
    std::size_t allocations = 0;
    for (int k = 0; k < 200; ++k) {
      sim.step();
      const AllocationGuard guard;
      d.compute(sim.context());
      d.vjp(y, x_bar, u_bar, theta_bar);
      if (k >= 150) allocations += guard.allocations();
    }
    EXPECT_EQ(allocations, 0u) << solver;
  }
}

}  // namespace
}  // namespace touchstone::test

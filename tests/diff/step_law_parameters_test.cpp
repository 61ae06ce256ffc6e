// Steps of laws in which parameters change the mobility of contacts (compliant laws, RaiSim), by all parameters against
// central differences.
#include <gtest/gtest.h>

#include <string>

#include "diff/step_compare.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

struct LawCase {
  const char* solver;
  const char* scene;
};

class StepLawParameters : public testing::TestWithParam<LawCase> {};

TEST_P(StepLawParameters, AgreeWithDifferences) {
  const LawCase& law = GetParam();
  const Scene& scene = scene_named(law.scene);
  const ModelPtr model = load_mjcf_string(scene.xml);
  SimulatorOptions options = exact_options();
  options.solver = law.solver;
  const auto prepare = [&](Simulator& sim) {
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.parameters().shape_material[0].friction[0] += 1e-3;  // no tie: the first surface decides
    // Nor gains of zero, which are implicit as they grow and explicit as they fall.
    for (auto& bias : sim.parameters().actuator_bias) bias[1] -= 0.1;
    for (int i = 0; i < model->nv; ++i) {
      if (model->nu > 0) sim.parameters().dof_friction[i] = 0.02;
    }
  };
  Simulator sim(model, options);
  prepare(sim);
  Figures figures;
  int contacts = 0;
  for (int k = 0; k < 4; ++k) {
    sim.step(47);
    Stepper stepper(model, sim.state(), options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    prepare(stepper.sim());
    // Laws bend within a stiction tolerance (1e-4 m/s) and a deformation of some 1e-6 m: differences must be small.
    compare_parameters(stepper, *model, figures, fmt::format("{} {} {}", law.solver, law.scene, k),
                       {1e-4, 1e-5, 1e-6, 1e-7, 1e-8});
    contacts += stepper.sim().report().contacts;
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(figures.worst * 1e9));
  EXPECT_GE(contacts, 2);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

const LawCase kCases[] = {
    {"sap", "RollingSphere"},
    {"lagged", "RollingSphere"},
    {"similar", "RollingSphere"},
    {"sap", "BallOnATiltedPlane"},
    {"similar", "TwoBalls"},
    {"lagged", "TwoBalls"},
    {"sap", "BoxSticks"},
    {"lagged", "ArmPushesABall"},
    {"sap", "ArmPushesABall"},
    {"similar", "ArmPushesABall"},
    {"lagged", "CapsuleRolls"},
    {"raisim", "TwoBalls"},
    {"raisim", "BallOnATiltedPlane"},
    {"raisim", "TripodSlides"},
    {"raisim", "ArmPushesABall"},
};

INSTANTIATE_TEST_SUITE_P(Laws, StepLawParameters, testing::ValuesIn(kCases),
                         [](const auto& law) { return std::string(law.param.solver) + "_" + law.param.scene; });

// Two surfaces with stiffnesses have the friction 2 a b / (a + b), on which both work.
TEST(StepLawParameters, OfFrictionBetweenCompliantSurfaces) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 0.0995"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>)");
  const double a = 0.3, b = 0.7;
  for (const char* solver : {"sap", "lagged", "similar"}) {
    SimulatorOptions options = exact_options();
    options.solver = solver;
    Simulator sim(model, options);
    sim.state().v[0] = 2.0;
    std::vector<Material>& materials = sim.parameters().shape_material;
    materials[0].friction[0] = a;
    materials[1].friction[0] = b;
    for (Material& material : materials) material.stiffness = 2e4;
    sim.step(5);
    const Simulator::Snapshot before = sim.save();
    sim.step();
    StepDerivatives d(*model, {.frictions = {0, 1}});
    d.compute(sim);
    EXPECT_LT(d.C(6, 1), -1e-3) << solver;
    EXPECT_NEAR(d.C(6, 0) / d.C(6, 1), b * b / (a * a), 1e-9) << solver;
    for (const int shape : {0, 1}) {
      double& friction = materials[static_cast<std::size_t>(shape)].friction[0];
      const double value = friction;
      const auto step = [&](double way) -> MatrixX {
        sim.restore(before);
        friction = value + way;
        sim.step();
        return sim.state().v;
      };
      const VectorX expected = derivative(step, 1e-4);
      friction = value;
      EXPECT_LT((d.C.col(shape).tail(6) - expected).cwiseAbs().maxCoeff(), 1e-6 * d.C.cwiseAbs().maxCoeff())
          << solver << ", shape " << shape;
    }
  }
}

TEST(StepLawParameters, AllocateNothingOnceWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  for (const LawCase law : {LawCase{"sap", "BoxSticks"}, LawCase{"lagged", "TwoBalls"}, LawCase{"auto", "TwoBalls"}}) {
    const ModelPtr model = load_mjcf_string(scene_named(law.scene).xml);
    SimulatorOptions options;
    options.solver = law.solver;
    Simulator sim(model, options);
    StepParameters theta = all_parameters(*model);
    theta.inertias.clear();
    StepDerivatives d(*model, theta);
    VectorX y = VectorX::Ones(d.nx()), x_bar(d.nx()), u_bar(model->nu), theta_bar(d.ntheta());
    std::size_t allocations = 0;
    for (int k = 0; k < 200; ++k) {
      sim.step();
      const AllocationGuard guard;
      d.compute(sim.context());
      d.vjp(y, x_bar, u_bar, theta_bar);
      if (k >= 150) allocations += guard.allocations();
    }
    EXPECT_EQ(allocations, 0u) << law.solver << " " << law.scene;
  }
}

}  // namespace
}  // namespace touchstone::test

// Cassie, two legs with two loops each, stands under PD: how far its loops open.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/mechanism.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

// Gains that are as stiff as the legs need to be to stand without balancing, and toes so far down that the weight is
// above the feet.
constexpr double kStiffness = 1e4, kDamping = 200.0;  // N m/rad, N m s/rad
constexpr double kToes = -0.055;                      // rad

ModelPtr cassie() {
  const char* data = std::getenv("TOUCHSTONE_DATA");
  const std::filesystem::path file =
      std::filesystem::path(data != nullptr ? data : "/nonexistent") / "models/mjcf/agility_cassie/scene.xml";
  return std::filesystem::exists(file) ? load_model(file) : nullptr;
}

// PD at the motors, implicit as the servos of joints are.
void hold(Simulator& sim) {
  const Model& model = sim.model();
  for (const Actuator& motor : model.actuators) {
    const int joint = motor.target;
    const bool is_toe = motor.name.find("foot") != std::string::npos;
    sim.parameters().joint_stiffness[joint] = kStiffness;
    const int q = model.joint_q[at(joint)];
    sim.parameters().spring_reference[q] = model.keyframes[0].q[q] + (is_toe ? kToes : 0.0);
    sim.parameters().dof_damping[model.joint_dof[at(joint)]] += kDamping;
  }
}

// The largest distance between the points that a connect holds together.
double opening(const Model& model, const Simulator& sim, Data& data) {
  forward_kinematics(model, sim.parameters(), sim.state(), data);
  double worst = 0.0;
  for (const Equality& e : model.equalities) {
    const Vector3 gap = body_pose(data, e.a) * e.anchor_a - body_pose(data, e.b) * e.anchor_b;
    worst = std::max(worst, gap.norm());
  }
  return worst;
}

struct Standing {
  double opening = 0.0;  // m: the largest after the start
  double height = 0.0;   // m: of the pelvis at the end
  int unsolved = 0;
};

Standing stand(const ModelPtr& model, double h, double seconds, LoopClosing loops) {
  SimulatorOptions options{.time_step = h};
  options.constraints = ConstraintModel::kRigid;
  options.stabilisation.loops = loops;
  Simulator sim(model, options);
  sim.reset(0);
  hold(sim);
  Mechanism mechanism(model);
  EXPECT_TRUE(mechanism.close(sim.state()).closed);  // the keyframe is open by 2 mm
  Data data(*model);
  Standing standing;
  const int steps = static_cast<int>(seconds / h + 0.5);
  for (int k = 0; k < steps; ++k) {
    const StepReport& report = sim.step();
    EXPECT_NE(report.status, StepStatus::kDiverged);
    standing.unsolved += report.status == StepStatus::kOk ? 0 : 1;
    standing.opening = std::max(standing.opening, opening(*model, sim, data));
  }
  standing.height = sim.state().q[2];
  return standing;
}

TEST(Cassie, StandsUnderPdWithClosedLoops) {
  const ModelPtr model = cassie();
  if (!model) GTEST_SKIP() << "no robots: set TOUCHSTONE_DATA to the folder that holds models/";
  const double seconds = std::getenv("TOUCHSTONE_LONG") != nullptr ? 30.0 : 1.0;
  for (const LoopClosing loops : {LoopClosing::kPass, LoopClosing::kClosed}) {
    for (const double h : {1e-3, 5e-3}) {
      const Standing standing = stand(model, h, seconds, loops);
      std::cout << fmt::format("Cassie, {} ms, {} s, loops {}: open by {:.1e} m, pelvis at {:.3f} m, {} not solved\n",
                               1e3 * h, seconds, loops == LoopClosing::kClosed ? "closed" : "by a pass",
                               standing.opening, standing.height, standing.unsolved);
      EXPECT_LT(standing.opening, h == 1e-3 ? 1e-5 : 1e-4);
      EXPECT_GT(standing.height, 0.95);
      EXPECT_LE(standing.unsolved, static_cast<int>(seconds / h) / 100);
    }
  }
}

}  // namespace
}  // namespace touchstone

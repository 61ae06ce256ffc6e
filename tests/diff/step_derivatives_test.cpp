#include "touchstone/diff/step_derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/allocation_guard.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

SimulatorOptions exact_options(Stabilisation method = Stabilisation::kPosition) {
  SimulatorOptions options;
  options.tolerance = 1e-14;
  options.stabilisation.method = method;
  options.stabilisation.erp = 0.1;
  return options;
}

// A step from given x and u, for finite differences.
class Stepper {
 public:
  Stepper(ModelPtr model, const State& start, const SimulatorOptions& options)
      : model_(*model), sim_(model, options), start_(start), control_(VectorX::Zero(model_.nu)) {}

  VectorX& control() { return control_; }
  Simulator& sim() { return sim_; }

  // Moves dof `column` of x or a control by `way` first.
  const State& step(int column = -1, double way = 0.0) {
    State state = start_;
    VectorX control = control_;
    const int nv = model_.nv, na = model_.na;
    if (column >= 2 * nv + na) {
      control[column - 2 * nv - na] += way;
    } else if (column >= 2 * nv) {
      state.activation[column - 2 * nv] += way;
    } else if (column >= nv) {
      state.v[column - nv] += way;
    } else if (column >= 0) {
      state.q = moved(model_, start_.q, column, way);
    }
    sim_.reset(state);
    sim_.context().since_pass = 1.0;  // s: the pass is due
    sim_.input().control = control;
    sim_.step();
    return sim_.state();
  }

  VectorX distance(const State& from, const State& to) const {
    VectorX x(2 * model_.nv + model_.na);
    VectorX dq(model_.nv);
    difference(model_, from.q, to.q, dq);
    x << dq, to.v - from.v, to.activation - from.activation;
    return x;
  }

  // Modes of all blocks and servos, and what the blocks are: where it differs the step is not smooth.
  std::vector<int> signature() const {
    const StepContext& s = const_cast<Simulator&>(sim_).context();
    const StepRecord record = record_step(s);
    std::vector<int> all;
    for (int b = 0; b < record.constraints.count(); ++b) {
      const Constraint& c = record.constraints.list[static_cast<std::size_t>(b)];
      const int r = record.constraints.blocks.row[static_cast<std::size_t>(b)];
      const BlockMode mode =
          block_mode(record.constraints.blocks, b, record.lambda.data() + r, record.u.data() + r, 1e-6);
      all.insert(all.end(), {static_cast<int>(c.kind), c.index, c.side, static_cast<int>(mode)});
      const int last = record.constraints.blocks.row[static_cast<std::size_t>(b + 1)] - 1;
      // Each row of a pyramid has its own bound.
      for (int k = r; k < last && s.options.solver.compare(0, 3, "lcp") == 0; ++k) {
        const double bound =
            (1.0 - 1e-6) * record.constraints.blocks.mu[static_cast<std::size_t>(k)] * record.lambda[last];
        all.push_back(record.lambda[k] >= bound ? 1 : record.lambda[k] <= -bound ? -1 : 0);
      }
      all.push_back(record.constraints.position[static_cast<std::size_t>(last)] > 0.0 ? 1 : 0);
      all.push_back(s.constraints.recovery[last] < 0.0 ? 1 : 0);
    }
    for (const ServoMode mode : s.data.servo_mode) all.push_back(static_cast<int>(mode));
    if (!s.report.recovered) return all;
    const Constraints& pass = s.pass.rows();
    // Which way is the longest, where it shortens all others.
    double longest = 0.0;
    int longest_row = -1;
    for (int r = 0; r < pass.rows(); ++r) {
      const double way = std::abs(pass.bias[r]) * pass.row_length[static_cast<std::size_t>(r)];
      if (way > longest * (1.0 + 1e-12)) longest_row = r;
      longest = std::max(longest, way);
    }
    if (longest > (1.0 - 1e-9) * s.h * s.options.stabilisation.recovery_speed) all.push_back(longest_row);
    for (int r = 0; r < pass.rows(); ++r) {
      all.push_back(s.pass.impulses()[r] == 0.0 ? 0 : s.pass.impulses()[r] > 0.0 ? 1 : -1);
      all.push_back(pass.bias[r] == 0.0 ? 0 : pass.bias[r] > 0.0 ? 1 : -1);
    }
    return all;
  }

  bool is_solved() const { return sim_.report().status == StepStatus::kOk; }

 private:
  const Model& model_;
  Simulator sim_;
  State start_;
  VectorX control_;
};

struct Figures {
  int columns = 0, kept = 0;  // of all, those whose modes hold on both sides
  int steps = 0, passes = 0;  // that were compared, of which the position pass moved something
  double worst = 0.0;         // error relative to the largest entry of the column's part
  std::map<BlockMode, int> modes;
};

bool is_redundant(const ContactDerivatives& contact) { return contact.rank() < contact.unknowns(); }

// Both directions of products against the matrices, whether these are formed or not.
void expect_products(StepDerivatives& d, const std::string& what) {
  const int nx = d.nx(), nu = d.nu(), nt = d.ntheta();
  std::mt19937_64 random(5);
  const VectorX y = random_vector(nx, random), dx = random_vector(nx, random), du = random_vector(nu, random),
                dtheta = random_vector(nt, random);
  VectorX x_bar(nx), u_bar(nu), theta_bar(nt), moved(nx);
  d.vjp(y, x_bar, u_bar, theta_bar);
  d.jvp(dx, du, dtheta, moved);
  const auto close = [&](const VectorX& actual, const VectorX& expected) {
    if (expected.size() == 0) return;
    EXPECT_LT((actual - expected).cwiseAbs().maxCoeff(), 1e-9 * std::max(1.0, expected.cwiseAbs().maxCoeff())) << what;
  };
  close(x_bar, d.A.transpose() * y);
  close(u_bar, d.B.transpose() * y);
  close(theta_bar, d.C.transpose() * y);
  close(moved, d.A * dx + d.B * du + d.C * dtheta);
}

// Compares A and B with central differences column by column.
// Several ways of differences: the best of them counts, for laws that bend within little allow small ones alone, which
// have fewer digits.
void compare(Stepper& stepper, const Model& model, Figures& figures, const std::string& what,
             const std::vector<double>& ways = {1e-5}) {
  stepper.step();
  if (!stepper.is_solved()) return;
  StepDerivatives d(model);
  d.compute(stepper.sim().context());
  const State here = stepper.sim().state();
  const std::vector<int> signature = stepper.signature();
  const std::vector<BlockMode>& modes = d.contact().modes();
  for (const BlockMode mode : modes) ++figures.modes[mode];
  // Friction of redundant sliding contacts depends on how they share the load, which is the solver's choice.
  const bool slides = std::count(modes.begin(), modes.end(), BlockMode::kSliding) > 0;
  if (slides && d.contact().rank() < d.contact().unknowns()) return;
  EXPECT_EQ(d.held().contacts, 0) << what;
  if (d.held().pass) return;  // it moved something as far as it may, or was hindered
  // Loops that say the same twice: the pass divides by its slack, and differences lose as many digits.
  if (d.has_pass() && (is_redundant(d.contact()) || is_redundant(d.pass_contact()))) return;
  ++figures.steps;
  figures.passes += d.has_pass() ? 1 : 0;
  expect_products(d, what);
  const int nx = d.nx();
  for (int column = 0; column < nx + model.nu; ++column) {
    const VectorX actual = column < nx ? VectorX(d.A.col(column)) : VectorX(d.B.col(column - nx));
    VectorX expected;
    double error = kInfinity;
    for (const double way : ways) {
      bool holds = true;
      const VectorX found = derivative(
          [&](double t) -> MatrixX {
            const State& there = stepper.step(column, t);
            holds = holds && stepper.is_solved() && stepper.signature() == signature;
            return stepper.distance(here, there);
          },
          way);
      const double apart = (actual - found).cwiseAbs().maxCoeff() / std::max(1e-3, found.cwiseAbs().maxCoeff());
      if (!holds || !(apart < error)) continue;
      error = apart;
      expected = found;
    }
    ++figures.columns;
    if (error == kInfinity) continue;
    ++figures.kept;
    figures.worst = std::max(figures.worst, error);
    EXPECT_LT(error, 1e-6) << what << ", column " << column << " of " << nx << " + " << model.nu << "\nactual   "
                           << actual.transpose() << "\nexpected " << expected.transpose();
    if (testing::Test::HasFailure()) return;
  }
}

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

struct Scene {
  const char* name;
  const char* xml;
  BlockMode mode;  // that is seen
  double push;
};

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

const Scene kScenes[] = {
    {"RollingSphere", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.3"/>
       <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" friction="0.3"/></body></worldbody>
       <keyframe/></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"BallOnATiltedPlane", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.1" euler="0 30 10"/>
       <body pos="0 0 0.12"><freejoint/><geom type="sphere" size="0.1" friction="0.1"/></body></worldbody></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"TwoBalls", R"(<mujoco><worldbody><body pos="0 0 0"><joint type="slide" axis="1 0 0" damping="0.1"/>
       <joint type="hinge" axis="0 1 0"/><geom type="sphere" size="0.1" friction="0.3"/></body>
       <body pos="0.02 0.03 0.2"><freejoint/><geom type="sphere" size="0.1" friction="0.3"/></body></worldbody></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"AnisotropicBalls",
     R"(<mujoco><worldbody><body name="a" pos="0 0 0"><joint type="slide" axis="1 0 0" damping="0.1"/>
       <joint type="hinge" axis="0 1 0"/><geom name="a" type="sphere" size="0.1"/></body>
       <body pos="0.02 0.03 0.2"><freejoint/><geom name="b" type="sphere" size="0.1"/></body></worldbody>
       <contact><pair geom1="a" geom2="b" friction="0.2 0.4 0.005 0.0001 0.0001" condim="3"/></contact></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"CapsuleRolls", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.5" euler="0 10 0"/>
       <body pos="0 0 0.101" euler="80 5 0"><freejoint/><geom type="capsule" size="0.1 0.2" friction="0.5"/></body></worldbody>
       </mujoco>)",
     BlockMode::kSticking, 0.0},
    {"BoxSticks", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.8" euler="0 15 0"/>
       <body pos="0 0 0.08" euler="1 15 2"><freejoint/><geom type="box" size="0.1 0.08 0.06" friction="0.8"/></body></worldbody>
       </mujoco>)",
     BlockMode::kSticking, 0.0},
    {"EllipsoidRolls", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.5" euler="0 8 0"/>
       <body pos="0 0 0.11"><freejoint/><geom type="ellipsoid" size="0.15 0.1 0.08" friction="0.5"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"CylinderOnItsRim", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.2" euler="0 5 0"/>
       <body pos="0 0 0.18"><joint type="slide" axis="1 0 0" damping="0.1"/><joint type="slide" axis="0 0 1"/>
       <joint type="hinge" axis="1 0.2 0.1" stiffness="3" damping="0.02"/><joint type="hinge" axis="0 1 0.3" stiffness="3" damping="0.02"/>
       <geom type="cylinder" size="0.1 0.12" euler="30 20 0" friction="0.2"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"EdgeOnEdge", R"(<mujoco><worldbody><geom type="box" size="1 0.2 0.2" euler="45 0 0" friction="0.3"/>
       <body pos="0 0 0.43"><joint type="slide" axis="1 0 0" damping="0.1"/><joint type="slide" axis="0 0 1"/>
       <joint type="hinge" axis="1 0.2 0.1" stiffness="5" damping="0.05"/><joint type="hinge" axis="0 1 0.3" stiffness="5" damping="0.05"/>
       <geom type="box" size="0.1 0.5 0.1" euler="3 45 10" friction="0.3"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"CapsuleOnAnEdge", R"(<mujoco><worldbody><geom type="box" size="1 0.2 0.2" euler="45 0 0" friction="0.3"/>
       <body pos="0 0 0.35"><joint type="slide" axis="1 0 0" damping="0.1"/><joint type="slide" axis="0 0 1"/>
       <joint type="hinge" axis="1 0.2 0.1" stiffness="5" damping="0.05"/><joint type="hinge" axis="0 1 0.3" stiffness="5" damping="0.05"/>
       <geom type="capsule" size="0.05 0.3" euler="80 10 0" friction="0.3"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"TripodSlides", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.2" euler="0 25 0"/>
       <body pos="0 0 0.07" euler="0 25 20"><freejoint/><geom type="sphere" pos="0.1 0 0" size="0.05" friction="0.2"/>
       <geom type="sphere" pos="-0.1 0.1 0" size="0.05" friction="0.2"/><geom type="sphere" pos="-0.1 -0.08 0" size="0.05" friction="0.2"/>
       </body></worldbody></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"ArmPushesABall", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.6"/>
       <body pos="0 0 0.3"><joint name="a" type="hinge" axis="0 1 0" damping="0.2" range="-90 90" limited="true"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5"/>
       <body pos="0.3 0 0"><joint name="b" type="hinge" axis="0 1 0" damping="0.2"/><joint name="c" type="hinge" axis="0 0 1" damping="0.2"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.3" friction="0.6"/></body></body></worldbody>
       <actuator><position joint="a" kp="20" kv="1" forcerange="-5 5"/><motor joint="b"/><velocity joint="c" kv="0.5"/></actuator>
       </mujoco>)",
     BlockMode::kSliding, 0.4},
    {"BoundByAConnect", R"(<mujoco><worldbody>
       <body name="a" pos="0 0 1"><joint type="ball" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
       <body name="b" pos="0.3 0 0"><joint type="hinge" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.02"/>
       </body></body></worldbody><equality><connect body1="b" anchor="0.3 0 0.1"/></equality></mujoco>)",
     BlockMode::kHeld, 0.0},
    {"BoundByAWeld", R"(<mujoco><worldbody>
       <body name="a" pos="0 0 1"><joint type="hinge" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/></body>
       <body name="b" pos="0.3 0 1.1"><freejoint/><geom type="box" size="0.1 0.07 0.05"/></body></worldbody>
       <equality><weld body1="a" body2="b" torquescale="0.7"/></equality></mujoco>)",
     BlockMode::kHeld, 0.0},
    {"BoundByLimitsAndCouplings", R"(<mujoco><compiler angle="radian"/><worldbody>
       <body pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" limited="true" range="-0.3 0.2" stiffness="3"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5"/>
       <body pos="0.3 0 0"><joint name="b" type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.3"/>
       <body pos="0.3 0 0"><joint name="c" type="ball" limited="true" range="0 0.3"/><geom type="capsule" fromto="0 0 0 0.2 0.1 0" size="0.03" mass="0.3"/>
       </body></body></body>
       <body pos="0 1 1"><joint name="d" type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="0.2"/></body></worldbody>
       <equality><joint joint1="d" joint2="b" polycoef="0 0.5 0.3 0.1 0"/></equality>
       <actuator><position joint="b" kp="30" kv="1"/></actuator></mujoco>)",
     BlockMode::kHeld, 0.2},
};

INSTANTIATE_TEST_SUITE_P(Scenes, StepDerivativesOf, testing::ValuesIn(kScenes),
                         [](const auto& scene) { return std::string(scene.param.name); });

// --- compliant laws ---

struct LawCase {
  const char* solver;
  const char* scene;
};

class StepDerivativesOfLaws : public testing::TestWithParam<LawCase> {};

TEST_P(StepDerivativesOfLaws, Contacts) {
  const LawCase& law = GetParam();
  const auto scene = std::find_if(std::begin(kScenes), std::end(kScenes),
                                  [&](const Scene& s) { return std::string(s.name) == law.scene; });
  const ModelPtr model = load_mjcf_string(scene->xml);
  SimulatorOptions options = exact_options();
  options.solver = law.solver;
  Simulator sim(model, options);
  if (model->nu > 0) sim.input().control.setConstant(scene->push);
  Figures figures;
  int contacts = 0;
  for (int k = 0; k < 8; ++k) {
    sim.step(41);
    Stepper stepper(model, sim.state(), options);
    if (model->nu > 0) stepper.control().setConstant(scene->push);
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

std::string law_name(const testing::TestParamInfo<LawCase>& law) {
  std::string name = std::string(law.param.solver) + "_" + law.param.scene;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, StepDerivativesOfLaws, testing::ValuesIn(kModels), law_name);

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

// Everything a step can be differentiated by, against differences of parameters.
StepParameters all_parameters(const Model& model) {
  StepParameters theta;
  theta.gravity = true;
  for (int b = 1; b < model.nbody; ++b) theta.inertias.push_back(b);
  for (int s = 0; s < static_cast<int>(model.shapes.size()); ++s) theta.frictions.push_back(s);
  for (int u = 0; u < model.nu; ++u) theta.gains.push_back(u);
  for (int i = 0; i < model.nv; ++i) {
    theta.dampings.push_back(i);
    if (model.joints[static_cast<std::size_t>(model.dof_joint[static_cast<std::size_t>(i)])].type != JointType::kFree)
      theta.armatures.push_back(i);  // none turns the rule of spinning bodies off
    theta.joint_frictions.push_back(i);
  }
  return theta;
}

void compare_parameters(Stepper& stepper, const Model& model, Figures& figures, const std::string& what) {
  const StepParameters theta = all_parameters(model);
  const Parameters parameters = stepper.sim().parameters();
  const VectorX values = theta.read(parameters);
  stepper.step();
  if (!stepper.is_solved()) return;
  StepDerivatives d(model, theta);
  d.compute(stepper.sim().context());
  const std::vector<BlockMode>& modes = d.contact().modes();
  const bool slides = std::count(modes.begin(), modes.end(), BlockMode::kSliding) > 0;
  if (d.held().pass || (slides && d.contact().rank() < d.contact().unknowns())) return;
  ++figures.steps;
  figures.passes += d.has_pass() ? 1 : 0;
  expect_products(d, what);
  const State here = stepper.sim().state();
  const std::vector<int> signature = stepper.signature();
  for (int column = 0; column < theta.size(); ++column) {
    bool holds = true;
    const VectorX expected = derivative(
        [&](double t) -> MatrixX {
          stepper.sim().parameters() = parameters;
          theta.write(values + t * VectorX::Unit(theta.size(), column), stepper.sim().parameters());
          const State& there = stepper.step();
          holds = holds && stepper.is_solved() && stepper.signature() == signature;
          return stepper.distance(here, there);
        },
        1e-5);
    ++figures.columns;
    if (!holds) continue;
    ++figures.kept;
    const VectorX actual = d.C.col(column);
    const double error = (actual - expected).cwiseAbs().maxCoeff() / std::max(1e-3, expected.cwiseAbs().maxCoeff());
    figures.worst = std::max(figures.worst, error);
    EXPECT_LT(error, 1e-6) << what << ", parameter " << column << " of " << theta.size() << "\nactual   "
                           << actual.transpose() << "\nexpected " << expected.transpose();
    if (testing::Test::HasFailure()) return;
  }
  stepper.sim().parameters() = parameters;
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
  Simulator fresh(model);
  EXPECT_THROW(d.compute(fresh.context()), Error);
  for (const auto& change : {+[](SimulatorOptions& o) { o.integrator = Integrator::kMoreauMidpoint; },
                             +[](SimulatorOptions& o) { o.solver = "ccp-newton"; }}) {
    SimulatorOptions options;
    change(options);
    Simulator sim(model, options);
    sim.step();
    EXPECT_THROW(d.compute(sim.context()), Error);
  }
  StepParameters frictions;
  frictions.joint_frictions = {0};
  StepDerivatives by_friction(*model, frictions);
  SimulatorOptions compliant;
  compliant.solver = "sap";
  Simulator sim(model, compliant);
  sim.step();
  EXPECT_THROW(by_friction.compute(sim.context()), Error);
}

}  // namespace
}  // namespace touchstone::test

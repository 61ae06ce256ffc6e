// The position pass of the batched backend against that of the simulator, and what it is for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/robot_runs.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

using gpu::BatchField;

SimulatorOptions pass_options() {
  SimulatorOptions options;  // the position pass is its default
  options.tolerance = 1e-10;
  options.watch.energy = false;
  options.sleep.mode = SleepMode::kOff;
  return options;
}

// One world in both engines.
class Pair {
 public:
  explicit Pair(const ModelPtr& model, const SimulatorOptions& options = pass_options())
      : sim(model, options),
        batch(gpu::make_cpu_batch(make_model_arrays(*model, options), 1, {.tolerance = 1e-11, .most_sweeps = 4000})) {}

  void reset(const State& state) {
    sim.reset(state);
    batch->write(BatchField::kPosition, state.q.data());
    batch->write(BatchField::kVelocity, state.v.data());
    if (sim.model().na > 0) batch->write(BatchField::kActivation, state.activation.data());
    batch->forget();
  }
  void step() {
    batch->write(BatchField::kControl, sim.input().control.data());
    sim.step();
    batch->step(1);
  }
  VectorX batch_q() const { return read(BatchField::kPosition, sim.model().nq); }
  // How far the velocities are from each other, and the configurations in terms of dofs.
  double velocity_difference() const {
    return (read(BatchField::kVelocity, sim.model().nv) - sim.state().v).lpNorm<Eigen::Infinity>();
  }
  double difference() const {
    VectorX d(sim.model().nv);
    touchstone::difference(sim.model(), sim.state().q, batch_q(), d);
    return d.lpNorm<Eigen::Infinity>();
  }
  double displacement() {
    return sim.report().recovered ? sim.context().pass.displacement().lpNorm<Eigen::Infinity>() : 0.0;
  }

  Simulator sim;
  std::unique_ptr<gpu::WorldBatch> batch;

 private:
  VectorX read(BatchField field, int width) const {
    VectorX values(width);
    batch->read(field, values.data());
    return values;
  }
};

constexpr double kSameMotion = 2e-10;  // m or rad in a step: less than what tells two passes apart

// How many steps were compared, and how they went.
struct Tally {
  int compared = 0, moved = 0, contradicted = 0, inexact = 0;
  double worst = 0.0;

  // One step from a state. Steps that both engines do not solve to the same velocities say nothing of the pass.
  void compare(Pair& pair, const std::string& what) {
    pair.step();
    if (!(pair.velocity_difference() * pair.sim.model().options.time_step < kSameMotion)) return;
    if (pair.sim.report().hindered_block >= 0) {  // rows that contradict each other are soluble by their slack alone
      ++contradicted;
      return;
    }
    ++compared;
    const double moved_by = pair.displacement();
    if (moved_by > 1e-6) ++moved;
    const double error = pair.difference();
    EXPECT_LT(error, 0.1 * moved_by + 1e-9) << what << ": apart after a displacement of " << moved_by;
    if (error > 1e-5 * moved_by + 1e-9) ++inexact;
    worst = std::max(worst, error);
  }
  // Contacts of edges that are nearly parallel may be others (BackendContacts), and what shares them then differs.
  void expect_exact() const { EXPECT_LE(inexact, 1 + compared / 100) << "of " << compared << ", worst " << worst; }
};

// Free boxes, balls and capsules that overlap each other and the floor: several islands, some of which ask for nothing.
TEST(BackendPass, OverlappingBodiesAreBroughtBackAsInTheSimulator) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Tally tally;
  const int scenes = whole_family() ? 200 : 30;
  for (int k = 0; k < scenes; ++k) {
    ModelBuilder builder("heap");
    builder.add_shape({.shape = {.type = ShapeType::kPlane}});
    const int bodies = 1 + k % 6;
    for (int b = 0; b < bodies; ++b) {
      const ShapeType types[3] = {ShapeType::kBox, ShapeType::kSphere, ShapeType::kCapsule};
      const Shape shape{.type = types[(k + b) % 3], .size = Vector3(0.1, 0.08, 0.06)};
      const int body = builder.add_body({.inertia = mass_properties(shape, 500.0)});
      builder.add_joint({.body = body, .type = JointType::kFree});
      builder.add_shape({.body = body, .shape = shape});
    }
    Pair pair(builder.build());
    State state(pair.sim.model());
    for (int b = 0; b < bodies; ++b) {
      const Quaternion turn = so3_exp((k % 2 == 0 ? 0.02 : 1.0) * random_vector3(random));
      state.q.segment<3>(7 * b) << 0.3 * uniform(random), 0.3 * uniform(random), 0.1 + 0.06 * uniform(random);
      state.q.segment<4>(7 * b + 3) << turn.w(), turn.vec();
    }
    state.v = 0.1 * random_vector(pair.sim.model().nv, random);
    pair.reset(state);
    for (int step = 0; step < 3; ++step) tally.compare(pair, "heap " + std::to_string(k));
  }
  EXPECT_GT(tally.moved, scenes);
  tally.expect_exact();
  RecordProperty("worst", std::to_string(tally.worst));
}

// Loops, limits of all kinds of joints and tendons, couplings and loops, springs and servos in the metric.
TEST(BackendPass, RandomMechanismsAreBroughtBackAsInTheSimulator) {
  std::mt19937_64 random(19);
  Tally tally;
  const int wanted = whole_family() ? 120 : 30;
  int tried = 0;
  for (int k = 0; k < 60 * wanted && tried < wanted; ++k) {
    // Random loops contradict each other: every fourth model has them, the others limits, tendons, springs and servos.
    const auto model = std::make_shared<Model>(*random_bound_model(random, {.bodies = 2 + k % 10, .damping = true}));
    model->options.equalities_enabled = k % 4 == 3;
    if (!unsupported_features(*model, pass_options()).empty()) continue;
    ++tried;
    Pair pair(model);
    State state = random_state(*model, random);
    state.v *= 0.1;
    pair.reset(state);
    randomize_controls(pair.sim, random);
    tally.compare(pair, "model " + std::to_string(k));
  }
  EXPECT_EQ(tried, wanted);
  EXPECT_GT(tally.moved, wanted / 5);
  tally.expect_exact();
  RecordProperty("compared", tally.compared);
  RecordProperty("moved", tally.moved);
}

TEST(BackendPass, RobotsAreLiftedOutOfTheGroundAsInTheSimulator) {
  int robots = 0;
  const char* known[] = {"cassie/scene", "barkour_vb/scene_mjx", "humanoid/humanoid.xml", "allegro_left",
                         "allegro_right"};
  for (const RobotFile& file : robot_files()) {
    const auto is = [&](const char* name) { return file.name.find(name) != std::string::npos; };
    if (!std::any_of(std::begin(known), std::end(known), is)) continue;
    const RobotSetup setup = set_up(file);
    if (!unsupported_features(*setup.model, pass_options()).empty()) continue;
    ++robots;
    Pair pair(setup.model);
    Simulator runner(setup.model, pass_options());
    runner.reset(setup.start);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    Tally tally;
    const bool is_floating = setup.model->joints[0].type == JointType::kFree;
    for (int k = 0; k < 25; ++k) {
      if (k % 10 == 0) randomize_controls(runner, random);
      for (int i = 0; i < 4; ++i) runner.step();
      State state = runner.state();
      if (is_floating) state.q[2] -= 0.01 * uniform(random);
      pair.reset(state);
      pair.sim.input() = runner.input();
      tally.compare(pair, file.name + " step " + std::to_string(k));
    }
    RecordProperty(file.name, std::to_string(tally.moved) + " of " + std::to_string(tally.compared) + ", worst " +
                                  std::to_string(tally.worst));
    EXPECT_GT(tally.compared, 3) << file.name;
    tally.expect_exact();
  }
  if (robots == 0) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
  EXPECT_GE(robots, 5);
}

// A box deep in the floor is lifted at the recovery speed and left at the slop; step by step as in the simulator, which
// counts the time between passes and looks ahead while they move things far. Nothing is thrown.
TEST(BackendPass, ABoxLeavesTheFloorStepByStepAsInTheSimulator) {
  for (const double h : {0.0005, 0.002, 0.01}) {
    ModelBuilder builder("box");
    const Shape box{.type = ShapeType::kBox, .size = Vector3(0.1, 0.1, 0.1)};
    builder.add_shape({.shape = {.type = ShapeType::kPlane}});
    const int body = builder.add_body({.inertia = mass_properties(box, 1000.0)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape({.body = body, .shape = box});
    SimulatorOptions options = pass_options();
    options.time_step = h;
    Pair pair(builder.build(), options);
    State state(pair.sim.model());
    state.q[2] = 0.07;
    pair.reset(state);
    double highest = 0.0;
    for (int k = 0; k < 300; ++k) {
      pair.step();
      ASSERT_LT(pair.difference(), 1e-8) << "step " << k << " of " << h << " s";
      highest = std::max(highest, pair.batch_q()[2]);
    }
    EXPECT_NEAR(pair.batch_q()[2], 0.1 - options.stabilisation.slop, 0.2 * options.stabilisation.slop) << h;
    EXPECT_LT(highest, 0.1);
  }
}

// The same model with Baumgarte's rule leaves by velocities: that a pass is made at all is not for granted.
TEST(BackendPass, StabilisationIsAnOption) {
  const ModelPtr model = [] {
    ModelBuilder builder("ball");
    const Shape ball{.type = ShapeType::kSphere, .size = Vector3(0.1, 0, 0)};
    builder.add_shape({.shape = {.type = ShapeType::kPlane}});
    const int body = builder.add_body({.inertia = mass_properties(ball, 1000.0)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape({.body = body, .shape = ball});
    return builder.build();
  }();
  for (const Stabilisation method : {Stabilisation::kPosition, Stabilisation::kBaumgarte}) {
    SimulatorOptions options = pass_options();
    options.stabilisation.method = method;
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, options), 1);
    double q[7] = {0, 0, 0.095, 1, 0, 0, 0}, v[6];
    batch->write(BatchField::kPosition, q);
    batch->step(1);
    batch->read(BatchField::kPosition, q);
    batch->read(BatchField::kVelocity, v);
    EXPECT_GT(q[2], 0.0955);
    if (method == Stabilisation::kPosition) {
      EXPECT_LT(std::abs(v[2]), 1e-9);
    } else {
      EXPECT_GT(v[2], 0.1);
    }
  }
}

// Robots that hold their controls come to rest, with penetrations at the slop. 15 s, a minute with TOUCHSTONE_LONG.
TEST(BackendPass, RobotsRest) {
  int found = 0;
  const double seconds = std::getenv("TOUCHSTONE_LONG") != nullptr ? 60.0 : 15.0;
  for (const RobotFile& file : robot_files()) {
    const auto is = [&](const char* name) { return file.name.find(name) != std::string::npos; };
    if (!is("humanoid/humanoid.xml") && !is("barkour_vb/scene_mjx")) continue;
    ++found;
    const RobotSetup setup = set_up(file);
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*setup.model, pass_options()), 1);
    batch->write(BatchField::kPosition, setup.start.q.data());
    if (setup.model->nu > 0) batch->write(BatchField::kControl, setup.control.data());
    const int half = static_cast<int>(0.5 * seconds / setup.model->options.time_step);
    State before = setup.start, after = setup.start;
    batch->step(half);
    batch->read(BatchField::kPosition, before.q.data());
    batch->step(half);
    batch->read(BatchField::kPosition, after.q.data());
    EXPECT_LT((after.q.head<3>() - before.q.head<3>()).norm(), 1e-3) << file.name;
    WorldFixture world(setup.model);
    world.simulator().reset(after);
    ASSERT_TRUE(world.prepare());
    EXPECT_GT(world.scratch().contact_count, 0) << file.name;
    for (int k = 0; k < world.scratch().contact_count; ++k)
      EXPECT_GT(world.scratch().contacts[k].gap, -1.5 * pass_options().stabilisation.slop) << file.name;
  }
  if (found == 0) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
}

// The largest error of Cassie's loops in 400 steps with random controls, from its start.
double loop_error_of_run(const RobotSetup& setup, gpu::WorldBatch& batch, WorldFixture& world, int seed) {
  const VectorX rest = VectorX::Zero(setup.model->nv);
  batch.write(BatchField::kPosition, setup.start.q.data());
  batch.write(BatchField::kVelocity, rest.data());
  State state = setup.start;
  std::mt19937_64 random(static_cast<unsigned>(seed));
  const gpu::ModelView& m = world.model();
  double worst = 0.0;
  for (int k = 0; k < 8; ++k) {
    randomize_controls(world.simulator(), random);
    batch.write(BatchField::kControl, world.simulator().input().control.data());
    batch.step(50);
    batch.read(BatchField::kPosition, state.q.data());
    batch.read(BatchField::kVelocity, state.v.data());
    world.simulator().reset(state);
    if (!world.prepare()) return kInfinity;
    for (int r = 0; r < m.sizes.equality_rows; ++r)
      worst =
          std::max(worst, std::abs(gpu::equality_error<gpu::SerialTeam>(m, world.scratch(), r)) * m.equality_length[r]);
  }
  return worst;
}

// How far loops open in a step goes with the square of the speed, and runs with random controls differ in how fast
// they ever become: the worst of one run tells little.
TEST(BackendPass, LoopsOfCassieStayClosed) {
  int found = 0;
  for (const RobotFile& file : robot_files()) {
    if (file.name.find("cassie/scene") == std::string::npos) continue;
    ++found;
    const RobotSetup setup = set_up(file);
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*setup.model, pass_options()), 1);
    WorldFixture world(setup.model);
    std::vector<double> errors;
    for (int seed = 1; seed <= (whole_family() ? 40 : 12); ++seed)
      errors.push_back(loop_error_of_run(setup, *batch, world, seed));
    std::sort(errors.begin(), errors.end());
    RecordProperty("median", fmt::format("{:.1e}", errors[errors.size() / 2]));
    RecordProperty("worst", fmt::format("{:.1e}", errors.back()));
    EXPECT_LT(errors[errors.size() / 2], 2e-5);
    EXPECT_LT(errors.back(), 5e-4);
    EXPECT_GT(errors.front(), 0.0);
  }
  if (found == 0) GTEST_SKIP() << "no Cassie; set TOUCHSTONE_DATA to the folder that holds models/";
}

}  // namespace
}  // namespace touchstone::test

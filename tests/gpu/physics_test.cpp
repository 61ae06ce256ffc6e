// Batches as users have them against closed forms and the simulator: towers, slopes, energy, the midpoint rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/scenes/scene.hpp"

namespace touchstone::test {
namespace {

using gpu::BatchField;

// One world of a model, from a state.
class World {
 public:
  explicit World(const ModelPtr& model, const SimulatorOptions& options = {}, const gpu::BatchOptions& batch = {})
      : state(*model), batch_(gpu::make_cpu_batch(make_model_arrays(*model, options), 1, batch)), model_(*model) {}

  void set(const State& from) {
    state = from;
    batch_->write(BatchField::kPosition, state.q.data());
    batch_->write(BatchField::kVelocity, state.v.data());
    batch_->forget();
  }
  void step(int count) {
    batch_->step(count);
    batch_->read(BatchField::kPosition, state.q.data());
    batch_->read(BatchField::kVelocity, state.v.data());
    int status = 0;
    batch_->read(BatchField::kStatus, &status);
    EXPECT_LE(status, 1) << model_.name;
  }

  State state;

 private:
  std::unique_ptr<gpu::WorldBatch> batch_;
  const Model& model_;
};

class BackendCases : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TOUCHSTONE_DATA");
    folder_ = std::filesystem::path(data != nullptr ? data : "/nonexistent") / "cases";
    if (!std::filesystem::is_directory(folder_))
      GTEST_SKIP() << "no scenes: set TOUCHSTONE_DATA to the folder that holds cases/";
  }
  Scene scene(const std::string& name) const { return scene_of(load_model((folder_ / (name + ".xml")).string())); }
  // How far the last body moves from one second on, mm: until then what was put in the air falls.
  double drift(const std::string& name, double seconds, const gpu::BatchOptions& options) const {
    const Scene s = scene(name);
    World world(s.model, s.options, options);
    world.set(s.start);
    const auto steps = [&](double time) { return static_cast<int>(std::lround(time / s.model->options.time_step)); };
    const auto place = [&] { return Vector3(world.state.q.tail<7>().head<3>()); };
    world.step(steps(1.0));
    const Vector3 from = place();
    world.step(steps(seconds - 1.0));
    return 1e3 * (place() - from).norm();
  }
  std::filesystem::path folder_;
};

// Long: as many seconds as in tests/sim/cases_test.
TEST_F(BackendCases, TowersStandAndSlopesHold) {
  const bool is_long = std::getenv("TOUCHSTONE_LONG") != nullptr;
  const struct {
    const char* name;
    double seconds, allowed;  // mm
  } cases[] = {{"tower10", 20.0, 0.2},
               {"tower10_rough", 20.0, 0.2},
               {"slope_box_above", 20.0, 0.01},
               {"mass1000_top", 20.0, 0.2}};
  for (const auto& c : cases) {
    // Thousands of sweeps a step: too slow with a sanitizer.
    if (!whole_family() && std::string(c.name) != "slope_box_above") continue;
    const double seconds = is_long ? c.seconds : 2.0;
    const double moved = drift(c.name, seconds, {.tolerance = 1e-6, .most_sweeps = 10000});
    RecordProperty(c.name, std::to_string(moved));
    if (whole_family()) RecordProperty(std::string(c.name) + " by default", std::to_string(drift(c.name, seconds, {})));
    EXPECT_LT(moved, c.allowed) << c.name;
  }
}

TEST_F(BackendCases, ABoxSlidesAsFrictionLetsIt) {
  const Scene s = scene("slope_box_below");
  World world(s.model, s.options);
  world.set(s.start);
  const double h = s.model->options.time_step, seconds = 2.0;
  world.step(static_cast<int>(std::lround(seconds / h)));
  const double slope = 20.0 * M_PI / 180.0, exact = 9.81 * (std::sin(slope) - 0.99 * std::tan(slope) * std::cos(slope));
  EXPECT_NEAR(world.state.v.head<3>().norm() / seconds, exact, 0.01 * exact);
}

double energy_of(Simulator& sim, const State& state) {
  sim.reset(state);
  return sim.kinetic_energy() + sim.potential_energy();
}

// What chains lose to dampers, dry friction, limits and the rule itself: the same as in the simulator.
TEST(BackendEnergy, ChainsHaveTheEnergyOfTheSimulator) {
  std::mt19937_64 random(23);
  int tried = 0, inexact = 0;
  double lost = 0.0;
  for (int k = 0; k < 400 && tried < (whole_family() ? 30 : 6); ++k) {
    const auto model = std::make_shared<Model>(*random_bound_model(random, {.bodies = 2 + k % 5, .damping = true}));
    model->options.equalities_enabled = false;
    for (const Integrator rule : {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint}) {
      SimulatorOptions options;
      options.integrator = rule;
      options.tolerance = 1e-10;
      if (!unsupported_features(*model, options).empty()) continue;
      ++tried;
      Simulator sim(model, options), meter(model, options);
      World world(model, options, {.tolerance = 1e-10, .most_sweeps = 4000});
      State state = random_state(*model, random);
      for (int j = 0; j < model->njoint; ++j) {  // within limits: what is brought back by the pass is no loss
        const Joint& joint = model->joints[static_cast<std::size_t>(j)];
        if (joint.limited && is_scalar(joint))
          state.q[model->joint_q[static_cast<std::size_t>(j)]] = 0.5 * (joint.range[0] + joint.range[1]);
      }
      const double start = energy_of(meter, state);
      sim.reset(state);
      world.set(state);
      for (int step = 0; step < 50; ++step) sim.step();
      world.step(50);
      const double mine = energy_of(meter, world.state), theirs = energy_of(meter, sim.state());
      const double scale = std::abs(start) + std::abs(theirs - start);
      EXPECT_NEAR(mine, theirs, 1e-2 * scale) << "model " << k;
      if (std::abs(mine - theirs) > 1e-4 * scale) ++inexact;  // limits that are struck a step sooner or later
      lost = std::max(lost, std::abs(theirs - start) / scale);
    }
  }
  EXPECT_GE(tried, 6);
  EXPECT_LE(inexact, 1 + tried / 6);
  EXPECT_GT(lost, 0.02);  // or agreement to a hundredth would say little
}

// A ball thrown onto the floor that slides, and a top: the midpoint rule, step by step as in the simulator.
TEST(BackendEnergy, TheMidpointRuleIsThatOfTheSimulator) {
  ModelBuilder builder("bodies");
  builder.add_shape({.shape = {.type = ShapeType::kPlane}});
  for (int b = 0; b < 3; ++b) {
    const Shape shape{.type = b == 0 ? ShapeType::kSphere : ShapeType::kBox,
                      .size = Vector3(0.1, 0.05 + 0.02 * b, 0.08)};
    const int body = builder.add_body({.inertia = mass_properties(shape, 1000.0)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape({.body = body, .shape = shape});
  }
  const ModelPtr model = builder.build();
  SimulatorOptions options;
  options.integrator = Integrator::kMoreauMidpoint;
  options.tolerance = 1e-11;
  Simulator sim(model, options);
  World world(model, options, {.tolerance = 1e-11, .most_sweeps = 4000});
  State state(*model);
  std::mt19937_64 random(2);
  state.v = random_vector(model->nv, random);
  for (int b = 0; b < 3; ++b) state.q.segment<3>(7 * b) << 1.0 * b, 0.0, 0.3;
  sim.reset(state);
  world.set(state);
  int touching = 0;
  for (int step = 0; step < 250; ++step) {
    sim.step();
    world.step(1);
    touching += sim.contacts().empty() ? 0 : 1;
    ASSERT_LT((sim.state().q - world.state.q).lpNorm<Eigen::Infinity>(), 1e-6) << "step " << step;
  }
  EXPECT_GT(touching, 20);
}

}  // namespace
}  // namespace touchstone::test

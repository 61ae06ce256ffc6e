// The scenes that new users try first (TOUCHSTONE_DATA/cases): an acceptance table, one row a scene. Bounds are a few
// times what is reached, and far below what would be noticed; rows that say "known" are figures still to be mended.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

class Cases : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("TOUCHSTONE_DATA");
    folder_ = fs::path(data != nullptr ? data : "/nonexistent") / "cases";
    if (!fs::is_directory(folder_)) GTEST_SKIP() << "no scenes: set TOUCHSTONE_DATA to the folder that holds cases/";
  }

  ModelPtr load(const std::string& name) const { return load_model((folder_ / (name + ".xml")).string()); }

  // At the first keyframe, if there is one; 0 is the time step of the file.
  Simulator start(const std::string& name, double h = 0.0) const {
    SimulatorOptions options;
    options.time_step = h;
    Simulator sim(load(name), options);
    if (!sim.model().keyframes.empty()) sim.reset(0);
    return sim;
  }

  // Goes on for so many seconds; all steps must be solved.
  static void run(Simulator& sim, double seconds) {
    const int steps = static_cast<int>(std::lround(seconds / sim.time_step()));
    for (int i = 0; i < steps; ++i) ASSERT_EQ(sim.step().status, StepStatus::kOk) << sim.state().time << " s";
  }

  static void row(const std::string& scene, const std::string& what, double value, const std::string& bound) {
    std::cout << fmt::format("| {:<16} | {:<40} | {:>10.3g} | {:<20} |\n", scene, what, value, bound);
  }

  // How far the last body moves in any direction, in mm, from one second on: until then what was put in the air falls.
  double drift_of_last(const std::string& scene, double seconds) const {
    Simulator sim = start(scene);
    run(sim, 1.0);
    const auto place = [&] { return Vector3(sim.state().q.tail<7>().head<3>()); };
    const Vector3 from = place();
    double farthest = 0.0;
    for (double t = 1.0; t < seconds; t += 0.1) {
      run(sim, 0.1);
      farthest = std::max(farthest, (place() - from).norm());
    }
    return 1e3 * farthest;
  }

  void expect_still(const std::string& scene, const char* what, double seconds, double bound_mm) const {
    const double drift = drift_of_last(scene, seconds);
    row(scene, what, drift, fmt::format("< {:g}", bound_mm));
    EXPECT_LT(drift, bound_mm);
  }

  // The largest error of loops in a run.
  double loop_error(const std::string& scene, double seconds) const {
    Simulator sim = start(scene, 1e-3);
    double worst = 0.0;
    const int steps = static_cast<int>(std::lround(seconds / sim.time_step()));
    for (int i = 0; i < steps; ++i) {
      EXPECT_EQ(sim.step().status, StepStatus::kOk) << sim.state().time << " s";
      worst = std::max(worst, sim.report().violation);
    }
    return worst;
  }

  void expect_closed(const std::string& scene, double seconds, double bound) const {
    const double error = loop_error(scene, seconds);
    row(scene, "loop error at 1 ms, m", error, fmt::format("< {:g}", bound));
    EXPECT_LT(error, bound);
  }

 private:
  fs::path folder_;
};

TEST_F(Cases, Tower10) { expect_still("tower10", "drift of the top in 20 s, mm", 20.0, 1e-3); }
TEST_F(Cases, Tower10Rough) { expect_still("tower10_rough", "drift of the top in 20 s, mm", 20.0, 2e-3); }
TEST_F(Cases, Tower30) { expect_still("tower30", "drift of the top in 10 s, mm", 10.0, 4e-3); }
TEST_F(Cases, Cards2) { expect_still("cards2", "drift of a card in 20 s, mm", 20.0, 1e-4); }
TEST_F(Cases, Cards7) { expect_still("cards7", "drift of the top card in 20 s, mm", 20.0, 1e-4); }
TEST_F(Cases, Mass1000) { expect_still("mass1000_top", "drift of 1000 kg on 1 kg in 20 s, mm", 20.0, 1e-4); }
TEST_F(Cases, SlopeHolds) { expect_still("slope_box_above", "drift at 1.01 tan 20 deg in 20 s, mm", 20.0, 1e-4); }

// The friction is 0.99 tan 20 degrees.
TEST_F(Cases, SlopeSlides) {
  Simulator sim = start("slope_box_below");
  run(sim, 1.0);
  const double before = sim.state().v.head<3>().norm();
  run(sim, 1.0);
  const double acceleration = sim.state().v.head<3>().norm() - before;
  const double exact = 9.81 * std::sin(20.0 * M_PI / 180.0) * 0.01;
  row("slope_box_below", "acceleration, m/s2", acceleration, fmt::format("{:.5f} +- 0.3 %", exact));
  EXPECT_NEAR(acceleration, exact, 3e-3 * exact);
}

// It rattles for some seconds, as a coin does.
TEST_F(Cases, PlateOnHeightField) {
  Simulator sim = start("plate_hfield");
  double deepest = 0.0, fastest = 0.0;
  for (int i = 0; i < 7500; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    deepest = std::max(deepest, 1e3 * sim.report().penetration);
    if (sim.state().time > 12.0) fastest = std::max(fastest, sim.state().v.norm());
  }
  row("plate_hfield", "depth in 15 s, mm", deepest, "< 0.25");
  row("plate_hfield", "speed after 12 s, m/s and rad/s", fastest, "< 1e-4");
  EXPECT_LT(deepest, 0.25);
  EXPECT_LT(fastest, 1e-4);
}

// A ball that rolls at 1 m/s slows down by 5/7 g times the coefficient over the radius.
TEST_F(Cases, Rolling) {
  Simulator sim = start("rolling");
  run(sim, 5.0);
  const double exact = 1.0 - 5.0 * 5.0 / 7.0 * 9.81 * 0.001 / 0.05;
  row("rolling", "speed after 5 s, m/s", sim.state().v[0], fmt::format("{:.3f} +- 0.002", exact));
  EXPECT_NEAR(sim.state().v[0], exact, 2e-3);
}

TEST_F(Cases, RingConnect) { expect_closed("ring_connect", 5.0, 2e-4); }
TEST_F(Cases, RingWeld) { expect_closed("ring_weld", 5.0, 4e-5); }
TEST_F(Cases, FourbarSlow) { expect_closed("fourbar_slow", 5.0, 1e-5); }

TEST_F(Cases, FourbarFast) {
  expect_closed("fourbar_fast", 5.0, 8e-4);
  double before = 0.0;
  for (const double h : {1e-3, 5e-4, 2.5e-4}) {
    Simulator sim = start("fourbar_fast", h);
    double unexplained = 0.0, absolute = 0.0, least = 1e300, largest = -1e300;
    for (int i = 0; i < std::lround(5.0 / h); ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      const EnergyAccount& e = sim.report().energy;
      EXPECT_EQ(e.inelastic, 0.0);  // nothing bounces
      unexplained += e.error();
      absolute += std::abs(e.error());
      least = std::min(least, e.total());
      largest = std::max(largest, e.total());
    }
    // The error of a method of the first order, and no more.
    row("fourbar_fast", fmt::format("energy unexplained in 5 s at {} ms, share of the range", 1e3 * h),
        std::abs(unexplained) / (largest - least), "< 200 h");
    row("fourbar_fast", "the same, step by step without signs, J", absolute, "");
    EXPECT_LT(std::abs(unexplained), 200.0 * h * (largest - least)) << h;
    EXPECT_TRUE(before == 0.0 || std::abs(unexplained / before - 0.5) < 0.1) << h << ' ' << before;
    before = unexplained;
  }
}

TEST_F(Cases, Pyramid8) {
  Simulator sim = start("pyramid8");
  run(sim, 1.0);
  const VectorX settled = sim.state().q;
  double seconds = 0.0;
  constexpr int kSteps = 500;
  for (int i = 0; i < kSteps; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    seconds += sim.report().times.total();
  }
  row("pyramid8", "time of a step, us", 1e6 * seconds / kSteps, "known");
  const double drift = 1e3 * (sim.state().q - settled).cwiseAbs().maxCoeff();
  row("pyramid8", "drift in 1 s, mm or mrad", drift, "< 1e-2");
  EXPECT_LT(drift, 1e-2);
}

// v t - mu g t^2 / 2 with the second of two coefficients, 0.1.
TEST_F(Cases, Aniso10) {
  Simulator sim = start("aniso_10");
  run(sim, 0.5);
  const double exact = 0.5 - 0.5 * 0.1 * 9.81 * 0.25;
  row("aniso_10", "way along x in 0.5 s, m", sim.state().q[0], fmt::format("{:.4f} +- 0.001", exact));
  EXPECT_NEAR(sim.state().q[0], exact, 1e-3);
  EXPECT_NEAR(sim.state().q[1], 0.0, 1e-4);
}

TEST_F(Cases, BounceComesBack) {
  Simulator sim = start("bounce");
  double highest = 0.0;
  bool bounced = false;
  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    bounced = bounced || sim.state().v[2] > 1.0;
    if (bounced) highest = std::max(highest, sim.state().q[2]);
  }
  row("bounce", "height of the rebound, m", highest, "1 +- 0.02");
  EXPECT_NEAR(highest, 1.0, 0.02);
}

TEST_F(Cases, MocapWeld) {
  Simulator sim = start("mocap_weld");
  ASSERT_EQ(sim.step().status, StepStatus::kOk);
  row("mocap_weld", "speed after the first step, m/s", sim.state().v.head<3>().norm(), "known");
}

TEST_F(Cases, Typo) {
  const ModelPtr model = load("typo");
  std::string said;
  for (const Warning& warning : model->warnings) said += warning.message + "\n";
  row("typo", "warnings", static_cast<double>(model->warnings.size()), "mas, frictoin");
  EXPECT_NE(said.find("'mas'"), std::string::npos) << said;
  EXPECT_NE(said.find("'frictoin'"), std::string::npos) << said;
}

}  // namespace
}  // namespace touchstone

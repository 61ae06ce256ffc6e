// The systems of Tsounis et al. 2025, Tab. II: they have the table's counts, and run without a step that is not solved.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/scenes/loop_suite.hpp"
#include "touchstone/scenes/sample_category.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone {
namespace {

std::string name_of(const testing::TestParamInfo<SuiteSystem>& test) {
  std::string name(test.param.scene.substr(6));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class SuiteSystems : public testing::TestWithParam<SuiteSystem> {};

TEST_P(SuiteSystems, HaveTheCountsOfTheTable) {
  const SuiteSystem& wanted = GetParam();
  const Scene scene = make_scene(wanted.scene);
  const SystemCounts counts = count_system(*scene.model);
  EXPECT_EQ(counts.bodies, wanted.bodies);
  // Seven joints of one coordinate leave 35 constraints; the paper's 41 are those of its fixed joint too.
  EXPECT_EQ(counts.joints, wanted.joints + (wanted.name == "Arm7D" ? 1 : 0));
  EXPECT_EQ(counts.constraints, wanted.constraints);
  EXPECT_EQ(counts.actuators, wanted.actuated_dofs);
  EXPECT_EQ(counts.fixed_base, wanted.fixed_base);
  EXPECT_NEAR(counts.mass_ratio, wanted.mass_ratio, 5e-3);

  // In maximal coordinates the constraints are rows: as many as the table says.
  const ModelPtr maximal = to_maximal(*scene.model);
  EXPECT_EQ(maximal->nv, 6 * wanted.bodies);
  int rows = 0;
  for (const LoopJoint& joint : maximal->loop_joints) rows += 6 - coordinate_count(joint.type);
  EXPECT_EQ(rows, wanted.constraints);
  const SystemCounts same = count_system(*maximal);
  EXPECT_EQ(same.joints, counts.joints);
  EXPECT_EQ(same.constraints, counts.constraints);
}

// Fixed joints that are no joints: the same machine with fewer rows.
TEST_P(SuiteSystems, AreTheSameWithoutFixedJoints) {
  const std::string name(GetParam().scene);
  const auto& parameters = find_scene(name)->parameters;
  if (std::none_of(parameters.begin(), parameters.end(), [](const auto& p) { return p.name == "fixed"; })) GTEST_SKIP();
  const Scene joint = make_scene(name), weld = make_scene(name + ":fixed=weld");
  const SystemCounts a = count_system(*joint.model), b = count_system(*weld.model);
  EXPECT_EQ(a.bodies, b.bodies);
  EXPECT_EQ(a.joints, b.joints);
  EXPECT_EQ(a.constraints, b.constraints);
  EXPECT_EQ(a.mass_ratio, b.mass_ratio);
  EXPECT_EQ(joint.model->nv, weld.model->nv + 6);
}

struct SuiteRun {
  int steps = 0, unsolved = 0, contacts = 0;
  double loop_error = 0.0;
};

SuiteRun run_suite(const std::string& name, double step, double seconds) {
  Scene scene = make_scene(name);
  scene.options.time_step = step;
  SceneRun run(scene);
  SuiteRun figures;
  while (run.simulator().state().time < seconds - 0.5 * step) {
    const StepReport& report = run.step();
    ++figures.steps;
    figures.contacts = std::max(figures.contacts, report.contacts);
    if (report.status != StepStatus::kOk) {
      if (figures.unsolved++ < 5) {
        std::cout << fmt::format("{} at {} s: natv {:.1e}, {} contacts, {}\n", name, report.time,
                                 report.residuals.natv_relative, report.contacts, run.simulator().describe_worst());
      }
    }
    if (report.status == StepStatus::kDiverged) break;
    figures.loop_error = std::max(figures.loop_error, report.loop_error);
  }
  return figures;
}

bool runs_long() { return std::getenv("TOUCHSTONE_LONG") != nullptr; }

TEST_P(SuiteSystems, RunWithEveryStepSolvedAndLoopsClosed) {
  const double seconds = runs_long() ? 10.0 : test::whole_family() ? 0.4 : 0.02;
  const SuiteRun run = run_suite(std::string(GetParam().scene), 1e-3, seconds);
  std::cout << fmt::format("| {:<20} | {:.1e} | {} contacts | {} of {} not solved |\n", GetParam().scene,
                           run.loop_error, run.contacts, run.unsolved, run.steps);
  EXPECT_EQ(run.unsolved, 0);
  EXPECT_LT(run.loop_error, 1e-6);
  if (runs_long()) {
    const SuiteRun coarse = run_suite(std::string(GetParam().scene), 4e-3, seconds);
    EXPECT_EQ(coarse.unsolved, 0);
    EXPECT_LT(coarse.loop_error, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, SuiteSystems, testing::ValuesIn(suite_systems()), name_of);

// VII-C from counts: each category, and its borders.
TEST(SampleCategories, FollowFromTheCounts) {
  using C = SampleCategory;
  const auto categories = [](int joints, int joint_rows, int rank, int contacts, int dofs) {
    SampleFigures f;
    f.joints = joints;
    f.joint_rows = joint_rows;
    f.joint_rank = rank;
    f.contacts = contacts;
    f.contact_rows = 3 * contacts;
    f.rows = joint_rows + 3 * contacts;
    f.joint_density = static_cast<double>(joint_rows) / dofs;
    f.contact_density = 3.0 * contacts / dofs;
    f.density = static_cast<double>(f.rows) / dofs;
    return categories_of(f);
  };
  using List = std::vector<C>;
  EXPECT_EQ(categories(0, 0, 0, 0, 6), List{});
  EXPECT_EQ(categories(2, 10, 10, 0, 18), List{C::kIndependentJoints});
  EXPECT_EQ(categories(4, 20, 17, 0, 24), List{C::kRedundantJoints});
  EXPECT_EQ(categories(5, 26, 23, 0, 24), List{C::kDenseJoints});
  EXPECT_EQ(categories(0, 0, 0, 1, 6), List{C::kSingleContact});
  EXPECT_EQ(categories(0, 0, 0, 2, 6), List{C::kSparseContacts});  // 2 n_b, density 1
  EXPECT_EQ(categories(0, 0, 0, 3, 6), List{C::kDenseContacts});
  EXPECT_EQ(categories(2, 6, 6, 4, 18), List{C::kSparseContacts});  // 18 of 18: not dense
  EXPECT_EQ(categories(4, 20, 17, 2, 24), (List{C::kSparseContacts, C::kDenseConstraints}));
  EXPECT_EQ(categories(4, 20, 17, 16, 24), (List{C::kDenseContacts, C::kDenseConstraints}));
}

// Counts, ranks and densities of problems whose values are known.
TEST(SampleCategories, OfProblemsThatAreKnown) {
  const auto sample = [](const std::string& name, bool maximal, double seconds) {
    Scene scene = make_scene(name);
    ModelPtr model = maximal ? to_maximal(*scene.model) : scene.model;
    Simulator sim(model, scene.options);
    sim.reset(maximal ? to_maximal_state(*scene.model, *model, scene.start) : scene.start);
    sim.step(static_cast<int>(std::lround(seconds / sim.time_step())));
    return describe_sample(sim);
  };
  using C = SampleCategory;
  const SampleFigures fixed = sample("loops/fourbar-fixed", true, 0.01);
  EXPECT_EQ(fixed.joint_rows, 26);
  EXPECT_EQ(fixed.joint_rank, 23);  // 24 dofs, one of them left
  EXPECT_EQ(fixed.categories, std::vector{C::kDenseJoints});
  EXPECT_GT(fixed.condition, 10.0);
  const SampleFigures falling = sample("loops/fourbar-free", true, 0.01);
  EXPECT_EQ(falling.joint_rows, 20);
  EXPECT_EQ(falling.joint_rank, 17);
  EXPECT_EQ(falling.categories, std::vector{C::kRedundantJoints});
  const SampleFigures nunchuk = sample("loops/nunchuk", true, 0.01);
  EXPECT_EQ(nunchuk.joint_rows, 6);
  EXPECT_EQ(nunchuk.joint_rank, 6);
  EXPECT_DOUBLE_EQ(nunchuk.joint_density, 6.0 / 18.0);
  EXPECT_EQ(nunchuk.categories, std::vector{C::kIndependentJoints});
  const SampleFigures box = sample("loops/box-on-plane", false, 3.0);
  EXPECT_EQ(box.contacts, 4);
  EXPECT_EQ(box.rank, 6);
  EXPECT_EQ(box.categories, std::vector{C::kDenseContacts});
  // A loop in reduced coordinates: five rows of the pin, two of which say something.
  const SampleFigures loop = sample("loops/fourbar-fixed:fixed=weld", false, 0.01);
  EXPECT_EQ(loop.dofs, 3);
  EXPECT_EQ(loop.joint_rows, 5);
  EXPECT_EQ(loop.joint_rank, 2);
}

}  // namespace
}  // namespace touchstone

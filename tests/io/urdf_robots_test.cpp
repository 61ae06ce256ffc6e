// The robots that are too large for the repository; skipped without them.
#include <gtest/gtest.h>

#include "io/urdf_support.hpp"

namespace touchstone {
namespace {

struct Expected {
  const char* file;
  int nv;       // fixed base
  double mass;  // floating base
};

// Numbers of dofs and masses from Pinocchio.
constexpr Expected kRobots[] = {
    {"urdf/example-robot-data/robots/allegro_hand_description/urdf/allegro_left_hand.urdf", 16, 0.9549},
    {"urdf/example-robot-data/robots/allegro_hand_description/urdf/allegro_right_hand.urdf", 16, 0.9549},
    {"urdf/example-robot-data/robots/double_pendulum_description/urdf/double_pendulum.urdf", 2, 0.701},
    {"urdf/example-robot-data/robots/double_pendulum_description/urdf/double_pendulum_continuous.urdf", 2, 0.701},
    {"urdf/example-robot-data/robots/double_pendulum_description/urdf/double_pendulum_simple.urdf", 2, 0.6},
    {"urdf/example-robot-data/robots/panda_description/urdf/panda.urdf", 9, 17.451901},
    {"urdf/example-robot-data/robots/panda_description/urdf/panda_collision.urdf", 9, 17.451901},
    {"urdf/example-robot-data/robots/simple_humanoid_description/urdf/simple_humanoid.urdf", 29, 130.8},
    {"urdf/example-robot-data/robots/simple_humanoid_description/urdf/simple_humanoid_classical.urdf", 29, 130.8},
    {"urdf/example-robot-data/robots/solo_description/robots/solo.urdf", 8, 2.17784899},
    {"urdf/example-robot-data/robots/solo_description/robots/solo12.urdf", 12, 2.50000279},
    {"urdf/example-robot-data/robots/talos_data/robots/talos_full_v2.urdf", 44, 93.335724},
    {"urdf/example-robot-data/robots/talos_data/robots/talos_full_v2_box.urdf", 44, 93.335724},
    {"urdf/example-robot-data/robots/talos_data/robots/talos_left_arm.urdf", 7, 9.458441},
    {"urdf/example-robot-data/robots/talos_data/robots/talos_reduced.urdf", 32, 90.272192},
    {"urdf/example-robot-data/robots/talos_data/robots/talos_reduced_box.urdf", 32, 90.272192},
    {"urdf/example-robot-data/robots/talos_data/robots/talos_reduced_corrected.urdf", 32, 90.272192},
    {"mjcf/google_barkour_vb/barkour_vb_rev_1_0_head_straight.urdf", 12, 14.496470058527},
};

class UrdfRobots : public ::testing::TestWithParam<Expected> {};

TEST_P(UrdfRobots, LoadInEveryWay) {
  const char* data = std::getenv("TOUCHSTONE_DATA");
  const std::filesystem::path models = std::filesystem::path(data ? data : "/nonexistent") / "models";
  const std::filesystem::path file = models / GetParam().file;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here; set TOUCHSTONE_DATA";
  LoadOptions options;
  options.search_paths = {models / "urdf"};
  for (const bool floating : {false, true}) {
    options.floating_base = floating;
    options.merge_fixed = false;
    const ModelPtr kept = load_urdf(file, options);
    options.merge_fixed = true;
    const ModelPtr merged = load_urdf(file, options);
    EXPECT_EQ(merged->nv, GetParam().nv + (floating ? 6 : 0));
    EXPECT_EQ(kept->nv, merged->nv);
    EXPECT_EQ(kept->nshape, merged->nshape);
    EXPECT_EQ(kept->nbody, merged->nbody + merged->nsite);
    if (floating) {
      EXPECT_NEAR(merged->total_mass(), GetParam().mass, 1e-9);
      EXPECT_NEAR(kept->total_mass(), GetParam().mass, 1e-9);
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<Expected>& info) {
  return std::filesystem::path(info.param.file).stem().string();
}

INSTANTIATE_TEST_SUITE_P(All, UrdfRobots, ::testing::ValuesIn(kRobots), case_name);

}  // namespace
}  // namespace touchstone

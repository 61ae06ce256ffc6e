#include "touchstone/sim/detection/overlaps.hpp"

#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/manifold/manifold.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"

namespace touchstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Links on a common base, `distance` apart.
ModelPtr star(int links, const std::string& shape, double distance) {
  std::string xml = "<robot name='star'><link name='base'/>";
  for (int i = 0; i < links; ++i) {
    xml += fmt::format(
        "<link name='l{0}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        "<collision><geometry>{1}</geometry></collision></link>"
        "<joint name='j{0}' type='continuous'><parent link='base'/><child link='l{0}'/><origin xyz='{2} 0 0' "
        "rpy='{3} {4} 0'/></joint>",
        i, shape, distance * i, 0.1 * i, 0.37 * i);
  }
  return load_urdf_string(xml + "</robot>", "/nonexistent");
}

// The issue: 3,000 overlapping links took 20 s to load, a query for each of 4.5 million pairs.
TEST(Overlaps, ThreeThousandLinksInOnePlaceNeedNoQueries) {
  constexpr long long kLinks = 3000;
  for (const char* shape : {"<sphere radius='0.1'/>", "<box size='0.2 0.3 0.4'/>",
                            "<cylinder radius='.01' length='2'/>", "<capsule radius='0.1' length='0.3'/>"}) {
    const ModelPtr model = star(static_cast<int>(kLinks), shape, 0.0);
    const CollisionModel shapes(*model);
    EXPECT_EQ(shapes.overlap_counts().candidates, kLinks * (kLinks - 1) / 2) << shape;
    EXPECT_EQ(shapes.overlap_counts().queries, 0) << shape;
    EXPECT_EQ(shapes.overlapping().size(), static_cast<std::size_t>(kLinks * (kLinks - 1) / 2)) << shape;
    ASSERT_EQ(shapes.warnings().size(), 1u) << shape;
    EXPECT_LT(shapes.warnings()[0].message.size(), 1000u);
    EXPECT_THAT(shapes.warnings()[0].message, AllOf(HasSubstr("'l0_collision' and 'l1_collision'"), HasSubstr("more")));
  }
}

TEST(Overlaps, LinksThatAreSpreadOutAreNotComparedWithOneAnother) {
  const ModelPtr model = star(3000, "<sphere radius='0.1'/>", 0.15);  // each touches its neighbours
  const CollisionModel shapes(*model);
  EXPECT_EQ(shapes.overlapping().size(), 2999u);
  EXPECT_LE(shapes.overlap_counts().candidates, 2 * 3000);
}

// The double loop over all pairs with the narrow phase alone.
std::set<std::pair<int, int>> by_double_loop(const CollisionModel& shapes, const Data& data, double least_depth) {
  std::set<std::pair<int, int>> pairs;
  CollisionWorkspace workspace;
  const int count = static_cast<int>(shapes.colliders().size());
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      if (!shapes.wanted(i, j)) continue;
      const Collider &a = shapes.colliders()[at(i)], &b = shapes.colliders()[at(j)];
      std::vector<Manifold> manifolds;
      collide(shapes.shape(a), data.X_WB[at(a.body)] * a.X_BS, shapes.shape(b), data.X_WB[at(b.body)] * b.X_BS, 0.0,
              workspace, nullptr, manifolds, {});
      double depth = 0.0;
      for (const Manifold& manifold : manifolds) {
        for (int k = 0; k < manifold.count; ++k) depth = std::max(depth, -manifold.points[k].distance);
      }
      if (depth > least_depth) pairs.emplace(i, j);
    }
  }
  return pairs;
}

TEST(Overlaps, AreThoseOfTheDoubleLoop) {
  std::mt19937 random(7);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
  };
  const char* types[] = {"sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
  long long queries = 0, candidates = 0;
  for (int scene = 0; scene < 40; ++scene) {
    std::string xml =
        "<mujoco><asset><mesh name='wedge' vertex='0 0 0  .3 0 0  0 .4 0  0 0 .2'/></asset><worldbody>"
        "<geom type='plane' size='1 1 1' pos='0 0 -.5'/>";
    for (int i = 0; i < 25; ++i) {
      xml += fmt::format(
          "<body pos='{} {} {}' euler='{} {} {}'><freejoint/><geom type='{}' {} size='{} {} {}'/></body>",
          uniform(-0.6, 0.6), uniform(-0.6, 0.6), uniform(-0.6, 0.6), uniform(0, 360), uniform(0, 360), uniform(0, 360),
          types[i % 6], i % 6 == 5 ? "mesh='wedge'" : "", uniform(0.01, 0.2), uniform(0.01, 0.2), uniform(0.01, 0.2));
    }
    const ModelPtr model = load_mjcf_string(xml + "</worldbody></mujoco>");
    const CollisionModel shapes(*model);
    Data data(*model);
    forward_kinematics(*model, model->defaults, State(*model), data);
    for (const double depth : {0.0, 0.01}) {
      OverlapCounts counts;
      const auto found = find_overlaps(
          shapes, data, depth, [&](int i, int j) { return shapes.wanted(i, j); }, &counts);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
      EXPECT_EQ((std::set<std::pair<int, int>>(found.begin(), found.end())), by_double_loop(shapes, data, depth));
      queries += counts.queries;
      candidates += counts.candidates;
    }
  }
  EXPECT_LT(queries, candidates);
  EXPECT_GT(queries, 0);
}

TEST(CollisionShapes, ThatCannotBeUsedAreNamed) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><asset><hfield name='f' nrow='2' ncol='2' size='1 1e-308 .5 .1'/></asset>\n"
      "<worldbody><geom name='terrain' type='hfield' hfield='f'/></worldbody></mujoco>",
      {}, {}, "test.xml");
  try {
    const CollisionModel shapes(*model);
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.xml:2: geom 'terrain': "));
  }
}

TEST(Overlaps, OfTheStartAreNamed) {
  const auto warnings_of = [](const std::string& world) {
    const ModelPtr model = load_mjcf_string("<mujoco><worldbody>" + world + "</worldbody></mujoco>");
    return start_warnings(CollisionModel(*model), State(*model));
  };
  const std::string floor = "<geom name='floor' type='plane' size='1 1 1'/>";
  EXPECT_TRUE(warnings_of(floor + "<body pos='0 0 .0999'><freejoint/><geom size='.1'/></body>").empty());
  const auto one = warnings_of(floor + "<body name='b' pos='0 0 .05'><freejoint/><geom name='toy' size='.1'/></body>");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_THAT(one[0].message, AllOf(HasSubstr("two shapes overlap"), HasSubstr("'floor' and 'toy' of 'b' by 0.05 m")));
  std::string many = floor;
  for (int i = 0; i < 20; ++i) many += "<body pos='0 0 .05'><freejoint/><geom size='.1'/></body>";
  const auto bounded = warnings_of(many);
  ASSERT_EQ(bounded.size(), 1u);
  EXPECT_THAT(bounded[0].message, AllOf(HasSubstr("210 pairs"), HasSubstr("and 202 more")));
  EXPECT_LT(bounded[0].message.size(), 1000u);
}

}  // namespace
}  // namespace touchstone

// What sweeps alone do not end: modes in the third tier, and loops whose rows nearly say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/gpu/batch.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::test {
namespace {

using gpu::BatchField;

// Boxes on each other, each ten times as heavy as the one below: sweeps creep.
ModelPtr heavy_on_light(int count, int dimension) {
  ModelBuilder builder("tower");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  double density = 100.0;
  for (int k = 0; k < count; ++k, density *= 10.0) {
    const Shape box{.type = ShapeType::kBox, .size = Vector3(0.1, 0.1, 0.1)};
    const int body = builder.add_body({.name = "box" + std::to_string(k),
                                       .pose = {Vector3(0, 0, 0.1 + 0.2 * k), Quaternion::Identity()},
                                       .inertia = mass_properties(box, density)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape(
        {.name = "shape" + std::to_string(k), .body = body, .shape = box, .contact_dimension = dimension});
  }
  return builder.build();
}

class BackendModes : public testing::TestWithParam<int> {};

// A tower that is solved from nothing: no body moves, which many sweeps alone do not find.
TEST_P(BackendModes, EndWhereSweepsCreep) {
  const ModelPtr model = heavy_on_light(GetParam() == 6 ? 3 : 5, GetParam());
  const gpu::ModelArrays arrays = make_model_arrays(*model, backend_options());
  const auto slip_of = [&](const gpu::BatchOptions& options) {
    const auto batch = gpu::make_cpu_batch(arrays, 1, options);
    batch->step(1);
    std::vector<double> v(at(model->nv));
    batch->read(BatchField::kVelocity, v.data());
    int sweeps = 0, status = 0;
    batch->read(BatchField::kSweeps, &sweeps);
    batch->read(BatchField::kStatus, &status);
    RecordProperty("sweeps", sweeps);
    double fastest = 0.0;
    for (const double x : v) fastest = std::max(fastest, std::abs(x));
    return std::pair(fastest, status);
  };
  const auto [slip, status] = slip_of({.tolerance = 1e-8, .most_sweeps = 100});
  EXPECT_EQ(status, 0);
  EXPECT_LT(slip, 1e-8);
  EXPECT_GT(slip_of({.tolerance = 1e-8, .sweeps = 50, .more_sweeps = 50}).first, 1e-6);  // sweeps alone
}

INSTANTIATE_TEST_SUITE_P(Dimensions, BackendModes, testing::Values(3, 6));

// A four-bar that falls on the ground: of the rows of its planar loop several nearly say the same, so that their
// compliance decides. Sweeps have to be on the problem that the certificate is of.
TEST(BackendModes, LoopsThatSayTheSameAreCertified) {
  const Scene scene = make_scene("loops/fourbar-free");
  const SimulatorOptions options = backend_options();
  ASSERT_TRUE(unsupported_features(*scene.model, options).empty());
  constexpr int kWorlds = 16, kSteps = 400;
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*scene.model, options), kWorlds);
  std::vector<double> q;
  for (int w = 0; w < kWorlds; ++w) q.insert(q.end(), scene.start.q.begin(), scene.start.q.end());
  gpu::ResetRequest request;
  request.q = q.data();
  request.noise_v = 0.5;
  request.seed = 7;
  batch->reset(request);
  std::vector<double> natv, now(kWorlds);
  int contacts = 0;
  for (int k = 0; k < kSteps; ++k) {
    batch->step(1);
    batch->read(BatchField::kNatv, now.data());
    natv.insert(natv.end(), now.begin(), now.end());
    std::vector<int> counts(kWorlds);
    batch->read(BatchField::kContacts, counts.data());
    for (const int count : counts) contacts += count;
  }
  std::sort(natv.begin(), natv.end());
  RecordProperty("natv_p99", std::to_string(natv[natv.size() * 99 / 100]));
  EXPECT_GT(contacts, kWorlds * kSteps / 2);
  EXPECT_LT(natv[natv.size() / 2], 1e-4);
  EXPECT_LT(natv[natv.size() * 99 / 100], 1e-2);
}

}  // namespace
}  // namespace touchstone::test

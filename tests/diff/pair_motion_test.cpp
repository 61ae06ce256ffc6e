#include "touchstone/diff/pair_motion.hpp"

#include <random>

#include <gtest/gtest.h>

#include "support/random_model.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::test {
namespace {

Vec3 random_vec(std::mt19937_64& random) { return Vec3(Vector3(random_vector(3, random))); }

// Points of one pair after another, and of pairs by turns: what they do one by one. Axes and points may move anyhow.
TEST(PairForces, AddUpWhatTheirPointsDo) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 10; ++round) {
    RandomModelOptions options;
    options.bodies = 8;
    const ModelPtr model = random_model(random, options);
    Data data(*model);
    forward_kinematics(*model, model->defaults, random_state(*model, random).q, data);
    PairMotion motion(*model);
    PairForces forces(*model);
    RowMatrixX expected = RowMatrixX::Zero(model->nv, model->nv), out = expected;
    std::uniform_int_distribution<int> body(0, model->nbody - 1), points(1, 4);
    forces.begin();
    for (int pair = 0; pair < 6; ++pair) {
      const int a = body(random), b = body(random);
      for (int point = points(random); point > 0; --point) {
        motion.begin(*model, data, a, b, random_vec(random), random_vec(random));
        for (std::size_t k = 0; k < static_cast<std::size_t>(motion.count); ++k) {
          motion.turn[k] = random_vec(random);
          motion.dp_a[k] = random_vec(random);
          motion.dp_b[k] = random_vec(random);
        }
        const Vec3 force = random_vec(random), torque = random_vec(random);
        add_force_derivatives(motion, force, torque, expected);
        forces.add(motion, force, torque, out);
      }
    }
    forces.flush(out);
    ASSERT_GT(expected.cwiseAbs().maxCoeff(), 0.1);
    EXPECT_LT((out - expected).cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff()) << round;
  }
}

}  // namespace
}  // namespace touchstone::test

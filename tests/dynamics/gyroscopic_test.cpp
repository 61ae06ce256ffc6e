// Free bodies that spin: the motion of a symmetric top has a closed form, energy and momentum stay.
#include "touchstone/dynamics/gyroscopic.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "touchstone/dynamics/forces.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

// In its own frame the spin of a symmetric top turns about the axis with the rate (1 - C/A) w_z.
TEST(Gyroscopic, SymmetricTopPrecessesWithSecondOrder) {
  const Matrix3 I = Vector3(0.02, 0.02, 0.005).asDiagonal();
  const Vector3 start(3.0, 0.0, 20.0);
  const auto error = [&](int steps) {
    Vector3 w = start;
    for (int i = 0; i < steps; ++i) w = next_spin(I, w, 1.0 / steps);
    const double angle = (0.005 - 0.02) / 0.02 * start.z();
    return (w - Vector3(3.0 * std::cos(angle), 3.0 * std::sin(angle), 20.0)).norm();
  };
  EXPECT_LT(error(1000), 1e-3);
  EXPECT_NEAR(error(500) / error(1000), 4.0, 0.01);
}

// Any inertia, any spin, up to many turns a step: no energy is won. Where Newton converges |I w| stays too.
TEST(Gyroscopic, KeepsEnergyAndMomentum) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for (int i = 0; i < 20000; ++i) {
    const Vector3 half(std::pow(10.0, unit(random)), std::pow(10.0, unit(random)), std::pow(10.0, unit(random)));
    const Matrix3 turn = so3_exp(Vector3(unit(random), unit(random), unit(random))).toRotationMatrix();
    const Vector3 moments(half.y() * half.y() + half.z() * half.z(), half.x() * half.x() + half.z() * half.z(),
                          half.x() * half.x() + half.y() * half.y());
    const Matrix3 I = turn * moments.asDiagonal() * turn.transpose();
    const Vector3 w = std::pow(10.0, 3.0 * unit(random)) * Vector3(unit(random), unit(random), unit(random));
    const double h = 1e-3, energy = w.dot(I * w);
    const Vector3 next = next_spin(I, w, h);
    EXPECT_NEAR(next.dot(I * next), energy, 1e-12 * energy);
    if (h * w.norm() > 0.2) continue;
    EXPECT_NEAR((I * next).norm(), (I * w).norm(), 1e-12 * (I * w).norm()) << i;
  }
}

// The free motion of a body with its centre of mass off the origin, and a welded part: energy as of the rule, where the
// torque of the start gains it.
TEST(Gyroscopic, FreeMotionSpinsAsTheRuleSays) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>
    <geom type="box" size=".1 .05 .2" pos=".1 .2 0"/><body pos="0 0 .3"><geom type="box" size=".3 .1 .02"/></body>
    </body></worldbody></mujoco>)");
  State state(*model);
  state.v << 0, 0, 0, 9, -7, 12;
  Data data(*model);
  const double h = 0.01;
  ASSERT_TRUE(compute_free_motion(*model, model->defaults, state, Input(*model), h, data));
  // About the centre of mass, by the parallel axes of both parts.
  MassProperties whole = model->bodies[1].inertia;
  if (model->bodies.size() > 2) whole = whole + transformed(model->bodies[2].pose, model->bodies[2].inertia);
  const Vector3 expected = next_spin(whole.inertia, Vector3(9, -7, 12), h);
  EXPECT_LE((data.v_free.tail<3>() - expected).norm(), 1e-12 * expected.norm());
}

}  // namespace
}  // namespace touchstone

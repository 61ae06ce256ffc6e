// First steps with the library: load a robot, set a state, compute its dynamics.
#include <fmt/core.h>

#include "touchstone/base/cpu.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/scenes/scenes.hpp"

int main() {
  using namespace touchstone;
  require_supported_cpu();

  // A model is immutable and shared. From a file it is: load_model("robot.urdf") in touchstone/io/load.hpp.
  const ModelPtr model = load_scene("quadruped:none");

  // The state is plain data; the workspace `data` holds what the algorithms compute.
  State state(*model);
  const Keyframe& home = model->keyframes[static_cast<std::size_t>(model->keyframe("home"))];
  state.q = home.q;
  Data data(*model);

  forward_kinematics(*model, model->defaults, state, data);
  const Vector3 foot = site_pose(*model, data, model->site("FL_foot")).position;
  const Vector3 com = center_of_mass(*model, model->defaults, data);
  fmt::print("left front foot at ({:.3f}, {:.3f}, {:.3f}) m, centre of mass at height {:.3f} m\n", foot.x(), foot.y(),
             foot.z(), com.z());

  // Which joint torques hold this posture against gravity, without help from the ground?
  VectorX gravity(model->nv);
  gravity_force(*model, model->defaults, data, gravity);
  fmt::print("gravity at the left front knee: {:.3f} N m\n",
             gravity[model->joint_dof[static_cast<std::size_t>(model->joint("FL_knee"))]]);

  // Let the servos hold the posture in the air: the robot falls with g.
  Input input(*model);
  input.control = home.control;
  VectorX acceleration(model->nv);
  if (!forward_dynamics(*model, model->defaults, state, input, data, acceleration)) {
    fmt::print(stderr, "the mass matrix is not positive definite\n");
    return 1;
  }
  fmt::print("acceleration of the trunk: {:.3f} m/s^2\n", acceleration[2]);
  return 0;
}

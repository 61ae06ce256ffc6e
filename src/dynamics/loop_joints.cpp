#include "touchstone/dynamics/loop_joints.hpp"

#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {

LoopFrames moving_frames(const Model& model, const Data& data, const LoopJoint& joint) {
  LoopFrames frames = loop_frames(joint, data.X_WB[at(joint.body_a)], data.X_WB[at(joint.body_b)]);
  const Vec3 p = frames.X_WB.p;
  const auto angular = [&](int body) {
    return model.body_kernels[at(body)].tree < 0 ? Vec3() : data.velocity[at(body)].angular;
  };
  frames.w_a = angular(joint.body_a);
  frames.w_b = angular(joint.body_b);
  frames.v = velocity_at(model, data, joint.body_b, p) - velocity_at(model, data, joint.body_a, p);
  return frames;
}

void loop_coordinates(const Model& model, const Data& data, std::span<const double> memory, int j, LoopRow* rows) {
  const LoopJoint& joint = model.loop_joints[at(j)];
  const std::span<const double> own = memory.subspan(at(model.loop_coordinate[at(j)]), joint.coordinates.size());
  loop_coordinates(joint, moving_frames(model, data, joint), own, rows);
}

void remember_loop_joints(const Model& model, const Data& data, State& state) {
  for (const int j : data.scope.loop_joints) {
    LoopRow rows[kMostLoopCoordinates];
    loop_coordinates(model, data, state.loop_memory(), j, rows);
    const int first = model.loop_coordinate[at(j)], end = model.loop_coordinate[at(j + 1)];
    for (int k = first; k < end; ++k) state.loop_q[k] = rows[k - first].value;
  }
}

}  // namespace touchstone

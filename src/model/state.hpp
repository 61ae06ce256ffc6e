// What a simulation remembers from step to step, and what the user feeds it. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/math/types.hpp"

namespace touchstone {

struct Keyframe;
struct Model;

// Layout of q and v (MuJoCo's): free joint q = [x y z, qw qx qy qz], v = [linear velocity of the body origin in
// world, angular velocity in body]; ball joint q = [qw qx qy qz], v in body; hinge, slide, screw: one number.
struct State {
  VectorX q;                     // nq
  VectorX v;                     // nv
  VectorX activation;            // na
  double time = 0.0;             // s
  std::vector<Transform> mocap;  // nmocap, poses in world
  // nloop: where the coordinates of loop joints were when a step last read them. The configuration says where they are
  // but for whole turns; of these, the ones nearest to this memory are meant.
  VectorX loop_q;

  State() = default;
  explicit State(const Model& model);  // the reference configuration at rest
  State(const Model& model, const Keyframe& keyframe);

  // Sizes agree with the model, everything is finite, quaternions have a length. Throws Error naming the entry.
  void validate(const Model& model) const;

  std::vector<std::uint8_t> serialize() const;
  static State deserialize(const std::vector<std::uint8_t>& bytes);  // throws Error on damaged data
  bool operator==(const State& other) const;
  std::span<const double> loop_memory() const { return {loop_q.data(), static_cast<std::size_t>(loop_q.size())}; }
};

// Forces and commands from outside, constant over a step.
struct Input {
  VectorX control;                      // nu
  VectorX applied_force;                // nv, generalised
  std::vector<Vector6> applied_wrench;  // nbody, [force; torque] in world axes at the body's centre of mass

  Input() = default;
  explicit Input(const Model& model);  // all zero
};

}  // namespace touchstone

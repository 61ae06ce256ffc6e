// Loop joints of a model where its bodies are: frames, coordinates and their rates.
#pragma once

#include <algorithm>
#include <span>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/loop_joint.hpp"

namespace touchstone {

// Needs forward_kinematics; the velocities are those of forward_velocity.
LoopFrames moving_frames(const Model& model, const Data& data, const LoopJoint& joint);

// The coordinates of loop joint j; `memory`: State::loop_memory().
void loop_coordinates(const Model& model, const Data& data, std::span<const double> memory, int j, LoopRow* rows);

// The loop joint that a coordinate of the model is of.
inline int loop_joint_of(const Model& model, int coordinate) {
  const auto& first = model.loop_coordinate;
  return static_cast<int>(std::upper_bound(first.begin(), first.end(), coordinate) - first.begin()) - 1;
}
inline const LoopCoordinate& loop_coordinate(const Model& model, int coordinate) {
  const int j = loop_joint_of(model, coordinate);
  return model.loop_joints[at(j)].coordinates[at(coordinate - model.loop_coordinate[at(j)])];
}

// The damping of a coordinate as the model's options have it.
inline double loop_damping(const Model& model, int coordinate) {
  return model.options.dampers_enabled ? loop_coordinate(model, coordinate).damping : 0.0;
}
inline double loop_stiffness(const Model& model, const LoopCoordinate& c) {
  return model.options.springs_enabled ? c.stiffness : 0.0;
}

// Calls use(coordinate, row) for the coordinates of active loop joints in scope of which wanted(coordinate) holds.
template <typename Wanted, typename Use>
void for_loop_coordinates(const Model& model, const Data& data, std::span<const double> memory, const Wanted& wanted,
                          const Use& use) {
  for (const int j : data.scope.loop_joints) {
    const LoopJoint& joint = model.loop_joints[at(j)];
    if (!joint.active || std::none_of(joint.coordinates.begin(), joint.coordinates.end(), wanted)) continue;
    LoopRow rows[kMostLoopCoordinates];
    loop_coordinates(model, data, memory, j, rows);
    for (std::size_t k = 0; k < joint.coordinates.size(); ++k) {
      if (wanted(joint.coordinates[k])) use(joint.coordinates[k], rows[k]);
    }
  }
}

// Sets state.loop_q to the coordinates in data.
void remember_loop_joints(const Model& model, const Data& data, State& state);

}  // namespace touchstone

// A scene: a model with everything that is needed to run it. Plain data; SceneRun runs it.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/model/state.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {

// A force and torque on a body, in world axes at its centre of mass, from `start` until `end` (s).
struct Push {
  int body = 0;
  Vector3 force = Vector3::Zero();   // N
  Vector3 torque = Vector3::Zero();  // N m
  double start = 0.0;
  double end = std::numeric_limits<double>::infinity();
};

// Springs and dampers on all hinges, slides, screws and ball joints, at rest in the start pose: a robot without
// controller stands. They are implicit in the time step, so they may be as stiff as wanted.
struct Hold {
  double rate = 15.0;          // rad/s: stiffness = rate^2 I, I the inertia that the joint may have to carry
  double damping_ratio = 1.0;  // damping = 2 ratio rate I
};

struct Scene {
  std::string name;         // as it was asked for, such as "pile:200"
  std::string description;  // one line
  ModelPtr model;
  State start;
  VectorX control;  // nu, constant
  SimulatorOptions options;
  double duration = 5.0;  // s: long enough to see what there is to see
  std::vector<Push> pushes;
  std::optional<Hold> hold;
};

// A model as a scene: it starts at the first keyframe (with its controls) if there is one, else at the reference
// configuration.
Scene scene_of(ModelPtr model);

// Start and controls of a keyframe. Throws Error with near misses.
void start_at_keyframe(Scene& scene, std::string_view keyframe);

// The model with a plane below it: at the lowest point of its colliding shapes in the given configuration.
ModelPtr with_ground(const Model& model, const VectorX& q);

// Adds to the model's warnings what only collision detection can tell a user who loads it: shapes that overlap, hulls
// that fill hollows. Once for each scene.
void add_collision_warnings(Scene& scene);

}  // namespace touchstone

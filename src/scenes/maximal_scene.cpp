#include "touchstone/scenes/maximal_scene.hpp"

#include <memory>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/validate.hpp"
#include "touchstone/scenes/scene_run.hpp"

namespace touchstone {
namespace {

constexpr double kSameTurn = 1e-9;  // rad

// The springs of a hold as springs that the joints have.
ModelPtr with_hold(const Model& model, const Hold& hold, const VectorX& q) {
  auto held = std::make_shared<Model>(model);
  apply_hold(model, hold, q, held->defaults);
  for (int j = 0; j < model.njoint; ++j) {
    Joint& joint = held->joints[at(j)];
    if (joint.type == JointType::kFree) continue;
    const int first = model.joint_q[at(j)];
    if (joint.type == JointType::kBall) {
      // The springs of its loop joint rest where the frames agree.
      if (so3_log(quaternion_at(q, first).normalized()).norm() > kSameTurn) {
        throw InputError({.where = origin_of(model, ElementKind::kJoint, j),
                          .message = "a hold in maximal coordinates cannot rest where this ball joint is turned",
                          .remedy = "start it unturned, leave the hold out, or keep reduced coordinates"});
      }
    } else {
      joint.spring_reference = held->defaults.spring_reference[first];
    }
    joint.stiffness = held->defaults.joint_stiffness[j];
    joint.damping = held->defaults.dof_damping[model.joint_dof[at(j)]];
  }
  return held;
}

}  // namespace

Scene in_maximal_coordinates(Scene scene) {
  if (scene.model == nullptr) throw Error("scene '{}' has no model", scene.name);
  if (scene.hold) scene.model = with_hold(*scene.model, *scene.hold, scene.start.q);
  scene.hold.reset();
  const ModelPtr reduced = scene.model;
  auto maximal = std::make_shared<Model>(*to_maximal(*reduced));
  // Parameters may have been changed since the model was built.
  maximal->defaults.gravity = reduced->defaults.gravity;
  for (int s = 0; s < maximal->nshape; ++s) {
    const int from = reduced->shape(maximal->shapes[at(s)].name);
    maximal->defaults.shape_material[at(s)] = reduced->defaults.shape_material[at(from)];
    maximal->defaults.shape_surface_velocity[at(s)] = reduced->defaults.shape_surface_velocity[at(from)];
  }
  scene.start = to_maximal_state(*reduced, *maximal, scene.start);
  for (Push& push : scene.pushes) push.body = maximal->body(reduced->bodies[at(push.body)].name);
  scene.model = std::move(maximal);
  scene.description += scene.description.empty() ? "in maximal coordinates" : ", in maximal coordinates";
  return scene;
}

}  // namespace touchstone

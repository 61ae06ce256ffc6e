// Quantities of the whole model: centre of mass, energy, momentum.
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {

namespace {

Vec3 world_com(const Model& model, const Parameters& parameters, const Data& data, int body) {
  const int tree = model.body_kernels[body].tree;
  if (tree < 0) return data.X_WB[body] * parameters.body_inertia[body].com;
  return data.body_com[body] + data.reference_point[tree];
}

double joint_spring_energy(const Model& model, const Parameters& parameters, const ConstVectorRef& q, int joint) {
  const double k = parameters.joint_stiffness[joint];
  if (k == 0.0 || !model.options.springs_enabled) return 0.0;
  const VectorX& rest = parameters.spring_reference;
  int i = model.joint_q[joint];
  double squared = 0.0;
  switch (model.joints[joint].type) {
    case JointType::kFree:
      squared = (q.segment<3>(i) - rest.segment<3>(i)).squaredNorm();
      i += 3;
      [[fallthrough]];
    case JointType::kBall:
      squared +=
          so3_log(quaternion_at(rest, i).normalized().conjugate() * quaternion_at(q, i).normalized()).squaredNorm();
      break;
    default:
      squared = (q[i] - rest[i]) * (q[i] - rest[i]);
      break;
  }
  return 0.5 * k * squared;
}

}  // namespace

Vector3 center_of_mass(const Model& model, const Parameters& parameters, const Data& data) {
  Vec3 moment;
  double mass = 0.0;
  for (int b = 1; b < model.nbody; ++b) {
    const double m = parameters.body_inertia[b].mass;
    moment += m * world_com(model, parameters, data, b);
    mass += m;
  }
  return mass > 0.0 ? Vector3(moment.eigen() / mass) : Vector3::Zero();
}

void center_of_mass_jacobian(const Model& model, const Parameters& parameters, const Data& data,
                             Eigen::Ref<Eigen::Matrix3Xd> J) {
  double mass = 0.0;
  for (int b = 1; b < model.nbody; ++b) mass += parameters.body_inertia[b].mass;
  J.setZero();
  if (mass <= 0.0) return;
  for (int i = 0; i < model.nv; ++i) {
    const SpatialInertia& I = data.composite_inertia[model.dof_body[i]];
    const Motion& S = data.S[i];
    J.col(i) = (I.mass * S.linear - cross(I.first, S.angular)).eigen() / mass;
  }
}

double potential_energy(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const Data& data) {
  const Vec3 gravity(parameters.gravity);
  double energy = 0.0;
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      energy -= parameters.body_inertia[b].mass * dot(gravity, world_com(model, parameters, data, b));
    }
  }
  for (const IndexRange& range : data.scope.joints) {
    for (int j = range.begin; j < range.end; ++j) energy += joint_spring_energy(model, parameters, q, j);
  }
  for (const int t : data.scope.tendons) {
    const double k = parameters.tendon_stiffness[t];
    if (k == 0.0 || !model.options.springs_enabled) continue;
    const double stretch = tendon_stretch(parameters, t, tendon_length(model, model.tendons[t], q));
    energy += 0.5 * k * stretch * stretch;
  }
  return energy;
}

double potential_energy(const Model& model, const Parameters& parameters, const State& state, const Data& data) {
  double energy = potential_energy(model, parameters, state.q, data);
  if (!model.options.springs_enabled) return energy;
  for_loop_coordinates(
      model, data, state.loop_memory(), [](const LoopCoordinate& c) { return c.stiffness != 0.0; },
      [&](const LoopCoordinate& c, const LoopRow& row) {
        const double stretch = row.value - c.spring_reference;
        energy += 0.5 * c.stiffness * stretch * stretch;
      });
  return energy;
}

double kinetic_energy(const Model& model, const Parameters& parameters, const ConstVectorRef& v, const Data& data) {
  double twice = 0.0;
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      if (model.body_kernels[b].tree < 0) continue;
      const BodyInertia& I = parameters.body_inertia[b];
      const Motion& motion = data.velocity[b];
      const Vec3 v_c = motion.linear + cross(motion.angular, data.body_com[b]);
      const Vec3 w = transpose_times(data.X_WB[b].R, motion.angular);
      twice += I.mass * dot(v_c, v_c) + dot(w, I.inertia * w);
    }
  }
  for (const IndexRange& range : data.scope.dofs) {
    for (int i = range.begin; i < range.end; ++i) twice += parameters.dof_armature[i] * v[i] * v[i];
  }
  for (const int t : data.scope.tendons) {
    double rate = 0.0;
    for (const Tendon::Term& term : model.tendons[t].terms) rate += term.coefficient * v[model.joint_dof[term.joint]];
    twice += parameters.tendon_armature[t] * rate * rate;
  }
  const std::span<const double> any_turn(model.reference_loop.data(), static_cast<std::size_t>(model.nloop));
  for_loop_coordinates(
      model, data, any_turn, [](const LoopCoordinate& c) { return c.armature != 0.0; },
      [&](const LoopCoordinate& c, const LoopRow& row) { twice += c.armature * row.rate * row.rate; });
  return 0.5 * twice;
}

Momentum momentum(const Model& model, const Parameters& parameters, const Data& data, const Vector3& about) {
  Vec3 linear, angular;
  for (int b = 1; b < model.nbody; ++b) {
    if (model.body_kernels[b].tree < 0) continue;
    const BodyInertia& I = parameters.body_inertia[b];
    const Motion& motion = data.velocity[b];
    const Vec3 p = I.mass * (motion.linear + cross(motion.angular, data.body_com[b]));
    const Mat3& R = data.X_WB[b].R;
    linear += p;
    angular += R * (I.inertia * transpose_times(R, motion.angular)) +
               cross(world_com(model, parameters, data, b) - Vec3(about), p);
  }
  return {linear.eigen(), angular.eigen()};
}

}  // namespace touchstone

// Articulated bodies: forward dynamics in O(n) (Featherstone, ch. 7), here in world axes about one point, so that
// articulated inertias add up without transforms. Joints with several dofs are taken one dof at a time, as if massless
// bodies stood between; the velocity-dependent acceleration of the body belongs to its last dof.
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/articulated_inertia.hpp"
#include "touchstone/dynamics/recursion.hpp"

namespace touchstone {

namespace {

// Poses, velocities, velocity-dependent accelerations (kept in data.acceleration), inertias and bias forces.
void forward_pass(const Model& model, const Parameters& parameters, const double* q, const double* v, Data& data) {
  data.velocity[0] = Motion();
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[b];
    detail::place_body(model, parameters, q, b, data);
    if (body.tree < 0) continue;
    Motion velocity = data.velocity[body.parent];
    Motion acceleration;
    detail::move_body<true>(model, body, v, data, velocity, acceleration);
    data.velocity[b] = velocity;
    data.acceleration[b] = acceleration;
    const SpatialInertia I = world_inertia(parameters.body_inertia[b], data.X_WB[b].R, data.body_com[b]);
    data.articulated[b] = articulated(I);
    data.force[b] = cross(velocity, I * velocity);
  }
}

// From the leaves: eliminates each dof from the inertia and bias force of its body, and hands the rest to the parent.
// data.scratch keeps u, data.D_inverse the inverse pivots.
void backward_pass(const Model& model, const Parameters& parameters, const double* tau, Data& data) {
  for (int b = model.nbody - 1; b > 0; --b) {
    const BodyKernel& body = model.body_kernels[b];
    if (body.tree < 0) continue;
    ArticulatedInertia I = data.articulated[b];
    Force p = data.force[b];
    const bool has_parent = model.body_kernels[body.parent].tree >= 0;
    const int first = body.first_dof, last = body.first_dof + body.dof_count - 1;
    for (int i = last; i >= first; --i) {
      const Motion& S = data.S[i];
      const Force U = times(I, S);
      const double D_inverse = 1.0 / (dot(S, U) + parameters.dof_armature[i]);
      const double u = tau[i] - dot(S, p);
      data.U[i] = U;
      data.D_inverse[i] = D_inverse;
      data.scratch[i] = u;
      if (i == first && !has_parent) break;
      remove_product(I, U, D_inverse);
      if (i == last) p += times(I, data.acceleration[b]);
      p += U * (u * D_inverse);
    }
    if (!has_parent) continue;
    if (body.dof_count == 0) p += times(I, data.acceleration[b]);
    data.articulated[body.parent] += I;
    data.force[body.parent] += p;
  }
}

void acceleration_pass(const Model& model, const Parameters& parameters, Data& data, VectorRef a) {
  data.acceleration[0] = {Vec3(), -Vec3(parameters.gravity)};
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[b];
    const Motion& parent = data.acceleration[body.parent];
    if (body.tree < 0) {
      data.acceleration[b] = parent;
      continue;
    }
    const Motion own = data.acceleration[b];
    Motion acceleration = parent;
    const int last = body.first_dof + body.dof_count - 1;
    for (int i = body.first_dof; i <= last; ++i) {
      if (i == last) acceleration += own;
      a[i] = data.D_inverse[i] * (data.scratch[i] - dot(acceleration, data.U[i]));
      acceleration += data.S[i] * a[i];
    }
    if (body.dof_count == 0) acceleration += own;
    data.acceleration[b] = acceleration;
  }
}

// The recursion knows one dof at a time and cannot see inertia that couples several.
void refuse_tendon_armature(const Model& model, const Parameters& parameters) {
  for (int t = 0; t < model.ntendon; ++t) {
    if (parameters.tendon_armature[t] == 0.0) continue;
    throw Error("aba: tendon '{}' has armature {}, which couples joints; use forward_dynamics", model.tendons[t].name,
                parameters.tendon_armature[t]);
  }
}

}  // namespace

void aba(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
         const ConstVectorRef& tau, Data& data, VectorRef a) {
  require_size("q", q.size(), model.nq);
  require_size("v", v.size(), model.nv);
  require_size("a", a.size(), model.nv);
  require_size("tau", tau.size(), model.nv);
  refuse_tendon_armature(model, parameters);
  detail::place_all_angles(model, q, data);
  forward_pass(model, parameters, q.data(), v.data(), data);
  backward_pass(model, parameters, tau.data(), data);
  acceleration_pass(model, parameters, data, a);
}

}  // namespace touchstone

// Recursive Newton-Euler: the forces of a motion. Forward: velocities and accelerations from the root, and the force
// each body needs. Backward: a joint carries the forces of everything beyond it. Gravity enters as an upward
// acceleration of the world. Cost O(bodies).
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/recursion.hpp"

namespace touchstone {

namespace {

void sum_forces(const Model& model, Data& data, VectorRef tau) {
  const std::vector<IndexRange>& bodies = data.scope.bodies;
  for (auto range = bodies.rbegin(); range != bodies.rend(); ++range) {
    for (int b = range->end - 1; b >= range->begin; --b) {
      const BodyKernel& body = model.body_kernels[b];
      if (body.tree < 0) continue;
      const Force f = data.force[b];
      for (int i = body.first_dof; i < body.first_dof + body.dof_count; ++i) tau[i] = dot(data.S[i], f);
      data.force[body.parent] += f;
    }
  }
}

// What one forward pass does for a body, by compile-time choice of what is known already.
template <bool kPlace, bool kAccelerate>
void forward_pass(const Model& model, const Parameters& parameters, const double* q, const double* v, const double* a,
                  Data& data) {
  data.velocity[0] = Motion();
  data.acceleration[0] = {Vec3(), -Vec3(parameters.gravity)};
  data.force[0] = Force();
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      const BodyKernel& body = model.body_kernels[b];
      if constexpr (kPlace) detail::place_body(model, parameters, q, b, data);
      if (body.tree < 0) {
        data.acceleration[b] = data.acceleration[0];
        continue;
      }
      Motion velocity = data.velocity[body.parent];
      Motion acceleration = data.acceleration[body.parent];
      detail::move_body<true>(model, body, v, data, velocity, acceleration);
      if constexpr (kAccelerate) {
        for (int i = body.first_dof; i < body.first_dof + body.dof_count; ++i) acceleration += data.S[i] * a[i];
      }
      data.velocity[b] = velocity;
      data.acceleration[b] = acceleration;
      data.force[b] =
          detail::inertial_force(parameters.body_inertia[b], data.X_WB[b].R, data.body_com[b], velocity, acceleration);
    }
  }
}

}  // namespace

void rnea(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
          const ConstVectorRef& a, Data& data, VectorRef tau) {
  require_size("q", q.size(), model.nq);
  require_size("v", v.size(), model.nv);
  require_size("a", a.size(), model.nv);
  require_size("tau", tau.size(), model.nv);
  detail::place_all_angles(model, q, data);
  forward_pass<true, true>(model, parameters, q.data(), v.data(), a.data(), data);
  sum_forces(model, data, tau);
}

void compute_bias(const Model& model, const Parameters& parameters, const ConstVectorRef& v, Data& data) {
  require_size("v", v.size(), model.nv);
  forward_pass<false, false>(model, parameters, nullptr, v.data(), nullptr, data);
  sum_forces(model, data, data.bias);
}

void gravity_force(const Model& model, const Parameters& parameters, Data& data, VectorRef g) {
  require_size("g", g.size(), model.nv);
  const Vec3 gravity(parameters.gravity);
  data.force[0] = Force();
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      if (model.body_kernels[b].tree < 0) continue;
      const Vec3 f = -parameters.body_inertia[b].mass * gravity;
      data.force[b] = {cross(data.body_com[b], f), f};
    }
  }
  sum_forces(model, data, g);
}

}  // namespace touchstone

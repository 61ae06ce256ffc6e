#include "touchstone/diff/dynamics_derivatives.hpp"

#include <algorithm>
#include <iterator>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/recursion.hpp"
#include "touchstone/dynamics/variational.hpp"
#include "touchstone/model/mass_rows.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {

InverseDynamicsDerivatives::InverseDynamicsDerivatives(const Model& model)
    : AxisRates(model),
      dtau_dq(RowMatrixX::Zero(model.nv, model.nv)),
      dtau_dv(RowMatrixX::Zero(model.nv, model.nv)),
      dtau_da(RowMatrixX::Zero(model.nv, model.nv)),
      coriolis(at(model.nbody)),
      momentum(at(model.nbody)),
      external(at(model.nbody)) {}

namespace {

// -2 ([w] E + m [c] [v_c]), E = int r r' dm about the centre of mass: the torque about O per turn
// (docs/derivatives.md).
Mat3 coriolis_of(const SpatialInertia& I, Vec3 c, const Motion& v) {
  const Vec3 v_c = v.linear + cross(v.angular, c);
  const double trace = I.moment.c0[0] + I.moment.c1[1] + I.moment.c2[2];
  const double squared = dot(I.first, c);
  const double half = 0.5 * (trace - 2.0 * squared);  // of the moment about the centre of mass
  const double along = I.mass * dot(c, v_c);
  const auto column = [&](const Vec3& moment, Vec3 unit, double c_k) {
    // A column of E: half 1 - (moment about O - m (c.c 1 - c c')).
    const Vec3 E = (half + squared) * unit - moment - I.first * c_k;
    return -2.0 * (cross(v.angular, E) + (I.mass * c_k) * v_c - along * unit);
  };
  return {column(I.moment.c0, Vec3(1, 0, 0), c[0]), column(I.moment.c1, Vec3(0, 1, 0), c[1]),
          column(I.moment.c2, Vec3(0, 0, 1), c[2])};
}

void forward_pass(const Model& model, const Parameters& parameters, const double* q, const double* v, const double* a,
                  std::span<const Force> external, Kinematics kinematics, Data& data, InverseDynamicsDerivatives& out) {
  data.velocity[0] = Motion();
  data.acceleration[0] = {Vec3(), -Vec3(parameters.gravity)};
  for (int b = 0; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (b > 0 && kinematics == Kinematics::kNew) detail::place_body(model, parameters, q, b, data);
    if (body.tree < 0) {
      data.velocity[at(b)] = data.velocity[0];
      data.acceleration[at(b)] = data.acceleration[0];
      continue;
    }
    Motion V = data.velocity[at(body.parent)], A = data.acceleration[at(body.parent)];
    pass_axes_of_body(model, body, v, a, data, V, A, out);
    data.velocity[at(b)] = V;
    data.acceleration[at(b)] = A;
    const Vec3 c = data.body_com[at(b)];
    const SpatialInertia I = world_inertia(parameters.body_inertia[at(b)], data.X_WB[at(b)].R, c);
    const Force momentum = I * V;
    data.composite_inertia[at(b)] = I;
    data.force[at(b)] = I * A + cross(V, momentum);
    out.coriolis[at(b)] = coriolis_of(I, c, V);
    out.momentum[at(b)] = momentum.force;
    if (!external.empty()) out.external[at(b)] = external[at(b)];
  }
}

// --- backward: sums over subtrees ---

void sum_subtrees(const Model& model, bool has_external, Data& data, InverseDynamicsDerivatives& out) {
  for (int b = model.nbody - 1; b > 0; --b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0 || model.body_kernels[at(body.parent)].tree < 0) continue;
    const std::size_t p = at(body.parent);
    data.composite_inertia[p] += data.composite_inertia[at(b)];
    data.force[p] += data.force[at(b)];
    out.coriolis[p] += out.coriolis[at(b)];
    out.momentum[p] += out.momentum[at(b)];
    if (has_external) out.external[p] += out.external[at(b)];
  }
}

// --- pairs of dofs ---

Lanes power(const Motion& m, const Force& f) {
  return m.angular.lanes * f.torque.lanes + m.linear.lanes * f.force.lanes;
}

// What row and column k need of the subtree beyond dof k.
struct PairTerms {
  Force IS;        // I S
  Vec3 turned;     // B' S, whose linear part is zero
  Force by_q;      // how the subtree's force changes with q_k
  Force by_v;      // and with v_k
  Force external;  // S x* the external force
};

PairTerms terms_of(const Data& data, const InverseDynamicsDerivatives& out, bool has_external, int body, int k) {
  const SpatialInertia& I = data.composite_inertia[at(body)];
  const Mat3& T = out.coriolis[at(body)];
  const Vec3 p = out.momentum[at(body)];
  const Motion& S = data.S[at(k)];
  const auto B_times = [&](const Motion& m) { return Force{T * m.angular, 2.0 * cross(m.angular, p)}; };
  PairTerms t;
  t.IS = I * S;
  t.turned = transpose_times(T, S.angular) + 2.0 * cross(p, S.linear);
  t.by_q = I * out.A_S[at(k)] + B_times(out.V_S[at(k)]) + cross(S, data.force[at(body)]);
  t.by_v = I * out.S_rate[at(k)] + B_times(S);
  if (has_external) t.external = cross(S, out.external[at(body)]);
  return t;
}

// Row and column k against the ancestors of dof k, four at a time.
void fill_pairs(const Model& model, bool has_external, int k, Data& data, InverseDynamicsDerivatives& out) {
  const PairTerms t = terms_of(data, out, has_external, model.dof_body[at(k)], k);
  const int start = model.row_start[at(k)], length = model.row_length[at(k)];
  double* row_q = out.dtau_dq.data() + static_cast<std::ptrdiff_t>(k) * model.nv;
  double* row_v = out.dtau_dv.data() + static_cast<std::ptrdiff_t>(k) * model.nv;
  double* row_a = out.dtau_da.data() + static_cast<std::ptrdiff_t>(k) * model.nv;
  for (int first = 0; first < length; first += 4) {
    const int* dof = &model.row_dof[at(start + first)];
    Lanes lower_q[4], lower_v[4], upper_q[4], upper_v[4], mass[4];
    for (int l = 0; l < 4; ++l) {
      const auto i = at(dof[l]);
      const Motion& S = data.S[i];
      lower_q[l] = power(out.A_S[i], t.IS) + out.V_S[i].angular.lanes * t.turned.lanes;
      if (has_external) lower_q[l] -= power(S, t.external);
      lower_v[l] = power(out.S_rate[i], t.IS) + S.angular.lanes * t.turned.lanes;
      upper_q[l] = power(S, t.by_q);
      upper_v[l] = power(S, t.by_v);
      mass[l] = power(S, t.IS);
    }
    const auto summed = [](const Lanes* x) { return sum_each(x[0], x[1], x[2], x[3]); };
    const Lanes lq = summed(lower_q), lv = summed(lower_v), uq = summed(upper_q), uv = summed(upper_v),
                m = summed(mass);
    *reinterpret_cast<Lanes*>(&data.M[start + first]) = m;
    for (int l = 0; l < std::min(4, length - first); ++l) {
      const int i = dof[l];
      const std::ptrdiff_t above = static_cast<std::ptrdiff_t>(i) * model.nv + k;
      out.dtau_dq.data()[above] = uq[l];
      out.dtau_dv.data()[above] = uv[l];
      out.dtau_da.data()[above] = m[l];
      row_q[i] = lq[l];
      row_v[i] = lv[l];
      row_a[i] = m[l];
    }
  }
}

// The three rotations of a ball or free joint turn each other's axes, whatever their order.
void mend_rotations(const Model& model, bool has_external, const Data& data, InverseDynamicsDerivatives& out) {
  for (const JointKernel& joint : model.joint_kernels) {
    if (joint.type != JointType::kFree && joint.type != JointType::kBall) continue;
    const int first = joint.dof + (joint.type == JointType::kFree ? 3 : 0);
    const auto body = at(model.dof_body[at(first)]);
    for (int k = first; k < first + 3; ++k) {
      const Force turned = cross(data.S[at(k)], data.force[body]);
      for (int j = first; j < k; ++j) {
        out.dtau_dq(j, k) -= dot(data.S[at(j)], turned);
        if (has_external) out.dtau_dq(j, k) -= dot(data.S[at(k)], cross(data.S[at(j)], out.external[body]));
      }
    }
  }
}

}  // namespace

void rnea_derivatives(const Model& model, const Parameters& parameters, const ConstVectorRef& q,
                      const ConstVectorRef& v, const ConstVectorRef& a, Data& data, InverseDynamicsDerivatives& out,
                      std::span<const Force> external, Kinematics kinematics) {
  require_size("q", q.size(), model.nq);
  require_size("v", v.size(), model.nv);
  require_size("a", a.size(), model.nv);
  const bool has_external = !external.empty();
  if (has_external) require_size("external", std::ssize(external), model.nbody);
  if (kinematics == Kinematics::kNew) detail::place_all_angles(model, q, data);
  forward_pass(model, parameters, q.data(), v.data(), a.data(), external, kinematics, data, out);
  sum_subtrees(model, has_external, data, out);
  for (int k = 0; k < model.nv; ++k) fill_pairs(model, has_external, k, data, out);
  mend_rotations(model, has_external, data, out);
  for (int i = 0; i < model.nv; ++i) {
    data.M[model.row_start[at(i)] + model.row_length[at(i)] - 1] += parameters.dof_armature[i];
  }
  add_tendon_armature(model, data.scope.tendons, parameters.tendon_armature, data.M);
}

void velocity_derivatives(const Model& model, const ConstVectorRef& v, Data& data, std::vector<Motion>& V_S) {
  require_size("v", v.size(), model.nv);
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0) continue;
    Motion V = data.velocity[at(body.parent)];
    const auto pass = [&](int first, int count) {  // axes that move together
      for (int i = first; i < first + count; ++i) V_S[at(i)] = cross(V, data.S[at(i)]);
      for (int i = first; i < first + count; ++i) V += data.S[at(i)] * v[i];
    };
    const JointKernel* joint = model.joint_kernels.data() + body.first_joint;
    for (const JointKernel* last = joint + body.joint_count; joint != last; ++joint) {
      const bool is_free = joint->type == JointType::kFree;
      if (is_free) pass(joint->dof, 3);
      pass(joint->dof + (is_free ? 3 : 0), is_free || joint->type == JointType::kBall ? 3 : 1);
    }
    data.velocity[at(b)] = V;
  }
}

// --- forward dynamics ---

void solve_columns(const Model& model, const VectorX& L, const VectorX& D_inverse, RowMatrixRef X) {
  require_size("X", X.rows(), model.nv);
  for (int k = model.nv - 1; k >= 0; --k) {
    const double* row = L.data() + model.row_start[at(k)];
    const int* dof = model.row_dof.data() + model.row_start[at(k)];
    for (int j = 0; j < model.row_length[at(k)] - 1; ++j) X.row(dof[j]).noalias() -= row[j] * X.row(k);
  }
  for (int k = 0; k < model.nv; ++k) {
    const double* row = L.data() + model.row_start[at(k)];
    const int* dof = model.row_dof.data() + model.row_start[at(k)];
    X.row(k) *= D_inverse[k];
    for (int j = 0; j < model.row_length[at(k)] - 1; ++j) X.row(k).noalias() -= row[j] * X.row(dof[j]);
  }
}

void solve_columns(const Model& model, const Data& data, RowMatrixRef X) {
  solve_columns(model, data.L, data.D_inverse, X);
}

ForwardDynamicsDerivatives::ForwardDynamicsDerivatives(const Model& model)
    : nv_(model.nv),
      inverse_(model),
      a_(VectorX::Zero(model.nv)),
      all_(RowMatrixX::Zero(model.nv, static_cast<Eigen::Index>(3) * model.nv)) {}

bool ForwardDynamicsDerivatives::compute(const Model& model, const Parameters& parameters, const ConstVectorRef& q,
                                         const ConstVectorRef& v, const ConstVectorRef& tau, Data& data) {
  require_size("tau", tau.size(), model.nv);
  forward_kinematics(model, parameters, q, data);
  crba(model, parameters, data);
  if (!factorize(model, data)) return false;
  compute_bias(model, parameters, v, data);
  a_ = tau - data.bias;
  solve(model, data, a_);
  rnea_derivatives(model, parameters, q, v, a_, data, inverse_, {}, Kinematics::kKnown);
  all_.leftCols(nv_) = -inverse_.dtau_dq;
  all_.middleCols(nv_, nv_) = -inverse_.dtau_dv;
  all_.rightCols(nv_).setIdentity();
  solve_columns(model, data, all_);
  return true;
}

// --- gravity and energies ---

void dtau_dgravity(const Model& model, const Data& data, Eigen::Ref<Eigen::MatrixX3d> out) {
  require_size("out", out.rows(), model.nv);
  for (int i = 0; i < model.nv; ++i) {
    const SpatialInertia& I = data.composite_inertia[at(model.dof_body[at(i)])];
    const Motion& S = data.S[at(i)];
    out.row(i) = -(I.mass * S.linear - cross(I.first, S.angular)).eigen().transpose();
  }
}

void kinetic_energy_gradient(const Model& model, const Parameters& parameters, const ConstVectorRef& v, Data& data,
                             VectorRef by_q, VectorRef by_v) {
  kinetic_gradient(model, parameters, v, data, by_v, by_q);
}

void potential_energy_gradient(const Model& model, const Parameters& parameters, const ConstVectorRef& q, Data& data,
                               VectorRef by_q) {
  require_size("by_q", by_q.size(), model.nv);
  by_q.setZero();
  if (model.options.springs_enabled) {
    for (int j = 0; j < model.njoint; ++j) detail::add_joint_spring(model, parameters, q, j, by_q);
    for (int t = 0; t < model.ntendon; ++t) {
      const double length = tendon_length(model, model.tendons[at(t)], q);
      const double pull = parameters.tendon_stiffness[t] * tendon_stretch(parameters, t, length);
      for (const Tendon::Term& term : model.tendons[at(t)].terms) {
        by_q[model.joint_dof[at(term.joint)]] -= term.coefficient * pull;
      }
    }
  }
  gravity_force(model, parameters, data, data.scratch);
  by_q = data.scratch - by_q;
}

}  // namespace touchstone

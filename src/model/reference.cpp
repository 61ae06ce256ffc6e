#include "touchstone/model/reference.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/model/loop_joint.hpp"
#include "touchstone/model/mass_rows.hpp"
#include "touchstone/model/validate.hpp"

namespace touchstone {

namespace {

struct ReferenceKinematics {
  std::vector<Pose> X_WB;
  std::vector<Motion> S;
  std::vector<Vec3> reference_point;
};

// At the reference configuration no joint is displaced, so poses are products of body poses.
ReferenceKinematics reference_kinematics(const Model& m) {
  ReferenceKinematics k;
  k.X_WB.resize(m.nbody);
  k.S.resize(m.nv);
  k.reference_point.resize(m.ntree);
  for (int b = 1; b < m.nbody; ++b) k.X_WB[b] = k.X_WB[m.bodies[b].parent] * Pose(m.bodies[b].pose);
  for (int t = 0; t < m.ntree; ++t) k.reference_point[t] = k.X_WB[m.tree_root[t]].p;
  for (int j = 0; j < m.njoint; ++j) {
    const JointKernel& joint = m.joint_kernels[j];
    const Pose& X = k.X_WB[m.joints[j].body];
    const Vec3 arm = X * joint.anchor - k.reference_point[m.dof_tree[joint.dof]];
    const Vec3 axis = X.R * joint.axis;
    Motion* S = &k.S[joint.dof];
    const auto turn = [&](Vec3 about) { return Motion{about, cross(arm, about)}; };
    switch (joint.type) {
      case JointType::kFree:
        S[0] = {Vec3(), Vec3(1, 0, 0)};
        S[1] = {Vec3(), Vec3(0, 1, 0)};
        S[2] = {Vec3(), Vec3(0, 0, 1)};
        S += 3;
        [[fallthrough]];
      case JointType::kBall:
        S[0] = turn(X.R.c0);
        S[1] = turn(X.R.c1);
        S[2] = turn(X.R.c2);
        break;
      case JointType::kHinge:
        S[0] = turn(axis);
        break;
      case JointType::kSlide:
        S[0] = {Vec3(), axis};
        break;
      case JointType::kScrew:
        S[0] = turn(axis);
        S[0].linear += axis * joint.pitch;
        break;
    }
  }
  return k;
}

VectorX reference_mass_matrix(const Model& m, const ReferenceKinematics& k) {
  std::vector<SpatialInertia> composite(m.nbody);
  for (int b = m.nbody - 1; b > 0; --b) {
    const int tree = m.body_kernels[b].tree;
    if (tree < 0) continue;
    const BodyInertia& inertia = m.defaults.body_inertia[b];
    composite[b] += world_inertia(inertia, k.X_WB[b].R, k.X_WB[b] * inertia.com - k.reference_point[tree]);
    if (m.body_kernels[m.bodies[b].parent].tree >= 0) composite[m.bodies[b].parent] += composite[b];
  }
  VectorX M = VectorX::Zero(m.row_start.back());
  for (int i = 0; i < m.nv; ++i) {
    const Force F = composite[m.dof_body[i]] * k.S[i];
    const int start = m.row_start[i], last = start + m.row_length[i] - 1;
    for (int entry = start; entry <= last; ++entry) M[entry] = dot(k.S[m.row_dof[entry]], F);
    M[last] += m.defaults.dof_armature[i];
  }
  for (int t = 0; t < m.ntendon; ++t) {
    if (m.defaults.tendon_armature[t] != 0.0) add_tendon(m, t, m.defaults.tendon_armature[t], M);
  }
  return M;
}

// Angles are the ones nearest to their references.
void fill_reference_loops(Model& m, const ReferenceKinematics& k) {
  m.reference_loop.setZero(m.nloop);
  for (std::size_t j = 0; j < m.loop_joints.size(); ++j) {
    const LoopJoint& joint = m.loop_joints[j];
    double references[kMostLoopCoordinates] = {};
    for (std::size_t i = 0; i < joint.coordinates.size(); ++i) references[i] = joint.coordinates[i].reference;
    LoopRow rows[kMostLoopCoordinates];
    loop_coordinates(joint, loop_frames(joint, k.X_WB[joint.body_a], k.X_WB[joint.body_b]), references, rows);
    for (std::size_t i = 0; i < joint.coordinates.size(); ++i) {
      m.reference_loop[m.loop_coordinate[j] + static_cast<int>(i)] = rows[i].value;
    }
  }
}

void require_inertia(Model& m, const VectorX& M, bool allow_massless, const std::string& option) {
  constexpr int kNamed = 10;
  int massless = 0;
  constexpr double kSmallest = 1e-15;  // as MuJoCo's mjMINVAL
  for (int i = 0; i < m.nv; ++i) {
    const double inertia = M[m.row_start[i] + m.row_length[i] - 1];
    if (inertia > kSmallest) continue;
    Origin where = origin_of(m, ElementKind::kJoint, m.dof_joint[i]);
    std::string message = fmt::format("it moves no inertia (body '{}' and what hangs on it give {})",
                                      m.bodies[m.dof_body[i]].name, inertia);
    if (allow_massless) {
      if (++massless <= kNamed) m.warnings.push_back({std::move(where), message + "; forward dynamics will not work"});
      continue;
    }
    throw InputError({.where = std::move(where),
                      .message = std::move(message),
                      .remedy = "give the body mass and inertia or the joint armature" +
                                (option.empty() ? option : ", or load with " + option)});
  }
  if (massless > kNamed) {
    m.warnings.push_back({{m.file, 0, m.name}, fmt::format("{} more joints move no inertia", massless - kNamed)});
  }
}

// kd = 2 ratio sqrt(kp m), with m = 1 / (J M^-1 J') the inertia seen through the transmission.
void resolve_damping_ratios(Model& m, const ReferenceKinematics& k, VectorX M) {
  VectorX D_inverse(m.nv), moment(m.nv);
  const IndexRange dofs[] = {{0, m.nv}};
  factorize_rows(m, dofs, M, D_inverse);
  for (Actuator& actuator : m.actuators) {
    if (actuator.damping_ratio <= 0.0) continue;
    if (actuator.gain[0] < 0.0) {
      Origin where = actuator.origin;
      if (where.element.empty()) where.element = fmt::format("actuator '{}'", actuator.name);
      throw InputError({.where = std::move(where),
                        .message = fmt::format("a damping ratio on a servo with the gain {}", actuator.gain[0]),
                        .remedy = "the gain (kp) must be positive"});
    }
    const std::span<const double> loops(m.reference_loop.data(), static_cast<std::size_t>(m.nloop));
    transmission_length(m, {k.X_WB, k.S, k.reference_point, loops}, actuator, m.reference_q, moment);
    half_solve_rows(m, dofs, M, moment);
    const double mobility = moment.dot(D_inverse.cwiseProduct(moment));
    if (mobility > 0.0) actuator.bias[2] = -2.0 * actuator.damping_ratio * std::sqrt(actuator.gain[0] / mobility);
  }
}

}  // namespace

void finish_with_reference_inertia(Model& m, bool allow_massless, const std::string& massless_option) {
  const ReferenceKinematics k = reference_kinematics(m);
  fill_reference_loops(m, k);
  const VectorX M = reference_mass_matrix(m, k);
  require_inertia(m, M, allow_massless, massless_option);
  const auto has_ratio = [](const Actuator& actuator) { return actuator.damping_ratio > 0.0; };
  if (std::any_of(m.actuators.begin(), m.actuators.end(), has_ratio)) resolve_damping_ratios(m, k, M);
  m.defaults.actuator_gain.clear();
  m.defaults.actuator_bias.clear();
  for (const Actuator& actuator : m.actuators) {
    m.defaults.actuator_gain.push_back(actuator.gain);
    m.defaults.actuator_bias.push_back(actuator.bias);
  }
}

}  // namespace touchstone

#include "touchstone/dynamics/long_trees.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/servos.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {
namespace {

// Mean square of the lengths of paths: that of a chain of 95 hinges. Ordinary robots are far below it.
constexpr double kLongPaths = 3000.0;

const RowList& no_rows() {
  static const RowList kNone;
  return kNone;
}

}  // namespace

bool has_long_paths(const Model& model) {
  double squares = 0.0;
  for (const int length : model.row_length) squares += static_cast<double>(length) * length;
  return squares > kLongPaths * model.nv;
}

bool is_diagonal_beside_mass(const Model& model) {
  if (model.ntendon > 0) return false;
  return std::all_of(model.actuators.begin(), model.actuators.end(),
                     [&](const Actuator& actuator) { return is_on_one_dof(model, actuator); });
}

void use_long_trees(const Model& model, Data& data) {
  LongTrees& trees = data.long_trees;
  trees.used = true;
  trees.inertia.resize(at(model.nbody));
  trees.armature.setZero(model.nv);
  trees.diagonal.setZero(model.nv);
  std::vector<int> all(at(model.ntree));
  std::iota(all.begin(), all.end(), 0);
  trees.motion.set_pattern(model, all, no_rows());
}

void measure_bodies(const Model& model, const Parameters& parameters, Data& data) {
  std::vector<SpatialInertia>& own = data.long_trees.inertia;
  for (int b = 1; b < model.nbody; ++b) {
    if (model.body_kernels[at(b)].tree < 0) continue;
    own[at(b)] = world_inertia(parameters.body_inertia[at(b)], data.X_WB[at(b)].R, data.body_com[at(b)]);
    data.composite_inertia[at(b)] = own[at(b)];
  }
  for (int b = model.nbody - 1; b > 0; --b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0 || model.body_kernels[at(body.parent)].tree < 0) continue;
    data.composite_inertia[at(body.parent)] += data.composite_inertia[at(b)];
  }
  for (int i = 0; i < model.nv; ++i) {
    const BodyKernel& body = model.body_kernels[at(model.dof_body[at(i)])];
    const Force F = data.composite_inertia[at(model.dof_body[at(i)])] * data.S[at(i)];
    const int end = model.row_start[at(i)] + model.row_length[at(i)];
    for (int j = body.first_dof; j <= i; ++j) data.M[end - 1 - (i - j)] = dot(data.S[at(j)], F);
    data.M[end - 1] += parameters.dof_armature[i];
  }
  data.long_trees.armature = parameters.dof_armature;
}

bool factorize_long_trees(Data& data) {
  LongTrees& trees = data.long_trees;
  trees.diagonal = trees.armature + data.joint_gain;
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] != ServoMode::kImplicit) continue;
    const int dof = data.actuator_dof[at(u)];
    const double moment = data.actuator_moment(dof, u);
    trees.diagonal[dof] += data.servo_gain[u] * moment * moment;
  }
  return trees.motion.factorize(trees.inertia, data.S, trees.diagonal, no_rows(), VectorX());
}

bool stiff_diagonal(const Model& model, const Parameters& parameters, double time, const Data& data,
                    VectorX& diagonal) {
  bool any = false;
  diagonal = data.long_trees.armature;
  for (int j = 0; j < model.njoint && model.options.springs_enabled; ++j) {
    const double k = time * time * parameters.joint_stiffness[j];
    if (!(k > 0.0)) continue;
    any = true;
    const int dof = model.joint_dof[at(j)];
    diagonal.segment(dof, dof_count(model.joints[at(j)].type)).array() += k;
  }
  for (int u = 0; u < model.nu && model.options.actuation_enabled; ++u) {
    const double k = time * time * servo_gains(model, parameters, data, u).kp;
    if (!(k > 0.0) || is_beyond(data.actuator_law[u], servo_range(model, data, u))) continue;
    any = true;
    const int dof = data.actuator_dof[at(u)];
    const double moment = data.actuator_moment(dof, u);
    diagonal[dof] += k * moment * moment;
  }
  return any;
}

}  // namespace touchstone

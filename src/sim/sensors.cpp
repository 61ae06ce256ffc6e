#include "touchstone/sim/sensors.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

// A frame that a sensor looks at.
struct Frame {
  int body = 0;
  Pose X;  // world
};

class Reader {
 public:
  Reader(const SensorView& view, Data& data, VectorX& scratch, std::vector<Force>& external)
      : v_(view), model_(view.model), data_(data), scratch_(scratch), external_(external) {
    forward_kinematics(model_, v_.parameters, v_.state, data_);
    forward_velocity(model_, v_.state.v, data_);
    compute_tendons(model_, v_.state.q, v_.state.v, data_);
    compute_actuation(model_, v_.parameters, v_.state, v_.input, v_.h, data_);
  }

  // Accelerations with gravity as an upward acceleration of the world, and what bodies pass on to their parents.
  void compute_accelerations() {
    rnea_with_mocap();
    sum_external();
  }

  void read(const Sensor& s, const CollisionShape* volume, double* out);

 private:
  void rnea_with_mocap();
  void sum_external();
  void add_external(int body, Vec3 point, Vec3 force, Vec3 torque);
  Frame frame_of(FrameType type, int index) const;
  Vec3 velocity_at(int body, Vec3 p) const { return touchstone::velocity_at(model_, data_, body, p); }
  Vec3 acceleration_at(int body, Vec3 p) const;
  void read_frame(const Sensor& s, double* out) const;
  void read_inertial(const Sensor& s, double* out) const;
  void read_interaction(const Sensor& s, double* out) const;
  double touch(const Sensor& s, const CollisionShape& volume) const;
  double range(const Sensor& s) const;
  void read_subtree(const Sensor& s, double* out) const;
  void read_limit(const Sensor& s, double* out) const;

  const SensorView& v_;
  const Model& model_;
  Data& data_;
  VectorX& scratch_;
  std::vector<Force>& external_;
};

void put(Vec3 v, double* out) {
  for (int k = 0; k < 3; ++k) out[k] = v[k];
}

Vec3 turned_back(const Mat3& R, Vec3 v) { return transpose_times(R, v); }

// Like rnea, with mocap bodies where they are.
void Reader::rnea_with_mocap() {
  rnea(model_, v_.parameters, v_.state.q, v_.state.v, v_.acceleration, data_, scratch_);
  if (model_.nmocap > 0) forward_kinematics(model_, v_.parameters, v_.state, data_);
}

void Reader::add_external(int body, Vec3 point, Vec3 force, Vec3 torque) {
  const int tree = model_.body_kernels[at(body)].tree;
  if (tree < 0) return;
  const Vec3 arm = point - data_.reference_point[at(tree)];
  external_[at(body)] += Force{torque + cross(arm, force), force};
}

// Constraints between bodies and applied wrenches; then each body gets those of everything beyond it.
void Reader::sum_external() {
  std::fill(external_.begin(), external_.end(), Force());
  const Constraints& c = v_.constraints;
  const ConstraintScene scene{model_, data_, v_.detector.contacts(), v_.rules};
  const double rate = 1.0 / v_.h;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const double* impulse = v_.lambda.data() + c.blocks.row[at(block)];
    PairWrench w;
    if (!entry_of(constraint.kind).wrench(scene, constraint, impulse, w)) continue;
    add_external(w.body_b, w.point_b, rate * w.force, rate * w.torque);
    add_external(w.body_a, w.point_a, -rate * w.force, -rate * w.torque);
  }
  for (const SleepingIsland& island : v_.asleep) {
    if (island.trees.empty()) continue;
    for (const PairWrench& w : island.wrenches) {
      add_external(w.body_b, w.point_b, w.force, w.torque);
      add_external(w.body_a, w.point_a, -w.force, -w.torque);
    }
  }
  for (int b = 1; b < model_.nbody; ++b) {
    const Vector6& w = v_.input.applied_wrench[at(b)];
    if (w.isZero(0.0)) continue;
    add_external(b, data_.X_WB[at(b)] * v_.parameters.body_inertia[at(b)].com, Vec3(Vector3(w.head<3>())),
                 Vec3(Vector3(w.tail<3>())));
  }
  for (int b = model_.nbody - 1; b > 0; --b) {
    const BodyKernel& body = model_.body_kernels[at(b)];
    if (body.tree >= 0 && model_.body_kernels[at(body.parent)].tree >= 0)
      external_[at(body.parent)] += external_[at(b)];
  }
}

Frame Reader::frame_of(FrameType type, int index) const {
  switch (type) {
    case FrameType::kBody:
      return {index, data_.X_WB[at(index)]};
    case FrameType::kBodyInertial: {
      // The axes are those of the body: principal axes are not kept.
      const Pose& X = data_.X_WB[at(index)];
      return {index, Pose{X.R, X * v_.parameters.body_inertia[at(index)].com}};
    }
    case FrameType::kShape: {
      const ShapeElement& shape = model_.shapes[at(index)];
      return {shape.body, data_.X_WB[at(shape.body)] * Pose(shape.pose)};
    }
    case FrameType::kSite: {
      const Site& site = model_.sites[at(index)];
      return {site.body, data_.X_WB[at(site.body)] * Pose(site.pose)};
    }
    default:
      return {};
  }
}

// Classical, with gravity as an upward acceleration.
Vec3 Reader::acceleration_at(int body, Vec3 p) const {
  return Vec3(Vector3(point_acceleration(model_, data_, body, p.eigen()).head<3>()));
}

void Reader::read_frame(const Sensor& s, double* out) const {
  const Frame f = frame_of(s.object_type, s.object);
  const bool relative = s.reference >= 0;
  const Frame r = relative ? frame_of(s.reference_type, s.reference) : Frame{};
  const Vec3 w = data_.velocity[at(f.body)].angular;
  const Vec3 w_r = relative ? data_.velocity[at(r.body)].angular : Vec3();
  const auto in_reference = [&](Vec3 v) { return relative ? turned_back(r.X.R, v) : v; };
  switch (s.type) {
    case SensorType::kFramePosition:
      put(in_reference(relative ? f.X.p - r.X.p : f.X.p), out);
      break;
    case SensorType::kFrameQuaternion: {
      Quaternion q(f.X.R.eigen());
      if (relative) q = Quaternion(r.X.R.eigen()).conjugate() * q;
      out[0] = q.w();
      out[1] = q.x();
      out[2] = q.y();
      out[3] = q.z();
      break;
    }
    case SensorType::kFrameXAxis:
      put(in_reference(f.X.R.c0), out);
      break;
    case SensorType::kFrameYAxis:
      put(in_reference(f.X.R.c1), out);
      break;
    case SensorType::kFrameZAxis:
      put(in_reference(f.X.R.c2), out);
      break;
    case SensorType::kFrameLinearVelocity: {
      Vec3 v = velocity_at(f.body, f.X.p);
      if (relative) v = v - velocity_at(r.body, r.X.p) - cross(w_r, f.X.p - r.X.p);
      put(in_reference(v), out);
      break;
    }
    case SensorType::kFrameAngularVelocity:
      put(in_reference(w - w_r), out);
      break;
    case SensorType::kFrameLinearAcceleration:
      put(acceleration_at(f.body, f.X.p), out);
      break;
    case SensorType::kFrameAngularAcceleration:
      put(data_.acceleration[at(f.body)].angular, out);
      break;
    default:
      break;
  }
}

void Reader::read_inertial(const Sensor& s, double* out) const {
  const Frame f = frame_of(s.object_type, s.object);
  Vec3 value;
  if (s.type == SensorType::kGyro) value = data_.velocity[at(f.body)].angular;
  if (s.type == SensorType::kAccelerometer) value = acceleration_at(f.body, f.X.p);
  if (s.type == SensorType::kVelocimeter) value = velocity_at(f.body, f.X.p);
  if (s.type == SensorType::kMagnetometer) value = Vec3(model_.options.magnetic_field);
  put(turned_back(f.X.R, value), out);
}

// The force between a body and its parent, at a site and in its axes: what moves the subtree minus what pushes it from
// elsewhere.
void Reader::read_interaction(const Sensor& s, double* out) const {
  const Frame f = frame_of(s.object_type, s.object);
  const int tree = model_.body_kernels[at(f.body)].tree;
  Force total;
  if (tree >= 0) {
    total = data_.force[at(f.body)];
    total.force -= external_[at(f.body)].force;
    total.torque -= external_[at(f.body)].torque;
    total.torque -= cross(f.X.p - data_.reference_point[at(tree)], total.force);
  }
  put(turned_back(f.X.R, s.type == SensorType::kForce ? total.force : total.torque), out);
}

// Normal forces of the contacts of the site's body that the site's volume sees along their normals.
double Reader::touch(const Sensor& s, const CollisionShape& volume) const {
  const Frame f = frame_of(s.object_type, s.object);
  const Constraints& c = v_.constraints;
  double sum = 0.0;
  const auto add = [&](const Contact& contact, double force) {
    if (contact.body_a != f.body && contact.body_b != f.body) return;
    if (!(force > 0.0)) return;
    const Vec3 outward = contact.body_a == f.body ? contact.normal() : -contact.normal();
    const RayResult ray = raycast(volume, f.X, contact.position, outward, {});
    if (ray.status == RayStatus::kHit || ray.status == RayStatus::kInside) sum += force;
  };
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (constraint.kind != ConstraintKind::kContact) continue;
    add(v_.detector.contacts()[at(constraint.index)], v_.lambda[c.blocks.row[at(block + 1)] - 1] / v_.h);
  }
  for (const SleepingIsland& island : v_.asleep) {
    if (island.trees.empty()) continue;
    for (std::size_t k = 0; k < island.contacts.size(); ++k) add(island.contacts[k], island.forces[k].local_force.z());
  }
  return sum;
}

double Reader::range(const Sensor& s) const {
  const Frame f = frame_of(s.object_type, s.object);
  const RayHit hit = v_.detector.raycast(f.X.p, f.X.R.c2, std::numeric_limits<double>::infinity(), f.body);
  return hit.shape >= 0 ? hit.distance : -1.0;
}

// Of a body and all beyond it. Bodies are numbered depth first, so the subtree is a range.
void Reader::read_subtree(const Sensor& s, double* out) const {
  int end = s.object + 1;
  while (end < model_.nbody && model_.bodies[at(end)].parent >= s.object) ++end;
  const auto com_of = [&](int b) { return data_.X_WB[at(b)] * v_.parameters.body_inertia[at(b)].com; };
  double mass = 0.0;
  Vec3 moment, momentum;
  for (int b = s.object; b < end; ++b) {
    const double m = v_.parameters.body_inertia[at(b)].mass;
    mass += m;
    moment += m * com_of(b);
    momentum += m * velocity_at(b, com_of(b));
  }
  const double scale = mass > 0.0 ? 1.0 / mass : 0.0;
  const Vec3 com = mass > 0.0 ? scale * moment : data_.X_WB[at(s.object)].p;
  if (s.type == SensorType::kSubtreeCom) return put(com, out);
  if (s.type == SensorType::kSubtreeLinearVelocity) return put(scale * momentum, out);
  Vec3 angular;
  for (int b = s.object; b < end; ++b) {
    if (model_.body_kernels[at(b)].tree < 0) continue;
    const BodyInertia& I = v_.parameters.body_inertia[at(b)];
    const Mat3& R = data_.X_WB[at(b)].R;
    angular += R * (I.inertia * transpose_times(R, data_.velocity[at(b)].angular)) +
               cross(com_of(b) - com, I.mass * (velocity_at(b, com_of(b)) - scale * momentum));
  }
  put(angular, out);
}

// Zero for a limit that is not active.
void Reader::read_limit(const Sensor& s, double* out) const {
  const Constraints& c = v_.constraints;
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind != ConstraintKind::kJointLimit || c.list[at(block)].index != s.object) continue;
    const int row = c.blocks.row[at(block)];
    if (s.type == SensorType::kJointLimitPosition) *out = c.position[at(row)];
    if (s.type == SensorType::kJointLimitVelocity) *out = c.velocity[row];
    if (s.type == SensorType::kJointLimitForce) *out = v_.lambda[row] / v_.h;
    return;
  }
  for (const SleepingIsland& island : v_.asleep) {
    if (island.trees.empty()) continue;
    for (const SleepingIsland::Limit& limit : island.limits) {
      if (limit.joint != s.object) continue;
      if (s.type == SensorType::kJointLimitPosition) *out = limit.position;
      if (s.type == SensorType::kJointLimitForce) *out = limit.force;
      return;
    }
  }
}

void Reader::read(const Sensor& s, const CollisionShape* volume, double* out) {
  const State& state = v_.state;
  switch (s.type) {
    case SensorType::kJointPosition:
      *out = state.q[model_.joint_q[at(s.object)]];
      break;
    case SensorType::kJointVelocity:
      *out = state.v[model_.joint_dof[at(s.object)]];
      break;
    case SensorType::kJointActuatorForce:
      *out = 0.0;
      for (int u = 0; u < model_.nu; ++u) {
        *out += data_.actuator_moment(model_.joint_dof[at(s.object)], u) * v_.actuator_force[u];
      }
      break;
    case SensorType::kJointLimitPosition:
    case SensorType::kJointLimitVelocity:
    case SensorType::kJointLimitForce:
      read_limit(s, out);
      break;
    case SensorType::kTendonPosition:
      *out = data_.tendon_length[s.object];
      break;
    case SensorType::kTendonVelocity:
      *out = data_.tendon_velocity[s.object];
      break;
    case SensorType::kTendonActuatorForce:
      *out = 0.0;
      for (int u = 0; u < model_.nu; ++u) {
        const Actuator& a = model_.actuators[at(u)];
        if (a.transmission == TransmissionType::kTendon && a.target == s.object) *out += v_.actuator_force[u];
      }
      break;
    case SensorType::kActuatorPosition:
      *out = data_.actuator_length[s.object];
      break;
    case SensorType::kActuatorVelocity:
      *out = data_.actuator_velocity[s.object];
      break;
    case SensorType::kActuatorForce:
      *out = v_.actuator_force[s.object];
      break;
    case SensorType::kBallQuaternion: {
      const Eigen::Vector4d q = state.q.segment<4>(model_.joint_q[at(s.object)]).normalized();
      std::copy(q.data(), q.data() + 4, out);
      break;
    }
    case SensorType::kBallAngularVelocity:
      put(Vec3(Vector3(state.v.segment<3>(model_.joint_dof[at(s.object)]))), out);
      break;
    case SensorType::kGyro:
    case SensorType::kAccelerometer:
    case SensorType::kVelocimeter:
    case SensorType::kMagnetometer:
      read_inertial(s, out);
      break;
    case SensorType::kForce:
    case SensorType::kTorque:
      read_interaction(s, out);
      break;
    case SensorType::kTouch:
      *out = touch(s, *volume);
      break;
    case SensorType::kRangefinder:
      *out = range(s);
      break;
    case SensorType::kSubtreeCom:
    case SensorType::kSubtreeLinearVelocity:
    case SensorType::kSubtreeAngularMomentum:
      read_subtree(s, out);
      break;
    case SensorType::kClock:
      *out = state.time;
      break;
    case SensorType::kPotentialEnergy:
      *out = potential_energy(model_, v_.parameters, state, data_);
      break;
    case SensorType::kKineticEnergy:
      *out = kinetic_energy(model_, v_.parameters, state.v, data_);
      break;
    default:
      read_frame(s, out);
      break;
  }
}

bool needs_accelerations(SensorType type) {
  return type == SensorType::kAccelerometer || type == SensorType::kForce || type == SensorType::kTorque ||
         type == SensorType::kFrameLinearAcceleration || type == SensorType::kFrameAngularAcceleration;
}

void cut_off(const Sensor& s, int dimension, double* out) {
  if (!(s.cutoff > 0.0) || s.type == SensorType::kFrameQuaternion || s.type == SensorType::kBallQuaternion) return;
  const bool is_positive = s.type == SensorType::kTouch || s.type == SensorType::kRangefinder;
  for (int k = 0; k < dimension; ++k) {
    out[k] = is_positive ? std::min(out[k], s.cutoff) : std::clamp(out[k], -s.cutoff, s.cutoff);
  }
}

}  // namespace

Sensors::Sensors(const Model& model) : data_(model), scratch_(VectorX::Zero(model.nv)), external_(at(model.nbody)) {
  int size = 0;
  for (const Sensor& sensor : model.sensors) {
    start_.push_back(size);
    size += sensor_dimension(sensor.type);
    const bool feels = sensor.type == SensorType::kTouch;
    volume_.push_back(
        feels ? std::make_unique<CollisionShape>(CollisionShape::make(model.sites[at(sensor.object)].shape)) : nullptr);
  }
  values_ = VectorX::Zero(size);
}

void Sensors::read(const SensorView& view) {
  const std::vector<Sensor>& sensors = view.model.sensors;
  values_.setZero();
  Reader reader(view, data_, scratch_, external_);
  const auto needs = [](const Sensor& s) { return needs_accelerations(s.type); };
  if (std::any_of(sensors.begin(), sensors.end(), needs)) reader.compute_accelerations();
  for (std::size_t i = 0; i < sensors.size(); ++i) {
    double* out = values_.data() + start_[i];
    reader.read(sensors[i], volume_[i].get(), out);
    cut_off(sensors[i], sensor_dimension(sensors[i].type), out);
  }
}

}  // namespace touchstone

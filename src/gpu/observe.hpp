// Sensors of the last step of a world, as sim/sensors: the state at its start, with the accelerations and forces of the
// step. One lane a sensor. Needs what the step has left in the record, and the velocity after it.
#pragma once

#include "touchstone/gpu/forces.hpp"
#include "touchstone/gpu/ray.hpp"
#include "touchstone/gpu/rows.hpp"

namespace touchstone::gpu {

template <typename Team, typename Real>
struct Observer {
  const ModelView& m;
  const WorldState& world;
  const Scratch<Real>& s;

  struct Frame {
    int body;
    Pose X;
  };

  TOUCHSTONE_LANE double acceleration(int dof) const { return (world.v[dof] - s.v[dof]) / m.settings.time_step; }
  TOUCHSTONE_LANE Vec origin(int body) const { return reference_point(m, s, body); }
  TOUCHSTONE_LANE Vec velocity_at(int body, Vec p) const { return point_velocity(m, s, s.velocity, body, p); }
  TOUCHSTONE_LANE Vec turning(int body) const { return load_vec(s.velocity + 6 * body); }

  // `inertial`: the frame is at the centre of mass, which worlds may have of their own.
  TOUCHSTONE_LANE Frame frame(int body, const double* pose, bool inertial) const {
    Pose X = load_pose(pose);
    if (inertial) X.p = load_vec(m.body_com + 3 * body);
    return {body, load_pose(s.X + 12 * body) * X};
  }
  TOUCHSTONE_LANE Frame object_frame(int k) const {
    return frame(m.sensor_object[k], m.sensor_pose + 24 * k, (m.sensor_flags[k] & kInertialObject) != 0);
  }

  // Spatial acceleration with gravity as an upward acceleration of the world, along the path to the body.
  TOUCHSTONE_LANE Motion body_acceleration(int body) const {
    const Motion world_acceleration{{0, 0, 0}, -load_vec(m.settings.gravity)};
    return accelerate_along_path(m, s, body, world_acceleration, [this](int dof) { return acceleration(dof); });
  }
  // Classical.
  TOUCHSTONE_LANE Vec acceleration_at(int body, Vec p) const {
    const Motion a = body_acceleration(body);
    return a.v + cross(a.w, p - origin(body)) + cross(turning(body), velocity_at(body, p));
  }

  TOUCHSTONE_LANE void read_frame(int k, double* out) const {
    const Frame f = object_frame(k);
    const int reference = m.sensor_reference[k];
    const bool relative = reference >= 0;
    Frame r{0, {{axis(0, 1.0), axis(1, 1.0), axis(2, 1.0)}, {0, 0, 0}}};
    if (relative) r = frame(reference, m.sensor_pose + 24 * k + 12, (m.sensor_flags[k] & kInertialReference) != 0);
    const Vec w_r = relative ? turning(r.body) : Vec{0, 0, 0};
    const auto put = [&](Vec v) { store(transpose_times(r.X.R, v), out); };
    switch (m.sensor_type[k]) {
      case kFramePositionSensor:
        return put(f.X.p - r.X.p);
      case kFrameQuaternionSensor: {
        const Quaternion a = quaternion(r.X.R), b = quaternion(f.X.R);
        const Quaternion q = Quaternion{a.w, -a.v} * b;
        out[0] = q.w;
        return store(q.v, out + 1);
      }
      case kFrameXAxisSensor:
        return put(f.X.R.a);
      case kFrameYAxisSensor:
        return put(f.X.R.b);
      case kFrameZAxisSensor:
        return put(f.X.R.c);
      case kFrameLinearVelocitySensor: {
        Vec v = velocity_at(f.body, f.X.p);
        if (relative) v = v - velocity_at(r.body, r.X.p) - cross(w_r, f.X.p - r.X.p);
        return put(v);
      }
      case kFrameAngularVelocitySensor:
        return put(turning(f.body) - w_r);
      case kFrameLinearAccelerationSensor:
        return store(acceleration_at(f.body, f.X.p), out);
      default:
        return store(body_acceleration(f.body).w, out);
    }
  }

  TOUCHSTONE_LANE void read_inertial(int k, double* out) const {
    const Frame f = object_frame(k);
    Vec value = load_vec(m.sensor_size + 3 * k);  // the magnetic field
    if (m.sensor_type[k] == kGyroSensor) value = turning(f.body);
    if (m.sensor_type[k] == kAccelerometerSensor) value = acceleration_at(f.body, f.X.p);
    if (m.sensor_type[k] == kVelocimeterSensor) value = velocity_at(f.body, f.X.p);
    store(transpose_times(f.X.R, value), out);
  }

  // Bodies are numbered depth first: those beyond a body are a range.
  TOUCHSTONE_LANE int end_of_subtree(int body) const {
    int end = body + 1;
    while (end < m.sizes.bodies && m.body_parent[end] >= body) ++end;
    return end;
  }

  TOUCHSTONE_LANE void read_subtree(int k, double* out) const {
    const int first = m.sensor_object[k], end = end_of_subtree(first);
    const auto com_of = [&](int b) { return load_pose(s.X + 12 * b) * load_vec(m.body_com + 3 * b); };
    double mass = 0.0;
    Vec moment{0, 0, 0}, momentum{0, 0, 0};
    for (int b = first; b < end; ++b) {
      mass += m.body_mass[b];
      moment = moment + m.body_mass[b] * com_of(b);
      momentum = momentum + m.body_mass[b] * velocity_at(b, com_of(b));
    }
    const double scale = mass > 0.0 ? 1.0 / mass : 0.0;
    const Vec com = mass > 0.0 ? scale * moment : load_vec(s.X + 12 * first + 9), mean = scale * momentum;
    if (m.sensor_type[k] == kSubtreeComSensor) return store(com, out);
    if (m.sensor_type[k] == kSubtreeLinearVelocitySensor) return store(mean, out);
    Vec angular{0, 0, 0};
    for (int b = first; b < end; ++b) {
      if (m.body_last_dof[b] < 0) continue;
      const Mat R = load_mat(s.X + 12 * b), I = load_mat(m.body_inertia + 9 * b);
      angular = angular + R * (I * transpose_times(R, turning(b))) +
                cross(com_of(b) - com, m.body_mass[b] * (velocity_at(b, com_of(b)) - mean));
    }
    store(angular, out);
  }

  // The force between a body and its parent: what moves the subtree minus what pushes it from elsewhere.
  TOUCHSTONE_LANE void read_interaction(int k, double* out) const {
    const Frame f = object_frame(k);
    const int end = end_of_subtree(f.body);
    const Vec O = origin(f.body);
    const double rate = 1.0 / m.settings.time_step;
    Wrench total{{0, 0, 0}, {0, 0, 0}};
    const auto push = [&](int body, Vec p, Vec force, Vec torque) {
      if (body >= f.body && body < end) total = total + Wrench{-(torque + cross(p - O, force)), -force};
    };
    for (int b = f.body; b < end && m.body_last_dof[f.body] >= 0; ++b) {
      double I[10];
      const Pose X = load_pose(s.X + 12 * b);
      spatial_inertia(m, b, X, O, I);
      total = total + inertial_force(I, load_motion(s.velocity + 6 * b), body_acceleration(b));
      if (m.applied_wrench == nullptr) continue;
      const double* applied = m.applied_wrench + 6 * b;
      push(b, X * load_vec(m.body_com + 3 * b), load_vec(applied), load_vec(applied + 3));
    }
    for (int i = 0; i < s.block_count && m.body_last_dof[f.body] >= 0; ++i) {
      const Block<Real>& block = s.blocks[i];
      if (block.kind != BlockKind::kContact) continue;
      const Contact& c = s.contacts[block.index];
      const ContactWrench w = block_wrench<Team>(s, block);
      push(m.shape_body[m.pair_b[c.pair]], c.position, rate * w.force, rate * w.torque);
      push(m.shape_body[m.pair_a[c.pair]], c.position, -rate * w.force, -rate * w.torque);
    }
    const Vec torque = total.n - cross(f.X.p - O, total.f);
    store(transpose_times(f.X.R, m.sensor_type[k] == kForceSensor ? total.f : torque), out);
  }

  // Normal forces of the contacts of the body that the volume of the site sees along their normals.
  TOUCHSTONE_LANE double touch(int k) const {
    const Frame f = object_frame(k);
    double sum = 0.0;
    for (int i = 0; i < s.block_count; ++i) {
      const Block<Real>& block = s.blocks[i];
      if (block.kind != BlockKind::kContact) continue;
      const Contact& c = s.contacts[block.index];
      const int a = m.shape_body[m.pair_a[c.pair]], b = m.shape_body[m.pair_b[c.pair]];
      const double force = dot(block_wrench<Team>(s, block).force, c.normal) / m.settings.time_step;
      if ((a != f.body && b != f.body) || !(force > 0.0)) continue;
      const Vec outward = a == f.body ? c.normal : -c.normal;
      if (ray_meets(m.sensor_shape[k], load_vec(m.sensor_size + 3 * k), transpose_times(f.X.R, c.position - f.X.p),
                    transpose_times(f.X.R, outward)))
        sum += force;
    }
    return sum;
  }

  // As the step applied it.
  TOUCHSTONE_LANE double actuator_force(int u) const {
    if (s.servo_mode[u] == kExplicitServo) return s.servo_force[u];
    const double change = change_of_actuator_rate<Team>(m, s, u, s.v, world.v);
    const double force = s.servo_force[u] - s.servo_gain[u] / m.settings.time_step * change;
    const double* range = m.actuator_force_range + 2 * u;
    return s.servo_mode[u] == kBoundedServo ? clamp(force, range[0], range[1]) : force;
  }
  TOUCHSTONE_LANE double joint_actuator_force(int dof) const {
    double sum = 0.0;
    for (int k = m.dof_actuator_start[dof]; k < m.dof_actuator_start[dof + 1]; ++k)
      sum += m.actuator_gear[m.dof_actuator[k]] * actuator_force(m.dof_actuator[k]);
    return sum;
  }
  TOUCHSTONE_LANE double limit_force(int joint) const {
    for (int i = 0; i < s.block_count; ++i) {
      const Block<Real>& block = s.blocks[i];
      if (block.kind == BlockKind::kLimit && m.limit_joint[block.index] == joint)
        return static_cast<double>(s.lambda[block.row]) / m.settings.time_step;
    }
    return 0.0;
  }

  TOUCHSTONE_LANE void read(int k, double* out) const {
    const int object = m.sensor_object[k], type = m.sensor_type[k];
    switch (type) {
      case kJointPositionSensor:
        *out = s.q[m.joint_q[object]];
        break;
      case kJointVelocitySensor:
        *out = s.v[m.joint_dof[object]];
        break;
      case kJointActuatorForceSensor:
        *out = joint_actuator_force(m.joint_dof[object]);
        break;
      case kJointLimitForceSensor:
        *out = limit_force(object);
        break;
      case kActuatorPositionSensor:
        *out = length_of_actuator<Team>(m, s, object);
        break;
      case kActuatorVelocitySensor:
        *out = rate_of_actuator<Team>(m, s, object, s.v);
        break;
      case kActuatorForceSensor:
        *out = actuator_force(object);
        break;
      case kBallQuaternionSensor: {
        const Quaternion q = unit(load_quaternion(s.q + m.joint_q[object]));
        out[0] = q.w;
        store(q.v, out + 1);
        break;
      }
      case kBallAngularVelocitySensor:
        store(load_vec(s.v + m.joint_dof[object]), out);
        break;
      case kGyroSensor:
      case kAccelerometerSensor:
      case kVelocimeterSensor:
      case kMagnetometerSensor:
        read_inertial(k, out);
        break;
      case kForceSensor:
      case kTorqueSensor:
        read_interaction(k, out);
        break;
      case kTouchSensor:
        *out = touch(k);
        break;
      case kSubtreeComSensor:
      case kSubtreeLinearVelocitySensor:
      case kSubtreeAngularMomentumSensor:
        read_subtree(k, out);
        break;
      case kClockSensor:
        *out = *world.time - m.settings.time_step;
        break;
      default:
        read_frame(k, out);
        break;
    }
    cut_off(k, out);
  }

  TOUCHSTONE_LANE void cut_off(int k, double* out) const {
    const double cutoff = m.sensor_cutoff[k];
    const int type = m.sensor_type[k], numbers = m.sensor_start[k + 1] - m.sensor_start[k];
    if (!(cutoff > 0.0)) return;
    for (int i = 0; i < numbers; ++i)
      out[i] = type == kTouchSensor ? least(out[i], cutoff) : clamp(out[i], -cutoff, cutoff);
  }
};

// Writes the row of a world. After a step that has moved its state.
template <typename Team, typename Real>
TOUCHSTONE_LANE void observe(const Team& team, const ModelView& m, const WorldState& world, const Scratch<Real>& s) {
  const Observer<Team, Real> observer{m, world, s};
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < m.sizes.sensors; k += team.size()) observer.read(k, world.sensors + m.sensor_start[k]);
}

}  // namespace touchstone::gpu

// How the points and axes at which two bodies act on each other move with the configuration: what the rows of contacts,
// connects and welds need to be differentiated.
#pragma once

#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

using Matrix3X = Eigen::Matrix3Xd;

// Of a material point of a body, column by column of v: its velocity and the body's angular velocity.
struct PointColumns {
  Matrix3X linear, angular;  // 3 x nv

  void set(const Model& model, const Data& data, int body, Vec3 point);
};

struct PairMotion {
  int body_a = 0, body_b = 0;
  Vec3 point_a, point_b;
  PointColumns a, b;    // of the material points there
  Matrix3X dp_a, dp_b;  // how the points move, which need not be material: 3 x nv
  Matrix3X turn;        // how the axes turn

  // Fills a and b, points that move with their bodies and axes that stay.
  void begin(const Model& model, const Data& data, int first, int second, Vec3 at_first, Vec3 at_second);
};

// Point and frame of a contact. Exact where a vertex or a ball (sphere, end of a capsule) meets a face, which the
// normal turns with, or another ball. Else false: the point and its frame are taken to move with the mean of both
// bodies.
bool set_contact_motion(const Model& model, const Data& data, const Contact& contact, PairMotion& motion);

// How the velocities of point b against point a change with the configuration while the numbers v stay. `data.velocity`
// and V_S: velocity_derivatives.
void relative_velocity_derivatives(const Model& model, const Data& data, const std::vector<Motion>& V_S,
                                   const PairMotion& motion, Matrix3X& linear, Matrix3X& angular);

// Adds the derivative of J' f by the configuration that is due to the motion of points and axes (nv x nv): [force,
// torque] on body b, the opposite on body a.
void add_force_derivatives(const PairMotion& motion, Vec3 force, Vec3 torque, double scale,
                           Eigen::Ref<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> out);

}  // namespace touchstone

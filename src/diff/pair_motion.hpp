// How the points and axes at which two bodies act on each other move with the configuration: what the rows of contacts,
// connects and welds need to be differentiated. Columns are those of the dofs that move either body; no others count.
#pragma once

#include <vector>

#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

struct PairMotion {
  explicit PairMotion(const Model& model);

  int body_a = 0, body_b = 0;
  Vec3 point_a, point_b;
  int count = 0;          // of the dofs that move a body
  std::vector<int> dofs;  // nv, of which `count` are set, as in all that follows
  // Velocities of the material points there, and angular velocities of the bodies.
  std::vector<Vec3> a_linear, a_angular, b_linear, b_angular;
  std::vector<Vec3> dp_a, dp_b;  // how the points move, which need not be material
  std::vector<Vec3> turn;        // how the axes turn
  std::vector<char> moves_a, moves_b;

  // Fills in the columns, with points that move with their bodies and axes that stay.
  void begin(const Model& model, const Data& data, int first, int second, Vec3 at_first, Vec3 at_second);
};

// Point and frame of a contact. Exact where a vertex, a ball (sphere, end of a capsule) or an end of the side line of a
// cylinder or cone meets a face, which the normal turns with, or a ball another one. Else false: the point and its
// frame are taken to move with the mean of both bodies. `by_face`: a face of the contact is that of the normal.
bool set_contact_motion(const Model& model, const Data& data, const Contact& contact, bool by_face, PairMotion& motion);

// How the velocities of point b against point a change along the k-th dof of the motion while the numbers v stay.
// `data.velocity` and V_S: velocity_derivatives.
struct PairRate {
  Vec3 linear, angular;
};
PairRate relative_velocity_rate(const Model& model, const Data& data, const std::vector<Motion>& V_S,
                                const PairMotion& motion, int k);

// The same for all dofs of the motion, as seen from its axes, which turn: what the rows of contacts see.
void relative_velocity_rates(const Model& model, const Data& data, const std::vector<Motion>& V_S,
                             const PairMotion& motion, std::vector<PairRate>& rates);

// Adds the derivative of J' f by the configuration that is due to the motion of points and axes (nv x nv): [force,
// torque] on body b, the opposite on body a.
void add_force_derivatives(const PairMotion& motion, Vec3 force, Vec3 torque, RowMatrixRef out);
// Of that the column of the k-th dof, along which force and torque change as given.
void add_force_change(const PairMotion& motion, int k, Vec3 force_change, Vec3 torque_change, Vec3 force,
                      RowMatrixRef out);

// The same of many points: those of one pair of bodies that follow each other are added up as wrenches first.
class PairForces {
 public:
  explicit PairForces(const Model& model) : motion_(model) {}

  void begin() { is_empty_ = true; }
  void add(const PairMotion& motion, Vec3 force, Vec3 torque, RowMatrixRef out);
  // After the last one.
  void flush(RowMatrixRef out);

 private:
  PairMotion motion_;  // of the first point; dp_a, dp_b: torques on the bodies there; turn: the change of the force
  bool is_empty_ = true;
};

}  // namespace touchstone

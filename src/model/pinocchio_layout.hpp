// Converts configurations, velocities, accelerations and generalised forces between our layout (MuJoCo's, see
// state.hpp) and Pinocchio's:
//
//   joint          ours                                       Pinocchio
//   free           q = [p_WB, qw qx qy qz]                     q = [p, qx qy qz qw], the pose against its placement
//                  v = [velocity in world, angular in body]    v = [velocity in body, angular in body]
//   ball           q = [qw qx qy qz]                           q = [qx qy qz qw]
//   continuous     q = angle                                   q = [cos, sin]
//   planar         q = [x, y, angle], v = its rates            q = [x, y, cos, sin], v = [velocity in body, rate]
//   hinge, slide   the same
//
// Pinocchio orders joints alphabetically at each level; give its order by name.
#pragma once

#include <string>
#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone {

class PinocchioLayout {
 public:
  // `joint_names` are Pinocchio's joints in its order, without "universe"; empty means our joints in our order.
  // A joint that our builder made of parts ("<name>/1", "<name>/2", ...) goes by its own name. `continuous[i]` says
  // that joint i of this list is an unbounded revolute joint (nq = 2, nv = 1) in Pinocchio; empty means none.
  // Throws Error for a name that the model does not have, has twice in the list, or that the list lacks.
  explicit PinocchioLayout(const Model& model, const std::vector<std::string>& joint_names = {},
                           const std::vector<bool>& continuous = {});

  int nq() const { return nq_; }  // Pinocchio's; nv is the same in both
  int nv() const { return nv_; }

  VectorX q_to_pinocchio(const ConstVectorRef& q) const;
  VectorX q_from_pinocchio(const ConstVectorRef& q) const;

  // The first argument is always our q; the tangent maps depend on the orientation.
  VectorX v_to_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v) const;
  VectorX v_from_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v) const;
  // Both velocity and acceleration are in the layout converted from.
  VectorX acceleration_to_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& a) const;
  VectorX acceleration_from_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& a) const;
  // Power is the same in both layouts.
  VectorX force_to_pinocchio(const ConstVectorRef& q, const ConstVectorRef& force) const;
  VectorX force_from_pinocchio(const ConstVectorRef& q, const ConstVectorRef& force) const;

  // The orthogonal matrix T with v_pinocchio = T v. Then M = T' M_pinocchio T, and J = J_pinocchio T.
  MatrixX velocity_map(const ConstVectorRef& q) const;

 private:
  enum class Kind { kSame, kContinuous, kFree, kBall, kPlanar };

  // One of Pinocchio's joints, and where its numbers are in both layouts.
  struct Entry {
    Kind kind = Kind::kSame;
    int size = 1;  // kSame: entries of q and v
    int our_q = 0, our_v = 0, their_q = 0, their_v = 0;
    Transform placement;  // kFree: the pose of Pinocchio's joint in the world
  };

  // The joints [first, first + count) of the model are one of Pinocchio's.
  struct Parts {
    int first = -1, count = 0;
  };
  static Parts find_parts(const Model& model, const std::string& name);
  static std::vector<std::string> own_names(const Model& model);
  void add_entry(const Model& model, const Parts& parts, bool continuous);
  // The rotation by which Pinocchio's linear velocities of an entry differ: world from body.
  Matrix3 rotation(const Entry& entry, const ConstVectorRef& q) const;

  std::vector<Entry> entries_;
  int our_nq_ = 0, nq_ = 0, nv_ = 0;
};

}  // namespace touchstone

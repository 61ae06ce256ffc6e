// The equations that normal and witness points of two convex cores obey, linearised (collision_derivatives.hpp).
#pragma once

#include "touchstone/collision/derivatives/local_support.hpp"

namespace touchstone {

// A contact of two cores in the world: b - a = distance n.
struct CoreLocation {
  Vec3 n, a, b;
};

// How it changes.
struct CoreChange {
  double distance = 0.0;
  Vec3 n, a, b;
  double x_A[2] = {0.0, 0.0}, x_B[2] = {0.0, 0.0};  // slides
};

// What moves a shape: its points there, at fixed normal and slides, and what the slides ask of dn.
struct ShapeMotion {
  Vec3 point;
  double turn[2] = {0.0, 0.0};
};

class ContactLinearisation {
 public:
  // With support features, in the frames of the shapes, and their poses. `floor`: eigenvalues of d + C_A + C_B are at
  // least this (m); 0: as they are.
  void prepare(const CoreLocation& at, const LocalSupport& A, const Mat3& R_WA, const LocalSupport& B, const Mat3& R_WB,
               double floor = 0.0);

  bool solvable() const { return solvable_; }
  bool unique() const { return unique_; }
  Vec3 slide_A(int k) const { return slide_[0][k]; }
  Vec3 slide_B(int k) const { return slide_[1][k]; }

  CoreChange solve(const ShapeMotion& A, const ShapeMotion& B) const;

  // A rigid motion: the linear rate of the point and the angular rate.
  ShapeMotion move_A(Vec3 linear, Vec3 angular) const { return move(0, linear, angular, -1.0); }
  ShapeMotion move_B(Vec3 linear, Vec3 angular) const { return move(1, linear, angular, 1.0); }

 private:
  struct Kept {  // an equation q' y = turn that stays, with its slide
    int shape = 0, slide = 0;
    Eigen::Vector2d q;
  };
  ShapeMotion move(int shape, Vec3 linear, Vec3 angular, double sign) const;
  void keep(int shape, int slide);
  Eigen::Vector2d flat(Vec3 v) const { return {dot(e_, v), dot(f_, v)}; }

  Vec3 n_, e_, f_;
  Matrix3 curvature_[2];
  int slides_[2] = {0, 0};
  Vec3 slide_[2][2];
  Eigen::Matrix2d M_;
  Kept kept_[2];
  int count_ = 0;
  bool solvable_ = false, unique_ = true;
};

}  // namespace touchstone

// The Minkowski difference D = A - B of two cores, seen from the frame of A: what GJK and EPA work on.
#pragma once

#include "touchstone/collision/narrow/convex.hpp"

namespace touchstone {

// A support point of D with the points of A and B that made it.
struct MinkowskiVertex {
  Vec3 w;             // a - b, in the frame of A
  Vec3 a;             // on the core of A, in its frame
  Vec3 b;             // on the core of B, in the frame of B
  int vertex_a = -1;  // as ConvexShape::support reports them
  int vertex_b = -1;
};

// Up to four vertices with the convex weights of a point of their hull. The first `size` mean something; the others are
// left as they are in memory, for clearing half a kilobyte takes as long as a support point.
struct Simplex {
  Simplex() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init): the union stays as it is
  union {
    MinkowskiVertex vertices[4];
  };
  double weights[4];
  int size = 0;
};

inline bool same(Vec3 a, Vec3 b) { return a.x() == b.x() && a.y() == b.y() && a.z() == b.z(); }
inline double norm(Vec3 a) { return std::sqrt(dot(a, a)); }
inline bool finite(Vec3 a) { return dot(a, Vec3()) == 0.0; }  // 0 times NaN or infinity is NaN

// Some unit vector perpendicular to a (any for the zero vector).
inline Vec3 perpendicular(Vec3 a) {
  const double x = std::abs(a.x()), y = std::abs(a.y()), z = std::abs(a.z());
  const Vec3 least = x <= y && x <= z ? Vec3(1, 0, 0) : (y <= z ? Vec3(0, 1, 0) : Vec3(0, 0, 1));
  const Vec3 result = cross(a, least);
  const double length = norm(result);
  return length > 0.0 ? result * (1.0 / length) : least;
}

class MinkowskiDifference {
 public:
  MinkowskiDifference(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB)
      : A_(A), B_(B), X_AB_(X_AB), R_BA_(transpose(X_AB.R)), scale_(A.extent() + B.extent() + norm(X_AB.p)) {}

  // The point of D farthest along d. The vertices found last are the hints of the next search.
  void support(Vec3 d, MinkowskiVertex& v) {
    v.a = A_.support(d, hint_a_);
    v.b = B_.support(R_BA_ * -d, hint_b_);
    v.w = v.a - X_AB_ * v.b;
    v.vertex_a = hint_a_;
    v.vertex_b = hint_b_;
  }
  MinkowskiVertex support(Vec3 d) {
    MinkowskiVertex v;
    support(d, v);
    return v;
  }

  // The place in today's D of a vertex found for another relative pose.
  void update(MinkowskiVertex& v) const { v.w = v.a - X_AB_ * v.b; }

  const ConvexShape& A() const { return A_; }
  const ConvexShape& B() const { return B_; }
  const Pose& X_AB() const { return X_AB_; }
  bool polyhedral() const { return A_.polyhedral() && B_.polyhedral(); }
  double radius() const { return A_.radius() + B_.radius(); }
  // No coordinate that enters a support point exceeds this; rounding errors of w are a few ulps of it.
  double scale() const { return scale_; }

 private:
  const ConvexShape& A_;
  const ConvexShape& B_;
  Pose X_AB_;
  Mat3 R_BA_;
  double scale_;
  int hint_a_ = -1, hint_b_ = -1;
};

}  // namespace touchstone

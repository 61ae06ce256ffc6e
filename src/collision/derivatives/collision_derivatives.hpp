// How distance, normal, witness points and contact frame of two convex shapes change with their poses and sizes.
//
//   CollisionDifferentiator differentiate;             // one for each thread
//   const CollisionDerivatives d = differentiate(A, X_WA, B, X_WB);
//   d.by_B.distance                                    // 1 x 6: translations and turns of B, axes of the world
//
// Method (004, "Differentiable collision detection"): with the witness points a, b on the cores, b - a = d n,
// a = p_A(n), b = p_B(-n), where the support points obey dp = E x + C dn, E' dn = 0 (local_support.hpp). In the plane
// across n this is
//     (d + C_A + C_B) dn + E_A x_A - E_B x_B = db - da,   E_A' dn = .., E_B' dn = ..
// (eq. 17 to 19, where E is empty), two to four equations. Radii add r n to the points. Penetration is d < 0.
//   kExact        features and curvatures as they are; the contact is refined by Newton's method on these equations
//                 first, for queries of curved shapes end at about 1e-5 rad
//   kZerothOrder  eq. 6: Gaussian noise on the pose of B (m and rad), a query for each sample
//   kGaussian     eq. 26: Gaussian noise on the normal (rad), a support point for each sample and shape
//   kGumbel       eq. 28: Gumbel noise on heights of corners (m), closed form; shapes without corners as kGaussian
// Ellipsoids and spheres keep their own curvature with the first-order estimators.
// Where two features meet that leave the normal overdetermined (a face on a face or an edge, parallel edges) it
// follows the larger feature, A's of two alike, and the other's point stays in its body: `unique` is false.
#pragma once

#include <array>
#include <cstdint>

#include "touchstone/collision/derivatives/gaussian_samples.hpp"
#include "touchstone/collision/derivatives/local_support.hpp"
#include "touchstone/collision/derivatives/smoothed_curvature.hpp"
#include "touchstone/collision/narrow/query.hpp"

namespace touchstone {

enum class CollisionGradient : std::uint8_t { kExact, kZerothOrder, kGaussian, kGumbel };

// Throws Error for names other than exact, zeroth-order, gaussian and gumbel.
CollisionGradient collision_gradient_named(std::string_view name);

struct CollisionDerivativeOptions {
  CollisionGradient method = CollisionGradient::kExact;
  double noise = 1e-2;     // m and rad (kZerothOrder), rad (kGaussian), m (kGumbel); positive
  int samples = 50;        // of kZerothOrder and kGaussian
  int depth = 1;           // kGumbel: edges from the support vertex
  std::uint64_t seed = 1;  // of the samples
};

// By a motion of one shape: columns 0 to 2 translations along, 3 to 5 turns about the axes of the world, about the
// origin of the shape.
struct PoseDerivatives {
  Eigen::Matrix<double, 1, 6> distance = Eigen::Matrix<double, 1, 6>::Zero();
  Eigen::Matrix<double, 3, 6> normal = Eigen::Matrix<double, 3, 6>::Zero();
  Eigen::Matrix<double, 3, 6> point_A = Eigen::Matrix<double, 3, 6>::Zero();  // rates of the points' places in the
  Eigen::Matrix<double, 3, 6> point_B = Eigen::Matrix<double, 3, 6>::Zero();  // world, not of material points
  Eigen::Matrix<double, 3, 6> turn = Eigen::Matrix<double, 3, 6>::Zero();     // of contact_frame(normal): angular rates
};

// By one number of a shape.
struct ShapeDerivative {
  enum class Kind : std::uint8_t { kSize, kMargin, kVertex };
  Kind kind = Kind::kSize;
  bool of_B = false;
  int index = 0;  // in Shape::size, or the vertex: its index in Polytope::vertices
  int axis = 0;   // of a vertex, in the frame of the shape
  double distance = 0.0;
  Vec3 normal, point_A, point_B, turn;
};

struct CollisionDerivatives {
  ContactResult contact;  // kExact: refined
  bool valid = false;     // false: the contact is not, or it has no derivative (no normal, no curvature to speak of)
  bool unique = true;     // false: one-sided, see above
  bool refined = true;    // kExact: both points are support points along the normal to kTight of the shapes' size
  SupportKind kind_A = SupportKind::kVertex, kind_B = SupportKind::kVertex;  // kExact
  PoseDerivatives by_A, by_B;

  // Sizes, margin and the corners of the features that touch; with exact features whatever the method.
  static constexpr int kMostParameters = 26;
  int parameters = 0;
  std::array<ShapeDerivative, kMostParameters> by_shape;

  static constexpr double kTight = 1e-10;
};

class CollisionDifferentiator {
 public:
  // Throws Error for options that mean nothing. Bounded work: one query (kZerothOrder: samples + 1), a few Newton
  // steps. Allocates nothing once it has seen as many samples and vertices.
  CollisionDerivatives operator()(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                                  const CollisionDerivativeOptions& options = {});
  // The same for a contact that collide() has found.
  CollisionDerivatives of_contact(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                                  const ContactResult& contact, const CollisionDerivativeOptions& options = {});

  QueryWorkspace& queries() { return queries_; }

 private:
  void add_samples(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                   const CollisionDerivativeOptions& options, CollisionDerivatives& out);
  Matrix3 curvature(const ConvexShape& shape, const LocalSupport& local, Vec3 n,
                    const CollisionDerivativeOptions& options);

  QueryWorkspace queries_;
  GaussianSamples normal_samples_, pose_samples_;
  Neighbourhood neighbourhood_;
};

// How the frame contact_frame(n) turns (angular rate) when the normal changes by dn.
Vec3 contact_frame_turn(Vec3 n, Vec3 dn);

// The contact that a query has found, refined to rounding by Newton's method where its shapes are curved; false (and
// the contact as it was) where that does not converge.
bool refine_contact(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                    ContactResult& contact);

}  // namespace touchstone

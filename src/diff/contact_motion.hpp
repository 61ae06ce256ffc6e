// How point and frame of a contact move with the configuration where the derivatives of collision are needed for it:
// edges against edges, sides and rims of capsules and cylinders, ellipsoids, hulls; or smoothed ones for all.
#pragma once

#include <vector>

#include "touchstone/collision/derivatives/collision_derivatives.hpp"
#include "touchstone/collision/manifold/support_feature.hpp"
#include "touchstone/diff/pair_motion.hpp"
#include "touchstone/sim/detection/collision_model.hpp"

namespace touchstone {

class ContactMotion {
 public:
  // For contacts of two shapes; -1: of all that have none of their own.
  void set_options(const CollisionDerivativeOptions& options, int shape_a = -1, int shape_b = -1);
  const CollisionDerivativeOptions& options(int shape_a, int shape_b) const;
  // Tangents turn about the normal as their definition has it. Circular friction does not see that, so it is left out
  // unless a pyramid asks for it; where friction differs between the tangents it is always there.
  void set_tangents_matter(bool matter) { tangents_matter_ = matter; }

  // Fills in how point and axes move. False if that is not exact: beside the inside of a triangle its normal is taken
  // to turn with it all the same, as that of shapes of several pieces, and points of a patch that are not where the
  // shapes are nearest are taken to move with the mean of both bodies.
  bool set(const Model& model, const CollisionModel& shapes, const Data& data, const Contact& contact,
           PairMotion& motion);

 private:
  // How the normal of a contact at a face turns.
  enum class Turning { kOtherwise, kPerhapsByFace, kByFace };
  Turning turning(const CollisionModel& shapes, const Data& data, const Contact& contact);
  bool set_by_collision(const CollisionModel& shapes, const Data& data, const Contact& contact,
                        const CollisionDerivativeOptions& options, PairMotion& motion);

  struct Choice {
    int shape_a, shape_b;
    CollisionDerivativeOptions options;
  };
  CollisionDerivativeOptions general_;
  std::vector<Choice> choices_;
  CollisionDifferentiator differentiate_;
  bool tangents_matter_ = false;
  SupportFeature feature_;  // scratch
};

}  // namespace touchstone

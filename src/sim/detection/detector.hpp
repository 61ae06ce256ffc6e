// All contacts of a model at its current poses: stage 2 of a step.
//
//   const auto shapes = std::make_shared<const CollisionModel>(*model);
//   CollisionDetector detector(shapes);              // one for each world
//   forward_kinematics(*model, parameters, state, data);
//   for (const Contact& contact : detector.detect(parameters, data)) ...
//
// Broad phase (boxes), narrow phase (manifolds), material rules. Contacts come sorted by shapes, in an order that
// depends on the state alone. What a pair of shapes leaves for the next call (search directions, chosen faces) is kept
// as long as their fat boxes overlap. Pairs that were found apart are not looked at again before they can have met
// (separations.hpp). Nothing allocates once the number of contacts has been reached before.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "touchstone/collision/narrow/raycast.hpp"
#include "touchstone/collision/options.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/detection/collision_model.hpp"
#include "touchstone/sim/detection/contact.hpp"
#include "touchstone/sim/detection/separations.hpp"

namespace touchstone {

struct RayHit {
  int shape = -1;  // in Model::shapes, -1: nothing was hit
  double distance = 0.0;
  Vec3 point, normal;  // world; the normal points out of the shape
};

struct CollisionCounts {
  int candidates = 0;  // pairs from the broad phase
  int apart = 0;       // of them those that are known to be apart still
  int tested = 0;      // pairs whose boxes, along their own axes too, overlap
  int touching = 0;    // pairs with contacts
  int limited = 0;     // pairs whose query ended without full accuracy
  // Pairs with a surface of which contacts were left out, as they were too many (collision_limits.hpp).
  int shortened = 0;
  int invalid = 0;  // pairs that could not be computed, such as for poses that are not finite
};

class CollisionDetector {
 public:
  explicit CollisionDetector(std::shared_ptr<const CollisionModel> shapes, const CollisionOptions& options = {});

  // Contacts for the poses in `data` (forward_kinematics). Valid until the next call.
  std::span<const Contact> detect(const Parameters& parameters, const Data& data);

  // The same, for a step of `h` seconds with the velocities in `data` (forward_velocity): whatever can touch within
  // the step is reported, at its distance now, so that nothing passes through anything however fast it is. A contact
  // beyond the margin is left out if the surfaces do not approach fast enough to meet in time.
  // The margin is larger by `extra`.
  // Trees that data.scope leaves out are where they were: what touches is found if one of the two is in the scope, or
  // is moved by the user (`mocap_moves`).
  std::span<const Contact> detect(const Parameters& parameters, const Data& data, double h, double extra = 0.0,
                                  bool mocap_moves = true);

  // As without a step, but only contacts of the bodies for which `chosen`, by body, is not zero.
  std::span<const Contact> detect_of(std::span<const char> chosen, const Parameters& parameters, const Data& data);

  std::span<const Contact> contacts() const { return contacts_; }
  // One more, from elsewhere, at its place in the order.
  void add(const Contact& contact);
  const CollisionCounts& counts() const { return counts_; }
  const CollisionModel& shapes() const { return *shapes_; }
  double margin() const { return options_.margin; }

  // Forgets everything about earlier calls: the next one gives what a new detector would.
  void reset();
  // What is outside of the scope may have moved since the last call.
  void place_again() { placed_ = false; }

  // The nearest shape on a ray, as of the last detect. `direction` may have any length. Shapes of `ignored_body` are
  // not seen.
  RayHit raycast(Vec3 origin, Vec3 direction, double max_distance = std::numeric_limits<double>::infinity(),
                 int ignored_body = -1) const;

 private:
  struct Sweep {
    Vec3 centre;            // world
    Vec3 displacement;      // of the centre in the step
    double rotation = 0.0;  // bound of how far rotation moves a point of the shape
  };
  // What is kept of a pair while its fat boxes overlap.
  struct PairState {
    PairCache cache;
    bool known = false;              // the rest is filled in
    double margin = 0.0, gap = 0.0;  // m, as in CollisionModel
    int contact_pair = -1;           // in Model::contact_pairs
  };

  void add_proxies();
  void begin_pairs();
  // The pairs of the call at hand, of chosen bodies if any are named.
  std::span<const Contact> collide_pairs(std::span<const char> chosen, const Parameters& parameters, const Data& data,
                                         double h);
  void list_active(const Scope& scope);
  void update_pose(int proxy, const Data& data, double h);
  void update_poses(const Data& data, double h, bool mocap_moves);
  void sweep_collider(int proxy, const Data& data, double h);
  void count_way(int proxy);
  PairState& state_of(const BroadPhase::Pair& pair);
  double own_box_gap(const BroadPhase::Pair& pair) const;
  void set_apart(const BroadPhase::Pair& pair, const PairState& state, double distance);
  void collide_pair(const BroadPhase::Pair& pair, const Parameters& parameters, const Data& data, double h);
  Mat3 frame_of(const Contact& contact, Vec3 normal) const;  // by the rule of the model
  QueryStatus query_pair(const Collider& a, const Collider& b, const BroadPhase::Pair& pair, double reach,
                         PairState& state);
  bool shorten();
  void add_contacts(const Manifold& manifold, const Contact& prototype, double reach, const Data& data, double h);

  std::shared_ptr<const CollisionModel> shapes_;
  CollisionOptions options_;
  double margin_ = 0.0;  // of the call at hand
  BroadPhase broad_;
  bool placed_ = false;             // the fixed proxies are where they belong
  std::vector<Pose> poses_;         // X_WS by collider
  std::vector<Pose> marks_;         // by collider: where its way was counted last
  std::vector<char> counted_;       // by collider: whether that is where it is
  std::vector<Sweep> sweeps_;       // by collider
  std::vector<char> moves_;         // by collider: in the scope of the call at hand
  std::vector<int> active_;         // colliders that may move in this scope, ascending
  std::vector<IndexRange> bodies_;  // of this scope
  std::vector<PairState> states_;   // by slot of the broad phase
  Separations separations_;         // of colliders, by their places in CollisionModel::colliders
  std::vector<Manifold> manifolds_;
  std::size_t visits_left_ = 0, contacts_left_ = 0;  // of CollisionLimits, in the call at hand
  CollisionWorkspace workspace_;
  std::vector<Contact> contacts_;
  CollisionCounts counts_;
};

}  // namespace touchstone

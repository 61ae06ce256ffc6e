#include "touchstone/sim/late_contacts.hpp"

#include <algorithm>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {
namespace {

CollisionOptions without_margin(CollisionOptions options) {
  options.margin = 0.0;
  return options;
}

// The feature of a late contact differs from that of the same points seen at the start, so that both can be there.
constexpr std::uint64_t kLate = 0x9e3779b97f4a7c15;

// Where a point that the body has taken to p was at the start.
Vec3 taken_back(const Data& start, const Data& end, int body, Vec3 p) {
  const Pose &X_0 = start.X_WB[at(body)], &X_1 = end.X_WB[at(body)];
  return X_0 * (transpose(X_1.R) * (p - X_1.p));
}

}  // namespace

LateContacts::LateContacts(const Model& model, std::shared_ptr<const CollisionModel> shapes,
                           const CollisionOptions& options, double slop)
    : detector_(std::move(shapes), without_margin(options)),
      tolerance_(std::max(0.5 * options.margin, slop)),
      reach_(at(model.nbody), -1.0),
      surprising_(at(model.nbody), 0),
      next_velocity_(at(model.nbody)) {
  for (const Collider& c : detector_.shapes().colliders()) {
    if (c.fixed || c.half_space) continue;
    double& reach = reach_[at(c.body)];
    reach = std::max(reach, norm(c.X_BS * c.centre) + c.radius);
  }
}

bool LateContacts::surprises(const Model& model, const VectorX& v, double time, Data& data) {
  std::swap(next_velocity_, data.velocity);  // that of bodies which never move is zero in both
  forward_velocity(model, v, data);
  std::swap(next_velocity_, data.velocity);
  bool any = false;
  std::fill(surprising_.begin(), surprising_.end(), 0);
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      const double reach = reach_[at(b)];
      const int tree = model.body_kernels[at(b)].tree;
      if (tree < 0 || reach < 0.0) continue;
      const Motion &now = data.velocity[at(b)], &next = next_velocity_[at(b)];
      const Vec3 spin = next.angular - now.angular;
      const Vec3 change = next.linear - now.linear + cross(spin, data.X_WB[at(b)].p - data.reference_point[at(tree)]);
      // A point that turns by an angle leaves its tangent by half of its square.
      const double turn = time * norm(next.angular);
      const double way = time * (norm(change) + reach * norm(spin)) + 0.5 * reach * turn * turn;
      surprising_[at(b)] = way > tolerance_ ? 1 : 0;  // a pair of others keeps what both have promised
      any = any || way > 2.0 * tolerance_;
    }
  }
  return any;
}

std::span<const Contact> LateContacts::find(const Parameters& parameters, const Data& start, const Data& end,
                                            std::span<const Contact> known) {
  found_.clear();
  for (const Contact& contact : detector_.detect_of(surprising_, parameters, end)) take(contact, start, end, known);
  return found_;
}

bool LateContacts::take(Contact contact, const Data& start, const Data& end, std::span<const Contact> known) {
  const Vec3 n = contact.normal(), half = 0.5 * contact.distance * n;
  const Vec3 a = taken_back(start, end, contact.body_a, contact.position - half);
  const Vec3 b = taken_back(start, end, contact.body_b, contact.position + half);
  const double before = dot(b - a, n), depth = contact.margin - contact.distance;
  if (!(depth > std::max(0.0, contact.margin - before) + tolerance_)) return false;
  contact.position = 0.5 * (a + b);
  contact.distance = before;
  contact.feature ^= kLate;
  const auto [first, last] = std::equal_range(known.begin(), known.end(), contact, by_shapes);
  if (std::any_of(first, last, [&](const Contact& c) { return c.feature == contact.feature; })) return false;
  found_.push_back(contact);
  return true;
}

}  // namespace touchstone

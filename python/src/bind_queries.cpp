// Collision queries between shapes, and rays.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "shape.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/collision/derivatives/collision_derivatives.hpp"

namespace touchstone::python {
namespace {

// Queries allocate nothing once their workspace is warm; one for each thread.
CollisionWorkspace& workspace() {
  thread_local CollisionWorkspace memory;
  return memory;
}

const char* name_of(QueryStatus status) {
  switch (status) {
    case QueryStatus::kConverged:
      return "converged";
    case QueryStatus::kLimited:
      return "limited";
    case QueryStatus::kUnbounded:
      return "unbounded";
    case QueryStatus::kInvalid:
      break;
  }
  return "invalid";
}

const char* name_of(RayStatus status) {
  switch (status) {
    case RayStatus::kHit:
      return "hit";
    case RayStatus::kInside:
      return "inside";
    case RayStatus::kMiss:
      return "miss";
    case RayStatus::kLimited:
      return "limited";
    case RayStatus::kInvalid:
      break;
  }
  return "invalid";
}

ContactResult signed_distance(const PyShape& a, const Transform& pose_a, const PyShape& b, const Transform& pose_b) {
  const CollisionShape& A = a.prepared();
  const CollisionShape& B = b.prepared();
  if (A.is_convex() && B.is_convex()) {
    return collide(A.pieces()[0], Pose(pose_a), B.pieces()[0], Pose(pose_b), workspace().query);
  }
  return distance(A, Pose(pose_a), B, Pose(pose_b), workspace());
}

// A point of contact between two shapes.
struct PointContact {
  Vector3 point_a, point_b, normal;
  double distance = 0.0;
};

std::vector<PointContact> contact_points(const PyShape& a, const Transform& pose_a, const PyShape& b,
                                         const Transform& pose_b, double margin) {
  std::vector<Manifold> manifolds;
  const QueryStatus status =
      collide(a.prepared(), Pose(pose_a), b.prepared(), Pose(pose_b), margin, workspace(), nullptr, manifolds);
  if (status == QueryStatus::kInvalid) throw Error("collide: a pose is not finite");
  std::vector<PointContact> points;
  for (const Manifold& manifold : manifolds) {
    for (const ManifoldPoint& point : manifold) {
      points.push_back({point.point_A.eigen(), point.point_B.eigen(), manifold.normal.eigen(), point.distance});
    }
  }
  return points;
}

bool overlap(const PyShape& a, const Transform& pose_a, const PyShape& b, const Transform& pose_b, double margin) {
  const OverlapStatus status = overlaps(a.prepared(), Pose(pose_a), b.prepared(), Pose(pose_b), margin, workspace());
  if (status == OverlapStatus::kInvalid) throw Error("overlaps: a pose is not finite");
  if (status == OverlapStatus::kUndecided) throw Error("overlaps: not decided within the iteration limit");
  return status == OverlapStatus::kOverlapping;
}

RayResult cast_ray(const PyShape& shape, const Transform& pose, const Numbers& origin, const Numbers& direction,
                   double max_distance) {
  RayOptions options;
  options.max_distance = max_distance;
  return raycast(shape.prepared(), Pose(pose), Vec3(origin.vector3("origin")), Vec3(direction.vector3("direction")),
                 options);
}

// --- derivatives ---

CollisionDerivatives derivatives_of(const PyShape& a, const Transform& pose_a, const PyShape& b,
                                    const Transform& pose_b, const std::string& method, double noise, int samples,
                                    int depth, std::uint64_t seed) {
  const CollisionShape& A = a.prepared();
  const CollisionShape& B = b.prepared();
  if (!A.is_convex() || !B.is_convex()) throw Error("distance_derivatives: both shapes must be convex");
  thread_local CollisionDifferentiator differentiate;
  const CollisionDerivativeOptions options{collision_gradient_named(method), noise, samples, depth, seed};
  return differentiate(A.pieces()[0], Pose(pose_a), B.pieces()[0], Pose(pose_b), options);
}

nb::list shape_derivatives(const CollisionDerivatives& d) {
  nb::list all;
  for (int k = 0; k < d.parameters; ++k) {
    const ShapeDerivative& p = d.by_shape[static_cast<std::size_t>(k)];
    nb::dict entry;
    entry["shape"] = p.of_B ? "b" : "a";
    const char* names[] = {"size", "margin", "vertex"};
    entry["kind"] = names[static_cast<int>(p.kind)];
    entry["index"] = p.index;
    entry["axis"] = p.axis;
    entry["distance"] = p.distance;
    entry["normal"] = copy(p.normal.eigen());
    entry["point_a"] = copy(p.point_A.eigen());
    entry["point_b"] = copy(p.point_B.eigen());
    all.append(entry);
  }
  return all;
}

void bind_distance_derivatives(nb::module_& m) {
  nb::class_<PoseDerivatives>(
      m, "PoseDerivatives",
      "By a motion of one shape: columns 0 to 2 translations along, 3 to 5 turns about the axes "
      "of the world, about the origin of the shape.")
      .def_prop_ro(
          "distance", [](const PoseDerivatives& d) { return copy(VectorX(d.distance.transpose())); }, "6.")
      .def_prop_ro(
          "normal", [](const PoseDerivatives& d) { return copy_matrix(MatrixX(d.normal)); }, "3 x 6.")
      .def_prop_ro(
          "point_a", [](const PoseDerivatives& d) { return copy_matrix(MatrixX(d.point_A)); }, "3 x 6.")
      .def_prop_ro(
          "point_b", [](const PoseDerivatives& d) { return copy_matrix(MatrixX(d.point_B)); }, "3 x 6.")
      .def_prop_ro(
          "turn", [](const PoseDerivatives& d) { return copy_matrix(MatrixX(d.turn)); },
          "3 x 6: angular rates of the contact frame.");
  nb::class_<CollisionDerivatives>(m, "DistanceDerivatives", "The answer of `distance_derivatives`.")
      .def_prop_ro(
          "contact", [](const CollisionDerivatives& d) { return d.contact; }, "Distance, normal and points.")
      .def_ro("valid", &CollisionDerivatives::valid, "False: there is no normal, or it has no derivative.")
      .def_ro("unique", &CollisionDerivatives::unique,
              "False: one-sided, a face on a face or an edge, or parallel edges.")
      .def_ro("by_a", &CollisionDerivatives::by_A)
      .def_ro("by_b", &CollisionDerivatives::by_B)
      .def_prop_ro(
          "by_shape", &shape_derivatives,
          "By sizes, margins and the vertices that touch: a list of dicts with shape ('a', 'b'), kind ('size', "
          "'margin', 'vertex'), index, axis, and the derivatives distance, normal, point_a, point_b.");
  m.def("distance_derivatives", &derivatives_of, nb::arg("a"), nb::arg("pose_a"), nb::arg("b"), nb::arg("pose_b"),
        nb::kw_only(), nb::arg("method") = "exact", nb::arg("noise") = 1e-2, nb::arg("samples") = 50,
        nb::arg("depth") = 1, nb::arg("seed") = 1,
        "How `distance` of two convex shapes changes with their poses and sizes. method: 'exact', or smoothed: "
        "'zeroth-order' (noise on the pose, m and rad), 'gaussian' (on the normal, rad), 'gumbel' (on heights of "
        "corners, m, of those within `depth` edges).");
}

}  // namespace

void bind_queries(nb::module_& m) {
  bind_distance_derivatives(m);
  nb::class_<ContactResult>(m, "Distance", "The answer of `distance`.")
      .def_ro("distance", &ContactResult::distance, "m; negative: depth of penetration.")
      .def_prop_ro(
          "normal", [](const ContactResult& r) { return copy(r.normal.eigen()); }, "Unit, from A to B, world.")
      .def_prop_ro(
          "point_a", [](const ContactResult& r) { return copy(r.point_A.eigen()); }, "On A, world, m.")
      .def_prop_ro(
          "point_b", [](const ContactResult& r) { return copy(r.point_B.eigen()); }, "On B, world, m.")
      .def_prop_ro(
          "status", [](const ContactResult& r) { return std::string(name_of(r.status)); },
          "'converged', 'limited' (near the best), 'unbounded' or 'invalid'.")
      .def("__float__", [](const ContactResult& r) { return r.distance; })
      .def("__repr__", [](const ContactResult& r) {
        return fmt::format("<Distance {:.9g} m, normal [{:.4g}, {:.4g}, {:.4g}], {}>", r.distance, r.normal.x(),
                           r.normal.y(), r.normal.z(), name_of(r.status));
      });
  nb::class_<PointContact>(m, "PointContact", "One point of a contact between two shapes.")
      .def_ro("distance", &PointContact::distance, "m, along the normal; negative: penetration.")
      .def_prop_ro(
          "normal", [](const PointContact& c) { return copy(c.normal); }, "Unit, from A to B, world.")
      .def_prop_ro(
          "point_a", [](const PointContact& c) { return copy(c.point_a); }, "On A, world, m.")
      .def_prop_ro(
          "point_b", [](const PointContact& c) { return copy(c.point_b); }, "On B, world, m.")
      .def("__repr__", [](const PointContact& c) {
        return fmt::format("<PointContact {:.6g} m at [{:.4g}, {:.4g}, {:.4g}]>", c.distance, c.point_a.x(),
                           c.point_a.y(), c.point_a.z());
      });
  nb::class_<RayResult>(m, "RayHit", "The answer of a ray.")
      .def_prop_ro("hit",
                   [](const RayResult& r) { return r.status == RayStatus::kHit || r.status == RayStatus::kInside; })
      .def_ro("distance", &RayResult::distance, "From the origin, m.")
      .def_prop_ro(
          "point", [](const RayResult& r) { return copy(r.point.eigen()); }, "World, m.")
      .def_prop_ro(
          "normal", [](const RayResult& r) { return copy(r.normal.eigen()); }, "Unit, out of the shape.")
      .def_prop_ro(
          "status", [](const RayResult& r) { return std::string(name_of(r.status)); },
          "'hit', 'inside' (the ray starts in the shape), 'miss', 'limited' or 'invalid'.")
      .def("__repr__",
           [](const RayResult& r) { return fmt::format("<RayHit {} at {:.9g} m>", name_of(r.status), r.distance); });

  const Transform identity;
  m.def(
      "distance", &signed_distance, nb::arg("a"), nb::arg("pose_a"), nb::arg("b"), nb::arg("pose_b"),
      "The signed distance of two shapes with normal and nearest points. Negative when convex shapes overlap; surfaces "
      "of triangles and shapes of several pieces give 0 or less then, without a depth.");
  m.def("collide", &contact_points, nb::arg("a"), nb::arg("pose_a"), nb::arg("b"), nb::arg("pose_b"),
        nb::arg("margin") = 0.0,
        "The points of contact: up to four for each pair of convex pieces that are no farther apart than margin (m).");
  m.def("overlaps", &overlap, nb::arg("a"), nb::arg("pose_a"), nb::arg("b"), nb::arg("pose_b"), nb::arg("margin") = 0.0,
        "Whether the shapes are at most margin (m) apart.");
  m.def("raycast", &cast_ray, nb::arg("shape"), nb::arg("pose"), nb::arg("origin"), nb::arg("direction"),
        nb::arg("max_distance") = std::numeric_limits<double>::infinity(),
        "The first point of a ray (origin and direction in world axes, m) on a shape.");
}

}  // namespace touchstone::python

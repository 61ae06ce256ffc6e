#include "touchstone/sim/pair_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/convex.hpp"
#include "touchstone/gpu/convex_manifold.hpp"
#include "touchstone/gpu/world_parameters.hpp"
#include "touchstone/sim/array_parts.hpp"
#include "touchstone/sim/detection/material.hpp"

namespace touchstone {
namespace {

constexpr double kImmovable = 1e-9;  // see sim/constraints/contact.cpp

// The radius of a ball around the origin of a shape.
double ball_radius(const Shape& shape) {
  const double known = gpu::ball_radius(backend_shape(shape.type), shape.size.data());
  if (known >= 0.0) return known;
  double radius = 0.0;
  if (shape.type == ShapeType::kMesh) {
    for (const Vector3& v : shape.mesh->vertices) radius = std::max(radius, v.norm());
  }
  if (shape.type == ShapeType::kHeightField) {
    const HeightField& field = *shape.height_field;
    radius = field.base;
    for (const double value : field.values) radius = std::max(radius, std::abs(field.elevation * value));
    radius = Vector3(field.radius_x, field.radius_y, radius).norm();
  }
  return radius;
}

int most_points(int kind_a, int kind_b) {
  if (gpu::is_iterated(kind_a, kind_b)) return 4;
  if (kind_a > kind_b) std::swap(kind_a, kind_b);
  const bool flat = kind_a == gpu::kPlaneShape;
  if (kind_b == gpu::kBoxShape) return kind_a == gpu::kSphereShape ? 1 : (kind_a == gpu::kCapsuleShape ? 2 : 4);
  return kind_b == gpu::kCapsuleShape && (flat || kind_a == gpu::kCapsuleShape) ? 2 : 1;
}

// What a free joint at the root of a body's tree alone lets a point of it move, by the reference weights; 0 without
// one.
double free_mobility(const Model& model, const ReferenceWeights& weights, int body) {
  const int tree = model.body_kernels[at(body)].tree;
  if (tree < 0 || model.body_last_dof[at(body)] < 0) return 0.0;
  const int dof = model.row_dof[at(model.row_start[at(model.body_last_dof[at(body)])])];  // the first on its path
  return model.joints[at(model.dof_joint[at(dof)])].type == JointType::kFree ? weights.dof[dof] : 0.0;
}

void append(const std::vector<int>& from, int offset, std::vector<int>& to) {
  for (const int x : from) to.push_back(x + offset);
}

// Adds a hull, with indices into the arrays of all hulls where those are meant.
void fill_hull(const Polytope& hull, gpu::ModelArrays& a) {
  const int vertices = static_cast<int>(hull.vertices.size()), faces = static_cast<int>(hull.face_normals.size());
  if (a.hull_start.empty()) {
    for (std::vector<int>* start :
         {&a.hull_start, &a.hull_edge_start, &a.hull_face_start, &a.hull_loop_start, &a.hull_vertex_face_start})
      start->push_back(0);
  }
  const int first_face = a.hull_face_start.back(), first_edge = static_cast<int>(a.hull_edge.size()),
            first_loop = static_cast<int>(a.hull_loop.size()), first_at = static_cast<int>(a.hull_vertex_face.size());
  for (const Vec3& v : hull.vertices) push(a.hull_vertex, v.eigen());
  for (const Vec3& n : hull.face_normals) push(a.hull_face_normal, n.eigen());
  for (int v = 1; v <= vertices; ++v) {
    a.hull_edge_start.push_back(first_edge + (hull.neighbours.empty() ? 0 : hull.first_neighbour[at(v)]));
    a.hull_vertex_face_start.push_back(first_at + hull.first_vertex_face[at(v)]);
  }
  for (int f = 1; f <= faces; ++f) a.hull_loop_start.push_back(first_loop + hull.first_face_vertex[at(f)]);
  append(hull.neighbours, 0, a.hull_edge);
  append(hull.face_vertices, 0, a.hull_loop);
  append(hull.vertex_faces, first_face, a.hull_vertex_face);
  a.hull_start.push_back(a.hull_start.back() + vertices);
  a.hull_face_start.push_back(first_face + faces);
}

void fill_field(const HeightField& field, gpu::ModelArrays& a) {
  a.field_grid.insert(a.field_grid.end(), {field.rows, field.columns, static_cast<int>(a.field_height.size())});
  double lowest = -field.base, highest = -std::numeric_limits<double>::infinity();
  for (const double value : field.values) {
    const double height = field.elevation * value;
    a.field_height.push_back(height);
    lowest = std::min(lowest, height);
    highest = std::max(highest, height);
  }
  a.field_size.insert(a.field_size.end(), {field.radius_x, field.radius_y, lowest, highest});
  ++a.sizes.fields;
}

bool is_cone(const ContactMaterial& material) {
  return material.dimension > 3 || (material.dimension == 3 && material.friction[0] != material.friction[1]);
}

// Rows of rotation are measured in lengths of the smaller body that moves (sim/constraints/kind.cpp).
void fill_cone(const Model& model, const ReferenceWeights& weights, const BackendPair& pair, gpu::ModelArrays& a) {
  const int body_a = model.shapes[at(pair.shape_a)].body, body_b = model.shapes[at(pair.shape_b)].body;
  const auto& mu = pair.material.friction;
  a.pair_cone.push_back(mu[1] == mu[0] ? 1.0 : mu[1] / mu[0]);
  a.pair_cone.insert(a.pair_cone.end(), mu.begin() + 2, mu.end());
  a.pair_cone.push_back(rotation_length(model, weights, body_a, body_b));
}

}  // namespace

double rotation_length(const Model& model, const ReferenceWeights& weights, int a, int b) {
  const bool moves_a = model.body_last_dof[at(a)] >= 0, moves_b = model.body_last_dof[at(b)] >= 0;
  const double of_a = weights.body_length[at(a)], of_b = weights.body_length[at(b)];
  if (moves_a && moves_b) return std::min(of_a, of_b);
  return moves_a ? of_a : of_b;
}

void fill_pairs(const Model& model, const std::vector<BackendPair>& pairs, const ReferenceWeights& weights,
                gpu::ModelArrays& a) {
  std::vector<int> index(at(model.nshape), -1);
  std::map<const TriangleMesh*, int> hulls;  // shapes of one mesh share it
  const auto hull_of = [&](const Shape& shape) {
    const auto [place, is_new] = hulls.try_emplace(shape.mesh.get(), static_cast<int>(hulls.size()));
    if (is_new) fill_hull(*ConvexShape::make(shape).polytope(), a);
    return place->second;
  };
  std::map<const HeightField*, int> fields;
  const auto field_of = [&](const Shape& shape) {
    const auto [place, is_new] = fields.try_emplace(shape.height_field.get(), a.sizes.fields);
    if (is_new) fill_field(*shape.height_field, a);
    return place->second;
  };
  const auto shape_of = [&](int element) {
    int& known = index[at(element)];
    if (known >= 0) return known;
    const ShapeElement& shape = model.shapes[at(element)];
    known = a.sizes.shapes++;
    a.shape_type.push_back(backend_shape(shape.shape.type));
    a.shape_body.push_back(shape.body);
    a.shape_element.push_back(element);
    push(a.shape_pose, shape.pose);
    push(a.shape_size, shape.shape.size);
    a.shape_radius.push_back(ball_radius(shape.shape));
    a.shape_hull.push_back(shape.shape.type == ShapeType::kMesh ? hull_of(shape.shape) : -1);
    a.shape_field.push_back(shape.shape.type == ShapeType::kHeightField ? field_of(shape.shape) : -1);
    return known;
  };
  const auto mobility = [&](int element) {
    const int body = model.shapes[at(element)].body;
    const double length = weights.body_length[at(body)];
    return weights.body[at(body)][0] + length * length * weights.body[at(body)][1];
  };
  const bool cones = std::any_of(pairs.begin(), pairs.end(), [](const BackendPair& p) { return is_cone(p.material); });
  a.sizes.cones = cones ? 1 : 0;
  for (const BackendPair& pair : pairs) {
    a.pair_a.push_back(shape_of(pair.shape_a));
    a.pair_b.push_back(shape_of(pair.shape_b));
    a.pair_dimension.push_back(pair.material.dimension);
    a.pair_friction.push_back(pair.material.friction[0]);
    if (cones) fill_cone(model, weights, pair, a);
    a.sizes.contact_rows = std::max(a.sizes.contact_rows, pair.material.dimension);
    a.pair_restitution.push_back(pair.material.restitution);
    a.pair_margin.push_back(pair.margin);
    a.pair_gap.push_back(pair.gap);
    a.pair_mobility.push_back(kImmovable * (mobility(pair.shape_a) + mobility(pair.shape_b)));
    const int body_a = model.shapes[at(pair.shape_a)].body, body_b = model.shapes[at(pair.shape_b)].body;
    const bool one_tree = model.body_kernels[at(body_a)].tree == model.body_kernels[at(body_b)].tree;
    const double free = std::max(free_mobility(model, weights, body_a), free_mobility(model, weights, body_b));
    a.pair_may_lock.push_back(one_tree || free < a.pair_mobility.back() ? 1 : 0);
    if (gpu::is_iterated(a.shape_type[at(a.pair_a.back())], a.shape_type[at(a.pair_b.back())])) ++a.sizes.iterated;
    a.sizes.pair_points += most_points(a.shape_type[at(a.pair_a.back())], a.shape_type[at(a.pair_b.back())]);
  }
  a.sizes.pairs = static_cast<int>(pairs.size());
}

}  // namespace touchstone

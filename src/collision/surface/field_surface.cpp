#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"
#include "touchstone/collision/surface/triangle_surface.hpp"

namespace touchstone {
namespace {

void check(const HeightField& field) {
  if (field.rows < 2 || field.columns < 2) {
    throw Error("height field '{}' has {} rows and {} columns; it needs at least 2 of each", field.name, field.rows,
                field.columns);
  }
  if (field.values.size() != at(field.rows) * at(field.columns)) {
    throw Error("height field '{}' has {} values for {} rows and {} columns", field.name, field.values.size(),
                field.rows, field.columns);
  }
  const auto require = [&](double value, bool ok, const char* what) {
    if (!ok || !std::isfinite(value)) throw Error("height field '{}' has {} {}", field.name, what, value);
  };
  require(field.radius_x, field.radius_x > 0.0, "a radius that is not positive:");
  require(field.radius_y, field.radius_y > 0.0, "a radius that is not positive:");
  const double narrowest = std::min(field.radius_x / (field.columns - 1), field.radius_y / (field.rows - 1));
  require(2.0 * narrowest, 2.0 * narrowest >= kShortest, "cells too narrow to have normals:");
  require(field.elevation, field.elevation >= 0.0, "a negative elevation:");
  require(field.base, field.base >= 0.0, "a negative base:");
  for (const double value : field.values) require(value, true, "a value that is not finite:");
}

// Nothing is stored but the field: triangles are made when asked for.
class FieldSurface final : public TriangleSurface {
 public:
  explicit FieldSurface(std::shared_ptr<const HeightField> field) : field_(std::move(field)) {
    check(*field_);
    columns_ = field_->columns;
    rows_ = field_->rows;
    step_x_ = 2.0 * field_->radius_x / (columns_ - 1);
    step_y_ = 2.0 * field_->radius_y / (rows_ - 1);
    for (const double value : field_->values) {
      lowest_ = std::min(lowest_, field_->elevation * value);
      highest_ = std::max(highest_, field_->elevation * value);
    }
  }

  Bounds bounds() const override {
    return {Vector3(-field_->radius_x, -field_->radius_y, std::min(lowest_, -field_->base)),
            Vector3(field_->radius_x, field_->radius_y, highest_)};
  }
  int triangle_count() const override { return 2 * (rows_ - 1) * (columns_ - 1); }
  int vertex_count() const override { return rows_ * columns_; }
  Vec3 vertex(int name) const override { return vertex(name / columns_, name % columns_); }

  SurfaceTriangle triangle(int index) const override {
    const int cell = index / 2, row = cell / (columns_ - 1), column = cell % (columns_ - 1);
    const bool upper = index % 2 != 0;
    SurfaceTriangle t;
    t.index = index;
    corners(row, column, upper, t.names);
    for (int k = 0; k < 3; ++k) t.vertices[k] = vertex(t.names[k]);
    t.normal = normal(row, column, upper);
    // The lower triangle has the edges -y, +x, diagonal; the upper one diagonal, +y, -x.
    const int lower_step[3][2] = {{-1, 0}, {0, 1}, {0, 0}}, upper_step[3][2] = {{0, 0}, {1, 0}, {0, -1}};
    for (int k = 0; k < 3; ++k) {
      const int r = row + (upper ? upper_step : lower_step)[k][0], c = column + (upper ? upper_step : lower_step)[k][1];
      const bool inside = r >= 0 && c >= 0 && r < rows_ - 1 && c < columns_ - 1;
      t.across[k] = inside ? normal(r, c, !upper) : Vec3(c - column, r - row, 0.0);  // the wall at the border
      t.edges[k] = surface::edge_kind(t.normal, t.across[k], t.vertices[(k + 1) % 3] - t.vertices[k]);
    }
    return t;
  }

  bool is_inner(int name) const override {
    const int row = std::min(name / columns_, rows_ - 2), column = std::min(name % columns_, columns_ - 2);
    const Vec3 n = normal(row, column, false);
    return around(name, [&](Vec3 e) { return std::abs(dot(n, e)) <= kFlatEdge * norm(e); });
  }

  bool vertex_allows(int name, Vec3 n) const override {
    constexpr double kRoom = 1e-6;
    return around(name, [&](Vec3 e) {
      const double rise = dot(n, e);
      return !(rise > 0.0 && rise > kRoom * norm(e));
    });
  }

  void overlapping(const Bounds& box, std::vector<int>& triangles) const override {
    if (box.lower.z() > highest_ || !touches_grid(box)) return;
    const int c0 = cell_of(box.lower.x() + field_->radius_x, step_x_, columns_);
    const int c1 = cell_of(box.upper.x() + field_->radius_x, step_x_, columns_);
    const int r0 = cell_of(box.lower.y() + field_->radius_y, step_y_, rows_);
    const int r1 = cell_of(box.upper.y() + field_->radius_y, step_y_, rows_);
    for (int r = r0; r <= r1; ++r) {
      for (int c = c0; c <= c1; ++c) {
        if (cell_top(r, c) < box.lower.z()) continue;
        triangles.push_back(2 * (r * (columns_ - 1) + c));
        triangles.push_back(triangles.back() + 1);
      }
    }
  }

  void vertices_below(Vec3 normal, double offset, std::vector<int>& names) const override {
    for (int v = 0; v < vertex_count(); ++v) {
      if (dot(normal, vertex(v)) <= offset) names.push_back(v);
    }
  }

  int triangle_above(Vec3 point) const override {
    const double x = point.x() + field_->radius_x, y = point.y() + field_->radius_y;
    if (!(x >= 0.0 && x <= 2.0 * field_->radius_x && y >= 0.0 && y <= 2.0 * field_->radius_y)) return -1;
    const int c = cell_of(x, step_x_, columns_), r = cell_of(y, step_y_, rows_);
    const bool upper = (y - r * step_y_) * step_x_ > (x - c * step_x_) * step_y_;
    const int index = 2 * (r * (columns_ - 1) + c) + (upper ? 1 : 0);
    const SurfaceTriangle t = triangle(index);
    const bool below = dot(t.normal, point - t.vertices[0]) < 0.0 && point.z() > bounds().lower.z();
    return below ? index : -1;
  }

  // Walks over the cells under the ray (Amanatides, Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing", 1987).
  RayResult raycast(Vec3 origin, Vec3 direction, double limit) const override {
    RayResult result;
    result.status = RayStatus::kMiss;
    const double low[2] = {-field_->radius_x, -field_->radius_y}, step[2] = {step_x_, step_y_};
    const int count[2] = {columns_ - 1, rows_ - 1};
    double enter = 0.0, leave = limit;
    for (int k = 0; k < 2; ++k) {
      if (direction[k] == 0.0) {
        if (origin[k] < low[k] || origin[k] > -low[k]) return result;
        continue;
      }
      const double a = (low[k] - origin[k]) / direction[k], b = (-low[k] - origin[k]) / direction[k];
      enter = std::max(enter, std::min(a, b));
      leave = std::min(leave, std::max(a, b));
    }
    if (!(enter <= leave)) return result;
    int cell[2];
    double next[2];
    for (int k = 0; k < 2; ++k) {
      cell[k] = cell_of(origin[k] + enter * direction[k] - low[k], step[k], count[k] + 1);
      const double wall = low[k] + step[k] * (cell[k] + (direction[k] > 0.0 ? 1 : 0));
      next[k] = direction[k] != 0.0 ? (wall - origin[k]) / direction[k] : std::numeric_limits<double>::infinity();
    }
    while (cell[0] >= 0 && cell[1] >= 0 && cell[0] < count[0] && cell[1] < count[1]) {
      for (const bool upper : {false, true}) {
        int names[3];
        corners(cell[1], cell[0], upper, names);
        const Vec3 v[3] = {vertex(names[0]), vertex(names[1]), vertex(names[2])};
        surface::hit_triangle(origin, direction, v, limit, result);
      }
      const int k = next[0] <= next[1] ? 0 : 1;
      if (result.status == RayStatus::kHit || !(next[k] <= leave)) break;
      cell[k] += direction[k] > 0.0 ? 1 : -1;
      next[k] += step[k] / std::abs(direction[k]);
    }
    return result;
  }

 private:
  double height(int row, int column) const {
    return field_->elevation * field_->values[at(row) * at(columns_) + at(column)];
  }
  Vec3 vertex(int row, int column) const {
    return {-field_->radius_x + step_x_ * column, -field_->radius_y + step_y_ * row, height(row, column)};
  }

  void corners(int row, int column, bool upper, int* names) const {
    const int first = row * columns_ + column, across = first + columns_ + 1;
    names[0] = first;
    names[1] = upper ? across : first + 1;
    names[2] = upper ? across - 1 : across;
  }

  Vec3 normal(int row, int column, bool upper) const {
    int names[3];
    corners(row, column, upper, names);
    const Vec3 a = vertex(names[0]), n = cross(vertex(names[1]) - a, vertex(names[2]) - a);
    return n * (1.0 / norm(n));
  }

  static int cell_of(double offset, double step, int points) {
    const double cell = std::floor(offset / step);
    if (!(cell > 0.0)) return 0;  // also for NaN
    return cell < points - 2 ? static_cast<int>(cell) : points - 2;
  }

  bool touches_grid(const Bounds& box) const {
    return box.lower.x() <= field_->radius_x && box.upper.x() >= -field_->radius_x &&
           box.lower.y() <= field_->radius_y && box.upper.y() >= -field_->radius_y;
  }

  double cell_top(int row, int column) const {
    return std::max(std::max(height(row, column), height(row, column + 1)),
                    std::max(height(row + 1, column), height(row + 1, column + 1)));
  }

  // Calls test(edge) for the edges at a vertex, down the wall at the border; false when one fails.
  template <typename Test>
  bool around(int name, const Test& test) const {
    const int row = name / columns_, column = name % columns_;
    const int steps[6][2] = {{0, 1}, {1, 1}, {1, 0}, {0, -1}, {-1, -1}, {-1, 0}};
    bool at_border = false;
    for (const auto& step : steps) {
      const int r = row + step[0], c = column + step[1];
      if (r < 0 || c < 0 || r >= rows_ || c >= columns_) {
        at_border = true;
      } else if (!test(vertex(r, c) - vertex(name))) {
        return false;
      }
    }
    return !at_border || test(Vec3(0, 0, -1));
  }

  std::shared_ptr<const HeightField> field_;
  int columns_ = 0, rows_ = 0;
  double step_x_ = 0.0, step_y_ = 0.0;
  double lowest_ = std::numeric_limits<double>::infinity(), highest_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<const TriangleSurface> make_field_surface(std::shared_ptr<const HeightField> field) {
  if (!field) throw Error("a height field shape has no data; set Shape::height_field");
  return std::make_unique<FieldSurface>(std::move(field));
}

}  // namespace touchstone

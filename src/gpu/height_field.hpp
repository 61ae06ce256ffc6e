// A height field as a surface of triangles, which are made when asked for: as collision/surface/field_surface. Two for
// each cell, split along the diagonal from the corner of least x and y; solid below, with vertical walls at the border
// that give normals to border edges but are no faces.
#pragma once

#include "touchstone/gpu/algebra.hpp"
#include "touchstone/gpu/model_arrays.hpp"

namespace touchstone::gpu {

// How two faces meet. Only ridges have normals of their own: those between the normals of the two faces.
enum FieldEdge { kFlatEdge, kValleyEdge, kRidgeEdge };

constexpr double kFlatFold = 1e-4;  // sine of the angle between normals below which an edge is flat

struct FieldTriangle {
  Vec corner[3], normal, across[3];  // normals of the neighbours across the edges
  int name[3];                       // of the corners in the field
  FieldEdge edge[3];                 // k: from corner k to the next

  TOUCHSTONE_LANE bool is_flat() const { return edge[0] == kFlatEdge && edge[1] == kFlatEdge && edge[2] == kFlatEdge; }
  TOUCHSTONE_LANE bool has_ridge() const {
    return edge[0] == kRidgeEdge || edge[1] == kRidgeEdge || edge[2] == kRidgeEdge;
  }
};

TOUCHSTONE_LANE FieldEdge edge_between(Vec normal, Vec across, Vec e) {
  const Vec turn = cross(normal, across);
  if (length(turn) <= kFlatFold && dot(normal, across) > 0.0) return kFlatEdge;
  return dot(turn, e) < 0.0 ? kValleyEdge : kRidgeEdge;
}

// Cells of the grid, ends included.
struct CellRange {
  int row, last_row, column, last_column;

  TOUCHSTONE_LANE int columns() const { return last_column - column + 1; }
  TOUCHSTONE_LANE int cells() const { return (last_row - row + 1) * columns(); }
};

struct HeightFieldView {
  int rows, columns;
  double radius_x, radius_y, lowest, highest, step_x, step_y;
  const double* heights;

  TOUCHSTONE_LANE double height(int row, int column) const { return heights[row * columns + column]; }
  TOUCHSTONE_LANE Vec vertex(int row, int column) const {
    return {-radius_x + step_x * column, -radius_y + step_y * row, height(row, column)};
  }
  TOUCHSTONE_LANE Vec vertex(int name) const { return vertex(name / columns, name % columns); }

  TOUCHSTONE_LANE void corners(int row, int column, bool upper, int* names) const {
    const int first = row * columns + column, across = first + columns + 1;
    names[0] = first;
    names[1] = upper ? across : first + 1;
    names[2] = upper ? across - 1 : across;
  }
  TOUCHSTONE_LANE Vec normal(int row, int column, bool upper) const {
    int names[3];
    corners(row, column, upper, names);
    const Vec a = vertex(names[0]), n = cross(vertex(names[1]) - a, vertex(names[2]) - a);
    return (1.0 / length(n)) * n;
  }

  TOUCHSTONE_LANE void triangle(int row, int column, bool upper, FieldTriangle& t) const {
    corners(row, column, upper, t.name);
    for (int k = 0; k < 3; ++k) t.corner[k] = vertex(t.name[k]);
    t.normal = normal(row, column, upper);
    for (int k = 0; k < 3; ++k) {
      // The lower triangle has the edges -y, +x, diagonal; the upper one diagonal, +y, -x.
      const int r = row + (upper ? (k == 1 ? 1 : 0) : (k == 0 ? -1 : 0));
      const int c = column + (upper ? (k == 2 ? -1 : 0) : (k == 1 ? 1 : 0));
      const bool inside = r >= 0 && c >= 0 && r < rows - 1 && c < columns - 1;
      t.across[k] =
          inside ? normal(r, c, !upper) : Vec{static_cast<double>(c - column), static_cast<double>(r - row), 0.0};
      t.edge[k] = edge_between(t.normal, t.across[k], t.corner[(k + 1) % 3] - t.corner[k]);
    }
  }

  // Calls test(edge) for the edges at a vertex, down the wall at the border; false when one fails.
  template <typename Test>
  TOUCHSTONE_LANE bool around(int name, const Test& test) const {
    const int row = name / columns, column = name % columns;
    bool at_border = false;
    for (int k = 0; k < 6; ++k) {
      const int turn = k % 3, sign = k < 3 ? 1 : -1;  // +x, diagonal, +y, and the opposite ones
      const int r = row + sign * (turn > 0 ? 1 : 0), c = column + sign * (turn < 2 ? 1 : 0);
      if (r < 0 || c < 0 || r >= rows || c >= columns) {
        at_border = true;
      } else if (!test(vertex(r, c) - vertex(name))) {
        return false;
      }
    }
    return !at_border || test(Vec{0, 0, -1});
  }
  // Whether all faces around a vertex lie in one plane.
  TOUCHSTONE_LANE bool is_inner(int name) const {
    const int row = name / columns, column = name % columns;
    const Vec n = normal(row < rows - 2 ? row : rows - 2, column < columns - 2 ? column : columns - 2, false);
    return around(name, [&](Vec e) { return fabs(dot(n, e)) <= kFlatFold * length(e); });
  }
  // Whether n lies in the cone of normals of a vertex: it falls along all edges there.
  TOUCHSTONE_LANE bool vertex_allows(int name, Vec n) const {
    constexpr double kRoom = 1e-6;
    return around(name, [&](Vec e) {
      const double rise = dot(n, e);
      return !(rise > 0.0 && rise > kRoom * length(e));
    });
  }

  TOUCHSTONE_LANE static int cell_of(double offset, double step, int points) {
    const double cell = floor(offset / step);
    if (!(cell > 0.0)) return 0;  // also for NaN
    return cell < points - 2 ? static_cast<int>(cell) : points - 2;
  }
  // The cells under a box; none (false) if it is beside or above.
  TOUCHSTONE_LANE bool cells_under(Vec lower, Vec upper, CellRange& range) const {
    if (lower.z > highest ||
        !(lower.x <= radius_x && upper.x >= -radius_x && lower.y <= radius_y && upper.y >= -radius_y))
      return false;
    range.column = cell_of(lower.x + radius_x, step_x, columns);
    range.last_column = cell_of(upper.x + radius_x, step_x, columns);
    range.row = cell_of(lower.y + radius_y, step_y, rows);
    range.last_row = cell_of(upper.y + radius_y, step_y, rows);
    return true;
  }
  TOUCHSTONE_LANE double cell_top(int row, int column) const {
    return most(most(height(row, column), height(row, column + 1)),
                most(height(row + 1, column), height(row + 1, column + 1)));
  }
  // The triangle over a point under the surface; false for a point that is not.
  TOUCHSTONE_LANE bool triangle_above(Vec point, FieldTriangle& t) const {
    const double x = point.x + radius_x, y = point.y + radius_y;
    if (!(x >= 0.0 && x <= 2.0 * radius_x && y >= 0.0 && y <= 2.0 * radius_y)) return false;
    const int c = cell_of(x, step_x, columns), r = cell_of(y, step_y, rows);
    triangle(r, c, (y - r * step_y) * step_x > (x - c * step_x) * step_y, t);
    return dot(t.normal, point - t.corner[0]) < 0.0 && point.z > lowest;
  }
};

TOUCHSTONE_LANE HeightFieldView field_of(const ModelView& m, int field) {
  const int* grid = m.field_grid + kFieldInts * field;
  const double* size = m.field_size + kFieldNumbers * field;
  return {grid[0],
          grid[1],
          size[0],
          size[1],
          size[2],
          size[3],
          2.0 * size[0] / (grid[1] - 1),
          2.0 * size[1] / (grid[0] - 1),
          m.field_height + grid[2]};
}

}  // namespace touchstone::gpu

// Shapes: made in code, for models and for queries.
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "shape.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/io/mesh_file.hpp"

namespace touchstone::python {
namespace {

PyShape primitive(ShapeType type, const Vector3& size) {
  for (int i = 0; i < 3; ++i) {
    if (!std::isfinite(size[i]) || size[i] < 0.0) {
      throw Error("{} with a size of {}; give lengths in metres", to_string(type), size[i]);
    }
  }
  Shape shape;
  shape.type = type;
  shape.size = size;
  return PyShape(std::move(shape));
}

MeshCollision mesh_collision(const std::string& name) {
  if (name == "hull") return MeshCollision::kHull;
  if (name == "triangles") return MeshCollision::kTriangles;
  throw Error("collision is '{}'; give 'hull' or 'triangles'", name);
}

std::shared_ptr<TriangleMesh> mesh_of(const Numbers& vertices, const char* name) {
  auto mesh = std::make_shared<TriangleMesh>();
  const MatrixX v = vertices.matrix(name);
  require_size(name, v.cols(), 3);
  for (Eigen::Index i = 0; i < v.rows(); ++i) mesh->vertices.push_back(v.row(i).transpose());
  return mesh;
}

void add_triangles(TriangleMesh& mesh, const Numbers& triangles) {
  const MatrixX t = triangles.matrix("triangles");
  require_size("triangles", t.cols(), 3);
  const auto count = static_cast<double>(mesh.vertices.size());
  for (Eigen::Index i = 0; i < t.rows(); ++i) {
    for (int k = 0; k < 3; ++k) {
      if (!(t(i, k) >= 0.0 && t(i, k) < count) || t(i, k) != std::floor(t(i, k))) {
        throw Error("triangle {} refers to vertex {}; there are {}", i, t(i, k), mesh.vertices.size());
      }
    }
    mesh.triangles.push_back(t.row(i).transpose().cast<int>());
  }
}

PyShape mesh(const Numbers& vertices, const std::optional<Numbers>& triangles, const std::string& collision,
             const std::optional<std::vector<Numbers>>& pieces) {
  const std::shared_ptr<TriangleMesh> data = mesh_of(vertices, "vertices");
  if (triangles) add_triangles(*data, *triangles);
  Shape shape;
  shape.type = ShapeType::kMesh;
  shape.mesh = data;
  shape.mesh_collision = mesh_collision(collision);
  if (pieces) {
    shape.mesh_collision = MeshCollision::kPieces;
    for (const Numbers& piece : *pieces) shape.pieces.push_back(mesh_of(piece, "a piece"));
  }
  return PyShape(std::move(shape));
}

PyShape from_file(const std::filesystem::path& file, const Numbers& scale, const std::string& collision) {
  const Vector3 factors = scale.size() == 1 ? Vector3(Vector3::Constant(scale.values()[0])) : scale.vector3("scale");
  if (!factors.allFinite() || (factors.array() == 0.0).any()) {
    throw Error("scale is [{}, {}, {}]; give finite numbers other than 0", factors[0], factors[1], factors[2]);
  }
  auto data = std::make_shared<TriangleMesh>(read_mesh_file(file).mesh);
  for (Vector3& vertex : data->vertices) vertex = vertex.cwiseProduct(factors);
  if (factors.prod() < 0.0) {  // a mirrored mesh would be inside out
    for (Eigen::Vector3i& triangle : data->triangles) std::swap(triangle[1], triangle[2]);
  }
  Shape shape;
  shape.type = ShapeType::kMesh;
  shape.mesh = std::move(data);
  shape.mesh_collision = mesh_collision(collision);
  return PyShape(std::move(shape));
}

PyShape height_field(const Numbers& heights, double size_x, double size_y, double base) {
  const MatrixX h = heights.matrix("heights");
  if (h.rows() < 2 || h.cols() < 2) throw Error("heights has shape {}; give at least 2 x 2", heights.shape_text());
  if (!(h.minCoeff() >= 0.0)) throw Error("the lowest of heights is {}; give heights from 0 up", h.minCoeff());
  auto field = std::make_shared<HeightField>();
  field->rows = static_cast<int>(h.rows());
  field->columns = static_cast<int>(h.cols());
  field->radius_x = 0.5 * size_x;
  field->radius_y = 0.5 * size_y;
  field->elevation = h.maxCoeff() > 0.0 ? h.maxCoeff() : 1.0;
  field->base = base;
  for (const double value : heights.values()) field->values.push_back(value / field->elevation);
  Shape shape;
  shape.type = ShapeType::kHeightField;
  shape.height_field = std::move(field);
  return PyShape(std::move(shape));
}

std::string repr(const PyShape& s) {
  const Shape& shape = s.shape();
  if (shape.mesh != nullptr) {
    return fmt::format("<Shape mesh: {} vertices, {} triangles>", shape.mesh->vertices.size(),
                       shape.mesh->triangles.size());
  }
  if (shape.height_field != nullptr) {
    return fmt::format("<Shape height field: {} x {}>", shape.height_field->rows, shape.height_field->columns);
  }
  return fmt::format("<Shape {}: size [{:.6g}, {:.6g}, {:.6g}] m>", to_string(shape.type), shape.size.x(),
                     shape.size.y(), shape.size.z());
}

void bind_primitives(nb::class_<PyShape>& shape) {
  shape
      .def_static(
          "sphere",
          [](double radius) {
            return primitive(ShapeType::kSphere, {radius, 0, 0});
          },
          nb::arg("radius"))
      .def_static(
          "box", [](const Numbers& half) { return primitive(ShapeType::kBox, half.vector3("half_extents")); },
          nb::arg("half_extents"), "Half extents x, y, z.")
      .def_static(
          "capsule",
          [](double radius, double half) {
            return primitive(ShapeType::kCapsule, {radius, half, 0});
          },
          nb::arg("radius"), nb::arg("half_length"), "Along z; half the length of the cylinder part.")
      .def_static(
          "cylinder",
          [](double radius, double half) {
            return primitive(ShapeType::kCylinder, {radius, half, 0});
          },
          nb::arg("radius"), nb::arg("half_length"), "Along z.")
      .def_static(
          "cone",
          [](double radius, double half) {
            return primitive(ShapeType::kCone, {radius, half, 0});
          },
          nb::arg("radius"), nb::arg("half_height"), "Along z, the tip at +half_height.")
      .def_static(
          "ellipsoid", [](const Numbers& axes) { return primitive(ShapeType::kEllipsoid, axes.vector3("semi_axes")); },
          nb::arg("semi_axes"))
      .def_static(
          "plane", [] { return primitive(ShapeType::kPlane, Vector3::Zero()); },
          "The plane z = 0, solid below, infinite.");
}

void bind_meshes(nb::class_<PyShape>& shape) {
  shape
      .def_static(
          "mesh", &mesh, nb::arg("vertices"), nb::arg("triangles") = nb::none(), nb::arg("collision") = "hull",
          nb::arg("pieces") = nb::none(),
          "vertices: n x 3, m; triangles: indices, n x 3, counter-clockwise from outside (none: the convex hull "
          "is meant). collision: 'hull', or 'triangles' for a surface that is solid behind them. pieces: vertices "
          "of convex pieces that collide instead.")
      .def_static("from_file", &from_file, nb::arg("file"), nb::arg("scale") = 1.0, nb::arg("collision") = "hull",
                  "A mesh from an OBJ, STL, MSH, DAE or glTF file; scale: to metres, one number or three.")
      .def_static("height_field", &height_field, nb::arg("heights"), nb::arg("size_x"), nb::arg("size_y"),
                  nb::arg("base") = 0.1,
                  "heights: rows along y, columns along x, m, from 0 up; over size_x by size_y (m); base: thickness "
                  "below 0 (m).");
}

}  // namespace

void bind_shapes(nb::module_& m) {
  nb::class_<PyShape> shape(m, "Shape", "A shape of a body, or of a collision query. Lengths in metres.");
  bind_primitives(shape);
  bind_meshes(shape);
  shape.def_prop_ro("type", [](const PyShape& s) { return std::string(to_string(s.shape().type)); })
      .def_prop_ro(
          "size", [](const PyShape& s) { return copy(s.shape().size); }, "m; what it means depends on the type.")
      .def_prop_ro(
          "vertices",
          [](const PyShape& s) {
            MatrixX v(s.shape().mesh ? static_cast<Eigen::Index>(s.shape().mesh->vertices.size()) : 0, 3);
            for (Eigen::Index i = 0; i < v.rows(); ++i) {
              v.row(i) = s.shape().mesh->vertices[static_cast<std::size_t>(i)].transpose();
            }
            return copy_matrix(v);
          },
          "Of a mesh: n x 3, m; empty for other shapes.")
      .def(
          "volume", [](const PyShape& s) { return volume(s.shape()); }, "m^3")
      .def("__repr__", &repr);
}

}  // namespace touchstone::python

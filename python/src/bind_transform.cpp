// Rigid transforms.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {

Quaternion quaternion_argument(const Numbers& wxyz, const char* name) {
  const VectorX q = wxyz.vector(name, 4);
  const double length = q.norm();
  if (!(length > 1e-9) || !q.allFinite())
    throw Error("{} has length {}; give [w, x, y, z] of a rotation", name, length);
  return {q[0] / length, q[1] / length, q[2] / length, q[3] / length};
}

Transform pose_argument(const std::optional<Numbers>& position, const std::optional<Numbers>& quaternion) {
  Transform X;
  if (position) X.position = position->vector3("position");
  if (quaternion) X.rotation = quaternion_argument(*quaternion, "quaternion");
  return X;
}

namespace {

Transform from_matrix(const Numbers& numbers) {
  const MatrixX m = numbers.matrix("matrix", 4, 4);
  const Matrix3 R = m.topLeftCorner<3, 3>();
  if (!m.allFinite() || (R * R.transpose() - Matrix3::Identity()).cwiseAbs().maxCoeff() > 1e-6 ||
      R.determinant() < 0.0) {
    throw Error("matrix is no rigid transform: its rotation is not orthogonal; give [[R, p], [0, 1]]");
  }
  return {m.topRightCorner<3, 1>(), Quaternion(R).normalized()};
}

MatrixX to_matrix(const Transform& X) {
  MatrixX m = MatrixX::Identity(4, 4);
  m.topLeftCorner<3, 3>() = X.rotation.toRotationMatrix();
  m.topRightCorner<3, 1>() = X.position;
  return m;
}

nb::object apply(const Transform& X, const Numbers& points) {
  if (!points.is_matrix()) return nb::cast(copy(Vector3(X * points.vector3("point"))));
  MatrixX p = points.matrix("points", static_cast<int>(points.shape()[0]), 3);
  for (Eigen::Index i = 0; i < p.rows(); ++i) p.row(i) = (X * Vector3(p.row(i).transpose())).transpose();
  return nb::cast(copy_matrix(p));
}

}  // namespace

void bind_transform(nb::module_& m) {
  nb::class_<Transform>(
      m, "Transform",
      "A rigid transform X_AB: the pose of a frame B seen from A. `X @ Y` composes, `X.apply(p)` maps "
      "points.")
      .def(
          "__init__",
          [](Transform* self, const std::optional<Numbers>& position, const std::optional<Numbers>& quaternion) {
            new (self) Transform(pose_argument(position, quaternion));
          },
          nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(),
          "position: m; quaternion: [w, x, y, z]. Without arguments the identity.")
      .def_static("from_matrix", &from_matrix, nb::arg("matrix"), "Of a 4 x 4 matrix [[R, p], [0, 1]].")
      .def_static(
          "from_axis_angle",
          [](const Numbers& axis, double angle, const std::optional<Numbers>& position) {
            const Vector3 a = axis.vector3("axis");
            if (!(a.norm() > 0.0)) throw Error("axis has no direction");
            Transform X = pose_argument(position, std::nullopt);
            X.rotation = Quaternion(Eigen::AngleAxisd(angle, a.normalized()));
            return X;
          },
          nb::arg("axis"), nb::arg("angle"), nb::arg("position") = nb::none(),
          "Rotation by an angle (rad) about an axis.")
      .def_prop_ro(
          "position", [](const Transform& X) { return copy(X.position); }, "m")
      .def_prop_ro(
          "quaternion", [](const Transform& X) { return copy_quaternion(X.rotation); }, "[w, x, y, z]")
      .def_prop_ro(
          "rotation", [](const Transform& X) { return copy_matrix(X.rotation.toRotationMatrix()); }, "3 x 3")
      .def_prop_ro(
          "matrix", [](const Transform& X) { return copy_matrix(to_matrix(X)); }, "4 x 4")
      .def("inverse", &Transform::inverse)
      .def(
          "__matmul__", [](const Transform& a, const Transform& b) { return a * b; }, nb::is_operator())
      .def("apply", &apply, nb::arg("points"),
           nb::sig("def apply(self, points: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
           "Maps a point, or the rows of an n x 3 array.")
      .def("__getstate__",
           [](const Transform& X) {
             return nb::make_tuple(X.position.x(), X.position.y(), X.position.z(), X.rotation.w(), X.rotation.x(),
                                   X.rotation.y(), X.rotation.z());
           })
      .def("__setstate__",
           [](Transform& X, const nb::tuple& t) {
             const auto number = [&t](std::size_t i) { return nb::cast<double>(t[i]); };
             new (&X) Transform{Vector3(number(0), number(1), number(2)),
                                Quaternion(number(3), number(4), number(5), number(6))};
           })
      .def("__repr__", [](const Transform& X) {
        return fmt::format("Transform(position=[{:.6g}, {:.6g}, {:.6g}], quaternion=[{:.6g}, {:.6g}, {:.6g}, {:.6g}])",
                           X.position.x(), X.position.y(), X.position.z(), X.rotation.w(), X.rotation.x(),
                           X.rotation.y(), X.rotation.z());
      });
}

}  // namespace touchstone::python

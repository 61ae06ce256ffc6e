// Vectors and poses as the numbers of plain arrays (gpu/model_arrays.hpp).
#pragma once

#include <vector>

#include "touchstone/math/types.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

inline void push(std::vector<double>& to, const Vector3& v) { to.insert(to.end(), {v.x(), v.y(), v.z()}); }
inline void push(std::vector<double>& to, const Vector2& v) { to.insert(to.end(), {v.x(), v.y()}); }
inline void push(std::vector<double>& to, const Matrix3& m) {
  for (int column = 0; column < 3; ++column) push(to, Vector3(m.col(column)));
}
inline void push(std::vector<double>& to, const Transform& X) {
  push(to, Matrix3(X.rotation.normalized().toRotationMatrix()));
  push(to, X.position);
}
inline void push(std::vector<double>& to, const VectorX& v) { to.insert(to.end(), v.data(), v.data() + v.size()); }

}  // namespace touchstone

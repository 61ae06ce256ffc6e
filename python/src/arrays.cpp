#include "arrays.hpp"

#include <algorithm>

#include "touchstone/base/error.hpp"

namespace touchstone::python {

bool Numbers::read(nb::handle source) {
  if (source.is_none() || PyUnicode_Check(source.ptr()) != 0 || PyDict_Check(source.ptr()) != 0) return false;
  try {
    nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(source, "float64");
    const auto data = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(array);
    // ascontiguousarray makes a vector of a number, which is what spread() and vector() want.
    shape_.assign(data.shape_ptr(), data.shape_ptr() + data.ndim());
    values_.assign(data.data(), data.data() + data.size());
    return true;
  } catch (nb::python_error& error) {
    return false;  // not numbers: the caller gets nanobind's list of signatures
  } catch (const std::exception&) {
    return false;
  }
}

std::string Numbers::shape_text() const {
  std::string text;
  for (const std::size_t n : shape_) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

VectorX Numbers::vector(const char* name) const {
  if (shape_.size() > 1) throw Error("{} has shape {}; give one row of numbers", name, shape_text());
  return Eigen::Map<const VectorX>(values_.data(), static_cast<Eigen::Index>(values_.size()));
}

VectorX Numbers::vector(const char* name, int size) const {
  VectorX v = vector(name);
  require_size(name, v.size(), size);
  return v;
}

Vector2 Numbers::vector2(const char* name) const { return vector(name, 2); }
Vector3 Numbers::vector3(const char* name) const { return vector(name, 3); }

MatrixX Numbers::matrix(const char* name) const {
  if (shape_.size() != 2) throw Error("{} has shape {}; give a matrix", name, shape_text());
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(values_.data(), static_cast<Eigen::Index>(shape_[0]),
                                    static_cast<Eigen::Index>(shape_[1]));
}

MatrixX Numbers::matrix(const char* name, int rows, int cols) const {
  MatrixX m = matrix(name);
  if (m.rows() != rows || m.cols() != cols) {
    throw Error("{} has shape {}, expected {} x {}", name, shape_text(), rows, cols);
  }
  return m;
}

VectorX Numbers::spread(const char* name, int size) const {
  if (values_.size() == 1) return VectorX::Constant(size, values_[0]);
  return vector(name, size);
}

Copy1 copy(const double* data, std::size_t size) {
  auto* memory = new double[std::max<std::size_t>(size, 1)];
  const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  std::copy(data, data + size, memory);
  return {Array1(memory, {size}, owner)};
}

nb::object copy_flags(const std::vector<std::uint8_t>& flags, std::initializer_list<std::size_t> shape) {
  auto* memory = new bool[std::max<std::size_t>(flags.size(), 1)];
  const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  std::transform(flags.begin(), flags.end(), memory, [](std::uint8_t flag) { return flag != 0; });
  return nb::cast(nb::ndarray<nb::numpy, bool>(memory, shape.size(), shape.begin(), owner));
}

Copy2 copy_matrix(const MatrixX& m) {
  const auto rows = static_cast<std::size_t>(m.rows());
  const auto cols = static_cast<std::size_t>(m.cols());
  auto* memory = new double[std::max<std::size_t>(rows * cols, 1)];
  const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      memory[i * cols + j] = m(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    }
  }
  return {Array2(memory, {rows, cols}, owner)};
}

Copy1 copy_quaternion(const Quaternion& q) {
  const std::array<double, 4> wxyz{q.w(), q.x(), q.y(), q.z()};
  return copy(wxyz.data(), 4);
}

void assign(VectorX& target, const Numbers& source, const char* name) {
  target = source.spread(name, static_cast<int>(target.size()));
}

}  // namespace touchstone::python

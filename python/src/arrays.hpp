// Numbers between Python and C++: what callers may give, and the numpy arrays they get.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "touchstone/math/types.hpp"

namespace touchstone::python {

namespace nb = nanobind;

// What a caller gave where numbers are expected: anything numpy makes an array of floats of (lists, tuples, arrays,
// numbers). The functions below check its size and name it in the error.
class Numbers {
 public:
  const std::vector<double>& values() const { return values_; }
  const std::vector<std::size_t>& shape() const { return shape_; }
  std::size_t size() const { return values_.size(); }
  bool is_matrix() const { return shape_.size() == 2; }
  std::string shape_text() const;

  VectorX vector(const char* name) const;
  VectorX vector(const char* name, int size) const;
  Vector2 vector2(const char* name) const;
  Vector3 vector3(const char* name) const;
  MatrixX matrix(const char* name) const;  // two-dimensional, row-major as numpy has it
  MatrixX matrix(const char* name, int rows, int cols) const;
  // One number for all, or one for each.
  VectorX spread(const char* name, int size) const;

  // False if numpy cannot make an array of floats of it.
  bool read(nb::handle source);

 private:
  std::vector<std::size_t> shape_;
  std::vector<double> values_;  // row-major
};

// An array with memory of its own. Properties hand out views unless told otherwise, hence a type that says so.
template <typename Array>
struct Owned {
  Array array;
};

using Array1 = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Array2 = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Array3 = nb::ndarray<nb::numpy, double, nb::ndim<3>>;
using ConstArray1 = nb::ndarray<nb::numpy, const double, nb::ndim<1>>;
using ConstArray2 = nb::ndarray<nb::numpy, const double, nb::ndim<2>>;
using ConstArray3 = nb::ndarray<nb::numpy, const double, nb::ndim<3>>;
using Copy1 = Owned<Array1>;
using Copy2 = Owned<Array2>;
using ConstIntArray = nb::ndarray<nb::numpy, const int, nb::ndim<1>>;

// --- views: no copy; the array keeps `owner`, a Python object, alive ---

inline Array1 view(double* data, std::size_t size, nb::handle owner) { return {data, {size}, owner}; }
inline Array1 view(VectorX& v, nb::handle owner) { return view(v.data(), static_cast<std::size_t>(v.size()), owner); }
// Rows of `columns` numbers, `stride` doubles from one to the next.
inline Array2 view_rows(double* data, std::size_t rows, std::size_t columns, std::size_t stride, nb::handle owner) {
  return {data, {rows, columns}, owner, {static_cast<std::int64_t>(stride), 1}};
}

// --- arrays that own a copy ---

Copy1 copy(const double* data, std::size_t size);
inline Copy1 copy(const VectorX& v) { return copy(v.data(), static_cast<std::size_t>(v.size())); }
inline Copy1 copy(const Vector3& v) { return copy(v.data(), 3); }
inline Copy1 copy(const std::vector<double>& v) { return copy(v.data(), v.size()); }
Copy2 copy_matrix(const MatrixX& m);
// Booleans, row after row; 1 is true.
nb::object copy_flags(const std::vector<std::uint8_t>& flags, std::initializer_list<std::size_t> shape);
Copy1 copy_quaternion(const Quaternion& q);  // w x y z

// Copies numbers into memory of the simulator.
void assign(VectorX& target, const Numbers& source, const char* name);

}  // namespace touchstone::python

namespace nanobind::detail {

template <>
struct type_caster<touchstone::python::Numbers> {
  NB_TYPE_CASTER(touchstone::python::Numbers, const_name("numpy.typing.ArrayLike"))

  bool from_python(handle source, std::uint8_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    return value.read(source);
  }
};

template <typename Array>
struct type_caster<touchstone::python::Owned<Array>> {
  using Caster = make_caster<Array>;
  NB_TYPE_CASTER(touchstone::python::Owned<Array>, Caster::Name)

  static handle from_cpp(const touchstone::python::Owned<Array>& owned, rv_policy /*policy*/,
                         cleanup_list* cleanup) noexcept {
    return Caster::from_cpp(owned.array, rv_policy::automatic, cleanup);
  }
};

}  // namespace nanobind::detail

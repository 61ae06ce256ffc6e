// The fields of an element as plain Python data, by the list that serialisation uses (model/fields.hpp).
#pragma once

#include <string>
#include <type_traits>

#include "bindings.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/model/fields.hpp"

namespace touchstone::python {

// Numbers, strings, lists, and dictionaries for structs; enumerations by name where they have one; meshes by what is in
// them, None for none.
template <typename T>
nb::object plain(const T& x) {
  if constexpr (HasFields<T>) {
    nb::dict result;
    for_each_field<T>([&](auto field) { result[field.name] = plain(x.*field.member); });
    return result;
  } else if constexpr (std::is_same_v<T, bool>) {
    return nb::bool_(x);
  } else if constexpr (std::is_floating_point_v<T>) {
    return nb::float_(x);
  } else if constexpr (std::is_integral_v<T>) {
    return nb::int_(x);
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { to_string(x); }) {
      const std::string text(to_string(x));
      return nb::str(text.data(), text.size());
    } else {
      return nb::int_(static_cast<int>(x));
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    const std::string text = valid_utf8(x);
    return nb::str(text.data(), text.size());
  } else if constexpr (std::is_same_v<T, Quaternion>) {  // w x y z, as everywhere in Python
    nb::list list;
    for (const double value : {x.w(), x.x(), x.y(), x.z()}) list.append(value);
    return list;
  } else if constexpr (requires { x.get(); }) {
    return x == nullptr ? nb::none() : plain(*x);
  } else if constexpr (requires { x.rowwise(); }) {
    nb::list list;
    const bool is_vector = x.cols() == 1;
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      nb::list row;
      for (Eigen::Index c = 0; c < x.cols(); ++c) row.append(x(r, c));
      list.append(is_vector ? nb::object(row[0]) : nb::object(row));
    }
    return list;
  } else {
    nb::list list;
    for (const auto& element : x) list.append(plain(element));
    return list;
  }
}

}  // namespace touchstone::python

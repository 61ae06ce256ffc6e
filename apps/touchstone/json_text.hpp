// JSON as the commands print it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

namespace touchstone::cli {

using Json = nlohmann::ordered_json;

// Numbers of an Eigen vector or matrix row.
template <typename Derived>
Json numbers(const Eigen::MatrixBase<Derived>& values) {
  Json list = Json::array();
  for (Eigen::Index i = 0; i < values.size(); ++i) list.push_back(values(i));
  return list;
}

template <std::size_t N>
Json numbers(const std::array<double, N>& values) {
  return Json(std::vector<double>(values.begin(), values.end()));
}

// Indented, and always UTF-8: names come from files and command lines and may hold any bytes.
inline std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace touchstone::cli

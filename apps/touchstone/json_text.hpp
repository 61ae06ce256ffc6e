// JSON as the commands print it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace touchstone::cli {

// Indented, and always UTF-8: names come from files and command lines and may hold any bytes.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace touchstone::cli

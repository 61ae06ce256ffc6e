// Decompression of zlib data (RFC 1950 and 1951).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone::mjcf {

// Throws InputError that names `file` if the data is damaged or is longer than `limit`.
std::vector<std::uint8_t> inflate_zlib(std::string_view data, std::size_t limit, const std::string& file);

}  // namespace touchstone::mjcf

// A model as bytes and back: for recordings, and for sending models to other processes. Meshes, height fields,
// parameters and origins are included, so that nothing else is needed. Bytes are little-endian; a version that differs
// is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "touchstone/model/model.hpp"

namespace touchstone {

std::string serialize(const Model& model);

// The elements go through ModelBuilder again, so that whatever the bytes say the result is a valid model. It equals the
// original bit for bit. Throws Error on damaged data.
ModelPtr deserialize_model(std::string_view bytes);

// Whether two models have the same elements, options and parameters, field by field (model/fields.hpp); and a number
// that is the same when they do. Names and places in files count.
bool same_elements(const Model& a, const Model& b);
std::uint64_t hash_elements(const Model& model);

}  // namespace touchstone

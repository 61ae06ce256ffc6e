// Pieces of JSON that the viewer's documents share. Not for users of the library.
#pragma once

#include <nlohmann/json.hpp>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/viewer/frame.hpp"
#include "touchstone/viewer/packing.hpp"

namespace touchstone::viewer {

using Json = nlohmann::ordered_json;

inline Json vector_json(const Vector3& v) { return {v.x(), v.y(), v.z()}; }
inline Json rotation_json(const Quaternion& q) { return {q.w(), q.x(), q.y(), q.z()}; }
inline Json pose_json(const Transform& X) {
  return {X.position.x(), X.position.y(), X.position.z(), X.rotation.w(),
          X.rotation.x(), X.rotation.y(), X.rotation.z()};
}
inline Json packed_json(const Packed& packed) {
  return {{"type", packed.type},
          {"count", packed.count},
          {"columns", packed.columns},
          {"delta", packed.delta},
          {"data", packed.data}};
}

Json scene_object(const Model& model, const State& state);
Json certificate_array(const std::vector<CertificateItem>& items);
Json channel_object(const Channel& channel);

// Text of the document; bytes that are not UTF-8 are replaced, NaN becomes null.
std::string dump(const Json& document);

}  // namespace touchstone::viewer

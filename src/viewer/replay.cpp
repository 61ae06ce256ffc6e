#include "touchstone/viewer/replay.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/version.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/viewer/json_parts.hpp"

namespace touchstone {
namespace viewer {
namespace {

constexpr double kPositionQuantum = 1e-5;  // m
constexpr int kDocumentVersion = 1;

void validate(const Replay& replay) {
  if (replay.model == nullptr) throw Error("a replay needs a model");
  const auto bodies = static_cast<std::size_t>(replay.model->nbody);
  for (std::size_t i = 0; i < replay.frames.size(); ++i) {
    const Frame& frame = replay.frames[i];
    if (frame.poses.size() != bodies) {
      throw Error("frame {} has {} poses; the model has {} bodies", i, frame.poses.size(), bodies);
    }
    if (frame.values.size() != replay.channels.size()) {
      throw Error("frame {} has {} values; there are {} channels", i, frame.values.size(), replay.channels.size());
    }
    for (const std::vector<double>* ends : {&frame.low, &frame.high}) {
      if (ends->empty() || ends->size() == replay.channels.size()) continue;
      throw Error("frame {} has {} extremes; there are {} channels", i, ends->size(), replay.channels.size());
    }
    if (!std::isfinite(frame.time)) throw Error("the time of frame {} is {}", i, frame.time);
    if (i > 0 && frame.time < replay.frames[i - 1].time) {
      throw Error("frame {} is at {} s, the one before at {} s; order frames by time", i, frame.time,
                  replay.frames[i - 1].time);
    }
  }
}

// Rows of positions (3 numbers a body) and rotations (4 a body; q and -q are the same rotation, and the sign is
// chosen so that numbers change little from frame to frame).
void add_poses(const std::vector<Frame>& frames, Json& out) {
  std::vector<std::int32_t> positions;
  std::vector<std::int16_t> rotations;
  const std::size_t bodies = frames.front().poses.size();
  std::vector<Quaternion> previous(bodies, Quaternion::Identity());
  positions.reserve(3 * bodies * frames.size());
  rotations.reserve(4 * bodies * frames.size());
  for (const Frame& frame : frames) {
    for (std::size_t b = 0; b < bodies; ++b) {
      const Transform& X = frame.poses[b];
      for (int k = 0; k < 3; ++k) positions.push_back(quantized(X.position[k], kPositionQuantum));
      Quaternion q = X.rotation;
      if (q.dot(previous[b]) < 0.0) q.coeffs() = -q.coeffs();
      for (const double c : {q.w(), q.x(), q.y(), q.z()}) rotations.push_back(quantized_unit(c));
      previous[b] = q;
    }
  }
  out["position_quantum"] = kPositionQuantum;
  out["positions"] = packed_json(pack(positions, 3 * bodies, Delta::kRows));
  out["rotations"] = packed_json(pack(rotations, 4 * bodies, Delta::kRows));
}

void add_contacts(const std::vector<Frame>& frames, Json& out) {
  std::vector<std::uint32_t> starts{0};
  std::vector<std::int32_t> positions, labels;
  std::vector<std::int16_t> normals;
  std::vector<float> values;
  for (const Frame& frame : frames) {
    for (const FrameContact& contact : frame.contacts) {
      for (int k = 0; k < 3; ++k) positions.push_back(quantized(contact.position[k], kPositionQuantum));
      for (int k = 0; k < 3; ++k) normals.push_back(quantized_unit(contact.normal[k]));
      for (int k = 0; k < 3; ++k) values.push_back(rounded_for_packing(contact.force[k]));
      values.push_back(rounded_for_packing(contact.distance));
      values.push_back(rounded_for_packing(contact.friction));
      labels.insert(labels.end(), {contact.body_a, contact.body_b, static_cast<int>(contact.mode), contact.island});
    }
    starts.push_back(starts.back() + static_cast<std::uint32_t>(frame.contacts.size()));
  }
  if (starts.back() == 0) return;
  out["contacts"] = {{"starts", packed_json(pack(starts, 1, Delta::kRows))},
                     {"positions", packed_json(pack(positions, 3, Delta::kRows))},
                     {"normals", packed_json(pack(normals, 3, Delta::kRows))},
                     {"values", packed_json(pack(values, 5))},
                     {"labels", packed_json(pack(labels, 4, Delta::kRows))}};
}

void add_asleep(const std::vector<Frame>& frames, Json& out) {
  std::vector<std::uint32_t> starts{0}, bodies;
  for (const Frame& frame : frames) {
    bodies.insert(bodies.end(), frame.asleep.begin(), frame.asleep.end());
    starts.push_back(static_cast<std::uint32_t>(bodies.size()));
  }
  if (bodies.empty()) return;
  out["asleep"] = {{"starts", packed_json(pack(starts, 1, Delta::kRows))},
                   {"bodies", packed_json(pack(bodies, 1, Delta::kRows))}};
}

void add_marks(const std::vector<Frame>& frames, Json& out) {
  std::vector<double> times;
  std::vector<std::uint16_t> kinds;
  for (const Frame& frame : frames) {
    for (const Mark& mark : frame.marks) {
      times.push_back(mark.time);
      kinds.push_back(static_cast<std::uint16_t>(mark.kind));
    }
  }
  if (times.empty()) return;
  out["marks"] = {{"times", packed_json(pack(times, 1))}, {"kinds", packed_json(pack(kinds, 1, Delta::kNo))}};
}

Json frames_json(const std::vector<Frame>& frames) {
  Json out{{"count", frames.size()}};
  if (frames.empty()) return out;
  std::vector<double> times;
  times.reserve(frames.size());
  for (const Frame& frame : frames) times.push_back(frame.time);
  out["times"] = packed_json(pack(times, 1));
  add_poses(frames, out);
  add_contacts(frames, out);
  add_asleep(frames, out);
  add_marks(frames, out);
  return out;
}

// One number a frame.
std::vector<float> channel_values(const Replay& replay, std::size_t channel, std::vector<double> Frame::*part) {
  std::vector<float> values;
  values.reserve(replay.frames.size());
  for (const Frame& frame : replay.frames) {
    const std::vector<double>& row = (frame.*part).empty() ? frame.values : frame.*part;
    values.push_back(static_cast<float>(row[channel]));
  }
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The extremes between frames are left out where they are the values themselves.
Json channels_json(const Replay& replay) {
  Json out = Json::array();
  for (std::size_t c = 0; c < replay.channels.size(); ++c) {
    const std::vector<float> values = channel_values(replay, c, &Frame::values);
    Json channel = channel_object(replay.channels[c]);
    channel["values"] = packed_json(pack(values, 1));
    for (const auto& [name, part] : {std::pair("low", &Frame::low), std::pair("high", &Frame::high)}) {
      const std::vector<float> ends = channel_values(replay, c, part);
      if (!same_bits(ends, values)) channel[name] = packed_json(pack(ends, 1));
    }
    out.push_back(std::move(channel));
  }
  return out;
}

}  // namespace

Json certificate_array(const std::vector<CertificateItem>& items) {
  Json out = Json::array();
  for (const CertificateItem& item : items) {
    out.push_back({{"name", item.name},
                   {"meaning", item.meaning},
                   {"value", item.value},
                   {"limit", item.limit},
                   {"unit", item.unit},
                   {"passed", item.passed()}});
  }
  return out;
}

Json channel_object(const Channel& channel) {
  return {
      {"chart", channel.chart}, {"name", channel.name}, {"unit", channel.unit}, {"logarithmic", channel.logarithmic}};
}

std::string dump(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace viewer

std::vector<Transform> body_poses(const Model& model, const State& state) {
  Data data(model);
  forward_kinematics(model, model.defaults, state, data);
  std::vector<Transform> poses;
  poses.reserve(data.X_WB.size());
  for (const Pose& X : data.X_WB) poses.push_back(X.transform());
  return poses;
}

std::string replay_json(const Replay& replay) {
  viewer::validate(replay);
  viewer::Json document{{"format", "touchstone-replay"},
                        {"version", viewer::kDocumentVersion},
                        {"generator", std::string("touchstone ") + kVersion},
                        {"title", replay.title},
                        {"subtitle", replay.subtitle},
                        {"scene", viewer::scene_object(*replay.model, State(*replay.model))},
                        {"frames", viewer::frames_json(replay.frames)},
                        {"channels", viewer::channels_json(replay)},
                        {"certificate", viewer::certificate_array(replay.certificate)}};
  return viewer::dump(document);
}

}  // namespace touchstone

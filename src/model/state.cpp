#include "touchstone/model/state.hpp"

#include <cmath>
#include <cstring>

#include "touchstone/base/error.hpp"
#include "touchstone/base/hash.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

State::State(const Model& model)
    : q(model.reference_q),
      v(VectorX::Zero(model.nv)),
      activation(VectorX::Zero(model.na)),
      loop_q(model.reference_loop) {
  for (int body : model.mocap_body) mocap.push_back(model.bodies[body].pose);
}

State::State(const Model& model, const Keyframe& keyframe) : State(model) {
  q = keyframe.q;
  v = keyframe.v;
  activation = keyframe.activation;
  loop_q = keyframe.loop_q;
  time = keyframe.time;
  if (!keyframe.mocap.empty()) mocap = keyframe.mocap;
}

Input::Input(const Model& model)
    : control(VectorX::Zero(model.nu)),
      applied_force(VectorX::Zero(model.nv)),
      applied_wrench(model.nbody, Vector6::Zero()) {}

namespace {

void check_vector(const char* name, const VectorX& values, int expected) {
  if (values.size() != expected) {
    throw Error({.where = {},
                 .message = fmt::format("state: {} has {} entries, the model needs {}", name, values.size(), expected),
                 .remedy = "make the state from this model: State(model)"});
  }
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) throw Error("state: {}[{}] is {}; it must be finite", name, i, values[i]);
  }
}

}  // namespace

void State::validate(const Model& model) const {
  check_vector("q", q, model.nq);
  check_vector("v", v, model.nv);
  check_vector("activation", activation, model.na);
  check_vector("loop_q", loop_q, model.nloop);
  if (!std::isfinite(time)) throw Error("state: time is {}; it must be finite", time);
  if (mocap.size() != static_cast<std::size_t>(model.nmocap)) {
    throw Error("state: it has {} mocap poses, the model has {} mocap bodies", mocap.size(), model.nmocap);
  }
  for (std::size_t i = 0; i < mocap.size(); ++i) {
    const double length = mocap[i].rotation.norm();
    if (!mocap[i].position.allFinite() || !(length > 1e-10)) {
      throw Error("state: mocap pose {} is not a pose (quaternion of length {})", i, length);
    }
  }
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[j].type;
    if (type != JointType::kFree && type != JointType::kBall) continue;
    const int first = model.joint_q[j] + (type == JointType::kFree ? 3 : 0);
    if (q.segment<4>(first).norm() < 1e-10) {
      throw Error("state: the quaternion of joint '{}' at q[{}] is zero; set it to 1 0 0 0", model.joints[j].name,
                  first);
    }
  }
}

bool State::operator==(const State& other) const {
  const auto same = [](const VectorX& a, const VectorX& b) { return a.size() == b.size() && a == b; };
  bool equal = same(q, other.q) && same(v, other.v) && same(activation, other.activation) && time == other.time &&
               same(loop_q, other.loop_q) && mocap.size() == other.mocap.size();
  for (std::size_t i = 0; equal && i < mocap.size(); ++i) {
    equal =
        mocap[i].position == other.mocap[i].position && mocap[i].rotation.coeffs() == other.mocap[i].rotation.coeffs();
  }
  return equal;
}

namespace {

// Layout: magic, the five sizes as 64-bit integers, then time and all numbers as little-endian doubles, then an
// FNV-1a hash of everything before it.
constexpr char kStateMagic[8] = {'T', 'S', 'S', 'T', 'A', 'T', 'E', '2'};
constexpr std::size_t kHeader = sizeof(kStateMagic) + 5 * sizeof(std::uint64_t);
constexpr std::uint64_t kDoublesPerPose = 7;

void append(std::vector<std::uint8_t>& bytes, const void* data, std::size_t size) {
  if (size == 0) return;
  bytes.resize(bytes.size() + size);
  std::memcpy(bytes.data() + bytes.size() - size, data, size);
}

}  // namespace

std::vector<std::uint8_t> State::serialize() const {
  std::vector<std::uint8_t> bytes;
  append(bytes, kStateMagic, sizeof(kStateMagic));
  const std::uint64_t sizes[5] = {static_cast<std::uint64_t>(q.size()), static_cast<std::uint64_t>(v.size()),
                                  static_cast<std::uint64_t>(activation.size()),
                                  static_cast<std::uint64_t>(loop_q.size()), mocap.size()};
  append(bytes, sizes, sizeof(sizes));
  append(bytes, &time, sizeof(double));
  for (const VectorX* part : {&q, &v, &activation, &loop_q}) append(bytes, part->data(), sizeof(double) * part->size());
  for (const Transform& pose : mocap) {
    append(bytes, pose.position.data(), 3 * sizeof(double));
    append(bytes, pose.rotation.coeffs().data(), 4 * sizeof(double));
  }
  const std::uint64_t hash = fnv1a(bytes.data(), bytes.size());
  append(bytes, &hash, sizeof(hash));
  return bytes;
}

State State::deserialize(const std::vector<std::uint8_t>& bytes) {
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), kStateMagic, sizeof(kStateMagic)) != 0) {
    throw Error("these {} bytes are not a serialised state", bytes.size());
  }
  std::uint64_t sizes[5];
  std::memcpy(sizes, bytes.data() + sizeof(kStateMagic), sizeof(sizes));
  for (std::uint64_t size : sizes) {
    if (size > bytes.size())
      throw Error("serialised state: a size of {} in {} bytes; the data are damaged", size, bytes.size());
  }
  const std::uint64_t doubles = 1 + sizes[0] + sizes[1] + sizes[2] + sizes[3] + kDoublesPerPose * sizes[4];
  const std::size_t expected = kHeader + sizeof(double) * doubles + sizeof(std::uint64_t);
  if (bytes.size() != expected) {
    throw Error("serialised state: {} bytes where {} were expected; the data are truncated or damaged", bytes.size(),
                expected);
  }
  std::uint64_t hash = 0;
  std::memcpy(&hash, bytes.data() + expected - sizeof(hash), sizeof(hash));
  if (hash != fnv1a(bytes.data(), expected - sizeof(hash)))
    throw Error("serialised state: the check sum is wrong; the data are damaged");
  State state;
  const std::uint8_t* cursor = bytes.data() + kHeader;
  const auto read = [&cursor](double* target, std::uint64_t count) {
    if (count > 0) std::memcpy(target, cursor, sizeof(double) * count);
    cursor += sizeof(double) * count;
  };
  read(&state.time, 1);
  VectorX* parts[4] = {&state.q, &state.v, &state.activation, &state.loop_q};
  for (int i = 0; i < 4; ++i) {
    parts[i]->resize(static_cast<Eigen::Index>(sizes[i]));
    read(parts[i]->data(), sizes[i]);
  }
  state.mocap.resize(sizes[4]);
  for (Transform& pose : state.mocap) {
    read(pose.position.data(), 3);
    read(pose.rotation.coeffs().data(), 4);
  }
  return state;
}

}  // namespace touchstone

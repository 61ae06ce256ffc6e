#include "touchstone/model/configuration.hpp"

#include <gtest/gtest.h>

#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::test {
namespace {

// Angles that differ by a full turn in a quaternion are the same configuration up to sign.
double distance(const Model& m, const VectorX& a, const VectorX& b) {
  VectorX v(m.nv);
  difference(m, a, b, v);
  return v.cwiseAbs().maxCoeff();
}

TEST(Configuration, IntegrateAndDifferenceAreInverse) {
  for (int i = 0; i < property_count(); ++i) {
    std::mt19937_64 random(100 + static_cast<unsigned>(i));
    const ModelPtr m = random_model(random);
    if (m->nv == 0) continue;
    VectorX q0(m->nq), q1(m->nq), v(m->nv), back(m->nq);
    random_configuration(*m, random, q0);
    random_configuration(*m, random, q1);
    difference(*m, q0, q1, v);
    integrate(*m, q0, v, 1.0, back);
    EXPECT_LT(distance(*m, q1, back), 1e-12);
    const VectorX w = 0.5 * random_vector(m->nv, random);
    integrate(*m, q0, w, 0.8, q1);
    difference(*m, q0, q1, v);
    EXPECT_LT((v - 0.8 * w).cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(Configuration, InterpolationMeetsItsEndsAndIsUniform) {
  std::mt19937_64 random(3);
  const ModelPtr m = random_model(random);
  VectorX q0(m->nq), q1(m->nq), q(m->nq), quarter(m->nv), full(m->nv);
  random_configuration(*m, random, q0);
  random_configuration(*m, random, q1);
  interpolate(*m, q0, q1, 0.0, q);
  EXPECT_LT(distance(*m, q0, q), 1e-14);
  interpolate(*m, q0, q1, 1.0, q);
  EXPECT_LT(distance(*m, q1, q), 1e-14);
  interpolate(*m, q0, q1, 0.25, q);
  difference(*m, q0, q, quarter);
  difference(*m, q0, q1, full);
  EXPECT_LT((4.0 * quarter - full).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Configuration, RandomConfigurationsRespectLimits) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = {1.0, Vector3::Zero(), Matrix3::Identity()}});
  b.add_joint({.body = body, .limited = true, .range = {0.2, 0.3}});
  const ModelPtr m = b.build();
  std::mt19937_64 random(1);
  VectorX q(1);
  for (int i = 0; i < 1000; ++i) {
    random_configuration(*m, random, q);
    EXPECT_GE(q[0], 0.2);
    EXPECT_LE(q[0], 0.3);
  }
}

TEST(Configuration, WrongLengthsAreRefused) {
  std::mt19937_64 random(4);
  const ModelPtr m = random_model(random);
  VectorX q(m->nq), v(m->nv), shorter(m->nq - 1);
  q = m->reference_q;
  v.setZero();
  EXPECT_THROW(integrate(*m, shorter, v, 1.0, q), Error);
  EXPECT_THROW(difference(*m, q, shorter, v), Error);
  EXPECT_THROW(normalize(*m, shorter), Error);
}

TEST(State, SerialisesToTheLastBit) {
  std::mt19937_64 random(5);
  const ModelPtr m = random_model(random);
  State state = random_state(*m, random);
  state.time = 1.25;
  state.mocap.push_back({Vector3(1, 2, 3), Quaternion(0.5, 0.5, 0.5, 0.5)});
  const auto bytes = state.serialize();
  EXPECT_EQ(State::deserialize(bytes), state);
}

TEST(State, DamagedBytesAreRefused) {
  std::mt19937_64 random(6);
  const ModelPtr m = random_model(random);
  const auto bytes = random_state(*m, random).serialize();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(State::deserialize({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}), Error);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= 0x40;
    EXPECT_THROW(State::deserialize(damaged), Error) << "byte " << i;
  }
}

TEST(State, ValidationNamesTheEntry) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = {1.0, Vector3::Zero(), Matrix3::Identity()}});
  b.add_joint({.name = "base", .body = body, .type = JointType::kFree});
  const ModelPtr m = b.build();
  const auto message = [&](const State& state) -> std::string {
    try {
      state.validate(*m);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  State state(*m);
  EXPECT_EQ(message(state), "");
  state.v[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message(state).find("v[2] is nan"), std::string::npos);
  state = State(*m);
  state.q.segment<4>(3).setZero();
  EXPECT_NE(message(state).find("joint 'base'"), std::string::npos);
  state.q.resize(3);
  EXPECT_NE(message(state).find("q has 3 entries, the model needs 7"), std::string::npos);
}

}  // namespace
}  // namespace touchstone::test

// Short ways to load MJCF in tests.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"

namespace touchstone::mjcf_testing {

using Files = std::map<std::string, std::string>;

inline FileResolver resolver(const Files& files) {
  return [files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

// The content of <mujoco>.
inline ModelPtr load(const std::string& content, const Files& files = {}, const LoadOptions& options = {}) {
  return load_mjcf_string("<mujoco>" + content + "</mujoco>", options, resolver(files), "test.xml");
}

// One body in the world, with the compiler in radians.
inline ModelPtr load_body(const std::string& content, const std::string& rest = "") {
  return load("<compiler angle=\"radian\"/>" + rest + "<worldbody><body name=\"b\">" + content + "</body></worldbody>");
}

inline std::string error_of(const std::string& xml, const Files& files = {}, const LoadOptions& options = {}) {
  try {
    load_mjcf_string(xml, options, resolver(files), "test.xml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_vector(const auto& actual, const std::vector<double>& expected, double tolerance = 1e-12) {
  ASSERT_EQ(static_cast<std::size_t>(actual.size()), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[static_cast<decltype(actual.size())>(i)], expected[i], tolerance) << "entry " << i;
  }
}

inline void expect_rotation(const Quaternion& actual, const Quaternion& expected) {
  EXPECT_NEAR(std::abs(actual.dot(expected.normalized())), 1.0, 1e-12)
      << "(" << actual.w() << ", " << actual.vec().transpose() << ")";
}

}  // namespace touchstone::mjcf_testing

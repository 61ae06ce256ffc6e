#include "touchstone/base/similar.hpp"

#include <gtest/gtest.h>

namespace touchstone {
namespace {

TEST(Similar, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("knee", "knee"), 0U);
  EXPECT_EQ(edit_distance("knee", "kneee"), 1U);
  EXPECT_EQ(edit_distance("knee", ""), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Similar, NamesTheNearestFirst) {
  const std::vector<std::string> names{"pile", "arch", "stack", "domino"};
  EXPECT_EQ(nearest_names("stak", names, 1), std::vector<std::string>{"stack"});
  EXPECT_EQ(nearest_names("pile", names, 9).size(), 4U);
  EXPECT_EQ(did_you_mean("pille", {"pile"}), "did you mean 'pile'?");
  EXPECT_EQ(did_you_mean("x", {"a", "b", "c"}), "did you mean 'a', 'b' or 'c'?");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace touchstone

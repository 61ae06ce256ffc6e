#include "touchstone/base/error.hpp"

#include <type_traits>

#include <gtest/gtest.h>

#include "touchstone/base/check.hpp"

namespace touchstone {
namespace {

TEST(Error, FormatsItsMessage) {
  const Error error("unknown solver '{}', {} known", "abc", 3);
  EXPECT_STREQ(error.what(), "unknown solver 'abc', 3 known");
  EXPECT_EQ(error.message(), "unknown solver 'abc', 3 known");
  EXPECT_TRUE(error.remedy().empty());
}

TEST(Error, SaysWhereAndWhatToDo) {
  const InputError error(
      {.where = {"robot.xml", 12, "joint 'knee'"}, .message = "range is [1, 0]", .remedy = "swap the limits"});
  EXPECT_STREQ(error.what(), "robot.xml:12: joint 'knee': range is [1, 0]; swap the limits");
  EXPECT_EQ(error.where().line, 12);
  EXPECT_EQ(error.remedy(), "swap the limits");
}

TEST(Error, LeavesOutUnknownParts) {
  EXPECT_STREQ(Error(SourceLocation{.file = "a.xml", .line = 0, .element = ""}, "bad").what(), "a.xml: bad");
  EXPECT_STREQ(Error(SourceLocation{.file = "", .line = 7, .element = "body 'b'"}, "mass {}", -1).what(),
               "body 'b': mass -1");
}

TEST(Error, IsCaughtAsItsBases) {
  EXPECT_THROW(throw InputError("bad"), Error);
  EXPECT_THROW(throw InputError("bad"), std::runtime_error);
  static_assert(std::is_nothrow_copy_constructible_v<InputError>);
}

TEST(Check, PassesSilently) { EXPECT_NO_THROW(TOUCHSTONE_CHECK(1 + 1 == 2)); }

TEST(Check, NamesConditionAndValues) {
  const int rows = 3;
  try {
    TOUCHSTONE_CHECK(rows == 4, "matrix has {} rows", rows);
    FAIL() << "the check did not throw";
  } catch (const InternalError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("rows == 4: matrix has 3 rows"), std::string::npos) << what;
    EXPECT_NE(what.find("error_test.cpp:"), std::string::npos) << what;
  }
}

TEST(Check, FormatsOnlyOnFailure) {
  int formatted = 0;
  TOUCHSTONE_CHECK(true, "{}", ++formatted);
  EXPECT_EQ(formatted, 0);
}

}  // namespace
}  // namespace touchstone

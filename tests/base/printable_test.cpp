#include "touchstone/base/printable.hpp"

#include <random>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const char* text :
       {"", "knee", "Gelenk \xc3\xa4\xc3\xb6", "\xe5\x85\xb3\xe8\x8a\x82", "\xf0\x9f\xa4\x96", "a\\b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("\x1b[31mred"), "\\u001b[31mred");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\u000ab\\u0009c\\u000d");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("\x7f"), "\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m")
      << "the eight-bit introducer";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\u202e") << "turns the direction of writing";
  EXPECT_EQ(printable_lines("a\nb\tc\x1b"), "a\nb\tc\\u001b");
}

TEST(Printable, WritesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above the last code point";
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80") << "cut off";
  EXPECT_EQ(valid_utf8("a\x1b\xff"), "a\x1b\\xff");
}

// Any bytes: the result has no control character and does not change when it is printed again.
TEST(Printable, IsSafeForAnyBytes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text(random() % 24, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string shown = printable(text);
    EXPECT_EQ(printable(shown), shown);
    EXPECT_EQ(valid_utf8(shown), shown);
    for (const char c : shown) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(Printable, ErrorsAreSafeToPrint) {
  const InputError error({.where = {"\x1b]0;title\a.xml", 1, "joint '\xff'"}, .message = "bad", .remedy = ""});
  EXPECT_STREQ(error.what(), "\\u001b]0;title\\u0007.xml:1: joint '\\xff': bad");
  EXPECT_EQ(error.where().file, "\x1b]0;title\a.xml") << "the name itself stays usable";
}

}  // namespace
}  // namespace touchstone

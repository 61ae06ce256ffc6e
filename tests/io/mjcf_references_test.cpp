// Warnings about a solref that a rigid constraint does not follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"

namespace touchstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<Warning> warnings_of(const std::string& content) {
  return load_mjcf_string("<mujoco>" + content + "</mujoco>")->warnings;
}

const std::string kTwo =
    "<worldbody><body name='a'><joint name='j'/><geom size='.1'/></body>"
    "<body name='b'><joint name='k'/><geom size='.1'/></body></worldbody>";

TEST(MjcfReferences, AnEqualityThatSwingsIsSaid) {
  for (const char* equality :
       {"<connect body1='a' body2='b' anchor='0 0 0' solref='0.02 0.3'/>",
        "<weld body1='a' body2='b' solref='-10000 -60'/>", "<joint joint1='j' joint2='k' solref='0.005 0.3'/>"}) {
    const auto warnings = warnings_of(kTwo + "<equality>" + equality + "</equality>");
    ASSERT_EQ(warnings.size(), 1U) << equality;
    EXPECT_THAT(warnings[0].message, AllOf(HasSubstr("damping ratio 0.3"), HasSubstr("rigid"), HasSubstr("mujoco")));
    EXPECT_GT(warnings[0].origin.line, 0);
  }
  EXPECT_TRUE(warnings_of(kTwo + "<equality><joint joint1='j' joint2='k' solref='0.005 1'/></equality>").empty());
}

TEST(MjcfReferences, MixedFormatsAreSaidOnceForEachSolref) {
  const auto warnings = warnings_of(
      "<default><geom solref='-1000 1'/></default><worldbody><geom size='.1'/><geom size='.1'/><geom size='.1' "
      "solref='0.02 0'/><body><joint limited='true' range='0 1' solreflimit='-50'/><geom size='.1' solref='0.02 0.5'/>"
      "</body></worldbody>");
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_THAT(warnings[0].message, AllOf(HasSubstr("'-1000 1'"), HasSubstr("'0.02 1'"), HasSubstr("1 more like it")));
  EXPECT_THAT(warnings[1].message, HasSubstr("'0.02 0'"));
  EXPECT_THAT(warnings[2].message, HasSubstr("'-50 1'"));
}

// Contacts and limits do what their solref says.
TEST(MjcfReferences, BouncesAreSilent) {
  EXPECT_TRUE(warnings_of("<worldbody><geom type='plane' size='1 1 1' solref='-100000 0'/><body><joint limited='true' "
                          "range='0 1' solreflimit='0.02 0.2'/><geom size='.1' solref='0.02 0.2'/></body></worldbody>")
                  .empty());
}

}  // namespace
}  // namespace touchstone

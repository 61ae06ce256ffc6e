#include "touchstone/io/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/urdf_support.hpp"

namespace touchstone {
namespace {

using namespace urdf_testing;
using ::testing::HasSubstr;

const std::string kMjcf =
    "<mujoco model='m'><worldbody><body name='b'><joint name='h'/><geom size='1'/></body></worldbody></mujoco>";

class Load : public ::testing::Test {
 protected:
  std::string error_of_file(const std::filesystem::path& file) {
    try {
      load_model(file);
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << file << " loads";
    return {};
  }

  TemporaryFolder folder;
};

TEST_F(Load, ChoosesTheFormatByExtensionAndRootElement) {
  const std::string urdf = two_links("continuous");
  for (const char* name : {"r.urdf", "r.URDF", "r.xml", "r"}) {
    const ModelPtr model = load_model(folder.write(name, urdf));
    EXPECT_EQ(model->joints[0].name, "j") << name;
    EXPECT_EQ(model->file, (folder.path() / name).string());
  }
  for (const char* name : {"m.xml", "m.mjcf", "m"}) {
    EXPECT_EQ(load_model(folder.write(name, kMjcf))->joints[0].name, "h") << name;
  }
}

TEST_F(Load, PassesOptionsOn) {
  LoadOptions options;
  options.floating_base = true;
  EXPECT_EQ(load_model(folder.write("r.urdf", two_links("continuous")), options)->nv, 7);
}

TEST_F(Load, SaysWhatItCannotRead) {
  EXPECT_THAT(error_of_file(folder.write("a.sdf", "<sdf/>")), HasSubstr("not supported yet"));
  EXPECT_THAT(error_of_file(folder.write("a.xml", "<sdf version='1.6'/>")), HasSubstr("not supported yet"));
  EXPECT_THAT(error_of_file(folder.write("a.xml", "<html/>")), HasSubstr("a.xml:1: html: unknown format"));
  EXPECT_THAT(error_of_file(folder.write("a.xml", "hello")), HasSubstr("a.xml"));
  EXPECT_THAT(error_of_file(folder.write("a.xml", "")), HasSubstr("a.xml"));
  EXPECT_THAT(error_of_file(folder.write("a.xacro", "<robot><xacro:x/></robot>")), HasSubstr("expand the file first"));
  EXPECT_THAT(error_of_file(folder.path() / "none.xml"), HasSubstr("none.xml"));
  EXPECT_THAT(error_of_file(folder.path()), HasSubstr("folder"));
}

}  // namespace
}  // namespace touchstone

// What HDF5 thinks of a file is said by our errors; its own noise does not reach the user.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/io/fclib.hpp"
#include "touchstone/io/fclib/hdf5.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

class Hdf5Noise : public testing::Test {
 protected:
  void SetUp() override {
    file_ = fs::temp_directory_path() / ("touchstone_noise_" + std::to_string(getpid()) + ".hdf5");
    write_fclib(file_, {make_cube({1.0, 0.0, 0.0}), "", "", "", {}}, FclibForm::kLocal);
    std::ifstream stream(file_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  void TearDown() override { fs::remove(file_); }

  fs::path file_;
  std::string bytes_;
};

H5E_auto2_t printer() {
  H5E_auto2_t function = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &function, &data);
  return function;
}

TEST_F(Hdf5Noise, ReadersMayGoInAnyOrder) {
  const H5E_auto2_t before = printer();
  testing::internal::CaptureStderr();
  std::optional<hdf5::Reader> first, second;
  first.emplace(bytes_, "first");
  second.emplace(bytes_, "second");
  first.reset();
  EXPECT_THROW(second->numbers("/fclib_local/vectors/none"), InputError);
  EXPECT_THROW(second->integers("/fclib_local/vectors/q"), InputError);
  std::thread([&] { EXPECT_THROW(second->numbers("/fclib_local/W/none/x"), InputError); }).join();
  std::thread([&] { second.reset(); }).join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(printer(), before) << "the program that uses this library keeps its own ways";
}

TEST_F(Hdf5Noise, DamagedFilesAreReportedOnceAndQuietly) {
  testing::internal::CaptureStderr();
  for (std::size_t at = 8; at < bytes_.size(); at += 97) {
    for (const bool cut : {false, true}) {
      std::string damaged = bytes_;
      cut ? damaged.resize(at) : static_cast<void>(damaged[at] = static_cast<char>(~damaged[at]));
      try {
        parse_fclib(damaged, "damaged");
      } catch (const Error&) {
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// A limit of the file's size acts as a full disk. In a process of its own: HDF5 tries to write once more at its end.
TEST_F(Hdf5Noise, AFullDiskIsAnErrorAndNothingElse) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(channel[1], STDERR_FILENO);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3000, 3000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      write_fclib(file_, {make_wall(30), "", "", "", {}}, FclibForm::kLocal);
    } catch (const Error&) {
      code = 0;
    }
    std::exit(code);
  }
  close(channel[1]);
  std::string noise;
  char buffer[1024];
  for (ssize_t size = 0; (size = read(channel[0], buffer, sizeof buffer)) > 0;)
    noise.append(buffer, static_cast<std::size_t>(size));
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(noise, "");
}

}  // namespace
}  // namespace touchstone

// Runs the program `touchstone`, which is built beside this test, as a user does. TOUCHSTONE_BINARY overrides its path.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

inline std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct Outcome {
  int exit_code = -1;
  std::string out, error;
};

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TOUCHSTONE_BINARY");
    binary_ = given != nullptr ? fs::path(given) : fs::read_symlink("/proc/self/exe").parent_path() / "touchstone";
    if (!fs::exists(binary_)) GTEST_SKIP() << "there is no " << binary_;
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("touchstone_cli_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
  }

  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // `arguments` are words of a shell command; the working folder is a fresh one.
  Outcome run(const std::string& arguments, const std::string& environment = "") const {
    const fs::path error_file = folder_ / "stderr.txt";
    const std::string command = "cd '" + folder_.string() + "' && " + environment + " '" + binary_.string() + "' " +
                                arguments + " 2>'" + error_file.string() + "'";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    char buffer[4096];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.out.append(buffer, n);
    const int status = pclose(pipe);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.error = read_file(error_file);
    return outcome;
  }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  fs::path binary_, folder_;
};

// One line, as the manual promises.
inline void expect_error(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.error, StartsWith("touchstone: error: "));
  EXPECT_THAT(outcome.error, HasSubstr(part));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
}

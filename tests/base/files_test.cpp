// Files that users name, for reading and writing.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/memory.hpp"
#include "touchstone/base/output_file.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr FileKind kSmall{"test file", 1000};

class Files : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("touchstone_files_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  fs::path put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  // What stands in the folder, hidden files too.
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

// --- reading ---

TEST_F(Files, AreReadWhole) {
  const std::string bytes("a\0b\xff\n", 5);
  EXPECT_EQ(read_file(put("plain", bytes), kSmall), bytes);
  EXPECT_EQ(read_file(put("empty", ""), kSmall), "");
  EXPECT_EQ(read_file(put("full", std::string(1000, 'x')), kSmall).size(), 1000U);
  fs::create_symlink("plain", folder_ / "link");
  EXPECT_EQ(read_file(folder_ / "link", kSmall), bytes);
  EXPECT_FALSE(read_file("/proc/self/status", file_kind::kModel).empty()) << "claims to have no bytes";
}

TEST_F(Files, ThatNeverEndAreNotRead) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", (folder_ / "socket").c_str());
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::create_symlink("pipe", folder_ / "link");
  const auto read = [&](const fs::path& file) { return error_of([&] { read_file(file, kSmall); }); };
  EXPECT_THAT(read(folder_ / "pipe"), AllOf(HasSubstr("pipe"), HasSubstr("not a regular file")));
  EXPECT_THAT(read(folder_ / "link"), HasSubstr("a pipe"));
  EXPECT_THAT(read(folder_ / "socket"), HasSubstr("a socket"));
  EXPECT_THAT(read("/dev/zero"), HasSubstr("a device"));
  EXPECT_THAT(read(folder_), HasSubstr("a folder"));
  EXPECT_THAT(read(folder_ / "none"), HasSubstr("no such file"));
  EXPECT_THAT(read(folder_ / "pipe" / "below"), HasSubstr("no such file"));
  close(listener);
}

TEST_F(Files, ThatAreTooLargeAreNotRead) {
  const fs::path large = put("large", "");
  fs::resize_file(large, 1ULL << 40U);  // a hole: no room is taken
  EXPECT_THAT(error_of([&] { read_file(large, file_kind::kModel); }),
              AllOf(HasSubstr("large"), HasSubstr("a model may have 256 MiB")));
  EXPECT_THAT(error_of([&] { require_readable(large, file_kind::kRecording); }), HasSubstr("a recording may have"));
  EXPECT_THAT(error_of([&] { read_file(put("more", std::string(1001, 'x')), kSmall); }), HasSubstr("test file"));
}

// --- writing ---

TEST_F(Files, AreWrittenWholeOrNotAtAll) {
  const fs::path file = put("file", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  {
    OutputFile out(file);
    out.write("ne");
    EXPECT_EQ(content(file), "old");
  }
  EXPECT_EQ(content(file), "old") << "not committed";
  EXPECT_EQ(entries(), 1U) << "nothing is left";
  write_file(file, "new");
  EXPECT_EQ(content(file), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  write_file(folder_ / std::string(250, 'n'), "a long name");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Files, WriteThroughLinks) {
  const fs::path file = put("file", "old");
  fs::create_symlink("file", folder_ / "link");
  fs::create_symlink("link", folder_ / "second");
  fs::create_symlink("fresh", folder_ / "dangling");
  fs::create_symlink("loop", folder_ / "loop");
  write_file(folder_ / "second", "new");
  EXPECT_EQ(content(file), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link") && fs::is_symlink(folder_ / "second"));
  write_file(folder_ / "dangling", "made");
  EXPECT_EQ(content(folder_ / "fresh"), "made");
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling"));
  EXPECT_THAT(error_of([&] { write_file(folder_ / "loop", ""); }), HasSubstr("too many links"));
}

TEST_F(Files, WriteToDevicesAndPipesAsTheyAre) {
  struct stat before {
  }, after{};
  ASSERT_EQ(stat("/dev/null", &before), 0);
  write_file("/dev/null", "gone");
  fs::create_symlink("/dev/null", folder_ / "null");
  write_file(folder_ / "null", "gone");
  ASSERT_EQ(stat("/dev/null", &after), 0);
  EXPECT_TRUE(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino && before.st_mode == after.st_mode);
  EXPECT_THAT(error_of([] { write_file("/dev/full", "x"); }), AllOf(HasSubstr("/dev/full"), HasSubstr("space")));

  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = content(pipe); });
  write_file(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

// As a shell gives them: /dev/fd/63 for >(program), /dev/stdout where the output goes to a file.
TEST_F(Files, WriteToOpenDescriptors) {
  const fs::path file = put("file", "first ");
  const int descriptor = open(file.c_str(), O_WRONLY | O_APPEND);
  const std::string number = std::to_string(descriptor);
  write_file("/dev/fd/" + number, "second ");
  write_file("/proc/self/fd/" + number, "third");
  EXPECT_EQ(content(file), "first second third") << "the file is written on, not replaced";
  close(descriptor);
  EXPECT_THAT(error_of([&] { write_file("/dev/fd/" + number, ""); }), HasSubstr("not open"));
  EXPECT_THAT(error_of([&] { OutputFile("/dev/null").temporary(); }), HasSubstr("regular file"));
}

TEST_F(Files, NeverMakeFolders) {
  const fs::path file = folder_ / "a" / "b.html";
  EXPECT_THAT(error_of([&] { write_file(file, "x"); }), AllOf(HasSubstr("there is no folder"), HasSubstr("mkdir -p")));
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  put("plain", "");
  EXPECT_THAT(error_of([&] { write_file(folder_ / "plain" / "x", "x"); }), HasSubstr("not a folder"));
  EXPECT_THAT(error_of([&] { write_file(folder_, "x"); }), HasSubstr("this is a folder"));
  EXPECT_THAT(error_of([&] { write_file(folder_ / "new" / "", "x"); }), HasSubstr("folder"));
  EXPECT_THAT(error_of([&] { write_file("", "x"); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { require_writable(file); }), HasSubstr("there is no folder"));
  EXPECT_THAT(error_of([&] { write_file("/proc/new", "x"); }), testing::Not(HasSubstr("no error")));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, OutputFoldersAreMadeThemselvesOnly) {
  make_output_folder(folder_ / "tables");
  make_output_folder(folder_ / "tables" / "");
  EXPECT_TRUE(fs::is_directory(folder_ / "tables"));
  EXPECT_THAT(error_of([&] { make_output_folder(folder_ / "a" / "b"); }), HasSubstr("there is no folder"));
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  put("plain", "");
  EXPECT_THAT(error_of([&] { make_output_folder(folder_ / "plain"); }), HasSubstr("not a folder"));
}

TEST_F(Files, ReadOnlyOnesStay) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const fs::path file = put("file", "kept");
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_THAT(error_of([&] { write_file(file, "x"); }), HasSubstr("may not be written"));
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_ / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(error_of([&] { require_writable(folder_ / "closed" / "x"); }), HasSubstr("nothing can be written"));
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
}

// A limit of the file's size acts as a full disk.
TEST_F(Files, AFullDiskLeavesTheOldFile) {
  const fs::path file = put("file", "old");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = error_of([&] { write_file(file, std::string(100'000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot be written"));
  EXPECT_EQ(content(file), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, OfOneCommandAreDistinct) {
  put("model.xml", "");
  fs::create_symlink("model.xml", folder_ / "link.xml");
  fs::create_hard_link(folder_ / "model.xml", folder_ / "hard.xml");
  fs::create_symlink("new.html", folder_ / "dangling");
  fs::create_directory(folder_ / "sub");
  const auto clash = [&](const fs::path& a, const fs::path& b) {
    return error_of([&] { require_distinct({{"--html", a}, {"--png", b}}, {{"the model", folder_ / "model.xml"}}); });
  };
  const fs::path a = folder_ / "new.html";
  EXPECT_THAT(clash(a, a), AllOf(HasSubstr("--png and --html are the same file"), HasSubstr("of its own")));
  EXPECT_THAT(clash(a, folder_ / "." / "new.html"), HasSubstr("same file"));
  EXPECT_THAT(clash(a, folder_ / "sub" / ".." / "new.html"), HasSubstr("same file"));
  EXPECT_THAT(clash(a, folder_ / "dangling"), HasSubstr("same file"));
  EXPECT_THAT(clash(a, folder_ / "link.xml"), HasSubstr("the model"));
  EXPECT_THAT(clash(a, folder_ / "hard.xml"), HasSubstr("input is not lost"));
  EXPECT_EQ(clash(a, folder_ / "other.html"), "no error");
  EXPECT_EQ(clash(a, folder_ / "sub" / "new.html"), "no error");
  EXPECT_EQ(clash(a, ""), "no error");
  EXPECT_EQ(error_of([&] { require_distinct({{"--html", a}}, {{"the model", "pile:20"}}); }), "no error");
  EXPECT_EQ(error_of([&] {
              require_distinct({{"--html", "arch"}}, {{"the model", "arch"}});
            }),
            "no error")
      << "a scene";
}

TEST(Memory, IsKnown) {
  EXPECT_GT(available_memory(), 1U << 20U);
  EXPECT_GT(resident_memory(), 1U << 16U);
  EXPECT_EQ(memory_text(3.0 * (1U << 30U)), "3 GiB");
  EXPECT_EQ(memory_text(5.0 * (1U << 20U)), "5 MiB");
}

}  // namespace
}  // namespace touchstone

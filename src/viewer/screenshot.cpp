#include "touchstone/viewer/screenshot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/viewer/page.hpp"

extern char** environ;

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{90};  // software rendering on a busy machine is slow

// The first browser of the path that can make pictures; empty if there is none.
std::string find_browser() {
  constexpr std::array kNames{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"};
  if (const char* given = std::getenv("TOUCHSTONE_CHROMIUM"); given != nullptr && *given != '\0') return given;
  const char* path = std::getenv("PATH");
  for (const char* name : kNames) {
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
      if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate.string();
    }
  }
  return {};
}

std::string file_url(const fs::path& file) {
  std::string url = "file://";
  for (const char c : fs::absolute(file).string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

// Exit status of the program; -1 if it cannot run or takes too long (then it is ended).
int run_quietly(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int problem = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return -1;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A folder of its own that goes with its object.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "touchstone-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder in {}", fs::temp_directory_path().string());
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path path;
};

}  // namespace

void write_png(const Replay& replay, const fs::path& file, const ScreenshotOptions& options) {
  const std::string browser = find_browser();
  if (browser.empty()) {
    throw Error(ErrorDetail{.where = {},
                            .message = "pictures need Chromium or Chrome, and there is none in the path",
                            .remedy = "install it (Debian: apt install chromium), or write --html and open that"});
  }
  const TemporaryFolder folder;
  const fs::path page = folder.path / "replay.html";
  const fs::path picture = folder.path / "picture.png";
  write_html(replay, page);
  std::vector<std::string> words{browser,
                                 "--headless",
                                 "--hide-scrollbars",
                                 "--no-first-run",
                                 "--disable-extensions",
                                 "--use-angle=swiftshader",  // WebGL without a graphics card
                                 "--enable-unsafe-swiftshader",
                                 "--virtual-time-budget=2000",
                                 fmt::format("--user-data-dir={}", (folder.path / "profile").string()),
                                 fmt::format("--window-size={},{}", options.width, options.height),
                                 fmt::format("--screenshot={}", picture.string())};
  if (geteuid() == 0) words.emplace_back("--no-sandbox");  // its sandbox does not work for root
  words.push_back(
      fmt::format("{}#ui=0&play=0&t={}&theme={}", file_url(page), options.time, options.dark ? "dark" : "light"));
  const int status = run_quietly(std::move(words));
  if (status != 0 || !fs::exists(picture)) {
    throw Error(ErrorDetail{.where = {},
                            .message = fmt::format("{} made no picture (status {})", browser, status),
                            .remedy = "write --html and open that in a browser"});
  }
  std::ifstream stream(picture, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  viewer::write_atomically(file, bytes);
}

}  // namespace touchstone

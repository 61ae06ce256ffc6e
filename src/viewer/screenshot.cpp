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
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/viewer/page.hpp"

extern char** environ;

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{90};  // software rendering on a busy machine is slow

// Where a program is in the path; empty if it is not.
std::string find_program(const char* name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate.string();
  }
  return {};
}

// The first browser of the path that can make pictures.
std::string find_browser() {
  constexpr std::array kNames{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"};
  if (const char* given = std::getenv("TOUCHSTONE_CHROMIUM"); given != nullptr && *given != '\0') return given;
  for (const char* name : kNames) {
    if (std::string found = find_program(name); !found.empty()) return found;
  }
  throw Error(ErrorDetail{.where = {},
                          .message = "pictures need Chromium or Chrome, and there is none in the path",
                          .remedy = "install it (Debian: apt install chromium), or write --html and open that"});
}

std::string file_url(const fs::path& file) {
  std::string url = "file://";
  for (const char c : fs::absolute(file).string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

// Exit status of the program; -1 if it cannot run or takes too long (then it is ended). What it prints goes to
// `output`.
int run_quietly(std::vector<std::string> words, std::chrono::seconds patience = kPatience,
                const std::string& output = "/dev/null") {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int problem = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return -1;
  const auto deadline = std::chrono::steady_clock::now() + patience;
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

// The browser without a window, on a page with the replay.
std::vector<std::string> browser_command(const std::string& browser, const fs::path& folder, int width, int height) {
  std::vector<std::string> words{browser,
                                 "--headless",
                                 "--hide-scrollbars",
                                 "--no-first-run",
                                 "--disable-extensions",
                                 "--use-angle=swiftshader",  // WebGL without a graphics card
                                 "--enable-unsafe-swiftshader",
                                 "--virtual-time-budget=2000",
                                 fmt::format("--user-data-dir={}", (folder / "profile").string()),
                                 fmt::format("--window-size={},{}", width, height)};
  if (geteuid() == 0) words.emplace_back("--no-sandbox");  // its sandbox does not work for root
  return words;
}

std::string page_address(const fs::path& page, bool dark, const std::string& wishes) {
  return fmt::format("{}#ui=0&play=0&theme={}&{}", file_url(page), dark ? "dark" : "light", wishes);
}

[[noreturn]] void fail_with(const std::string& program, const char* what, int status) {
  throw Error(ErrorDetail{.where = {},
                          .message = fmt::format("{} made no {} (status {})", program, what, status),
                          .remedy = "write --html and open that in a browser"});
}

// What a program left in our folder. A film is many pictures, so this may be large.
constexpr FileKind kProduct{"picture or film", 16384 * file_kind::kMiB};

std::string decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

// The pictures of the document (web/src/film.ts), one after the other; returns how many. `type` is jpeg or png.
int gather_pictures(const std::string& document, const char* type, std::string& film) {
  const std::string mark = fmt::format("<pre id=\"film\" hidden=\"\">data:image/{};base64,", type);
  const std::string next = fmt::format("\ndata:image/{};base64,", type);
  int count = 0;
  std::size_t length = mark.size();
  for (std::size_t at = document.find(mark); at != std::string::npos; at = document.find(next, at)) {
    at += length;
    length = next.size();
    film += decode_base64(std::string_view(document).substr(at, document.find_first_of("\n<", at) - at));
    ++count;
  }
  return count;
}

}  // namespace

// The picture is made by the page and read from its document. Chromium's own --screenshot waits for a frame that may
// never come when the first one takes long, as it does in software on a busy machine.
void write_png(const Replay& replay, const fs::path& file, const ScreenshotOptions& options) {
  require_writable(file);
  const std::string browser = find_browser();
  const TemporaryFolder folder;
  const fs::path page = folder.path / "replay.html", document = folder.path / "document.html";
  write_html(replay, page);
  std::vector<std::string> words = browser_command(browser, folder.path, options.width, options.height);
  words.emplace_back("--dump-dom");
  words.push_back(page_address(page, options.dark,
                               fmt::format("t={}&still=1&size={}x{}", options.time, options.width, options.height)));
  const int status = run_quietly(std::move(words), kPatience, document.string());
  std::string bytes;
  if (status != 0 || gather_pictures(read_file(document, kProduct), "png", bytes) != 1)
    fail_with(browser, "picture", status);
  write_file(file, bytes);
}

void write_mp4(const Replay& replay, const fs::path& file, const FilmOptions& options) {
  require_writable(file);
  const std::string browser = find_browser(), encoder = find_program("ffmpeg");
  if (encoder.empty()) {
    throw Error(ErrorDetail{.where = {},
                            .message = "films need ffmpeg, and it is not in the path",
                            .remedy = "install it (Debian: apt install ffmpeg), or write --html"});
  }
  const TemporaryFolder folder;
  const fs::path page = folder.path / "replay.html", document = folder.path / "document.html";
  const fs::path pictures = folder.path / "pictures.mjpeg", film = folder.path / "film.mp4";
  write_html(replay, page);
  const double length = replay.frames.empty() ? 0.0 : replay.frames.back().time - replay.frames.front().time;
  const std::chrono::seconds patience = kPatience + std::chrono::seconds(static_cast<int>(2.0 * length * options.rate));
  std::vector<std::string> words = browser_command(browser, folder.path, options.width, options.height);
  words.emplace_back("--dump-dom");
  words.push_back(
      page_address(page, options.dark, fmt::format("film={}&size={}x{}", options.rate, options.width, options.height)));
  int status = run_quietly(std::move(words), patience, document.string());
  std::string bytes;
  if (status != 0 || gather_pictures(read_file(document, kProduct), "jpeg", bytes) == 0)
    fail_with(browser, "pictures", status);
  write_file(pictures, bytes);
  // Even sizes and four-two-zero colours: what every player can show.
  status = run_quietly({encoder, "-loglevel", "error", "-f", "mjpeg", "-framerate", fmt::format("{}", options.rate),
                        "-i", pictures.string(), "-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2", "-c:v", "libx264",
                        "-pix_fmt", "yuv420p", "-movflags", "+faststart", film.string()},
                       patience);
  if (status != 0 || !fs::exists(film)) fail_with(encoder, "film", status);
  write_file(file, read_file(film, kProduct));
}

}  // namespace touchstone

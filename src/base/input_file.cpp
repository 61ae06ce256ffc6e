#include "touchstone/base/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "touchstone/base/descriptor.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, std::string message, std::string remedy) {
  throw InputError({.where = {file.string(), 0, {}}, .message = std::move(message), .remedy = std::move(remedy)});
}

std::string reason(int error) { return std::generic_category().message(error); }

std::string size_text(std::uintmax_t bytes) {
  return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / static_cast<double>(file_kind::kMiB));
}

[[noreturn]] void fail_size(const std::filesystem::path& file, const FileKind& kind, const std::string& size) {
  fail(file, fmt::format("the file has {}, a {} may have {}", size, kind.name, size_text(kind.largest)),
       "check that it is the file you mean, or make it smaller");
}

void require(const std::filesystem::path& file, const struct stat& status, const FileKind& kind) {
  if (S_ISDIR(status.st_mode)) fail(file, "this is a folder, not a file", fmt::format("name a {}", kind.name));
  if (!S_ISREG(status.st_mode)) {
    const char* what = S_ISFIFO(status.st_mode) ? "a pipe" : S_ISSOCK(status.st_mode) ? "a socket" : "a device";
    fail(file, fmt::format("this is {}, not a regular file", what),
         fmt::format("write the {} to a file first", kind.name));
  }
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > kind.largest) fail_size(file, kind, size_text(size));
}

[[noreturn]] void fail_open(const std::filesystem::path& file, int error) {
  if (error == ENOENT || error == ENOTDIR) fail(file, "no such file", "check its name");
  fail(file, "the file cannot be read: " + reason(error), "check its name and permissions");
}

}  // namespace

void require_readable(const std::filesystem::path& file, const FileKind& kind) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) fail_open(file, errno);
  require(file, status, kind);
}

bool is_hdf5_file(const std::filesystem::path& file) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  char start[kSignature.size()];
  return in && ::read(in.get(), start, sizeof start) == static_cast<ssize_t>(sizeof start) &&
         std::string_view(start, sizeof start) == kSignature;
}

std::string read_file(const std::filesystem::path& file, const FileKind& kind) {
  require_readable(file, kind);  // before it is opened, which may wait or do something where it is a device
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!in) fail_open(file, errno);
  struct stat status {};
  if (::fstat(in.get(), &status) != 0) fail_open(file, errno);
  require(file, status, kind);
  constexpr std::size_t kLeast = 1U << 16U;
  std::string bytes;
  std::size_t used = 0;
  for (;;) {  // ends with the file, or with what its kind may have
    // One byte more than the file claims, so that its end is seen at the first attempt.
    const std::size_t wanted = used == 0 ? static_cast<std::size_t>(status.st_size) + 1 : 2 * used;
    if (used == bytes.size()) bytes.resize(std::max(wanted, kLeast));
    const ssize_t count = ::read(in.get(), bytes.data() + used, bytes.size() - used);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_open(file, errno);
    used += static_cast<std::size_t>(count);
    if (used > kind.largest) fail_size(file, kind, "more than " + size_text(kind.largest));
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace touchstone

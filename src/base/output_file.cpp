#include "touchstone/base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;                    // one after the other, as the system allows
constexpr int kMostAttempts = 1000;               // at a name that is free
constexpr std::size_t kLongestStem = 200;         // bytes of a name that the temporary one repeats; 255 are allowed
constexpr mode_t kNewFile = 0666;                 // less what the user's mask takes
constexpr std::uintmax_t kLeastRoom = 1U << 16U;  // bytes on the disk; with less there is no point in starting

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_at(const fs::path& file, std::string message, std::string remedy) {
  throw InputError({.where = {file.string(), 0, {}}, .message = std::move(message), .remedy = std::move(remedy)});
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// N of /proc/self/fd/N, in whatever way it is written: /dev/stdout, /dev/fd/63.
std::optional<int> open_descriptor(const fs::path& file) {
  const fs::path table = fmt::format("/proc/{}/fd", getpid());
  fs::path here = file;
  for (int link = 0; link < kMostLinks; ++link) {
    std::error_code error;
    const fs::path folder = fs::canonical(folder_of(here), error);
    if (error) return std::nullopt;
    const std::string name = here.filename().string();
    const bool number = !name.empty() && name.size() <= 9 && name.find_first_not_of("0123456789") == std::string::npos;
    if (folder == table && number) return std::stoi(name);
    const fs::path next = fs::read_symlink(folder / name, error);
    if (error) return std::nullopt;
    here = next.is_absolute() ? next : folder / next;
  }
  return std::nullopt;
}

// The file that links lead to; it need not exist.
fs::path resolved(const fs::path& file) {
  fs::path here = file;
  for (int link = 0; link < kMostLinks; ++link) {
    std::error_code error;
    const fs::path next = fs::read_symlink(here, error);
    if (error) return here;
    here = next.is_absolute() ? next : folder_of(here) / next;
  }
  fail_at(file, "the link leads nowhere: too many links", "choose another file");
}

struct Target {
  fs::path file;
  std::optional<int> descriptor;  // an open one of this process
  bool exists = false;
  struct stat status {};
  bool special() const { return descriptor.has_value() || (exists && !S_ISREG(status.st_mode)); }
};

Target look_at(const fs::path& file) {
  if (file.empty()) fail_at(file, "the name of the file is empty", "give a name");
  Target target;
  target.descriptor = open_descriptor(file);
  if (target.descriptor) return target;
  target.file = resolved(file);
  target.exists = ::stat(target.file.c_str(), &target.status) == 0;
  if (!target.exists && errno == ENOTDIR) fail_at(file, "a part of its path is a file, not a folder", "check its name");
  return target;
}

void require_folder(const fs::path& name, const fs::path& folder) {
  struct stat status {};
  const std::string shown = folder.string();
  if (::stat(folder.c_str(), &status) != 0) {
    const int error = errno;
    fail_at(name,
            error == ENOENT ? fmt::format("there is no folder '{}'", shown)
                            : fmt::format("the folder '{}' cannot be used: {}", shown, reason(error)),
            error == ENOENT ? "make it first (mkdir -p), or choose another file" : "choose another file");
  }
  if (!S_ISDIR(status.st_mode)) fail_at(name, fmt::format("'{}' is not a folder", shown), "choose another file");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    fail_at(name, fmt::format("nothing can be written into the folder '{}': {}", shown, reason(errno)),
            "choose another file, or change the permissions of the folder");
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0 && disk.f_blocks > 0 &&
      static_cast<std::uintmax_t>(disk.f_bavail) * disk.f_frsize < kLeastRoom)
    fail_at(name, "the disk is full", "make room, or choose a file on another disk");
}

void require_target(const fs::path& name, const Target& target) {
  if (target.descriptor) {
    if (::fcntl(*target.descriptor, F_GETFD) < 0) fail_at(name, "this descriptor is not open", "choose another file");
    return;
  }
  if (!target.exists && !target.file.has_filename()) fail_at(name, "this is the name of a folder", "name a file in it");
  if (target.exists && S_ISDIR(target.status.st_mode)) fail_at(name, "this is a folder", "name a file in it");
  if (target.exists && S_ISSOCK(target.status.st_mode)) fail_at(name, "this is a socket", "choose another file");
  if (target.exists && ::access(target.file.c_str(), W_OK) != 0)
    fail_at(name, "the file may not be written: " + reason(errno), "choose another one, or change its permissions");
  if (!target.special()) require_folder(name, folder_of(target.file));
}

// What makes two names one file: device and number of what exists, otherwise its folder and name.
bool same_file(const fs::path& a, const fs::path& b) {
  struct stat status_a {
  }, status_b{};
  const bool exists_a = ::stat(a.c_str(), &status_a) == 0, exists_b = ::stat(b.c_str(), &status_b) == 0;
  if (exists_a != exists_b) return false;
  if (exists_a) return status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
  const auto place = [](const fs::path& file) {
    std::error_code ignored;
    const fs::path end = resolved(file);
    return fs::weakly_canonical(folder_of(end), ignored) / end.filename();
  };
  return place(a) == place(b);
}

}  // namespace

OutputFile::OutputFile(const fs::path& file) : name_(file) {
  const Target target = look_at(file);
  require_target(file, target);
  target_ = target.file;
  if (target.descriptor) {
    std::fflush(stdout);  // what was printed before comes first
    out_ = Descriptor(::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0));
  } else if (target.special()) {
    out_ = Descriptor(::open(target_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  } else {
    open_temporary(target.exists ? target.status.st_mode & 07777U : 0U);
  }
  if (!out_) fail("the file cannot be written: " + reason(errno));
}

// `mode`: that of the file which will be replaced; 0 if there is none.
void OutputFile::open_temporary(unsigned mode) {
  static std::atomic<unsigned> count{0};
  const std::string stem = target_.filename().string().substr(0, kLongestStem);
  for (int attempt = 0; attempt < kMostAttempts && !out_; ++attempt) {
    temporary_ = folder_of(target_) / fmt::format(".{}.{}-{}.tmp", stem, getpid(), count++);
    out_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kNewFile));
    if (!out_ && errno != EEXIST) break;
  }
  if (out_ && mode != 0) ::fchmod(out_.get(), mode);  // where that is not allowed, those of a new file must do
  if (!out_) temporary_.clear();
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(const std::string& message) const { fail_at(name_, message, "choose another file"); }

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(out_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      fail_at(name_, "the file cannot be written: " + reason(error),
              error == ENOSPC || error == EDQUOT ? "make room on the disk, or choose a file on another one"
                                                 : "choose another file");
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

const fs::path& OutputFile::temporary() const {
  if (temporary_.empty()) fail("this needs a regular file, not a device or a pipe");
  return temporary_;
}

void OutputFile::commit() {
  if (!out_.close_now()) fail("the file cannot be written: " + reason(errno));
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("the file cannot be replaced: " + reason(errno));
  temporary_.clear();
}

void write_file(const fs::path& file, std::string_view bytes) {
  OutputFile out(file);
  out.write(bytes);
  out.commit();
}

void require_writable(const fs::path& file) { require_target(file, look_at(file)); }

void make_output_folder(const fs::path& folder) {
  if (folder.empty()) fail_at(folder, "the name of the folder is empty", "give a name");
  const fs::path plain = folder.has_filename() ? folder : folder.parent_path();
  struct stat status {};
  if (::stat(plain.c_str(), &status) != 0 && errno == ENOENT) {
    require_folder(folder, folder_of(plain));
    if (::mkdir(plain.c_str(), 0777) != 0 && errno != EEXIST)
      fail_at(folder, "the folder cannot be made: " + reason(errno), "choose another one");
  }
  require_folder(folder, plain);
}

void require_distinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  const auto refuse = [](const NamedFile& output, const NamedFile& other, const char* what) {
    fail_at(output.file, fmt::format("{} and {} are the same file", output.option, other.option), what);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].file.empty()) continue;
    for (std::size_t k = 0; k < i; ++k) {
      if (!outputs[k].file.empty() && same_file(outputs[i].file, outputs[k].file))
        refuse(outputs[i], outputs[k], "give each output a file of its own");
    }
    for (const NamedFile& input : inputs) {
      std::error_code ignored;  // an input that does not exist is no file, but a scene
      if (fs::exists(input.file, ignored) && same_file(outputs[i].file, input.file))
        refuse(outputs[i], input, "choose another file, so that the input is not lost");
    }
  }
}

}  // namespace touchstone

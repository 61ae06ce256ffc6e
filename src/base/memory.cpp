#include "touchstone/base/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t number_in(const std::string& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  return stream >> value ? value : kUnknown;
}

std::uint64_t of_system() {
  std::ifstream stream("/proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kilobytes = 0;
    if (words >> key >> kilobytes && key == "MemAvailable:") return 1024 * kilobytes;
  }
  return kUnknown;
}

// Pages of files count as used, but are given back when memory is short.
std::uint64_t cache_of(const std::string& folder) {
  std::ifstream stream(folder + "/memory.stat");
  std::uint64_t sum = 0, value = 0;
  for (std::string key; stream >> key >> value;) {
    if (key == "active_file" || key == "inactive_file") sum += value;
  }
  return sum;
}

// Of the group and all that it is in, version 2 of control groups; in a container the root is the container's.
std::uint64_t of_groups() {
  std::ifstream stream("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("0::", 0) == 0) group = line.substr(3);
  }
  std::uint64_t least = kUnknown;
  constexpr int kDeepest = 64;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const std::string folder = "/sys/fs/cgroup" + (group == "/" ? std::string() : group);
    const std::uint64_t limit = number_in(folder + "/memory.max"), charged = number_in(folder + "/memory.current");
    if (limit != kUnknown && charged != kUnknown) {
      const std::uint64_t used = charged - std::min(charged, cache_of(folder));
      least = std::min(least, limit - std::min(limit, used));
    }
    if (group.size() <= 1) break;
    group.resize(group.rfind('/'));
  }
  return least;
}

std::uint64_t pages(int field) {
  std::ifstream stream("/proc/self/statm");
  std::uint64_t value = 0;
  for (int i = 0; i <= field; ++i) {
    if (!(stream >> value)) return 0;
  }
  return value * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t of_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  const std::uint64_t used = pages(0);
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

}  // namespace

std::uint64_t available_memory() { return std::min({of_system(), of_groups(), of_limit()}); }

std::uint64_t resident_memory() { return pages(1); }

std::string memory_text(double bytes) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return bytes >= 0.1 * kGiB ? fmt::format("{:.3g} GiB", bytes / kGiB)
                             : fmt::format("{:.3g} MiB", 1024.0 * bytes / kGiB);
}

}  // namespace touchstone

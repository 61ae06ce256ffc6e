#include "touchstone/gpu/kernel_cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

namespace touchstone::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".cubin";

// What a file starts with: which key it is of, and a key of what follows.
std::string mark(const KernelKey& key, const std::string& code) {
  KernelKey content;
  content.add(code);
  return "TSKERNEL" + key.name() + content.name();
}

// A name that no other process, and no other thread of this one, writes to.
std::string temporary(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return path + "." + std::to_string(getpid()) + "." + std::to_string(count++);
}

}  // namespace

void KernelKey::add(const std::string& text) {
  // Fowler, Noll and Vo's hash, and beside it one that shifts; the length separates texts from each other.
  const auto mix = [&](std::uint64_t byte) {
    a_ = (a_ ^ byte) * 0x100000001b3ull;
    b_ = (b_ + byte) * 0xff51afd7ed558ccdull;
    b_ ^= b_ >> 29;
  };
  for (const char c : text) mix(static_cast<unsigned char>(c));
  mix(text.size());
}

std::string KernelKey::name() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a_),
                static_cast<unsigned long long>(b_));
  return text;
}

std::string KernelCache::default_folder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/touchstone/kernels";
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/touchstone/kernels";
  return "";
}

std::string KernelCache::path(const KernelKey& key) const { return folder_ + "/" + key.name() + kSuffix; }

std::string KernelCache::find(const KernelKey& key) const {
  if (folder_.empty()) return "";
  std::ifstream file(path(key), std::ios::binary);
  if (!file) return "";
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t start = mark(key, "").size();
  if (all.size() <= start) return "";
  std::string code = all.substr(start);
  if (all.compare(0, start, mark(key, code)) != 0) return "";
  std::error_code ignored;
  fs::last_write_time(path(key), fs::file_time_type::clock::now(), ignored);  // in use
  return code;
}

void KernelCache::store(const KernelKey& key, const std::string& code) const {
  if (folder_.empty() || code.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const std::string own = temporary(path(key));
  {
    std::ofstream file(own, std::ios::binary);
    file << mark(key, code) << code;
    file.close();
    if (!file) {
      fs::remove(own, failed);
      return;
    }
  }
  fs::rename(own, path(key), failed);
  if (failed) fs::remove(own, failed);
  drop_oldest();
}

void KernelCache::drop_oldest() const {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->path().filename().string().find(kSuffix) == std::string::npos) continue;  // temporary ones count
    const fs::file_time_type time = at->last_write_time(failed);
    if (!failed) files.emplace_back(time, at->path());
    failed.clear();
  }
  std::sort(files.begin(), files.end());
  for (std::size_t k = 0; k + static_cast<std::size_t>(most_) < files.size(); ++k) fs::remove(files[k].second, failed);
}

}  // namespace touchstone::gpu

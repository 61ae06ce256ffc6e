// Compiled kernels on disk, in the user's folder for such files: XDG_CACHE_HOME/touchstone/kernels or
// ~/.cache/touchstone/kernels. Any number of processes may use it at once: a file appears whole or not at all, and what
// is damaged counts as not there. Nothing here throws: without a folder nothing is kept.
#pragma once

#include <cstdint>
#include <string>

namespace touchstone::gpu {

// 128 bits of everything that the code follows from.
class KernelKey {
 public:
  void add(const std::string& text);
  std::string name() const;  // 32 hexadecimal digits

 private:
  std::uint64_t a_ = 0xcbf29ce484222325ull, b_ = 0x9e3779b97f4a7c15ull;
};

class KernelCache {
 public:
  // An empty folder: nothing is kept. Files beyond `most` go, those first that were not used for the longest time.
  explicit KernelCache(std::string folder = default_folder(), int most = kMost)
      : folder_(std::move(folder)), most_(most) {}

  static std::string default_folder();
  // The code that was stored, or nothing.
  std::string find(const KernelKey& key) const;
  void store(const KernelKey& key, const std::string& code) const;

 private:
  static constexpr int kMost = 64;

  std::string path(const KernelKey& key) const;
  void drop_oldest() const;

  std::string folder_;
  int most_;
};

}  // namespace touchstone::gpu

#include "touchstone/scenes/embedded.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace touchstone {
namespace {

namespace fs = std::filesystem;

TEST(EmbeddedFiles, AreTheFilesOfModelsByteForByte) {
  const fs::path root = fs::path(TOUCHSTONE_SOURCE_DIR) / "models";
  std::size_t expected = 0;
  if (fs::exists(root)) {
    expected = static_cast<std::size_t>(
        std::count_if(fs::recursive_directory_iterator(root), fs::recursive_directory_iterator(),
                      [](const fs::directory_entry& entry) { return entry.is_regular_file(); }));
  }
  EXPECT_EQ(embedded_files().size(), expected);
  for (const EmbeddedFile& file : embedded_files()) {
    std::ifstream stream(root / file.path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    EXPECT_EQ(file.text, content) << file.path;
  }
}

TEST(EmbeddedFiles, AreSortedByPath) {
  EXPECT_TRUE(std::is_sorted(embedded_files().begin(), embedded_files().end(),
                             [](const EmbeddedFile& a, const EmbeddedFile& b) { return a.path < b.path; }));
}

}  // namespace
}  // namespace touchstone

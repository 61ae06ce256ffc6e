// Reading files that users name. Only regular files are read: a pipe or a device may never end. What is too large for
// its kind is refused before it is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace touchstone {

struct FileKind {
  const char* name;        // "model", for messages
  std::uintmax_t largest;  // bytes
};

namespace file_kind {
inline constexpr std::uintmax_t kMiB = std::uintmax_t{1} << 20U;
inline constexpr FileKind kModel{"model", 256 * kMiB};
inline constexpr FileKind kMesh{"mesh", 1024 * kMiB};
inline constexpr FileKind kImage{"image or height field", 512 * kMiB};
inline constexpr FileKind kScene{"scene file", 16 * kMiB};
inline constexpr FileKind kProblem{"contact problem", 2048 * kMiB};
inline constexpr FileKind kRecording{"recording", 32768 * kMiB};
}  // namespace file_kind

// For readers that open the file themselves. Throws InputError if it does not exist, is no regular file (folder, pipe,
// socket, device) or is larger than its kind may be. Links are followed.
void require_readable(const std::filesystem::path& file, const FileKind& kind);

// All bytes. Throws as above, and if the file cannot be read. Reads no more than the kind allows, also if the file
// grows.
std::string read_file(const std::filesystem::path& file, const FileKind& kind);

// Whether it is a regular file that starts as HDF5 files do: a recording, or a contact problem.
bool is_hdf5_file(const std::filesystem::path& file);

}  // namespace touchstone

// Where the files of an MJCF model come from: the disk or a resolver, with includes spliced in.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "touchstone/base/input_file.hpp"
#include "touchstone/io/load_options.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {

class FileSource {
 public:
  // From the disk.
  explicit FileSource(std::vector<std::filesystem::path> search_paths) : search_paths_(std::move(search_paths)) {}
  // From memory only.
  explicit FileSource(FileResolver resolver) : resolver_(std::move(resolver)), in_memory_(true) {}

  // The path of a file that a model in `folder` names, if it exists there or on the search path.
  std::optional<std::string> find(const std::string& folder, const std::string& file) const;
  // The content of a path that `find` gave.
  std::string read(const std::string& path, const FileKind& kind = file_kind::kModel) const;
  bool in_memory() const { return in_memory_; }

 private:
  std::vector<std::filesystem::path> search_paths_;
  FileResolver resolver_;
  bool in_memory_ = false;
};

// Folder of a path, for resolving what a file there names; empty for the current one.
std::string folder_of(const std::string& path);

// Replaces every <include> below `root`; files are relative to `folder`, that of the main file, or else to the folder
// of the file that includes them. Each file may be included once.
void expand_includes(XmlDocument& document, XmlElement& root, const FileSource& files, const std::string& folder);

}  // namespace touchstone::mjcf

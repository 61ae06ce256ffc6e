// Short robots for the URDF tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/io/urdf.hpp"

namespace touchstone::urdf_testing {

inline const std::string kInertial =
    R"(<inertial><mass value="2"/><inertia ixx="3" iyy="4" izz="5" ixy="0" ixz="0" iyz="0"/></inertial>)";

inline std::string link(const std::string& name, const std::string& content = kInertial) {
  return "<link name=\"" + name + "\">" + content + "</link>\n";
}

inline std::string joint(const std::string& type, const std::string& name, const std::string& parent,
                         const std::string& child, const std::string& content = "") {
  return "<joint name=\"" + name + "\" type=\"" + type + "\"><parent link=\"" + parent + "\"/><child link=\"" + child +
         "\"/>" + content + "</joint>\n";
}

inline std::string robot(const std::string& content) { return "<robot name=\"r\">\n" + content + "</robot>\n"; }

// Links a and b with a joint j between them.
inline std::string two_links(const std::string& type, const std::string& joint_content = "") {
  return robot(link("a") + link("b") + joint(type, "j", "a", "b", joint_content));
}

inline ModelPtr load(const std::string& xml, const LoadOptions& options = {}) {
  return load_urdf_string(xml, "/nonexistent", options);
}

// The message of the error that loading ends with.
inline std::string error_of(const std::string& xml, const LoadOptions& options = {}) {
  try {
    load(xml, options);
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "loads without an error: " << xml;
  return {};
}

inline bool has_warning(const Model& model, const std::string& part) {
  for (const Warning& warning : model.warnings) {
    if ((warning.origin.text() + ": " + warning.message).find(part) != std::string::npos) return true;
  }
  return false;
}

// A folder of its own for each test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "touchstone-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path write(const std::filesystem::path& name, const std::string& content) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace touchstone::urdf_testing

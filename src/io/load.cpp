#include "touchstone/io/load.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include <fmt/format.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/io/xml.hpp"

namespace touchstone {
namespace {

std::string lower_extension(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

[[noreturn]] void fail_sdf(const std::filesystem::path& file) {
  throw InputError(ErrorDetail{.where = {file.string(), 0, {}},
                               .message = "SDF is not supported yet",
                               .remedy = "convert the model to URDF or MJCF"});
}

}  // namespace

ModelPtr load_model(const std::filesystem::path& file, const LoadOptions& options) {
  const std::string extension = lower_extension(file);
  if (extension == ".urdf") return load_urdf(file, options);
  if (extension == ".sdf" || extension == ".world") fail_sdf(file);

  XmlDocument document;
  const XmlElement& root = document.parse_file(file);
  if (root.tag == "robot") return load_urdf(file, options);
  if (root.tag == "mujoco" || root.tag == "mujocoinclude") return load_mjcf(file, options);
  if (root.tag == "sdf") fail_sdf(file);
  fail(root, fmt::format("unknown format: the top-level element is <{}>", root.tag),
       "load URDF (<robot>) or MJCF (<mujoco>)");
}

}  // namespace touchstone

#include "touchstone/io/load.hpp"

#include <string>

#include <fmt/format.h>

#include "touchstone/io/mesh_file.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/io/xml.hpp"

namespace touchstone {
namespace {

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

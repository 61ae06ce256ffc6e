#include "touchstone/io/load.hpp"

#include <string>

#include <fmt/format.h>

#include "touchstone/base/input_file.hpp"
#include "touchstone/io/mesh_file.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone {
namespace {

[[noreturn]] void fail_sdf(const std::filesystem::path& file) {
  throw InputError(ErrorDetail{.where = {file.string(), 0, {}},
                               .message = "SDF is not supported yet",
                               .remedy = "convert the model to URDF or MJCF"});
}

[[noreturn]] void fail_hdf5(const std::filesystem::path& file) {
  const std::string name = file.string();
  throw InputError(ErrorDetail{
      .where = {name, 0, {}},
      .message = "this is an HDF5 file, a recording or a contact problem, not a model",
      .remedy = fmt::format("'touchstone view {0}' shows a recording and 'touchstone export {0} --csv DIR' writes it "
                            "as tables; 'touchstone solve {0}' solves a contact problem",
                            name)});
}

}  // namespace

ModelPtr load_model(const std::filesystem::path& file, const LoadOptions& options) {
  if (is_hdf5_file(file)) fail_hdf5(file);
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

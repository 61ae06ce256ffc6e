#include "touchstone/io/urdf.hpp"

#include <string>

#include "touchstone/base/input_file.hpp"
#include "touchstone/io/convex_pieces.hpp"
#include "touchstone/io/urdf/urdf_assembly.hpp"
#include "touchstone/io/urdf/urdf_document.hpp"
#include "touchstone/io/urdf/urdf_loops.hpp"
#include "touchstone/io/urdf/urdf_resources.hpp"
#include "touchstone/io/urdf/urdf_tree.hpp"
#include "touchstone/io/xml/xml.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone {
namespace {

// Stands for the file name in messages about text that came from elsewhere.
constexpr const char* kNoFile = "<urdf>";

ModelPtr load(std::string_view xml, const std::string& file, const std::filesystem::path& base_dir,
              const LoadOptions& options) {
  XmlDocument document;
  const XmlElement& root = document.parse(xml, file);
  UrdfNotes notes(options);
  ModelBuilder builder;
  try {
    const UrdfRobot robot = read_urdf(root, notes);
    const UrdfTree tree = make_urdf_tree(robot);
    UrdfResources resources(base_dir, options);
    builder.set_name(robot.name);
    if (file != kNoFile) builder.set_file(file);
    assemble_urdf(robot, tree, options, resources, notes, builder);
    const std::filesystem::path own = file != kNoFile ? file : "";
    if (const auto loops = find_urdf_loops(own, options)) add_urdf_loops(*loops, builder);
  } catch (const InputError& error) {
    notes.fail_if_refused(&error);
    throw;
  }
  notes.fail_if_refused();
  for (const Warning& warning : notes.warnings().list()) builder.add_warning(warning);
  return with_mesh_collision(builder.build(), options);
}

}  // namespace

ModelPtr load_urdf(const std::filesystem::path& file, const LoadOptions& options) {
  return load(read_file(file, file_kind::kModel), file.string(), file.parent_path(), options);
}

ModelPtr load_urdf_string(std::string_view xml, const std::filesystem::path& base_dir, const LoadOptions& options) {
  return load(xml, kNoFile, base_dir, options);
}

}  // namespace touchstone

#include "touchstone/io/mjcf.hpp"

#include "touchstone/io/convex_pieces.hpp"
#include "touchstone/io/mjcf_compiler.hpp"
#include "touchstone/io/mjcf_files.hpp"
#include "touchstone/io/mjcf_parser.hpp"

namespace touchstone {

ModelPtr load_mjcf(const std::filesystem::path& file, const LoadOptions& options) {
  const mjcf::FileSource files(options.search_paths);
  mjcf::ParseContext context{.options = options, .files = files, .next_id = 1, .element_count = 0, .open_models = {}};
  const mjcf::ModelSpec spec = mjcf::parse_file(context, file.string(), nullptr);
  return with_mesh_collision(mjcf::Compiler(spec, files).compile(), options);
}

ModelPtr load_mjcf_string(std::string_view xml, const LoadOptions& options, const FileResolver& files,
                          const std::string& name) {
  const mjcf::FileSource source(files);
  mjcf::ParseContext context{.options = options, .files = source, .next_id = 1, .element_count = 0, .open_models = {}};
  const mjcf::ModelSpec spec = mjcf::parse_text(context, xml, name, {});
  return with_mesh_collision(mjcf::Compiler(spec, source).compile(), options);
}

}  // namespace touchstone

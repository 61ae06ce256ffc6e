#include "touchstone/io/mjcf.hpp"

#include "touchstone/io/convex_pieces.hpp"
#include "touchstone/io/mjcf/mjcf_compiler.hpp"
#include "touchstone/io/mjcf/mjcf_files.hpp"
#include "touchstone/io/mjcf/mjcf_parser.hpp"

namespace touchstone {
namespace {

// Parts that are not supported are named together once everything is read, or when something else ends the reading.
template <typename Parse>
mjcf::ModelSpec parse_all(mjcf::ParseContext& context, const Parse& parse) {
  mjcf::ModelSpec spec;
  try {
    spec = parse();
  } catch (const InputError& error) {
    if (!context.refusals.empty()) context.refusals.fail(context.options, &error);
    throw;
  }
  if (!context.refusals.empty()) context.refusals.fail(context.options);
  return spec;
}

}  // namespace

ModelPtr load_mjcf(const std::filesystem::path& file, const LoadOptions& options) {
  const mjcf::FileSource files(options.search_paths);
  mjcf::ParseContext context{
      .options = options, .files = files, .next_id = 1, .element_count = 0, .open_models = {}, .refusals = {}};
  const mjcf::ModelSpec spec = parse_all(context, [&] { return mjcf::parse_file(context, file.string(), nullptr); });
  return with_mesh_collision(mjcf::Compiler(spec, files).compile(), options);
}

ModelPtr load_mjcf_string(std::string_view xml, const LoadOptions& options, const FileResolver& files,
                          const std::string& name) {
  const mjcf::FileSource source(files);
  mjcf::ParseContext context{
      .options = options, .files = source, .next_id = 1, .element_count = 0, .open_models = {}, .refusals = {}};
  const mjcf::ModelSpec spec = parse_all(context, [&] { return mjcf::parse_text(context, xml, name, {}); });
  return with_mesh_collision(mjcf::Compiler(spec, source).compile(), options);
}

}  // namespace touchstone

// touchstone decompose: splits the concave meshes of a model into convex pieces.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/io/convex_pieces.hpp"
#include "touchstone/sim/detection/collision_model.hpp"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

// Reads an OBJ file of triangles, writes one object for each convex piece.
constexpr const char* kScript = R"(
import os, sys
try:
    import coacd, numpy
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(10)
source, target, threshold, pieces, seed = sys.argv[1:]
vertices, faces = [], []
with open(source) as file:
    for line in file:
        kind, *numbers = line.split()
        (vertices if kind == "v" else faces).append(numbers)
coacd.set_log_level("error")
mesh = coacd.Mesh(numpy.array(vertices, float), numpy.array(faces, int) - 1)
parts = coacd.run_coacd(mesh, threshold=float(threshold), max_convex_hull=int(pieces), seed=int(seed))
with open(target, "w") as file:
    base = 1
    for i, (points, triangles) in enumerate(parts):
        file.write(f"o piece_{i}\n")
        file.writelines("v %.17g %.17g %.17g\n" % tuple(p) for p in points)
        file.writelines("f %d %d %d\n" % tuple(t + base) for t in triangles)
        base += len(points)
)";
constexpr int kNoCoacd = 10;  // exit status of the script

struct DecomposeOptions {
  ModelOptions model;
  std::string folder;
  std::string python = "python3";
  double threshold = 0.05;
  int max_pieces = -1;
  int seed = 0;
  bool all = false;
  bool force = false;
};

// Runs a program without a shell; its exit status, or 128 plus the signal that ended it.
int run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ);
  if (failed != 0) {
    throw Error(ErrorDetail{
        .where = {},
        .message = fmt::format("cannot run '{}': {}", arguments[0], std::generic_category().message(failed)),
        .remedy = "name a Python interpreter with --python"});
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Only a file that parses takes its final name, so that nothing half-written is ever found.
std::size_t split(const TriangleMesh& mesh, const fs::path& target, const DecomposeOptions& options) {
  OutputFile source(fs::path(target).replace_extension(".in.obj")), result(target);
  source.write(to_obj(mesh));
  const int status = run_program({options.python, "-c", kScript, source.temporary().string(),
                                  result.temporary().string(), fmt::format("{}", options.threshold),
                                  fmt::format("{}", options.max_pieces), fmt::format("{}", options.seed)});
  if (status != 0) {
    const bool missing = status == kNoCoacd;
    throw Error(ErrorDetail{.where = {},
                            .message = missing
                                           ? fmt::format("'{}' has no package coacd", options.python)
                                           : fmt::format("splitting mesh '{}' failed (status {})", mesh.name, status),
                            .remedy = missing ? "pip install coacd, or name another interpreter with --python"
                                              : "see the message above; is the mesh closed?"});
  }
  const std::size_t count = parse_pieces(read_file(result.temporary(), file_kind::kMesh), target.string()).size();
  result.commit();
  return count;
}

void decompose(const DecomposeOptions& options) {
  const ModelPtr model = load(options.model);
  const CollisionModel shapes(*model);
  const fs::path folder = options.folder.empty() ? default_pieces_folder() : fs::path(options.folder);
  std::error_code ignored;
  if (options.folder.empty()) fs::create_directories(folder, ignored);  // the user's cache is ours to make
  make_output_folder(folder);
  std::set<const TriangleMesh*> seen;
  int meshes = 0;
  for (const Collider& collider : shapes.colliders()) {
    const ShapeElement& element = model->shapes[static_cast<std::size_t>(collider.shape)];
    const bool is_mesh = element.shape.type == ShapeType::kMesh && !element.shape.mesh->triangles.empty();
    if (!is_mesh || !seen.insert(element.shape.mesh.get()).second) continue;
    if (!options.all && !shapes.hollow(collider)) continue;
    ++meshes;
    const TriangleMesh& mesh = *element.shape.mesh;
    const fs::path target = pieces_file(mesh, folder);
    if (!options.force && fs::exists(target)) {
      print(fmt::format("{}: {} pieces, prepared earlier\n", mesh.name, read_pieces(mesh, folder)->size()));
      continue;
    }
    if (isatty(STDERR_FILENO) != 0)
      print_note(fmt::format("{}: splitting {} triangles ...\n", mesh.name, mesh.triangles.size()));
    print(fmt::format("{}: {} pieces\n", mesh.name, split(mesh, target, options)));
    std::fflush(stdout);
  }
  if (meshes == 0) {
    print(fmt::format("No mesh of {} is much smaller than its convex hull{}.\n", model->name,
                      seen.empty() ? "" : "; --all splits every mesh"));
    return;
  }
  print(fmt::format("Pieces are in {}; load the model with --meshes pieces to use them.\n", folder.string()));
}

}  // namespace

void add_decompose_command(Command app, Context&) {
  const auto options = std::make_shared<DecomposeOptions>();
  Command command = app.add_subcommand("decompose", "Split concave meshes into convex pieces, for collision");
  add_model_options(command, options->model);
  command
      .add_option("--folder", options->folder,
                  "Where pieces are kept; made if it is not there (default: the user's cache)")
      .option_text("DIR");
  command.add_option("--threshold", options->threshold, "Concavity that is left, 0.01 (fine) to 1 (coarse)")
      .check(number_between(0.01, 1.0))
      .capture_default_str();
  command.add_option("--max-pieces", options->max_pieces, "At most so many pieces a mesh (-1: no limit)")
      .capture_default_str();
  command.add_option("--seed", options->seed, "Of the search").capture_default_str();
  command.add_option("--python", options->python, "The Python that has the package coacd").capture_default_str();
  command.add_flag("--all", options->all, "Also meshes that their hull fits");
  command.add_flag("--force", options->force, "Also meshes that have pieces already");
  command.footer(
      "Examples:\n"
      "  touchstone decompose robot.xml              concave meshes of a model, kept in the user's cache\n"
      "  touchstone decompose hand.urdf --threshold 0.02  finer pieces\n\n"
      "Meshes collide as their convex hull unless told otherwise, which fills cups and hands. This command needs the\n"
      "Python package coacd (pip install coacd) and keeps what it finds, so that it works once for each mesh.");
  command.callback([options] { decompose(*options); });
}

}  // namespace touchstone::cli

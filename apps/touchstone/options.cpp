#include "options.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "console.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/similar.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/scenes/maximal_scene.hpp"
#include "touchstone/scenes/scene_file.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/mechanism.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/unused_damping.hpp"

namespace touchstone::cli {
namespace {

bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(name, ignored);
}

LoadOptions load_options_of(const ModelOptions& options) {
  LoadOptions load_options;
  load_options.names = {.allow_ignored = "--allow-ignored", .search_paths = "--search-path", .max_elements = ""};
  load_options.allow_ignored = options.allow_ignored;
  if (options.meshes == "triangles") load_options.mesh_collision = MeshCollision::kTriangles;
  if (options.meshes == "pieces") load_options.mesh_collision = MeshCollision::kPieces;
  load_options.floating_base = options.floating_base;
  load_options.merge_fixed = !options.keep_fixed;
  load_options.loops = options.loops;
  load_options.search_paths.assign(options.search_paths.begin(), options.search_paths.end());
  return load_options;
}

// A path is no mistyped scene.
[[noreturn]] void fail_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const SceneInfo& info : scenes()) names.emplace_back(info.name);
  const bool path = name.find('/') != std::string::npos || name.find('.') != std::string::npos;
  throw InputError(ErrorDetail{.where = {},
                               .message = fmt::format("'{}' is neither a file nor a scene", name),
                               .remedy = (path ? "" : did_you_mean(name.substr(0, name.find(':')), names) + " ") +
                                         "'touchstone scenes' lists the scenes"});
}

Scene load_base(const ModelOptions& options) {
  if (is_file(options.model)) {
    if (is_scene_file(options.model)) return load_scene_file(options.model, load_options_of(options));
    return scene_of(load_model(options.model, load_options_of(options)));
  }
  if (find_scene(options.model) == nullptr) fail_unknown(options.model);
  return make_scene(options.model);
}

void close_loops(Scene& scene) {
  Mechanism mechanism(scene.model);
  const ClosureReport report = mechanism.close(scene.start);
  mechanism.project_velocity(scene.start);
  if (report.closed) return;
  print_note(fmt::format("touchstone: warning: loops stay open by {:.2g} m after {} iterations\n", report.error,
                         report.iterations));
  constexpr std::size_t kMost = 5;  // lines
  for (std::size_t i = 0; i < std::min(report.open.size(), kMost); ++i)
    print_note(fmt::format("touchstone: warning: {}: {:.2g} m\n", report.open[i].name, report.open[i].error));
}

}  // namespace

void add_model_options(Command command, ModelOptions& options) {
  command
      .add_option("MODEL", options.model,
                  "A scene by name ('touchstone scenes'), maybe with parameters (pile:200), an MJCF or URDF file, or a "
                  "scene file (.yaml)")
      .required();
  command
      .add_option("--search-path", options.search_paths,
                  "Further folder for meshes, includes and ROS packages; may be repeated")
      .option_text("DIR")
      .check(existing_directory())
      .allow_extra_args(false);
  command.add_flag("--floating-base,--floating", options.floating_base, "URDF: the root link moves freely");
  command.add_flag("--keep-fixed", options.keep_fixed, "URDF: keep links behind fixed joints as bodies");
  command
      .add_option("--loops", options.loops,
                  "URDF: the file that describes loops, instead of NAME.loops.yaml beside NAME.urdf; 'none': no file")
      .option_text("FILE");
  command.add_flag("--allow-ignored", options.allow_ignored,
                   "Load although something that changes the physics must be dropped");
  command
      .add_option("--meshes", options.meshes,
                  "Meshes collide as their convex hull, as triangles, or as the pieces made by 'touchstone decompose'")
      .check(one_of({"hull", "triangles", "pieces"}))
      .option_text("hull|triangles|pieces [hull]");
}

void add_maximal_option(Command command, ModelOptions& options) {
  command.add_flag("--maximal", options.maximal,
                   "In maximal coordinates: every body is free, every joint of a tree a loop joint");
}

ModelPtr load(const ModelOptions& options) {
  Scene scene = load_base(options);
  if (options.maximal) scene = in_maximal_coordinates(std::move(scene));
  if (is_file(options.model)) add_collision_warnings(scene);
  return scene.model;
}

void add_scene_options(Command command, SceneOptions& options) {
  add_model_options(command, options.model);
  add_maximal_option(command, options.model);
  command.add_option("--step", options.step, "Time step in seconds (default: the scene's or the model's)")
      .option_text("S")
      .check(number_between(1e-6, 1.0));
  command
      .add_option("--accuracy", options.accuracy,
                  "Make steps in parts whose size follows from this error of positions; --step is then how often to "
                  "look (default: steps of one size)")
      .option_text("M")
      .check(number_between(1e-12, 1.0));
  command.add_option("--solver", options.solver, "Contact solver; 'touchstone solvers' lists them")
      .option_text("NAME [auto]");
  command
      .add_option(
          "--integrator", options.integrator,
          "Semi-implicit Euler, Moreau's or the variational midpoint rule, from event to event, or the variational "
          "rule with constraints where a step ends")
      .option_text("euler|midpoint|variational|event|contact-implicit [euler]");
  command
      .add_option("--option", options.options,
                  "Any option of the simulator or the solver; may be repeated. Simulator: tolerance, max_iterations, "
                  "warm_start, islands, sleep, erp, loop_erp, loop_softening, slop, recovery_speed, margin, ...")
      .option_text("KEY=VALUE")
      .allow_extra_args(false);
  command.add_option("--keyframe", options.keyframe, "Start at this keyframe of the model (default: the first)")
      .option_text("NAME");
  command.add_flag("--ground", options.ground, "Put a plane below the model, at its lowest point");
  command.add_flag("--close-loops", options.close_loops,
                   "Move the start pose onto all loops and limits first, its velocity too; says what stays open");
  command.add_flag("--hold", options.hold, "Hold the start pose with a spring and damper at every joint");
  command.add_option("--hold-rate", options.hold_rate, "Stiffness of the hold, as a rate")
      .option_text(fmt::format("RAD/S [{:g}]", options.hold_rate))
      .check(number_between(0.0, 1e4));
}

Scene load(const SceneOptions& options) {
  Scene scene = load_base(options.model);
  if (!options.keyframe.empty()) start_at_keyframe(scene, options.keyframe);
  if (options.close_loops) close_loops(scene);
  if (options.ground) {
    // Keyframes and start stay valid: the ground adds a shape, no joint.
    scene.model = with_ground(*scene.model, scene.start.q);
  }
  if (options.step > 0.0) scene.options.time_step = options.step;
  if (!options.solver.empty()) {
    set_option(scene.options, "solver", options.solver);
    scene.options.solver_options.clear();
  }
  if (!options.integrator.empty()) set_option(scene.options, "integrator", options.integrator);
  if (options.accuracy > 0.0) scene.options.accuracy = options.accuracy;
  for (const std::string& option : options.options) set_option(scene.options, option);
  if (options.hold) scene.hold = Hold{.rate = options.hold_rate};
  if (options.model.maximal) scene = in_maximal_coordinates(std::move(scene));
  if (is_file(options.model.model)) add_collision_warnings(scene);
  return scene;
}

void show_warnings(const Scene& scene) {
  std::vector<Warning> warnings = scene.model->warnings;
  if (auto unused = unused_damping(*scene.model, scene.options)) warnings.push_back(std::move(*unused));
  show_warnings(warnings);
}

void show_warnings(const std::vector<Warning>& warnings) {
  constexpr std::size_t kMost = 20;  // lines
  const std::size_t count = warnings.size();
  for (std::size_t i = 0; i < std::min(count, kMost); ++i) {
    const Warning& warning = warnings[i];
    const SourceLocation where{warning.origin.file, warning.origin.line, warning.origin.element};
    const std::string place = where.text();
    std::string line = fmt::format("{}{}{}", place, place.empty() ? "" : ": ", warning.message);
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
    print_note(fmt::format("touchstone: warning: {}\n", line));
  }
  if (count > kMost)
    print_note(fmt::format("touchstone: warning: and {} more; 'touchstone info' lists all of them\n", count - kMost));
}

}  // namespace touchstone::cli

// The options that several commands share.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "touchstone/scenes/scene.hpp"

namespace touchstone::cli {

// A model by file or scene name, and how to load it.
struct ModelOptions {
  std::string model;
  std::vector<std::string> search_paths;
  bool floating_base = false;
  std::string loops;  // a file, "none", or empty
  bool keep_fixed = false;
  bool allow_ignored = false;
  std::string meshes = "hull";
  bool maximal = false;  // coordinates
};

void add_model_options(Command command, ModelOptions& options);
// For commands that can do with a model in maximal coordinates; scene options have it.
void add_maximal_option(Command command, ModelOptions& options);

// The file if there is one, otherwise the scene of that name. Throws Error.
ModelPtr load(const ModelOptions& options);

// What to simulate, and how.
struct SceneOptions {
  ModelOptions model;
  double step = 0.0;      // s; 0: as the scene or model says
  double accuracy = 0.0;  // m; 0: as the scene says
  std::string solver, integrator;
  std::vector<std::string> options;  // "name=value"
  std::string keyframe;
  bool ground = false;
  bool close_loops = false;
  bool hold = false;
  double hold_rate = Hold().rate;
};

void add_scene_options(Command command, SceneOptions& options);

// A scene of the library, a scene file (.yaml, .yml), or a model file as a scene; then what the options change.
Scene load(const SceneOptions& options);

// What loading left out or did not understand, and what the solver does not use, on standard error, a line each.
void show_warnings(const Scene& scene);
void show_warnings(const std::vector<Warning>& warnings);

}  // namespace touchstone::cli

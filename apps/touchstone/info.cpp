#include "info.hpp"

#include <memory>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"

namespace touchstone::cli {

void add_info_command(Command app, Context& context) {
  struct Options {
    ModelOptions model;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();

  Command command = app.add_subcommand("info", "Show what a model is made of: tree, joints, masses, actuators, ...");
  add_model_options(command, options->model);
  add_maximal_option(command, options->model);
  command.add_flag("--json", options->json, "The model, for programs");
  command.footer(R"(Examples:
  touchstone info quadruped
  touchstone info talos.urdf --floating-base --search-path ~/robots
  touchstone info humanoid.xml --json | jq '.joints[].name'
  touchstone info loops/four-bar --maximal

Positions are in metres, angles in radians, masses in kilograms.)");
  command.callback([options, &context] {
    const ModelPtr model = load(options->model);
    if (options->json) {
      print(model_json(model) + '\n');
    } else {
      print(model_summary(*model) + '\n' + model_tree(*model) + model_lists(*model, context.verbose) +
            model_mobility(model) + model_warnings(*model));
    }
  });
}

}  // namespace touchstone::cli

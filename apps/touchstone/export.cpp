// touchstone export: a recording as tables, or a model as the arrays of the batched backend.
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "export_arrays.hpp"
#include "options.hpp"
#include "recording_state.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/record/recording.hpp"

namespace touchstone::cli {
namespace {

struct ExportOptions {
  SceneOptions source;
  std::string csv;
  ArrayFiles arrays;
};

void export_tables(const ExportOptions& options, Context& context) {
  const std::string& file = options.source.model.model;
  const std::filesystem::path folder = options.csv;
  require_distinct({{"--csv (steps)", folder / "steps.csv"}, {"--csv (contacts)", folder / "contacts.csv"}},
                   {{"the recording", file}});
  const Recording recording(file);
  write_csv(recording, folder);
  print(fmt::format("{} moments, {} contacts: {}/steps.csv, {}/contacts.csv\n", recording.rows(),
                    recording.contacts().rows(), options.csv, options.csv));
  report_state(recording, file);
  if (!recording.damage().empty()) context.exit_code = kCheckFailed;
}

}  // namespace

void add_export_command(Command app, Context& context) {
  const auto options = std::make_shared<ExportOptions>();
  Command command = app.add_subcommand("export", "Write a recording as tables, or a model as arrays for a GPU");
  add_scene_options(command, options->source);
  command.add_option("--csv", options->csv, "Of a recording: folder for steps.csv and contacts.csv; made if absent")
      .option_text("DIR");
  command.add_option("--arrays", options->arrays.arrays, "Of a model: file for its arrays").option_text("FILE");
  command.add_option("--states", options->arrays.states, "With --arrays: file for states to start worlds in")
      .option_text("FILE");
  command.add_option("--count", options->arrays.count, "How many states")
      .option_text("N [512]")
      .check(number_between(1, 1000000));
  command.add_option("--seed", options->arrays.seed, "Of the random controls that lead to them").option_text("N [1]");
  command.footer(R"(Examples:
  touchstone run arch --record arch.h5
  touchstone export arch.h5 --csv tables
  touchstone export robot.xml --arrays robot.arrays --states robot.states

MODEL is a file of 'touchstone run --record' with --csv, and a model with --arrays.

A damaged recording gives the rows before the damage; what is wrong is said, and the exit code is 1. steps.csv has a line
for each recorded moment, contacts.csv for each contact point; numbers are written in full, so that reading them gives the
same bits.

Arrays are what the batched backend computes with (docs/gpu.md), on a machine that has nothing else of Touchstone. States
are those of runs with random controls, taken at regular intervals.)");
  command.callback([options, &context] {
    if (options->csv.empty() == options->arrays.arrays.empty())
      throw Error("export: give --csv DIR for a recording, or --arrays FILE for a model");
    if (!options->csv.empty()) {
      export_tables(*options, context);
    } else {
      export_arrays(load(options->source), options->arrays);
    }
  });
}

}  // namespace touchstone::cli

// touchstone run: a scene from start to end, with its certificate.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"
#include "run_loop.hpp"
#include "run_report.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/record/recording.hpp"
#include "touchstone/viewer/page.hpp"

namespace touchstone::cli {
namespace {

struct RunOptions {
  SceneOptions scene;
  RunRequest request;
  std::string html, csv;
  bool json = false, quiet = false, lenient = false;
};

// Written through a recording; beside the tables unless it is wanted anyway.
void write_tables(const std::string& record, const std::string& folder) { write_csv(Recording(record), folder); }

// Before anything runs.
void check_files(const RunOptions& options) {
  const std::filesystem::path tables = options.csv;
  std::vector<NamedFile> outputs{{"--html", options.html}, {"--record", options.request.record}};
  if (!options.csv.empty()) {
    outputs.push_back({"--csv (steps)", tables / "steps.csv"});
    outputs.push_back({"--csv (contacts)", tables / "contacts.csv"});
  }
  require_distinct(outputs, {{"the model", options.scene.model.model}});
  if (!options.csv.empty()) make_output_folder(tables);
  for (const NamedFile& output : outputs) {
    if (!output.file.empty()) require_writable(output.file);
  }
}

constexpr int kNotGiven = -1;

// What only a batch has.
void check_batch(BatchRequest& batch) {
  const char* given = batch.worlds > 0           ? "--worlds"
                      : batch.world != kNotGiven ? "--world"
                      : batch.noise >= 0.0       ? "--noise"
                                                 : nullptr;
  if (batch.device.empty() && given != nullptr)
    throw Error("{} needs --device: 'lanes' steps many worlds on the processor, 'cuda' on a GPU", given);
  batch.world = std::max(batch.world, 0);
  batch.noise = std::max(batch.noise, 0.0);
}

// Says so where the batch and the simulator disagree about the world that is shown.
void warn_of_difference(const RunResult& result) {
  constexpr double kMost = 1e-2;  // m/s or rad/s
  if (result.batch_json.is_null()) return;
  const double difference = result.batch_json.at("difference").get<double>();
  if (difference <= kMost) return;
  const std::string text = fmt::format(
      "velocities of the shown world and of the simulator that follows it were {:.1e} m/s or rad/s apart after a step; "
      "contacts, forces and energy are the simulator's",
      difference);
  show_warnings(std::vector<Warning>{{Origin{}, text}});
}

int run(RunOptions options) {
  check_files(options);
  check_batch(options.request.batch);
  const Scene scene = load(options.scene);
  show_warnings(scene);
  const bool temporary = !options.csv.empty() && options.request.record.empty();
  if (temporary) {
    options.request.record = (std::filesystem::path(options.csv) / ".recording.h5").string();
  }
  options.request.frames = !options.html.empty();
  options.request.progress = !options.quiet;
  const InterruptWatch interrupt;
  const RunResult result = run_scene(scene, options.request, interrupt);
  warn_of_difference(result);
  if (!options.csv.empty()) write_tables(options.request.record, options.csv);
  if (temporary) std::filesystem::remove(options.request.record);
  if (!options.html.empty()) write_html(result.replay, options.html);

  if (options.json) {
    print(run_json(scene, result));
  } else if (!options.quiet) {
    print(fmt::format("{}: {}\n", styled(scene.name, Style::kBold), result.replay.subtitle));
    print(statistics_table(result.statistics) + result.batch_text + checks_table(result.replay.certificate));
    const auto said = [](const char* what, const std::string& file) {
      if (!file.empty()) print(written_text(what, file));
    };
    if (!temporary) said("recording", options.request.record);
    said("tables", options.csv);
    said("replay", options.html);
  }
  return exit_code(result, options.lenient);
}

void add_batch_options(Command& command, BatchRequest& batch) {
  batch.world = kNotGiven;
  batch.noise = kNotGiven;
  command.add_option("--device", batch.device, "Step many worlds: on one 'lane' of the processor, or with CUDA")
      .option_text("lanes|cuda")
      .check(one_of({"lanes", "cuda"}));
  command.add_option("--worlds", batch.worlds, "With --device: how many")
      .option_text("N [16, 1024]")
      .check(number_between(1, 1'000'000));
  command.add_option("--world", batch.world, "With --device: the one that is shown and recorded")
      .option_text("K [0]")
      .check(number_between(0, 1'000'000));
  command.add_option("--noise", batch.noise, "With --device: velocities of each world up to so far from the scene's")
      .option_text("V [0]")
      .check(number_between(0.0, 1e3));
}

}  // namespace

void add_run_command(Command app, Context& context) {
  const auto options = std::make_shared<RunOptions>();
  Command command = app.add_subcommand("run", "Simulate a scene or robot and certify every step");
  add_scene_options(command, options->scene);
  command.add_option("--time", options->request.duration, "Simulated seconds (default: the scene's)")
      .option_text("S")
      .check(number_between(0.0, 1e6));
  command.add_option("--record", options->request.record, "Keep everything in an HDF5 file").option_text("FILE.h5");
  command.add_option("--every", options->request.every, "Record every N-th step")
      .option_text("N [1]")
      .check(number_between(1, 1'000'000'000));
  command
      .add_option("--csv", options->csv, "Write steps.csv and contacts.csv into this folder; made if it is not there")
      .option_text("DIR");
  add_batch_options(command, options->request.batch);
  command.add_option("--html", options->html, "Write a replay that opens in any browser").option_text("FILE.html");
  const Option json = command.add_flag("--json", options->json, "The closing figures, for programs");
  command.add_flag("--quiet,-q", options->quiet, "Print nothing but warnings and errors").excludes(json);
  command.add_flag("--lenient", options->lenient, "Exit with 0 although a check failed");
  command.footer(R"(Examples:
  touchstone run quadruped --html quadruped.html
  touchstone run pile:200,shape=spheres --solver ncp-pgs --option tolerance=1e-4
  touchstone run stack:20 --time 10 --step 0.005 --record stack.h5 --every 5
  touchstone run talos.urdf --floating --ground --hold --time 3
  touchstone run loops/walker --maximal --option loops=closed
  touchstone run humanoid --device lanes --worlds 8 --noise 0.2 --world 3 --html world3.html
  touchstone run my-scene.yaml --json | jq .natv_relative

The certificate of a step is the distance of its contact forces from Signorini's and Coulomb's laws as a velocity (natv),
relative to the free velocity; it is computed from the problem's own data, not by the solver. "Energy" is the change from
start to end; "unexplained" is the part of it that no force did, the error of the time step.

The checks cover all steps, from the first impact to the last: the worst natv against the solver's tolerance, steps that
were not solved, the deepest penetration and the largest error of limits and equalities against 1 mm (or 1 mrad). With
softened constraints (--option constraints=mujoco) bodies overlap by intent; then only steps that were not solved count.

With --device every world of a batch is stepped by the code of a GPU (docs/gpu.md) with the scene's inputs and options.
The simulator follows one world: each of its steps starts where that world is, so that contacts, forces, energy, replay
and recording are of that world; how far both are apart after a step is said, with a warning above 0.01 m/s. The worst
natv of the batch and lost worlds are checked over all worlds, everything else on the world that is shown.

Exit codes:
  0    all checks passed
  1    a check failed (unless --lenient), or a step diverged
  2    wrong usage, or input that cannot be used
  130  interrupted (Ctrl-C, SIGTERM): table, recording, CSV and replay hold what was done; a second Ctrl-C ends at once)");
  command.callback([options, &context] { context.exit_code = run(*options); });
}

}  // namespace touchstone::cli

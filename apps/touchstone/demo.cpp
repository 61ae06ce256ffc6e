#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"
#include "run_loop.hpp"
#include "run_report.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/page.hpp"

namespace touchstone::cli {
namespace {

constexpr const char* kScene = "quadruped";

std::filesystem::path default_replay() {
  return std::filesystem::is_directory("build") ? "build/demo.html" : "touchstone-demo.html";
}

int run_demo(double duration, const std::filesystem::path& file) {
  if (has_viewer_page()) require_writable(file);
  const Scene scene = make_scene(kScene);
  print(fmt::format("{}: {}. {} bodies, {} degrees of freedom, {:.1f} kg.\n\n", styled(kScene, Style::kBold),
                    scene.description, scene.model->nbody - 1, scene.model->nv, scene.model->total_mass()));
  RunRequest request;
  request.duration = duration;
  request.frames = has_viewer_page();
  request.progress = true;
  const InterruptWatch interrupt;
  const RunResult result = run_scene(scene, request, interrupt);
  print(statistics_table(result.statistics));
  print("\nCertificate\n" + checks_table(result.replay.certificate));
  print('\n' + (result.passed() ? styled("all checks passed", Style::kGood) : styled("a check FAILED", Style::kBad)) +
        '\n');
  if (result.interrupted) print(fmt::format("interrupted at {:.4g} s\n", result.statistics.simulated));
  if (request.frames) {
    write_html(result.replay, file);
    print(written_text("replay", file, "open it in a browser"));
  } else {
    print("no replay: this build has no viewer page; './run demo' builds one, or see docs/viewer.md\n");
  }
  return exit_code(result, false);
}

}  // namespace

void add_demo_command(Command app, Context& context) {
  struct Options {
    double duration = 0.0;
    std::string out;
  };
  const auto options = std::make_shared<Options>();

  Command command =
      app.add_subcommand("demo", "Drop a quadruped onto rough ground, certify every step, write a replay");
  command.add_option("--time", options->duration, "Simulated seconds (default: the scene's 3)")
      .option_text("S")
      .check(number_between(1e-3, 60.0));
  command
      .add_option("--out", options->out,
                  "Where the HTML replay goes (default: build/demo.html, without a folder build/ "
                  "touchstone-demo.html)")
      .option_text("FILE");
  command.footer(R"(Examples:
  touchstone demo
  touchstone demo --time 1 --out drop.html
  touchstone run quadruped:drop=1,push=60 --html push.html   the same scene, otherwise

The exit code is 0 if all checks passed, 1 if one failed, 130 if it was interrupted.)");
  command.callback([options, &context] {
    const std::filesystem::path file = options->out.empty() ? default_replay() : std::filesystem::path(options->out);
    context.exit_code = run_demo(options->duration, file);
  });
}

}  // namespace touchstone::cli

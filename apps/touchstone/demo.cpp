#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"
#include "run_loop.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/page.hpp"

namespace touchstone::cli {
namespace {

constexpr const char* kScene = "quadruped";

std::filesystem::path default_replay() {
  return std::filesystem::is_directory("build") ? "build/demo.html" : "touchstone-demo.html";
}

std::string certificate_text(const std::vector<CertificateItem>& items) {
  Table table;
  table.add_row({styled("check", Style::kDim), styled("measured as", Style::kDim), styled("value", Style::kDim),
                 styled("limit", Style::kDim)});
  for (const CertificateItem& item : items) {
    table.add_row({item.name, item.meaning,
                   fmt::format("{:.1e}{}{}", item.value, item.unit.empty() ? "" : " ", item.unit),
                   fmt::format("{:.0e}", item.limit),
                   item.passed() ? styled("ok", Style::kGood) : styled("FAILED", Style::kBad)});
  }
  return table.text();
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
  const RunResult result = run_scene(scene, request);
  print(statistics_table(result.statistics));
  print("\nCertificate\n" + certificate_text(result.replay.certificate));
  bool passed = true;
  for (const CertificateItem& item : result.replay.certificate) passed = passed && item.passed();
  print('\n' + (passed ? styled("all checks passed", Style::kGood) : styled("a check FAILED", Style::kBad)) + '\n');
  if (request.frames) {
    write_html(result.replay, file);
    print(written_text("replay", file, "open it in a browser"));
  } else {
    print("no replay: this build has no viewer page; './run demo' builds one, or see docs/viewer.md\n");
  }
  return passed ? kSuccess : kCheckFailed;
}

}  // namespace

void add_demo_command(CLI::App& app, Context& context) {
  struct Options {
    double duration = 0.0;
    std::string out;
  };
  const auto options = std::make_shared<Options>();

  CLI::App* command =
      app.add_subcommand("demo", "Drop a quadruped onto rough ground, certify every step, write a replay");
  command->add_option("--time", options->duration, "Simulated seconds (default: the scene's 3)")
      ->option_text("S")
      ->check(number_between(1e-3, 60.0));
  command
      ->add_option("--out", options->out,
                   "Where the HTML replay goes (default: build/demo.html, without a folder build/ "
                   "touchstone-demo.html)")
      ->option_text("FILE");
  command->footer(R"(Examples:
  touchstone demo
  touchstone demo --time 1 --out drop.html
  touchstone run quadruped:drop=1,push=60 --html push.html   the same scene, otherwise)");
  command->callback([options, &context] {
    const std::filesystem::path file = options->out.empty() ? default_replay() : std::filesystem::path(options->out);
    context.exit_code = run_demo(options->duration, file);
  });
}

}  // namespace touchstone::cli

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "demo_report.hpp"
#include "free_fall.hpp"
#include "info.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/page.hpp"

namespace touchstone::cli {
namespace {

constexpr const char* kRobot = "quadruped";
constexpr double kShortestFlight = 1e-3, kLongestFlight = 10.0;  // s
constexpr double kShortestStep = 1e-5, kLongestStep = 0.1;       // s

// CLI::Range lets NaN pass.
CLI::Validator seconds_between(double low, double high) {
  const auto check = [low, high](const std::string& text) {
    double value = 0.0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return good ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, low, high);
  };
  return CLI::Validator(check, "");
}

std::filesystem::path default_report() {
  return std::filesystem::is_directory("build") ? "build/demo.html" : "touchstone-demo.html";
}

// Beside the report: demo.html has demo-replay.html.
std::filesystem::path replay_beside(const std::filesystem::path& report) {
  std::filesystem::path file = report;
  file.replace_filename(report.stem().string() + "-replay.html");
  return file;
}

void write_replay(const ModelPtr& model, FreeFall& flight, const std::filesystem::path& file) {
  if (!has_viewer_page()) {
    print("no replay: this build has no viewer page; './run demo' builds one, or see docs/viewer.md\n");
    return;
  }
  Replay replay;
  replay.title = fmt::format("A {} in free fall", model->name);
  replay.subtitle =
      fmt::format("{} steps of {:.3g} ms, Runge-Kutta of fourth order", flight.samples.size() - 1, 1e3 * flight.step);
  replay.model = model;
  replay.channels = free_fall_channels();
  replay.frames = std::move(flight.frames);
  replay.certificate = flight.checks;
  write_html(replay, file);
  print(fmt::format("replay: {} (open it in a browser)\n", file.string()));
}

std::string certificate_text(const FreeFall& flight) {
  Table table;
  table.add_row({styled("check", Style::kDim), styled("measured as", Style::kDim), styled("value", Style::kDim),
                 styled("limit", Style::kDim)});
  for (const Check& check : flight.checks) {
    table.add_row({check.name, check.meaning,
                   fmt::format("{:.1e}{}{}", check.value, check.unit.empty() ? "" : " ", check.unit),
                   fmt::format("{:.0e}", check.limit),
                   check.passed() ? styled("ok", Style::kGood) : styled("FAILED", Style::kBad)});
  }
  return table.text();
}

int run_demo(const FreeFallOptions& options, const std::filesystem::path& report) {
  const ModelPtr model = load_scene(kRobot);
  print(model_summary(*model) + '\n' + model_tree(*model) + '\n');

  FreeFall flight = simulate_free_fall(*model, options);
  print(fmt::format(
      "Free fall, {:.4g} s: {} steps of {:.4g} ms, Runge-Kutta of fourth order on the configuration manifold.\n"
      "The robot is tossed, spinning, every joint moving. Joint damping, dry friction, limits and servos are\n"
      "off, so that physics says exactly what energy, momentum and the centre of mass must do.\n\n",
      options.duration, flight.samples.size() - 1, 1e3 * flight.step));
  print(certificate_text(flight));

  std::size_t passed = 0;
  for (const Check& check : flight.checks) passed += check.passed() ? 1 : 0;
  print(fmt::format("\n{}, integrated in {:.1f} ms ({:.0f} times real time)\n",
                    styled(fmt::format("{} of {} checks passed", passed, flight.checks.size()),
                           flight.passed() ? Style::kGood : Style::kBad),
                    1e3 * flight.seconds, options.duration / flight.seconds));

  write_demo_report(report, *model, flight);
  print(fmt::format("report: {}\n", report.string()));
  write_replay(model, flight, replay_beside(report));
  return flight.passed() ? kSuccess : kCheckFailed;
}

}  // namespace

void add_demo_command(CLI::App& app, Context& context) {
  struct Options {
    FreeFallOptions flight;
    std::string report;
  };
  const auto options = std::make_shared<Options>();

  CLI::App* command = app.add_subcommand("demo", "Toss a quadruped into the air and check its flight against physics");
  command->add_option("--time", options->flight.duration, "Length of the flight in seconds")
      ->type_name("S")
      ->check(seconds_between(kShortestFlight, kLongestFlight))
      ->capture_default_str();
  command->add_option("--step", options->flight.step, "Time step in seconds")
      ->type_name("S")
      ->check(seconds_between(kShortestStep, kLongestStep))
      ->capture_default_str();
  command
      ->add_option("--out", options->report,
                   "Where the HTML report goes (default: build/demo.html, without a folder build/ "
                   "touchstone-demo.html); the replay goes beside it, as FILE-replay.html")
      ->type_name("FILE");
  command->footer(R"(Examples:
  touchstone demo
  touchstone demo --time 2 --out flight.html
  touchstone demo --step 0.05    too coarse: the checks fail and the exit code is 1)");
  command->callback([options, &context] {
    const std::filesystem::path report =
        options->report.empty() ? default_report() : std::filesystem::path(options->report);
    context.exit_code = run_demo(options->flight, report);
  });
}

}  // namespace touchstone::cli

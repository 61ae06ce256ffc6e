// touchstone compare: one scene, several solvers and time steps.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "console.hpp"
#include "html_page.hpp"
#include "json_text.hpp"
#include "options.hpp"
#include "run_loop.hpp"
#include "run_report.hpp"
#include "svg_plot.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/unused_damping.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::cli {
namespace {

constexpr std::size_t kMaxCurves = 6;  // colours of the page
constexpr double kFrameRate = 100.0;   // samples a second

struct CompareOptions {
  SceneOptions scene;
  std::vector<std::string> solvers{"auto", "ncp-admm", "ccp-admm", "lcp-pgs", "raisim"};
  std::vector<double> steps;
  double duration = 0.0;
  std::string html;
  bool json = false, quiet = false, strict = false;
};

struct Row {
  std::string name;  // "auto, 2 ms"
  std::string solver;
  double step = 0.0;
  RunResult result;
  double deviation = 0.0;  // m: largest distance of a body from where the first run has it, at the end
};

// A value of a run at any time, between its frames.
double sample(const std::vector<Frame>& frames, double time, const std::function<double(const Frame&)>& value) {
  const auto next =
      std::lower_bound(frames.begin(), frames.end(), time, [](const Frame& frame, double t) { return frame.time < t; });
  if (next == frames.end()) return time <= frames.back().time + 1e-9 ? value(frames.back()) : NAN;
  if (next == frames.begin()) return value(*next);
  const auto before = next - 1;
  const double s = (time - before->time) / (next->time - before->time);
  return (1.0 - s) * value(*before) + s * value(*next);
}

double deviation(const std::vector<Frame>& frames, const std::vector<Frame>& reference, double time) {
  double largest = 0.0;
  for (std::size_t b = 1; b < reference.front().poses.size(); ++b) {
    Vector3 difference;
    for (int k = 0; k < 3; ++k) {
      const auto position = [b, k](const Frame& frame) { return frame.poses[b].position[k]; };
      difference[k] = sample(frames, time, position) - sample(reference, time, position);
    }
    largest = std::max(largest, difference.norm());
    if (!std::isfinite(difference.norm())) return NAN;
  }
  return largest;
}

std::vector<Row> run_all(const CompareOptions& options, const InterruptWatch& interrupt) {
  const Scene base = load(options.scene);
  std::vector<Warning> warnings = base.model->warnings;
  for (const std::string& solver : options.solvers) {  // before anything runs
    SimulatorOptions own = base.options;
    own.solver = find_solver(solver).name;
    const auto unused = unused_damping(*base.model, own);
    const auto is_same = [&](const Warning& w) { return w.message == unused->message; };
    if (unused && std::none_of(warnings.begin(), warnings.end(), is_same)) warnings.push_back(*unused);
  }
  show_warnings(warnings);
  std::vector<double> steps = options.steps;
  if (steps.empty()) steps.push_back(0.0);
  std::vector<Row> rows;
  for (const std::string& solver : options.solvers) {
    for (const double step : steps) {
      if (!rows.empty() && interrupt.requested()) break;
      Scene scene = base;
      set_option(scene.options, "solver", solver);
      if (solver != base.options.solver) scene.options.solver_options.clear();
      if (step > 0.0) scene.options.time_step = step;
      RunRequest request;
      request.duration = options.duration;
      request.frames = true;
      request.frame_rate = kFrameRate;
      request.progress = !options.quiet;
      Row row;
      row.solver = solver;
      row.result = run_scene(scene, request, interrupt);
      row.step = row.result.time_step;
      row.name = steps.size() > 1 ? fmt::format("{}, {:g} ms", solver, 1e3 * row.step) : solver;
      rows.push_back(std::move(row));
    }
  }
  const std::vector<Frame>& reference = rows.front().result.replay.frames;
  for (Row& row : rows) {
    const std::vector<Frame>& frames = row.result.replay.frames;
    row.deviation = deviation(frames, reference, std::min(frames.back().time, reference.back().time));
  }
  return rows;
}

std::vector<std::string> titles() {
  return {"solver",       "step (ms)",  "time (us)", "iterations",       "natv, worst",       "natv, median",
          "law, worst",   "not solved", "contacts",  "penetration (mm)", "energy change (J)", "deviation (m)",
          "failed checks"};
}

std::vector<std::string> cells(const Row& row) {
  const RunStatistics& s = row.result.statistics;
  const double steps = std::max(1, s.steps);
  return {row.solver,
          fmt::format("{:g}", 1e3 * row.step),
          fmt::format("{:.1f}", 1e6 * s.wall / steps),
          fmt::format("{:.1f}", static_cast<double>(s.iterations) / steps),
          fmt::format("{:.1e}", s.worst_certificate()),
          fmt::format("{:.1e}", s.median_certificate()),
          s.worst_law > 0.0 ? fmt::format("{:.1e}", s.worst_law) : "-",
          s.diverged() ? "diverged" : std::to_string(s.steps - s.statuses[0]),
          fmt::format("{:.1f}", static_cast<double>(s.contacts) / steps),
          fmt::format("{:.2g}", 1e3 * s.penetration),
          fmt::format("{:+.4g}", s.last_energy - s.first_energy),
          fmt::format("{:.2g}", row.deviation),
          failed_checks(row.result.replay.certificate)};
}

std::string table_text(const std::vector<Row>& rows) {
  Table table(0);
  std::vector<std::string> header;
  for (const std::string& title : titles()) header.push_back(styled(title, Style::kDim));
  table.add_row(header);
  for (const Row& row : rows) table.add_row(cells(row));
  return table.text();
}

// What is missing after the user ended the comparison early.
std::string interruption(const CompareOptions& options, const std::vector<Row>& rows) {
  const std::size_t wanted = options.solvers.size() * std::max<std::size_t>(1, options.steps.size());
  const RunResult& last = rows.back().result;
  return fmt::format("interrupted: {} of {} runs are missing, the last one ended at {:.4g} of {:.4g} s\n",
                     wanted - rows.size(), wanted, last.statistics.simulated, last.duration);
}

std::string rows_json(const CompareOptions& options, const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const RunStatistics& s = row.result.statistics;
    list.push_back({{"solver", row.solver},
                    {"time_step", row.step},
                    {"steps", s.steps},
                    {"seconds_per_step", s.wall / std::max(1, s.steps)},
                    {"iterations", s.iterations},
                    {"natv_relative_worst", s.worst_certificate()},
                    {"natv_relative_median", s.median_certificate()},
                    {"law_natv_relative_worst", s.worst_law},
                    {"not_solved", s.steps - s.statuses[0]},
                    {"diverged", s.diverged()},
                    {"penetration", s.penetration},
                    {"energy_change", s.last_energy - s.first_energy},
                    {"deviation", row.deviation},
                    {"interrupted", row.result.interrupted},
                    {"passed", row.result.passed()},
                    {"checks", checks_json(row.result.replay.certificate)}});
  }
  return json_text({{"scene", options.scene.model.model}, {"runs", std::move(list)}}) + '\n';
}

Plot empty_plot(const std::string& title, const std::string& unit, bool logarithmic) {
  return {.title = title, .x_label = "time (s)", .y_label = unit, .x = {}, .series = {}, .logarithmic = logarithmic};
}

// A figure of the steps; between two frames its extremes are kept.
Plot channel_plot(const std::vector<Row>& rows, const std::string& title, const std::string& unit, std::size_t channel,
                  bool logarithmic = false) {
  Plot plot = empty_plot(title, unit, logarithmic);
  for (std::size_t k = 0; k < std::min(rows.size(), kMaxCurves); ++k) {
    PlotSeries series{.name = rows[k].name, .y = {}};
    for (const Frame& frame : rows[k].result.replay.frames) {
      series.x.push_back(frame.time);
      series.y.push_back(frame.values[channel]);
      series.low.push_back(frame.low[channel]);
      series.high.push_back(frame.high[channel]);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// Positions are continuous: there is no peak between frames.
Plot deviation_plot(const std::vector<Row>& rows) {
  Plot plot = empty_plot("Deviation from the first run", "distance (m)", false);
  const std::vector<Frame>& reference = rows.front().result.replay.frames;
  for (std::size_t k = 0; k < std::min(rows.size(), kMaxCurves); ++k) {
    PlotSeries series{.name = rows[k].name, .y = {}};
    for (const Frame& frame : rows[k].result.replay.frames) {
      series.x.push_back(frame.time);
      series.y.push_back(deviation(rows[k].result.replay.frames, reference, frame.time));
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string html(const CompareOptions& options, const std::vector<Row>& rows) {
  // The channels of step_channels().
  constexpr std::size_t kTotalEnergy = 2, kNatv = 3, kLaw = 4, kPenetration = 6, kIterations = 7, kSolve = 11;
  std::string out = page_begin("Touchstone: " + options.scene.model.model);
  out += fmt::format(
      "<h1>{}</h1>\n<p class='lead'>{} The same scene with several solvers or time steps. natv: distance from "
      "Signorini's and Coulomb's laws over the free velocity, by the certificate of the NCP, whatever model a solver "
      "solves. Law: distance of a compliant solver from its own law. Deviation: how far a body ends from where the "
      "first run has it. Curves keep the extremes of all steps; "
      "where they lie on each other, the first is on top.</p>\n<div class='card'><table><tr>",
      escape_markup(options.scene.model.model),
      escape_markup(rows.front().result.replay.subtitle.substr(0, rows.front().result.replay.subtitle.find(';')) +
                    "."));
  for (const std::string& title : titles())
    out += fmt::format("<th class='{}'>{}</th>", title == titles().front() || title == titles().back() ? "" : "number",
                       escape_markup(title));
  out += "</tr>\n";
  for (const Row& row : rows) {
    out += "<tr>";
    const std::vector<std::string> values = cells(row);
    for (std::size_t c = 0; c < values.size(); ++c)
      out += fmt::format("<td class='{}'>{}</td>", c == 0 || c + 1 == values.size() ? "" : "number",
                         escape_markup(values[c]));
    out += "</tr>\n";
  }
  out += "</table></div>\n<h2>Over time</h2>\n<div class='plots'>";
  std::vector<Plot> plots{channel_plot(rows, "Total energy", "energy (J)", kTotalEnergy),
                          channel_plot(rows, "Certificate", "natv, relative", kNatv, true)};
  const auto has_law = [](const Row& row) { return row.result.statistics.worst_law > 0.0; };
  if (std::any_of(rows.begin(), rows.end(), has_law))
    plots.push_back(channel_plot(rows, "Compliant laws", "law_natv, relative", kLaw, true));
  for (const Plot& plot : {channel_plot(rows, "Penetration", "deepest contact (mm)", kPenetration),
                           deviation_plot(rows), channel_plot(rows, "Iterations of a step", "iterations", kIterations),
                           channel_plot(rows, "Time of the solver", "microseconds", kSolve, true)})
    plots.push_back(plot);
  for (const Plot& plot : plots) out += fmt::format("<div class='card'>{}</div>\n", plot_svg(plot));
  out += "</div>\n";
  if (rows.size() > kMaxCurves) out += fmt::format("<p>The plots show the first {} runs.</p>\n", kMaxCurves);
  return out + page_end("touchstone compare");
}

}  // namespace

void add_compare_command(Command app, Context& context) {
  const auto options = std::make_shared<CompareOptions>();
  Command command = app.add_subcommand("compare", "One scene with several solvers or time steps, side by side");
  add_scene_options(command, options->scene);
  command.add_option("--solvers", options->solvers, "Solvers, apart by commas; the first is the reference")
      .delimiter(',')
      .option_text("NAME,.. [auto,ncp-admm,ccp-admm,lcp-pgs,raisim]");
  command.add_option("--steps", options->steps, "Time steps in seconds, apart by commas (default: the scene's)")
      .delimiter(',')
      .option_text("S,..")
      .check(number_between(1e-6, 1.0));
  command.add_option("--time", options->duration, "Simulated seconds (default: the scene's)")
      .option_text("S")
      .check(number_between(0.0, 1e4));
  command.add_option("--html", options->html, "Write the table and plots over time").option_text("FILE");
  command.add_flag("--json", options->json, "The table, for programs");
  command.add_flag("--strict", options->strict, "Exit with 1 if a check of any run failed");
  command.footer(R"(Examples:
  touchstone compare cube-slide --solvers auto,ccp-admm,lcp-pgs --html slide.html
  touchstone compare stack:10 --solvers auto --steps 0.001,0.002,0.005,0.01
  touchstone compare quadruped --time 1 --json | jq '.runs[] | [.solver, .natv_relative_worst]'

Each run has the checks of 'touchstone run'; the table names those that failed. Solvers of a simpler law than Coulomb's
fail them by design, which is what a comparison shows: it counts as a failure only with --strict.

Exit codes:
  0    every run came to its end
  1    a run diverged, or a check failed with --strict
  2    wrong usage, or input that cannot be used
  130  interrupted (Ctrl-C, SIGTERM): table and report hold what was done; a second Ctrl-C ends at once)");
  command.callback([options, &context] {
    require_distinct({{"--html", options->html}}, {{"the model", options->scene.model.model}});
    if (!options->html.empty()) require_writable(options->html);
    const InterruptWatch interrupt;
    const std::vector<Row> rows = run_all(*options, interrupt);
    print(options->json ? rows_json(*options, rows) : table_text(rows));
    if (interrupt.requested() && !options->json) print(interruption(*options, rows));
    if (!options->html.empty()) {
      write_page(options->html, html(*options, rows), "--html");
      if (!options->json) print(written_text("report", options->html));
    }
    context.exit_code = kSuccess;
    for (const Row& row : rows)
      context.exit_code = std::max(context.exit_code, exit_code(row.result, !options->strict));
    if (interrupt.requested()) context.exit_code = kInterrupted;
  });
}

}  // namespace touchstone::cli

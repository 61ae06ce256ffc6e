#include "solve_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "html_page.hpp"
#include "svg_plot.hpp"

namespace touchstone::cli {
namespace {

constexpr std::size_t kMaxCurves = 6;  // colours of the page

std::string verdict(const SolveResult& result) {
  if (result.solved) return "solved";
  if (result.status == SolveStatus::kSolved) return "certificate disagrees";
  return status_name(result.status);
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g}", 1e3 * seconds); }

std::string own_residual(const SolveResult& result) {
  return result.own_model ? fmt::format("{:.1e}", result.residuals.model_natv_relative) : "";
}

// About ten points of the curve.
std::string history_line(const SolveResult& result) {
  if (result.history.empty()) return "no iterations recorded";
  std::string line;
  const std::size_t step = std::max<std::size_t>(1, result.history.size() / 10);
  for (std::size_t k = 0; k < result.history.size(); k += step)
    line += fmt::format("{}:{:.1e} ", k + 1, result.history[k]);
  if ((result.history.size() - 1) % step != 0)
    line += fmt::format("{}:{:.1e}", result.history.size(), result.history.back());
  return line;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string html_table(const std::vector<SolveResult>& results) {
  std::string out =
      "<div class='card'><table><tr><th>problem</th><th class='number'>rows</th><th>solver</th><th></th>"
      "<th class='number'>iterations</th><th class='number'>time (ms)</th><th class='number'>natv (m/s)</th>"
      "<th class='number'>relative</th><th class='number'>own model</th><th class='how'>worst</th></tr>\n";
  for (const SolveResult& r : results) {
    out += fmt::format(
        "<tr><td>{}</td><td class='number'>{}</td><td>{}</td><td class='{}'>{}</td><td class='number'>{}</td>"
        "<td class='number'>{}</td><td class='number'>{:.1e}</td><td class='number'>{:.1e}</td><td "
        "class='number'>{}</td>"
        "<td class='how'>{}</td></tr>\n",
        escape_markup(r.problem), r.rows, r.solver, r.solved ? "good" : "bad", verdict(r), r.iterations,
        milliseconds(r.seconds), r.residuals.natv, r.residuals.natv_relative, own_residual(r),
        escape_markup(r.solved ? r.worst_block : r.message));
  }
  return out + "</table></div>\n";
}

// The curves of all solvers on one problem, the residual over iterations.
std::string convergence_plot(const std::vector<SolveResult>& results, std::size_t first, std::size_t last) {
  std::size_t longest = 0;
  for (std::size_t k = first; k < last; ++k) longest = std::max(longest, results[k].history.size());
  if (longest < 2) return {};
  Plot plot{.title = results[first].problem,
            .x_label = "iteration",
            .y_label = "natv, relative",
            .x = {},
            .series = {},
            .logarithmic = true};
  plot.x.resize(longest);
  std::iota(plot.x.begin(), plot.x.end(), 1.0);
  for (std::size_t k = first; k < std::min(last, first + kMaxCurves); ++k) {
    PlotSeries series{.name = results[k].solver, .y = std::vector<double>(longest, NAN)};
    std::transform(results[k].history.begin(), results[k].history.end(), series.y.begin(),
                   [](double value) { return std::max(value, 1e-17); });
    plot.series.push_back(std::move(series));
  }
  return fmt::format("<div class='card'>{}</div>\n", plot_svg(plot));
}

}  // namespace

std::string results_table(const std::vector<SolveResult>& results, bool history) {
  Table table(0);
  std::vector<std::string> header;
  for (const char* title : {"problem", "rows", "solver", "status", "iterations", "time (ms)", "natv (m/s)", "relative",
                            "own model", "worst"})
    header.push_back(styled(title, Style::kDim));
  table.add_row(header);
  for (const SolveResult& r : results) {
    table.add_row({r.problem, std::to_string(r.rows), styled(r.solver, Style::kBold),
                   styled(verdict(r), r.solved ? Style::kGood : Style::kBad), std::to_string(r.iterations),
                   milliseconds(r.seconds), fmt::format("{:.1e}", r.residuals.natv),
                   fmt::format("{:.1e}", r.residuals.natv_relative), own_residual(r),
                   r.solved ? r.worst_block : r.message});
  }
  std::string text = table.text();
  if (history) {
    text += "\nnatv relative, after iteration:\n";
    Table curves(2);
    for (const SolveResult& r : results) curves.add_row({r.problem, r.solver, history_line(r)});
    text += curves.text();
  }
  return text;
}

std::string results_json(const SolveRequest& request, const std::vector<SolveResult>& results) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SolveResult& r : results) {
    nlohmann::ordered_json item{{"problem", r.problem},
                                {"blocks", r.blocks},
                                {"rows", r.rows},
                                {"solver", r.solver},
                                {"solved", r.solved},
                                {"status", status_name(r.status)},
                                {"message", r.message},
                                {"iterations", r.iterations},
                                {"seconds", r.seconds},
                                {"natv", r.residuals.natv},
                                {"natv_relative", r.residuals.natv_relative},
                                {"natv_relative_to_change", r.residuals.natv_relative_to_change},
                                {"model_natv_relative", r.residuals.model_natv_relative},
                                {"worst_block", r.worst_block},
                                {"primal_cone", r.residuals.primal_cone},
                                {"dual_cone", r.residuals.dual_cone},
                                {"complementarity", r.residuals.complementarity},
                                {"natural_map", r.residuals.natural_map},
                                {"coulomb", r.residuals.coulomb},
                                {"signorini", r.residuals.signorini},
                                {"max_dissipation", r.residuals.max_dissipation}};
    if (request.history) item["history"] = r.history;
    list.push_back(std::move(item));
  }
  return nlohmann::ordered_json{{"tolerance", request.tolerance}, {"results", std::move(list)}}.dump(2) + '\n';
}

std::string results_csv(const std::vector<SolveResult>& results) {
  std::string text =
      "problem,blocks,rows,solver,solved,status,iterations,seconds,natv,natv_relative,model_natv_relative,primal_cone,"
      "dual_cone,complementarity,natural_map,coulomb,signorini,max_dissipation,worst_block,message\n";
  for (const SolveResult& r : results) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(r.problem), r.blocks,
                    r.rows, r.solver, r.solved, status_name(r.status), r.iterations, r.seconds, r.residuals.natv,
                    r.residuals.natv_relative, r.residuals.model_natv_relative, r.residuals.primal_cone,
                    r.residuals.dual_cone, r.residuals.complementarity, r.residuals.natural_map, r.residuals.coulomb,
                    r.residuals.signorini, r.residuals.max_dissipation, csv_field(r.worst_block), csv_field(r.message));
  }
  return text;
}

std::string results_html(const SolveRequest& request, const std::vector<SolveResult>& results) {
  const auto solved = std::count_if(results.begin(), results.end(), [](const SolveResult& r) { return r.solved; });
  std::string out = page_begin("Touchstone: contact problems solved");
  out += fmt::format(
      "<h1>Contact problems</h1>\n<p class='lead'>{} of {} solved to a relative natv of {:g}: the natural map "
      "in consistent units, computed from the problem's own data, never by the solver.</p>\n",
      solved, results.size(), request.tolerance);
  out += html_table(results);
  std::string plots;
  for (std::size_t first = 0; first < results.size(); first += request.solvers.size())
    plots += convergence_plot(results, first, first + request.solvers.size());
  if (!plots.empty()) out += "<h2>Convergence</h2>\n<div class='plots'>" + plots + "</div>\n";
  return out + page_end("touchstone solve");
}

}  // namespace touchstone::cli

#include "solve_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "html_page.hpp"
#include "json_text.hpp"
#include "svg_plot.hpp"
#include "touchstone/base/printable.hpp"

namespace touchstone::cli {
namespace {

constexpr std::size_t kMaxCurves = 6;  // colours of the page

std::string verdict(const SolveResult& result) {
  if (result.solved) return "solved";
  if (result.status == SolveStatus::kSolved) return "certificate disagrees";
  if (result.infeasible) return "infeasible";
  return status_name(result.status);
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g}", 1e3 * seconds); }

// A figure of the certificate; a problem that is not valid has none.
std::string figure(const SolveResult& result, double value) {
  return result.certified ? fmt::format("{:.1e}", value) : "-";
}

std::string own_residual(const SolveResult& result) {
  if (!result.own_model) return "";
  return figure(result, result.own_law ? result.residuals.law_natv_relative : result.residuals.model_natv_relative);
}

// The figures of the certificate by name, for JSON and CSV.
std::vector<std::pair<const char*, double>> figures(const Residuals& r) {
  return {{"natv", r.natv},
          {"natv_relative", r.natv_relative},
          {"natv_relative_to_change", r.natv_relative_to_change},
          {"model_natv_relative", r.model_natv_relative},
          {"law_natv_relative", r.law_natv_relative},
          {"primal_cone", r.primal_cone},
          {"dual_cone", r.dual_cone},
          {"complementarity", r.complementarity},
          {"natural_map", r.natural_map},
          {"coulomb", r.coulomb},
          {"signorini", r.signorini},
          {"max_dissipation", r.max_dissipation}};
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

std::string html_table(const SolveResults& results) {
  std::string out =
      "<div class='card'><table><tr><th>problem</th><th class='number'>rows</th><th>solver</th><th></th>"
      "<th class='number'>iterations</th><th class='number'>time (ms)</th><th class='number'>natv (m/s)</th>"
      "<th class='number'>relative</th><th class='number'>own model</th><th class='how'>worst</th></tr>\n";
  for (const SolveResult& r : results.solved) {
    out += fmt::format(
        "<tr><td>{}</td><td class='number'>{}</td><td>{}</td><td class='{}'>{}</td><td class='number'>{}</td>"
        "<td class='number'>{}</td><td class='number'>{}</td><td class='number'>{}</td><td class='number'>{}</td>"
        "<td class='how'>{}</td></tr>\n",
        escape_markup(r.problem), r.rows, r.solver, r.solved ? "good" : "bad", verdict(r), r.iterations,
        milliseconds(r.seconds), figure(r, r.residuals.natv), figure(r, r.residuals.natv_relative), own_residual(r),
        escape_markup(r.solved ? r.worst_block : r.message));
  }
  for (const UnreadableProblem& u : results.unreadable)
    out += fmt::format("<tr><td>{}</td><td></td><td></td><td class='bad'>unreadable</td><td colspan='6'>{}</td></tr>\n",
                       escape_markup(u.problem), escape_markup(u.message));
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

std::vector<std::string> problem_warnings(const SolveResults& results) {
  std::vector<std::string> lines;
  for (const SolveResult& r : results.solved) {
    std::string line = fmt::format("{}: {}", r.problem, r.warning);
    // Solvers of one problem follow each other and see the same.
    if (!r.warning.empty() && (lines.empty() || lines.back() != line)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string results_table(const SolveResults& results, bool history) {
  Table table(0);
  std::vector<std::string> header;
  for (const char* title : {"problem", "rows", "solver", "status", "iterations", "time (ms)", "natv (m/s)", "relative",
                            "own model", "worst"})
    header.push_back(styled(title, Style::kDim));
  table.add_row(header);
  for (const SolveResult& r : results.solved) {
    table.add_row({r.problem, std::to_string(r.rows), styled(r.solver, Style::kBold),
                   styled(verdict(r), r.solved ? Style::kGood : Style::kBad), std::to_string(r.iterations),
                   milliseconds(r.seconds), figure(r, r.residuals.natv), figure(r, r.residuals.natv_relative),
                   own_residual(r), r.solved ? r.worst_block : r.message});
  }
  for (const UnreadableProblem& u : results.unreadable)
    table.add_row({u.problem, "-", "-", styled("unreadable", Style::kBad), "-", "-", "-", "-", "", u.message});
  std::string text = table.text();
  if (history) {
    text += "\nnatv relative, after iteration:\n";
    Table curves(2);
    for (const SolveResult& r : results.solved) curves.add_row({r.problem, r.solver, history_line(r)});
    text += curves.text();
  }
  return text;
}

std::string results_json(const SolveRequest& request, const SolveResults& results) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array(), unreadable = nlohmann::ordered_json::array();
  for (const SolveResult& r : results.solved) {
    nlohmann::ordered_json item{
        {"problem", r.problem},        {"blocks", r.blocks},   {"rows", r.rows},
        {"solver", r.solver},          {"solved", r.solved},   {"status", status_name(r.status)},
        {"infeasible", r.infeasible},  {"message", r.message}, {"warning", r.warning},
        {"iterations", r.iterations},  {"seconds", r.seconds}, {"shift", r.shift},
        {"worst_block", r.worst_block}};
    for (const auto& [name, value] : figures(r.residuals)) {
      item[name] = r.certified ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    }
    if (request.history) item["history"] = r.history;
    list.push_back(std::move(item));
  }
  for (const UnreadableProblem& u : results.unreadable)
    unreadable.push_back({{"problem", u.problem}, {"message", u.message}});
  const nlohmann::ordered_json json{
      {"tolerance", request.tolerance}, {"results", std::move(list)}, {"unreadable", std::move(unreadable)}};
  return json_text(json) + '\n';
}

std::string results_csv(const SolveResults& results) {
  std::string text = "problem,blocks,rows,solver,solved,status,iterations,seconds,shift";
  for (const auto& [name, value] : figures({})) text += fmt::format(",{}", name);
  text += ",infeasible,worst_block,message,warning\n";
  for (const SolveResult& r : results.solved) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}", csv_field(r.problem), r.blocks, r.rows, r.solver, r.solved,
                        status_name(r.status), r.iterations, r.seconds, r.shift);
    for (const auto& [name, value] : figures(r.residuals)) text += r.certified ? fmt::format(",{}", value) : ",";
    text += fmt::format(",{},{},{},{}\n", r.infeasible, csv_field(r.worst_block), csv_field(r.message),
                        csv_field(r.warning));
  }
  for (const UnreadableProblem& u : results.unreadable) {
    text += fmt::format("{},,,,false,Unreadable,,,", csv_field(u.problem));
    for (std::size_t k = 0; k < figures({}).size(); ++k) text += ',';
    text += fmt::format(",,,{},\n", csv_field(u.message));
  }
  return text;
}

std::string results_html(const SolveRequest& request, const SolveResults& results) {
  const std::vector<SolveResult>& solved = results.solved;
  const auto count = std::count_if(solved.begin(), solved.end(), [](const SolveResult& r) { return r.solved; });
  std::string out = page_begin("Touchstone: contact problems solved");
  out += fmt::format(
      "<h1>Contact problems</h1>\n<p class='lead'>{} of {} solved to a relative natv of {:g}: the natural map "
      "in consistent units, computed from the problem's own data, never by the solver.</p>\n",
      count, solved.size(), request.tolerance);
  out += html_table(results);
  const std::vector<std::string> warnings = problem_warnings(results);
  if (!warnings.empty()) out += "<h2>Warnings</h2>\n";
  for (const std::string& warning : warnings) out += fmt::format("<p>{}</p>\n", escape_markup(warning));
  std::string plots;
  for (std::size_t first = 0; first < solved.size(); first += request.solvers.size())
    plots += convergence_plot(solved, first, first + request.solvers.size());
  if (!plots.empty()) out += "<h2>Convergence</h2>\n<div class='plots'>" + plots + "</div>\n";
  return out + page_end("touchstone solve");
}

}  // namespace touchstone::cli

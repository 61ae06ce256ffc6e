#include "bench_loops_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "svg_plot.hpp"

namespace touchstone::cli {
namespace {

using Cells = std::vector<std::string>;

constexpr double kNotFinite = 1e299;  // figures above it stand for what is not

std::string html_row(const Cells& cells, const char* tag, bool words) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += fmt::format("<{0}{1}>{2}</{0}>", tag, words || i == 0 ? "" : " class='number'", cells[i]);
  return out + "</tr>\n";
}

// `words`: text, not numbers.
std::string html_table(const Cells& head, const std::vector<Cells>& rows, bool words = false) {
  std::string out = "<div class='card'><table>" + html_row(head, "th", words);
  for (const Cells& row : rows) out += html_row(row, "td", words);
  return out + "</table></div>\n";
}

std::vector<double> counts_of(const SampleRows& samples, const std::string& name) {
  std::vector<double> values;
  for (const SampleRow* s : samples) values.push_back(s->count(name));
  return values;
}

std::vector<double> lost_rank(const SampleRows& samples) {
  std::vector<double> values;
  for (const SampleRow* s : samples) values.push_back(s->count("rows") - s->count("rank"));
  return values;
}

std::string whole(double value) { return fmt::format("{:.0f}", value); }

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }
double smallest(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

std::string systems_table(const SampleRows& samples) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const SampleRow* s : samples) {
    if (keys.empty() || keys.back() != std::pair{s->system, s->coordinates})
      keys.emplace_back(s->system, s->coordinates);
  }
  std::vector<Cells> rows;
  for (const auto& [system, coordinates] : keys) {
    SampleRows members;
    for (const SampleRow* s : samples) {
      if (s->system == system && s->coordinates == coordinates) members.push_back(s);
    }
    rows.push_back({short_name(system), coordinates, whole(members.front()->count("dofs")),
                    whole(median_of(counts_of(members, "joint_rows"))),
                    whole(median_of(counts_of(members, "contacts"))),
                    whole(median_of(counts_of(members, "other_rows"))),
                    fmt::format("{:.2f}", median_of(counts_of(members, "joint_density"))),
                    whole(median_of(lost_rank(members))), scientific_text(median_of(counts_of(members, "condition"))),
                    percent_text(share_solved(members, "auto", kCompared))});
  }
  return html_table({"system", "coordinates", "dofs", "joint rows", "contacts", "other rows", "joint density",
                     "rank lost", "condition", "auto solves"},
                    rows);
}

// What one row of Tab. II says twice and not alike.
std::string disagreement(const Json& row) {
  const auto number = [&](const char* name) { return row.at(name).get<int>(); };
  const int base = row.at("fixed_base").get<bool>() ? 0 : 6, total = number("total");
  const int passive = number("passive"), actuated = number("actuated"), constraints = number("constraints");
  std::string notes;
  const auto note = [&](const std::string& text) { notes += (notes.empty() ? "" : "; ") + text; };
  if (passive + actuated + (passive >= base ? 0 : base) != total)
    note(fmt::format("passive and actuated are {}, total {}", passive + actuated, total));
  const int coordinates = 6 * number("joints") - constraints + base;
  if (coordinates != total)
    note(fmt::format("{} joints with {} constraints leave {} coordinates, the base's {} included, not {}",
                     number("joints"), constraints, coordinates, base, total));
  const int left = 6 * number("bodies") - constraints;
  if (left != total && left != coordinates) note(fmt::format("6 dofs a body less the constraints are {}", left));
  return notes;
}

double optional_number(const Json& entry, const char* name) {
  return entry.contains(name) ? entry[name].get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string kamino_text(const Json& kamino) {
  std::string out = fmt::format("<h2>Kamino</h2><p>{}</p>", escape_markup(kamino.value("note", "")));
  if (!kamino.contains("rows")) return out;
  std::vector<Cells> rows;
  for (const Json& r : kamino["rows"]) {
    rows.push_back({escape_markup(r.at("label")), figure_text(1e6 * r.at("kamino").get<double>(), 3),
                    figure_text(1e6 * r.at("ours").get<double>(), 3), scientific_text(r.at("error"))});
  }
  return out +
         html_table({"system", "Kamino on the processor, us", "ours, maximal, us", "joint error of Kamino, m"}, rows);
}

}  // namespace

std::string figure_text(double value, int digits) {
  return std::isfinite(value) && std::abs(value) < kNotFinite ? fmt::format("{:.{}g}", value, digits) : "-";
}

std::string scientific_text(double value) {
  return std::isfinite(value) && std::abs(value) < kNotFinite ? fmt::format("{:.1e}", value) : "-";
}

std::string percent_text(double share) { return std::isfinite(share) ? fmt::format("{:.0f} %", 100.0 * share) : "-"; }

std::string short_name(const std::string& scene) { return escape_markup(scene.substr(scene.find('/') + 1)); }

std::string disagreements_section(const Json& figures) {
  std::vector<Cells> rows;
  for (const Json& s : figures.at("systems")) {
    if (!s.contains("table")) continue;
    const std::string notes = disagreement(s["table"]);
    if (!notes.empty()) rows.push_back({escape_markup(s["table"].at("name")), notes});
  }
  if (rows.empty()) return "";
  return "<h2>Rows of Tab. II that do not add up</h2><p>A joint of a closed chain counts as often as it is there, so "
         "that constraints may exceed dofs. Beyond that:</p>" +
         html_table({"row", "what disagrees"}, rows, true);
}

std::string samples_section(const Json& figures, const SampleRows& samples) {
  std::vector<Cells> rows;
  for (const std::string& category : kCategoryNames) {
    const SampleRows members = of_category(samples, category);
    if (members.empty()) {
      rows.push_back({category, "0", "-", "-", "-", "-", "-"});
      continue;
    }
    const std::vector<double> sizes = counts_of(members, "rows"), conditions = counts_of(members, "condition");
    rows.push_back({category, std::to_string(members.size()),
                    fmt::format("{:.0f} to {:.0f}", smallest(sizes), largest(sizes)),
                    whole(largest(counts_of(members, "contacts"))),
                    fmt::format("{:.2f}", median_of(counts_of(members, "density"))), whole(largest(lost_rank(members))),
                    scientific_text(median_of(conditions)) + ", " + scientific_text(largest(conditions))});
  }
  return fmt::format(
             "<h2>Samples</h2><p>{} contact problems, taken evenly along {:g} s of motion of every system in reduced "
             "and in maximal coordinates, 1 ms a step. Categories are those of VII-C: densities are rows over dofs; "
             "rank and condition number are those of the rows of joints, limits and contacts. A problem with contacts "
             "may count as dense too.</p>",
             samples.size(), figures.at("extent").at("seconds").get<double>()) +
         html_table({"category", "samples", "rows", "contacts, most", "density", "rank lost, most",
                     "condition, median, worst"},
                    rows) +
         "<p></p>" + systems_table(samples);
}

std::string robustness_section(const SampleRows& samples) {
  Cells head{"solver"}, category_head{"solver"};
  for (const char* coordinates : {"reduced", "maximal"}) {
    for (const char* tolerance : kToleranceNames) head.push_back(fmt::format("{}, {}", coordinates, tolerance));
  }
  category_head.insert(category_head.end(), kCategoryNames.begin(), kCategoryNames.end());
  std::vector<Cells> rows, by_category;
  for (const std::string& solver : solvers_of(samples)) {
    Cells row{escape_markup(solver)}, categories{escape_markup(solver)};
    for (const char* coordinates : {"reduced", "maximal"}) {
      const SampleRows members = of_coordinates(samples, coordinates);
      for (std::size_t k = 0; k < kToleranceNames.size(); ++k)
        row.push_back(percent_text(share_solved(members, solver, k)));
    }
    for (const std::string& category : kCategoryNames)
      categories.push_back(percent_text(share_solved(of_category(samples, category), solver, kCompared)));
    rows.push_back(std::move(row));
    by_category.push_back(std::move(categories));
  }
  return "<h2>Robustness</h2><p>Share of samples that are solved: relative natv of the NCP, computed from the "
         "problem's own data, is at most the tolerance. Capital names are those of Tab. I; the others are ours. RAISIM "
         "and ADMM-CCP solve other models, and cannot reach it where contacts slide.</p>" +
         html_table(head, rows) + "<p>To 1e-6 by category:</p>" + html_table(category_head, by_category);
}

std::string accuracy_section(const SampleRows& samples) {
  std::vector<Cells> rows;
  for (const std::string& solver : solvers_of(samples)) {
    Cells row{escape_markup(solver)};
    for (const char* key : {"pen", "dual", "ncp", "nat", "natv"}) {
      std::vector<double> values;
      for (const SampleRow* s : samples) values.push_back(s->outcomes.at(solver).residuals.at(key));
      row.push_back(scientific_text(median_of(values)) + ", " + scientific_text(quantile_of(values, 0.95)));
    }
    rows.push_back(std::move(row));
  }
  return "<h2>Accuracy</h2><p>Metrics (173) to (176) of VII-D for answers that were asked for 1e-6, or the best that "
         "the budget allowed; all samples count, solved or not. r_pen is the violation after a step by the new "
         "velocity alone, without the position pass; it contains what the step's curvature makes.</p>" +
         html_table({"solver, median, 95 %", "r_pen, m or rad", "r_dual, m/s", "r_ncp, J", "r_nat", "natv, relative"},
                    rows);
}

std::string speed_section(const SampleRows& samples) {
  std::vector<Cells> rows;
  const auto pair = [](const std::vector<double>& iterations, const std::vector<double>& seconds) {
    return figure_text(median_of(iterations), 4) + ", " + figure_text(1e6 * median_of(seconds), 3);
  };
  for (const std::string& solver : solvers_of(samples)) {
    Cells row{escape_markup(solver)};
    for (std::size_t k = 0; k < kToleranceNames.size(); ++k) {
      row.push_back(pair(solved_values(samples, solver, k, &SolveFigure::iterations),
                         solved_values(samples, solver, k, &SolveFigure::seconds)));
    }
    std::vector<double> iterations, seconds;
    for (const SampleRow* s : samples) {
      const SolveFigure& warm = s->outcomes.at(solver).warm;
      if (!warm.solved) continue;
      iterations.push_back(warm.iterations);
      seconds.push_back(warm.seconds);
    }
    row.push_back(pair(iterations, seconds));
    row.push_back(percent_text(static_cast<double>(seconds.size()) / static_cast<double>(samples.size())));
    rows.push_back(std::move(row));
  }
  Cells head{"solver"};
  for (const char* tolerance : kToleranceNames) head.push_back(fmt::format("to {}: iterations, us", tolerance));
  head.insert(head.end(), {"warm, to 1e-6", "solved warm"});
  return "<h2>Speed</h2><p>Medians over the samples that the solver solved, so that a solver which solves only easy "
         "ones looks fast: the profiles below do not have this fault. Processor time of one thread. Warm: from the "
         "impulses of the step before.</p>" +
         html_table(head, rows);
}

std::string steadiness_section(const SampleRows& samples) {
  std::vector<Cells> rows;
  for (const std::string& solver : solvers_of(samples)) {
    const std::vector<double> jumps = jumps_of(samples, solver), ratios = norm_ratios(samples, solver);
    rows.push_back({escape_markup(solver), std::to_string(jumps.size()), scientific_text(median_of(jumps)),
                    scientific_text(quantile_of(jumps, 0.95)), figure_text(median_of(ratios), 4),
                    figure_text(quantile_of(ratios, 0.95), 3)});
  }
  return "<h2>Steadiness of reactions</h2><p>Jump: the change of all impulses from a step to the next, relative to "
         "their norm, where both were solved to 1e-6 from a cold start and have the same rows. Norm: the norm of the "
         "impulses over the least of all solvers on the same sample; where constraints are redundant, what exceeds 1 "
         "is internal force.</p>" +
         html_table({"solver", "pairs", "jump, median", "jump, 95 %", "norm, median", "norm, 95 %"}, rows);
}

std::string errors_section(const Json& figures) {
  std::vector<Cells> rows;
  for (const Json& s : figures.at("systems")) {
    for (const auto& [coordinates, runs] : s.at("runs").items()) {
      Cells row{short_name(s.at("scene")), coordinates};
      for (const char* key : {"fine", "coarse", "pass", "none"}) {
        const Json& run = runs.at(key);
        row.push_back(scientific_text(run.at("error")));
        row.push_back(scientific_text(run.at("settled")));
        row.push_back(std::to_string(run.at("unsolved").get<int>()));
      }
      const Json& m = s.at("measured").at(coordinates);
      row.push_back(fmt::format("{} of {}, {}", m.at("unsolved").get<int>(), m.at("steps").get<int>(),
                                scientific_text(m.at("loop_error"))));
      rows.push_back(std::move(row));
    }
  }
  return fmt::format(
             "<h2>Errors of loops</h2><p>Largest error of loops after a step (m, turns by their lengths) over {:g} s "
             "with <code>auto</code>, in reduced and in maximal coordinates, where every joint is a loop; the largest "
             "in the last tenth of it, which grows with a drift; and steps that were not solved to 1e-6. Loops are "
             "closed in every step of the first two groups; in the third a position pass acts once a step "
             "(<code>loops=pass</code>), in the fourth nothing does (<code>loop_erp=0</code>: velocities alone are "
             "held). A dash: the run diverged. The last column is of the run that samples were taken from.</p>",
             figures.at("extent").at("run").get<double>()) +
         html_table({"system", "coordinates", "1 ms", "at the end", "unsolved", "4 ms", "at the end", "unsolved",
                     "1 ms, pass alone", "at the end", "unsolved", "1 ms, not projected", "at the end", "unsolved",
                     "samples: unsolved, error"},
                    rows);
}

std::string peers_section(const Json& figures) {
  if (!figures.contains("peers") || figures["peers"].empty()) return "";
  const Json& peers = figures["peers"];
  std::vector<Cells> rows;
  for (const Json& s : figures.at("systems")) {
    const Json entry = peers.value("mujoco", Json::object()).value(s.at("scene").get<std::string>(), Json::object());
    const double ours = optional_number(entry, "reduced"), theirs = optional_number(entry, "mujoco");
    const double ratio = ours / theirs;
    rows.push_back({short_name(s.at("scene")), figure_text(1e6 * ours, 3),
                    figure_text(1e6 * optional_number(entry, "maximal"), 3), figure_text(1e6 * theirs, 3),
                    std::isfinite(ratio)
                        ? fmt::format("<span class='{}'>{:.2f}</span>", ratio <= 1.0 ? "good" : "bad", ratio)
                        : "-",
                    scientific_text(optional_number(entry, "error")), escape_markup(entry.value("note", ""))});
  }
  std::string out =
      "<h2>Time of a step</h2><p>Median processor time of a step of 1 ms along each engine's own motion, one thread, "
      "in one run, reduced and maximal coordinates and MuJoCo by turns, with the same controls and pushes. Ours ends "
      "with a certificate of 1e-6 and loops closed to 1e-9 m; MuJoCo's "
      "constraints are soft, with its defaults, elliptic cones and the rule implicitfast.</p>" +
      html_table(
          {"system", "reduced, us", "maximal, us", "MuJoCo, us", "reduced over MuJoCo", "MuJoCo's loop error, m", ""},
          rows);
  if (peers.contains("kamino")) out += kamino_text(peers["kamino"]);
  return out;
}

}  // namespace touchstone::cli

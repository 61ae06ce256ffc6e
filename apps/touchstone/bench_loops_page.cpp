#include "bench_loops_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "bench_loops_figures.hpp"
#include "bench_loops_tables.hpp"
#include "console.hpp"
#include "html_page.hpp"
#include "scene_picture.hpp"
#include "svg_plot.hpp"
#include "touchstone/scenes/loop_contest.hpp"

namespace touchstone::cli {
namespace {

constexpr double kEndless = 1e299;  // figures that were not finite are 1e300

std::string code(const std::string& name) { return fmt::format("<code>{}</code>", escape_markup(name)); }

std::string microseconds(double seconds) { return figure_text(1e6 * seconds, 3); }

// "solves 98 % in 12 us".
std::string merit(const Ranked& r) {
  return fmt::format("{} solves {} in {} us", code(r.solver), percent_text(r.share), microseconds(r.seconds));
}

std::string category_advice(const SampleRows& samples, const std::string& category) {
  const SampleRows members = of_category(samples, category);
  if (members.empty()) return fmt::format("<li><b>{}</b>: no sample in this run.</li>", category);
  const std::vector<Ranked> ranked = ranking_of(members);
  const Ranked& best = ranked.front();
  const Ranked* fastest = &best;
  const Ranked* paper = nullptr;
  for (const Ranked& r : ranked) {
    if (r.share >= 0.95 * best.share && r.seconds < fastest->seconds) fastest = &r;
    if (paper == nullptr && is_of_paper(r.solver)) paper = &r;
  }
  std::string text = fmt::format("<li><b>{}</b> ({} samples): {}", category, members.size(), merit(best));
  if (fastest != &best) text += "; " + merit(*fastest);
  if (paper != nullptr) text += "; of Tab. I " + merit(*paper);
  return text + ".</li>";
}

std::string advice(const SampleRows& samples) {
  std::string out =
      "<h2>Which solver, when</h2><ul>"
      "<li>Take <code>auto</code> unless you have a reason. It is the one that is meant to solve every sample, and in "
      "a simulation reactions of redundant loops are then made those of least norm (the solves compared here are "
      "not).</li>"
      "<li>Gauss-Seidel (<code>nbgs</code>, <code>ncp-pgs</code>) is cheap where few constraints are coupled: single "
      "bodies, feet of robots in reduced coordinates. In maximal ones every joint is a block and forces travel one "
      "joint a sweep: long chains and large mass ratios do not converge within any budget of a simulation.</li>"
      "<li>ADMM pays one factorisation for many iterations, and does not mind redundant joints. The spectral rule is "
      "the safest of its penalties; to 1e-8 it is slow.</li>"
      "<li>Newton and interior point (<code>ncp-newton</code>, <code>ncp-ipm</code>) cost a factorisation an iteration "
      "and need few of them: for 1e-8, for dense constraints, for large mass ratios.</li>"
      "<li>RAISIM and ADMM-CCP answer other questions than the NCP where contacts slide; RAISIM-DS-ES stops before it "
      "knows.</li>"
      "<li>Choose reduced coordinates if you can: the joints of the tree are then no rows at all.</li></ul>"
      "<p>Best by category, to 1e-6 from a cold start, in this run:</p><ul>";
  for (const std::string& category : kCategoryNames) out += category_advice(samples, category);
  return out + "</ul>";
}

std::string systems_section(const Json& figures) {
  std::string out =
      "<h2>Systems</h2><p>Those with a name in brackets have the counts of Tsounis et al. 2025, Tab. II. The four "
      "animatronic figures are generated stand-ins. Red dots are joints that close loops; pale hulls are "
      "shells.</p><div class='pictures'>";
  for (const Json& s : figures.at("systems")) {
    std::string name = fmt::format("<b>{}</b>", short_name(s.at("scene")));
    if (s.contains("table")) name += fmt::format(" ({})", escape_markup(s["table"].at("name")));
    std::string more = fmt::format("{} bodies, {} joints, {} constraints, mass ratio {:.5g}, {}",
                                   s.at("bodies").get<int>(), s.at("joints").get<int>(), s.at("constraints").get<int>(),
                                   s.at("mass_ratio").get<double>(), s.at("fixed_base").get<bool>() ? "fixed" : "free");
    if (s.contains("mobility"))
      more += fmt::format(", mobility {}, {} redundant rows", s["mobility"].get<int>(), s["redundancy"].get<int>());
    out += fmt::format("<figure>{}<figcaption>{}: {}</figcaption></figure>", picture_svg(s.at("picture")), name, more);
  }
  return out + "</div>";
}

std::string plot_card(const Plot& plot) { return fmt::format("<div class='card'>{}</div>\n", plot_svg(plot)); }

Plot profile_plot(const std::string& title, const SampleRows& members, const std::vector<std::string>& solvers) {
  Plot plot{.title = title,
            .x_label = "time over that of the fastest",
            .y_label = "share solved",
            .x = {},
            .series = {},
            .logarithmic_x = true};
  for (const std::string& solver : solvers) {
    const Profile profile = profile_of(members, solver);
    plot.series.push_back({.name = solver, .y = profile.share, .x = profile.ratio});
  }
  return plot;
}

std::string profiles(const SampleRows& samples) {
  std::string out =
      "<h2>Performance profiles</h2><p>Share of the samples of a category that a solver solves to 1e-6 within a "
      "multiple of the processor time of the fastest solver on that sample.</p><div class='plots'>";
  std::vector<std::string> paper, ours;
  for (const std::string& solver : solvers_of(samples)) (is_of_paper(solver) ? paper : ours).push_back(solver);
  for (const std::string& category : kCategoryNames) {
    const SampleRows members = of_category(samples, category);
    if (members.empty()) continue;
    std::vector<std::string> compared(ours.rbegin(), ours.rend());  // `auto` first: on top
    for (const Ranked& r : ranking_of(members)) {
      if (!is_of_paper(r.solver)) continue;
      compared.push_back(r.solver);
      break;
    }
    const std::string title = fmt::format("{} ({})", category, members.size());
    out += plot_card(profile_plot(title + ", Tab. I", members, paper));
    out += plot_card(profile_plot(title + ", ours and the best of Tab. I", members, compared));
  }
  return out + "</div>";
}

// Convergence of the sample that has most rows of a category.
struct Shown {
  double rows = -1.0;
  std::string name;
  int step = 0;
  const Json* curves = nullptr;
};

Shown largest_sample(const Json& figures, const std::string& category) {
  Shown shown;
  for (const Json& system : figures.at("systems")) {
    for (const auto& [coordinates, measured] : system.at("measured").items()) {
      for (const Json& curve : measured.at("convergence")) {
        if (curve.at("category") != category) continue;
        for (const Json& sample : measured.at("samples")) {
          if (sample.at("step") != curve.at("step") || !(sample.at("rows").get<double>() > shown.rows)) continue;
          shown = {.rows = sample["rows"],
                   .name = fmt::format("{}, {}", short_name(system.at("scene")), coordinates),
                   .step = sample["step"],
                   .curves = &measured["convergence"]};
        }
      }
    }
  }
  return shown;
}

Plot convergence_plot(const std::string& title, const Shown& shown, const std::string& category, bool of_paper) {
  Plot plot{.title = title,
            .x_label = "iterations",
            .y_label = "relative natv",
            .x = {},
            .series = {},
            .logarithmic = true,
            .logarithmic_x = true};
  for (const Json& curve : *shown.curves) {
    const std::string solver = curve.at("solver");
    if (curve.at("step") != shown.step || curve.at("category") != category || is_of_paper(solver) != of_paper) continue;
    PlotSeries series{.name = solver, .y = {}};
    for (const Json& point : curve.at("points")) {
      const double natv = point.at(1);
      series.x.push_back(point.at(0));
      series.y.push_back(natv < kEndless ? std::max(natv, 1e-16) : std::numeric_limits<double>::quiet_NaN());
    }
    if (!series.x.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string convergence(const Json& figures) {
  std::string out =
      "<h2>Convergence</h2><p>Relative natv of the solver's own model after each iteration from a cold start, on the "
      "sample of each category that has most rows. An iteration of Newton and interior point is a factorisation, of "
      "the others a sweep or a solve with a factor; <code>auto</code> counts sweeps and factorisations.</p>"
      "<div class='plots'>";
  for (const std::string& category : kCategoryNames) {
    const Shown shown = largest_sample(figures, category);
    if (shown.curves == nullptr) continue;
    for (const bool of_paper : {true, false}) {
      const std::string title =
          fmt::format("{}: {}, {:.0f} rows, {}", category, shown.name, shown.rows, of_paper ? "Tab. I" : "ours");
      const Plot plot = convergence_plot(title, shown, category, of_paper);
      if (!plot.series.empty()) out += plot_card(plot);
    }
  }
  return out + "</div>";
}

std::string introduction(const Json& figures) {
  const Json& extent = figures.at("extent");
  std::string out = fmt::format(
      "<h1>Closed chains</h1><p class='lead'>Contact problems of mechanisms with closed chains, solved by the solvers "
      "of Tsounis et al. 2025, Tab. I, and by ours. A solve may take {:.0e} multiplications and additions and {} "
      "iterations. {}",
      extent.at("work").get<double>(), SolveBudget{}.iterations,
      figures.at("full").get<bool>() ? "The whole suite." : "A short run; --full makes the whole one.");
  if (!figures.value("complete", true)) out += " It was interrupted: the systems after the last one are missing.";
  return out + "</p>";
}

}  // namespace

std::string loops_page(const Json& figures) {
  const std::vector<SampleRow> rows = collect_samples(figures);
  const SampleRows samples = all_of(rows);
  return page_begin("Touchstone: closed chains") + introduction(figures) + advice(samples) + systems_section(figures) +
         disagreements_section(figures) + samples_section(figures, samples) + robustness_section(samples) +
         accuracy_section(samples) + speed_section(samples) + steadiness_section(samples) + profiles(samples) +
         convergence(figures) + errors_section(figures) + peers_section(figures) + page_end("touchstone bench loops");
}

std::string loops_summary(const Json& figures) {
  const std::vector<SampleRow> rows = collect_samples(figures);
  const SampleRows samples = all_of(rows);
  Table table(0);
  table.add_row({styled("solver", Style::kDim), styled("reduced", Style::kDim), styled("maximal", Style::kDim),
                 styled("all, to 1e-8", Style::kDim), styled("median (us)", Style::kDim)});
  for (const Ranked& r : ranking_of(samples)) {
    table.add_row({r.solver, percent_text(share_solved(of_coordinates(samples, "reduced"), r.solver, kCompared)),
                   percent_text(share_solved(of_coordinates(samples, "maximal"), r.solver, kCompared)),
                   percent_text(share_solved(samples, r.solver, kCompared + 1)), microseconds(r.seconds)});
  }
  Table errors(0);
  errors.add_row({styled("system", Style::kDim), styled("coordinates", Style::kDim),
                  styled("1 ms, closed (m)", Style::kDim), styled("4 ms, closed", Style::kDim),
                  styled("1 ms, one pass", Style::kDim), styled("not projected", Style::kDim),
                  styled("closed steps not solved", Style::kDim), styled("step (us)", Style::kDim)});
  for (const Json& s : figures.at("systems")) {
    for (const auto& [coordinates, runs] : s.at("runs").items()) {
      const auto error = [&runs = runs](const char* key) { return scientific_text(runs.at(key).at("error")); };
      const auto sum = [&runs = runs](const char* key) {
        return runs.at("fine").at(key).get<int>() + runs.at("coarse").at(key).get<int>();
      };
      errors.add_row({s.at("scene"), coordinates, error("fine"), error("coarse"), error("pass"), error("none"),
                      fmt::format("{} of {}", sum("unsolved"), sum("steps")),
                      microseconds(runs.at("fine").at("median"))});
    }
  }
  return fmt::format("Samples solved to 1e-6, of {}\n{}\nErrors of loops over {:g} s with auto\n{}", samples.size(),
                     table.text(), figures.at("extent").at("run").get<double>(), errors.text());
}

}  // namespace touchstone::cli

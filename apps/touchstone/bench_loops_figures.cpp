#include "bench_loops_figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "touchstone/scenes/loop_contest.hpp"
#include "touchstone/scenes/sample_category.hpp"

namespace touchstone::cli {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndOfProfiles = 1e4;  // times the least time

std::vector<std::string> category_names() {
  std::vector<std::string> names;
  names.reserve(kSampleCategories);
  for (int i = 0; i < kSampleCategories; ++i) names.emplace_back(to_string(static_cast<SampleCategory>(i)));
  return names;
}

SolveFigure read_solve(const Json& entry) {
  return {.solved = entry.at(0).get<int>() != 0, .iterations = entry.at(1), .seconds = entry.at(2)};
}

OutcomeFigures read_outcome(const Json& entry) {
  OutcomeFigures outcome;
  for (std::size_t k = 0; k < outcome.cold.size(); ++k) outcome.cold.at(k) = read_solve(entry.at("cold").at(k));
  outcome.warm = read_solve(entry.at("warm"));
  for (const char* name : {"pen", "dual", "ncp", "nat", "natv"}) outcome.residuals[name] = entry.at(name);
  outcome.norm = entry.at("norm");
  outcome.jump = entry.at("jump");
  return outcome;
}

// The least time, or norm, of all solvers that solved the sample.
double least(const SampleRow& sample, const std::function<double(const OutcomeFigures&)>& value) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, outcome] : sample.outcomes) {
    if (outcome.cold[kCompared].solved) best = std::min(best, value(outcome));
  }
  return best;
}

}  // namespace

const std::array<const char*, 3> kToleranceNames{"1e-4", "1e-6", "1e-8"};
const std::vector<std::string> kCategoryNames = category_names();

std::vector<SampleRow> collect_samples(const Json& figures) {
  std::vector<SampleRow> samples;
  for (const Json& system : figures.at("systems")) {
    for (const auto& [coordinates, measured] : system.at("measured").items()) {
      for (std::size_t i = 0; i < measured.at("samples").size(); ++i) {
        SampleRow row;
        row.system = system.at("scene");
        row.coordinates = coordinates;
        for (const auto& [name, value] : measured["samples"][i].items()) {
          if (value.is_number()) row.counts[name] = value;
        }
        row.categories = measured["samples"][i].at("categories").get<std::vector<std::string>>();
        for (const auto& [solver, list] : measured.at("outcomes").items())
          row.outcomes[solver] = read_outcome(list.at(i));
        samples.push_back(std::move(row));
      }
    }
  }
  return samples;
}

SampleRows all_of(const std::vector<SampleRow>& samples) {
  SampleRows rows;
  for (const SampleRow& sample : samples) rows.push_back(&sample);
  return rows;
}

SampleRows of_category(const SampleRows& samples, const std::string& category) {
  SampleRows rows;
  for (const SampleRow* s : samples) {
    if (std::find(s->categories.begin(), s->categories.end(), category) != s->categories.end()) rows.push_back(s);
  }
  return rows;
}

SampleRows of_coordinates(const SampleRows& samples, const std::string& coordinates) {
  SampleRows rows;
  for (const SampleRow* s : samples) {
    if (s->coordinates == coordinates) rows.push_back(s);
  }
  return rows;
}

bool is_of_paper(const std::string& solver) {
  const auto& all = contestants();
  return std::any_of(all.begin(), all.end(), [&](const Contestant& c) { return c.of_paper && c.label == solver; });
}

std::vector<std::string> solvers_of(const SampleRows& samples) {
  std::vector<std::string> names;
  if (samples.empty()) return names;
  for (const Contestant& contestant : contestants()) {
    if (samples.front()->outcomes.contains(std::string(contestant.label))) names.emplace_back(contestant.label);
  }
  return names;
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return kNothing;
  const auto k = std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k), values.end());
  return values[k];
}

double median_of(std::vector<double> values) { return quantile_of(std::move(values), 0.5); }

double share_solved(const SampleRows& samples, const std::string& solver, std::size_t tolerance) {
  if (samples.empty()) return kNothing;
  double solved = 0.0;
  for (const SampleRow* s : samples) solved += s->outcomes.at(solver).cold.at(tolerance).solved ? 1.0 : 0.0;
  return solved / static_cast<double>(samples.size());
}

std::vector<double> solved_values(const SampleRows& samples, const std::string& solver, std::size_t tolerance,
                                  double SolveFigure::*value) {
  std::vector<double> values;
  for (const SampleRow* s : samples) {
    const SolveFigure& solve = s->outcomes.at(solver).cold.at(tolerance);
    if (solve.solved) values.push_back(solve.*value);
  }
  return values;
}

std::vector<double> norm_ratios(const SampleRows& samples, const std::string& solver) {
  std::vector<double> ratios;
  for (const SampleRow* s : samples) {
    const OutcomeFigures& own = s->outcomes.at(solver);
    const double best = least(*s, [](const OutcomeFigures& o) { return o.norm; });
    if (own.cold[kCompared].solved && best > 0.0) ratios.push_back(own.norm / best);
  }
  return ratios;
}

std::vector<double> jumps_of(const SampleRows& samples, const std::string& solver) {
  std::vector<double> jumps;
  for (const SampleRow* s : samples) {
    if (s->outcomes.at(solver).jump >= 0.0) jumps.push_back(s->outcomes.at(solver).jump);
  }
  return jumps;
}

Profile profile_of(const SampleRows& samples, const std::string& solver) {
  std::vector<double> ratios;
  for (const SampleRow* s : samples) {
    const SolveFigure& own = s->outcomes.at(solver).cold[kCompared];
    const double best = least(*s, [](const OutcomeFigures& o) { return o.cold[kCompared].seconds; });
    if (own.solved && best > 0.0) ratios.push_back(std::max(1.0, own.seconds / best));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(samples.size());
  Profile profile{{1.0}, {0.0}};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    profile.ratio.push_back(std::min(ratios[i], kEndOfProfiles));
    profile.share.push_back(static_cast<double>(i + 1) / count);
  }
  profile.ratio.push_back(kEndOfProfiles);
  profile.share.push_back(static_cast<double>(ratios.size()) / count);
  return profile;
}

std::vector<Ranked> ranking_of(const SampleRows& samples) {
  std::vector<Ranked> rows;
  for (const std::string& solver : solvers_of(samples)) {
    rows.push_back({solver, share_solved(samples, solver, kCompared),
                    median_of(solved_values(samples, solver, kCompared, &SolveFigure::seconds))});
  }
  const auto seconds = [](const Ranked& r) { return std::isfinite(r.seconds) ? r.seconds : 1e9; };
  std::stable_sort(rows.begin(), rows.end(), [&](const Ranked& a, const Ranked& b) {
    return a.share != b.share ? a.share > b.share : seconds(a) < seconds(b);
  });
  return rows;
}

}  // namespace touchstone::cli

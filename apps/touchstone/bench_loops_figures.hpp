// What is computed from the outcomes of all samples of the suite `loops`: shares, medians, performance profiles.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "json_text.hpp"

namespace touchstone::cli {

struct SolveFigure {
  bool solved = false;
  double iterations = 0.0, seconds = 0.0;
};

// Of one solver on one sample.
struct OutcomeFigures {
  std::array<SolveFigure, 3> cold;          // to 1e-4, 1e-6, 1e-8
  SolveFigure warm;                         // to 1e-6
  std::map<std::string, double> residuals;  // pen, dual, ncp, nat, natv
  double norm = 0.0, jump = -1.0;
};

struct SampleRow {
  std::string system, coordinates;
  std::vector<std::string> categories;
  std::map<std::string, double> counts;
  std::map<std::string, OutcomeFigures> outcomes;  // by solver

  double count(const std::string& name) const { return counts.at(name); }
};
using SampleRows = std::vector<const SampleRow*>;

// Index of the tolerance that comparisons are made at.
constexpr std::size_t kCompared = 1;
extern const std::array<const char*, 3> kToleranceNames;
extern const std::vector<std::string> kCategoryNames;

// All samples of the figures.
std::vector<SampleRow> collect_samples(const Json& figures);
SampleRows all_of(const std::vector<SampleRow>& samples);
SampleRows of_category(const SampleRows& samples, const std::string& category);
SampleRows of_coordinates(const SampleRows& samples, const std::string& coordinates);

// In the order of Tab. I, then ours; `auto` last.
std::vector<std::string> solvers_of(const SampleRows& samples);
bool is_of_paper(const std::string& solver);

// NaN where there is nothing.
double median_of(std::vector<double> values);
double quantile_of(std::vector<double> values, double share);
double share_solved(const SampleRows& samples, const std::string& solver, std::size_t tolerance);
// Iterations or seconds of those that were solved.
std::vector<double> solved_values(const SampleRows& samples, const std::string& solver, std::size_t tolerance,
                                  double SolveFigure::*value);

// Norms of the impulses over the least of all solvers that solved the sample.
std::vector<double> norm_ratios(const SampleRows& samples, const std::string& solver);
std::vector<double> jumps_of(const SampleRows& samples, const std::string& solver);

// The performance profile in processor time: shares of samples solved within a multiple of the least time.
struct Profile {
  std::vector<double> ratio, share;
};
Profile profile_of(const SampleRows& samples, const std::string& solver);

// Those that solve most first, then by the median time on what they solved.
struct Ranked {
  std::string solver;
  double share = 0.0, seconds = 0.0;
};
std::vector<Ranked> ranking_of(const SampleRows& samples);

}  // namespace touchstone::cli

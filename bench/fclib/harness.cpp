#include "harness.hpp"

#include <sys/time.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "touchstone/contact/certify.hpp"
#include "touchstone/io/fclib.hpp"

namespace bench {
namespace {

using nlohmann::json;
using touchstone::ContactProblem;
using touchstone::MatrixX;
using touchstone::VectorX;

constexpr double kBatch = 5e-5;  // s: shorter solves are timed several at once, the clock itself takes a microsecond
constexpr int kSamples = 51;

double time_batch(Contestant& contestant, int runs) {
  contestant.prepare(runs);
  const double begin = processor_seconds();
  for (int i = 0; i < runs; ++i) contestant.run();
  return (processor_seconds() - begin) / runs;
}

// The median of repeated solves.
double repeat(Contestant& contestant, double first, const Limits& limits, int& runs) {
  // The first solve has filled caches and memory; it is no measure of how many fit into a batch.
  const double second = std::max(time_batch(contestant, 1), 1e-7);
  const int batch = std::clamp(static_cast<int>(kBatch / second), 1, 1000);
  std::vector<double> samples;
  double spent = first + second;
  while (samples.size() < kSamples && (samples.size() < 3 || spent < limits.repeat)) {
    if (samples.size() < 3 && !samples.empty() && spent > 10.0 * limits.repeat) break;
    samples.push_back(time_batch(contestant, batch));
    spent += samples.back() * batch;
  }
  runs = batch * static_cast<int>(samples.size());
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

void print(std::FILE* out, const json& line) {
  std::fputs((line.dump() + "\n").c_str(), out);
  std::fflush(out);
}

}  // namespace

ContactProblem load_local_problem(const std::string& file) {
  ContactProblem problem = touchstone::load_problem(file).problem;
  if (problem.has_dual()) return problem;
  // G = J A^-1 J' + R, column by column: slow, but not timed.
  const touchstone::PrimalData& primal = problem.primal;
  const int n = problem.nrow();
  MatrixX G(n, n);
  for (int k = 0; k < n; ++k) {
    G.col(k) = primal.J * (touchstone::next_velocity(problem, VectorX::Unit(n, k)) - primal.v_free);
    if (problem.R.size() > 0) G(k, k) += problem.R[k];
  }
  VectorX g = primal.J * primal.v_free;
  if (problem.b.size() > 0) g += problem.b;
  std::vector<std::pair<int, int>> pattern;  // blocks that are coupled; the others are zero exactly
  const std::vector<int>& row = problem.blocks.row;
  const auto block_of = [&](int i, int j) { return G.block(row[i], row[j], row[i + 1] - row[i], row[j + 1] - row[j]); };
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int j = 0; j < problem.nblock(); ++j) {
      if (i == j || !block_of(i, j).isZero(0.0)) pattern.emplace_back(i, j);
    }
  }
  touchstone::BlockSparseMatrix sparse;
  sparse.set_pattern(row, row, pattern);
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int k = sparse.start[i]; k < sparse.start[i + 1]; ++k) sparse.block(i, k) = block_of(i, sparse.col[k]);
  }
  ContactProblem local;
  local.blocks = problem.blocks;
  local.time_step = problem.time_step;
  local.dual.set(std::move(sparse), std::move(g));
  return local;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void arm_time_limit(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>(1e6 * (seconds - std::floor(seconds)));
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void measure(const ContactProblem& problem, Contestant& contestant, const std::vector<double>& tolerances,
             const Limits& limits, std::FILE* out) {
  print(out, {{"contacts", problem.nblock()}, {"rows", problem.nrow()}});
  bool claimed = false;
  for (const double tolerance : tolerances) {
    contestant.set_tolerance(tolerance);
    contestant.prepare(1);
    arm_time_limit(limits.solve);
    const double begin = processor_seconds();
    claimed = contestant.run();
    const double first = processor_seconds() - begin;
    arm_time_limit(0.0);
    const double natv = touchstone::certify(problem, contestant.lambda()).natv_relative;
    json line = {{"tolerance", tolerance},
                 {"claimed", claimed},
                 {"natv", natv},
                 {"iterations", contestant.iterations()},
                 {"first", first}};
    int runs = 1;
    line["seconds"] = claimed ? repeat(contestant, first, limits, runs) : first;
    line["runs"] = runs;
    print(out, line);
  }
  if (!claimed) return;
  arm_time_limit(3.0 * limits.solve);
  const History history = contestant.history();
  json points = json::array();
  for (std::size_t i = 0; i < history.natv.size(); ++i) points.push_back({history.iteration[i], history.natv[i]});
  print(out, {{"history", points}});
}

}  // namespace bench

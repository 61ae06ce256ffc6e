#include "touchstone/sim/error_control.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

constexpr double kSafety = 0.9;
constexpr double kMostGrowth = 5.0, kMostShrinking = 0.5;  // of the next part
constexpr double kSameFrom = 0.9, kSameTo = 1.2;           // changes of the size that are not worth it
constexpr double kProgress = 0.9;  // a halving that leaves more of the estimate does not count as progress
constexpr int kMostStalls = 6;     // halvings without progress
constexpr std::size_t kUsualParts = 64;

// By how much the next part may be larger, if this one had an estimate.
double growth(double accuracy, double error) {
  const double factor = error > 0.0 ? kSafety * std::sqrt(accuracy / error) : kMostGrowth;
  if (factor > kSameFrom && factor < kSameTo) return 1.0;
  return std::clamp(factor, kMostShrinking, kMostGrowth);
}

// No tiny part is left at the end of a step.
double fit(double size, double left) {
  if (size >= left) return left;
  return size > 0.5 * left ? 0.5 * left : size;
}

}  // namespace

ErrorControl::ErrorControl(const StepContext& s)
    : start_(s), whole_(s.state.q), half_(s.state.q), tangent_(VectorX::Zero(s.model.nv)) {
  parts_.reserve(kUsualParts);
}

void ErrorControl::step(StepContext& s, StepRule& rule) {
  const double start = s.state.time;
  StepReport earlier;
  double done = 0.0;
  stage::begin_parts(s);
  parts_.clear();
  spent_ = StageTimes();
  if (s.next_part <= 0.0) s.next_part = s.duration;
  while (done < s.duration) {
    const double left = s.duration - done;
    const double made = make_part(s, rule, fit(s.next_part, left), done);
    if (done > 0.0) s.report.merge_earlier(earlier);
    if (s.report.status == StepStatus::kDiverged) break;
    earlier = s.report;
    done = made < left ? done + made : s.duration;
  }
  stage::move_mocap(s, 1.0);
  if (s.report.status != StepStatus::kDiverged) s.report.time = s.state.time = start + s.duration;
  s.report.times.add(spent_);
}

void ErrorControl::repeat(StepContext& s, StepRule& rule, const std::function<void(const StepContext&)>& look) {
  stage::begin_parts(s);
  for (const Part& part : parts_) {
    if (!make(s, rule, part.size, part.end)) break;
    look(s);
  }
  stage::move_mocap(s, 1.0);
}

double ErrorControl::make_part(StepContext& s, StepRule& rule, double size, double done) {
  const double accuracy = s.options.accuracy, wanted = s.next_part;
  const double first_size = size;
  AccuracyReport account{.parts = 1};
  start_.keep(s);
  bool is_whole_known = make(s, rule, size, done + size);
  whole_ = s.state.q;
  spent_.add(s.report.times);
  double least = std::numeric_limits<double>::infinity(), error = least;
  for (int stalls = 0;;) {
    const double made = make_halves(s, rule, size, done);
    const bool is_made = std::isfinite(made);
    error = is_whole_known ? made : std::numeric_limits<double>::infinity();
    if (error <= accuracy) break;
    stalls += error > kProgress * least ? 1 : 0;
    least = std::min(least, error);
    const bool is_last = 0.5 * size < s.options.min_step || (is_made && stalls >= kMostStalls);
    if (is_last) {
      account.missed = 1;
      break;
    }
    ++account.rejected;
    spent_.add(first_.times);
    spent_.add(s.report.times);
    is_whole_known = first_.status != StepStatus::kDiverged;
    whole_.swap(half_);
    size *= 0.5;
  }
  account.smallest = size;
  account.error = error;
  if (s.report.status == StepStatus::kDiverged) {
    start_.restore(s);
  } else {
    s.report.merge_earlier(first_);
    parts_.push_back({0.5 * size, done + 0.5 * size});
    parts_.push_back({0.5 * size, done + size});
  }
  s.report.accuracy = account;
  s.report.warnings.accuracy_missed = account.missed > 0;
  // Where halving did not help the next part begins as large as this one did: that bounds the work.
  const double next = account.missed > 0 ? first_size : size * growth(accuracy, error);
  const bool was_cut = account.rejected == 0 && size < wanted;  // by the end of the step
  s.next_part = std::min(s.duration, was_cut ? std::max(next, wanted) : next);
  return size;
}

double ErrorControl::make_halves(StepContext& s, StepRule& rule, double size, double done) {
  start_.restore(s);
  const bool first = make(s, rule, 0.5 * size, done + 0.5 * size);
  first_ = s.report;
  half_ = s.state.q;
  if (!first) return std::numeric_limits<double>::infinity();
  if (!make(s, rule, 0.5 * size, done + size)) return std::numeric_limits<double>::infinity();
  return distance(s, whole_, s.state.q);
}

bool ErrorControl::make(StepContext& s, StepRule& rule, double size, double end) {
  s.h = size;
  stage::move_mocap(s, std::min(1.0, end / s.duration));
  const StageClock::Chain chain(s.clock);
  rule.step(s);
  return s.report.status != StepStatus::kDiverged;
}

double ErrorControl::distance(const StepContext& s, const VectorX& q0, const VectorX& q1) {
  difference(s.model, q0, q1, tangent_);
  return tangent_.size() > 0 ? tangent_.cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff() : 0.0;
}

}  // namespace touchstone

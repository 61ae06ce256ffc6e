#include "touchstone/viewer/run_certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/detection/detector.hpp"

namespace touchstone {
namespace {

constexpr double kPenetration = 1e-3;  // m, that a certificate tolerates
constexpr double kViolation = 1e-3;    // m or rad, of limits and equalities

// The contact that is deepest, or the limit or equality that is violated most, at the last step.
std::string worst_place(const Simulator& sim, bool contacts) {
  const Constraints& c = sim.constraints();
  int worst = -1;
  double largest = 0.0;
  for (int block = 0; block < c.count(); ++block) {
    if ((c.list[at(block)].kind == ConstraintKind::kContact) != contacts) continue;
    const double error = violation_of(c, block);
    if (error <= largest) continue;
    largest = error;
    worst = block;
  }
  return worst < 0 ? std::string() : describe(sim.model(), c, sim.detector().contacts(), worst);
}

}  // namespace

RunCertificate::RunCertificate(const SimulatorOptions& options, StepSpan span)
    : tolerance_(options.tolerance),
      soft_(!rules_of(options).is_exact),
      compliant_(rules_of(options).contact_laws),
      loops_give_way_(options.stabilisation.softens_loops()),
      kind_(span) {}

bool RunCertificate::raise(double value, double time, Worst& worst) {
  if (std::isnan(worst.value) || value <= worst.value) return false;
  worst = {value, time, {}};
  return true;
}

void RunCertificate::add(const StepReport& report, const Simulator* simulator) {
  ++steps_;
  end_ = report.time;
  worst_status_ = std::max(worst_status_, report.status);
  if (report.status != StepStatus::kOk && unsolved_++ == 0) first_unsolved_ = report.time;
  if (raise(report.residuals.natv_relative, report.time, natv_) && simulator != nullptr && natv_.value > tolerance_)
    natv_.place = simulator->describe_worst();
  raise(report.residuals.law_natv_relative, report.time, law_);
  if (raise(report.penetration, report.time, penetration_) && simulator != nullptr && penetration_.value > kPenetration)
    penetration_.place = worst_place(*simulator, true);
  if (raise(report.violation, report.time, violation_) && simulator != nullptr && violation_.value > kViolation)
    violation_.place = worst_place(*simulator, false);
}

std::string RunCertificate::span() const {
  switch (kind_) {
    case StepSpan::kAllSteps:
      return fmt::format("all {} steps, to {:.6g} s", steps_, end_);
    case StepSpan::kGroups:
      return fmt::format("all steps, recorded as the worst of each of {} groups, to {:.6g} s", steps_, end_);
    case StepSpan::kSomeSteps:
      return fmt::format("the {} recorded steps, to {:.6g} s; others are not known", steps_, end_);
  }
  return {};
}

CertificateItem RunCertificate::item(const char* name, const char* meaning, const Worst& worst, double limit,
                                     const char* unit) const {
  std::string text = fmt::format("{}; {}", meaning, span());
  if (worst.value != 0.0) text += fmt::format(", worst at {:.6g} s", worst.time);
  if (!worst.place.empty()) text += ": " + worst.place;
  const char* of = kind_ == StepSpan::kSomeSteps ? "of recorded steps" : "of all steps";
  return {.name = fmt::format("{} {}", name, of), .meaning = text, .value = worst.value, .limit = limit, .unit = unit};
}

std::vector<CertificateItem> RunCertificate::items() const {
  std::vector<CertificateItem> items;
  CertificateItem solved = item("steps not solved:", "not converged, refused or diverged", {}, 0.0, "");
  solved.value = unsolved_;
  if (unsolved_ > 0) {
    solved.meaning += fmt::format(", first at {:.6g} s", first_unsolved_);
    if (worst_status_ == StepStatus::kDiverged) solved.meaning += "; the last one diverged";
  }
  if (compliant_ && law_.value != 0.0) {
    items.push_back(item("law of contact, relative: worst", "distance from the compliant law over the velocities", law_,
                         tolerance_, ""));
  }
  if (!soft_ && !compliant_) {
    items.push_back(item("natv, relative: worst", "distance from Signorini and Coulomb over the free velocity", natv_,
                         tolerance_, ""));
  }
  items.push_back(std::move(solved));
  if (!soft_) {
    if (!compliant_)
      items.push_back(item("penetration: deepest", "how far shapes overlap", penetration_, kPenetration, "m"));
    if (!loops_give_way_)
      items.push_back(item("limits and equalities: worst", "error of joint limits, tendon limits and equalities",
                           violation_, kViolation, "m or rad"));
  }
  return items;
}

bool all_passed(const std::vector<CertificateItem>& items) {
  return std::all_of(items.begin(), items.end(), [](const CertificateItem& item) { return item.passed(); });
}

std::vector<CertificateItem> step_certificate(const StepReport& report, double tolerance) {
  if (report.status == StepStatus::kDiverged) {
    return {{.name = "motion",
             .meaning = "the step diverged; reset, and choose a shorter time step",
             .value = std::numeric_limits<double>::quiet_NaN(),
             .limit = 0.0,
             .unit = ""}};
  }
  std::vector<CertificateItem> items;
  if (report.residuals.law_natv_relative > 0.0) {
    items.push_back({.name = "law of contact, relative",
                     .meaning = "how far the steps since the frame before are from the compliant law, over velocities",
                     .value = report.residuals.law_natv_relative,
                     .limit = tolerance,
                     .unit = ""});
  } else {
    items.push_back(
        {.name = "natv, relative",
         .meaning = "how far the steps since the frame before are from Signorini and Coulomb, over their free velocity",
         .value = report.residuals.natv_relative,
         .limit = tolerance,
         .unit = ""});
    items.push_back({.name = "penetration",
                     .meaning = "of the deepest contact since the frame before",
                     .value = report.penetration,
                     .limit = kPenetration,
                     .unit = "m"});
  }
  items.push_back({.name = "limits and equalities",
                   .meaning = "the largest error since the frame before",
                   .value = report.violation,
                   .limit = kViolation,
                   .unit = "m or rad"});
  return items;
}

}  // namespace touchstone

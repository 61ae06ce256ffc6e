// The certificate of a run: the worst of all its steps, each figure against its limit. A run is as good as its worst
// step; nothing is left out, neither the first impact nor the start.
#pragma once

#include <string>
#include <vector>

#include "touchstone/sim/simulator.hpp"
#include "touchstone/viewer/frame.hpp"

namespace touchstone {

// What the reports that are added stand for.
enum class StepSpan {
  kAllSteps,  // each for one step, none is left out
  kGroups,    // each for the worst of several steps, none is left out
  kSomeSteps  // each for one step; steps between them are not known
};

class RunCertificate {
 public:
  explicit RunCertificate(const SimulatorOptions& options, StepSpan span = StepSpan::kAllSteps);

  // A step. With the simulator that made it, the certificate can name the place where a limit is exceeded.
  void add(const StepReport& report, const Simulator* simulator = nullptr);

  // One for each check; their texts say which steps they cover. Softened constraints (ConstraintModel::kMujoco) violate
  // Signorini's law and overlap by intent: for them only the solver's verdict counts. Compliant solvers are measured by
  // their own laws, if the reports say how well these hold, which recordings do not.
  std::vector<CertificateItem> items() const;

 private:
  struct Worst {
    double value = 0.0;
    double time = 0.0;  // s
    std::string place;  // "contact of 'foot' and 'floor'"; empty: not known
  };
  // True if the value is the worst so far. Once NaN, always NaN.
  static bool raise(double value, double time, Worst& worst);
  std::string span() const;
  CertificateItem item(const char* name, const char* meaning, const Worst& worst, double limit, const char* unit) const;

  double tolerance_;
  bool soft_, compliant_, loops_give_way_;
  StepSpan kind_;
  int steps_ = 0, unsolved_ = 0;
  double end_ = 0.0;  // s
  double first_unsolved_ = 0.0;
  StepStatus worst_status_ = StepStatus::kOk;
  Worst natv_, law_, penetration_, violation_;
};

bool all_passed(const std::vector<CertificateItem>& items);

// What one moment may be judged by: the worst of the steps since the moment before, which `report` holds; `tolerance`
// is what the solver was asked for.
std::vector<CertificateItem> step_certificate(const StepReport& report, double tolerance);

}  // namespace touchstone

// One step of an explicit or implicit rule on y' = f(y), and what lies between its ends.
//
// Dormand and Prince's 5(4) with its continuous extension of fourth order (Hairer, Norsett, Wanner 1993, II.4-6), the
// classical Runge-Kutta rule, the implicit midpoint rule by fixed-point iteration, and a rule that the system has of
// its own (sim/events/knot_step.hpp); all but the first have a cubic between their ends.
#pragma once

#include "touchstone/math/types.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone {

class OdeSystem {
 public:
  virtual ~OdeSystem() = default;
  // dy = f(y). False: there is none, and the step is not made.
  virtual bool rate(const VectorX& y, VectorX& dy) = 0;
  // The end of a step of the size h from where the system begins, by a rule of its own; how many iterations it took.
  virtual bool make_step(double h, VectorX& end, int& iterations) = 0;
};

class OdeStep {
 public:
  explicit OdeStep(SmoothRule rule) : rule_(rule) {}

  // Makes a step of the size h from y, where f is `rate`. False if f or the equation of the implicit rule has no
  // solution.
  bool make(OdeSystem& f, const VectorX& y, const VectorX& rate, double h);

  const VectorX& end() const { return end_; }
  const VectorX& end_rate() const { return last(); }
  double size() const { return h_; }
  // Of implicit rules, in the last step.
  int iterations() const { return iterations_; }
  // At the share s of the step, [0, 1].
  void interpolate(double s, VectorX& y) const;
  // Of each entry: what the embedded rule says; zero for rules that have none.
  const VectorX& error() const { return error_; }
  bool has_error() const { return rule_ == SmoothRule::kDormandPrince; }

 private:
  static constexpr int kStages = 7;
  bool dormand_prince(OdeSystem& f);
  bool runge_kutta(OdeSystem& f);
  bool midpoint(OdeSystem& f);
  bool finish(OdeSystem& f);
  const VectorX& last() const { return k_[kStages - 1]; }

  SmoothRule rule_;
  double h_ = 0.0;
  int iterations_ = 0;
  VectorX start_, end_, error_, at_, quartic_;
  VectorX k_[kStages];  // the last one: f at the end
};

}  // namespace touchstone

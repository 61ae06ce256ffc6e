// What the programs of the benchmark on recorded contact problems share: one contestant (a solver with its options)
// solves one problem from zero to several tolerances. Answers are lines of JSON:
//
//   {"contacts": n, "rows": m}
//   {"tolerance": t, "claimed": b, "natv": r, "seconds": s, "first": s, "runs": k, "iterations": n}
//   {"history": [[iteration, natv], ..]}
//
// `natv` is the certificate of our library, whoever solved. Times are processor time of the calling thread; run.py
// keeps linear algebra libraries to that one. A solve that exceeds its limit ends the process (SIGPROF): what was not
// printed was not solved.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "touchstone/contact/problem.hpp"

namespace bench {

// A recorded problem by its dual view, u = G lambda + g, dense or block-sparse. Of a global problem G is formed here,
// so that all contestants begin with the same.
touchstone::ContactProblem load_local_problem(const std::string& file);

// natv / free velocity after some of the iterations, denser at the beginning.
struct History {
  std::vector<int> iteration;
  std::vector<double> natv;

  // Whether the iteration is one of those to be kept; ask in ascending order.
  bool wants(int i) const { return iteration.empty() || i >= iteration.back() + 1 + iteration.back() / 20; }
  void add(int i, double value) {
    iteration.push_back(i);
    natv.push_back(value);
  }
};

class Contestant {
 public:
  Contestant() = default;
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;
  virtual ~Contestant() = default;

  virtual void set_tolerance(double tolerance) = 0;
  // Not timed: makes what the next `runs` calls of run() need.
  virtual void prepare(int /*runs*/) {}
  // Timed: solves from zero impulses. True if the solver says that it has succeeded.
  virtual bool run() = 0;
  virtual int iterations() const = 0;              // of the last run
  virtual touchstone::VectorX lambda() const = 0;  // of the last run, in the order of the problem
  virtual History history() = 0;                   // of a run of its own
};

struct Limits {
  double solve = 10.0;   // s: processor time of one solve, at which the process ends
  double repeat = 0.05;  // s: processor time spent on repetitions of a solve
};

// Of this thread. (The clock of the process advances by ticks only while a time limit is armed.)
double processor_seconds();

// Ends the process when that much processor time has been used from now on; 0 disarms.
void arm_time_limit(double seconds);

// Measures to every tolerance and prints the lines; the history is that of the last tolerance.
void measure(const touchstone::ContactProblem& problem, Contestant& contestant, const std::vector<double>& tolerances,
             const Limits& limits, std::FILE* out = stdout);

}  // namespace bench

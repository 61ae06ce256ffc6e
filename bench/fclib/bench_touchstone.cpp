// Our solvers on a recorded or generated problem (harness.hpp says what is printed).
//
//   bench_fclib_touchstone file FILE SECONDS SOLVER[,key=value..] TOLERANCE..
//   bench_fclib_touchstone pile|chain|wall CONTACTS SECONDS SOLVER[,key=value..] TOLERANCE..
//
// A generated problem ends with a line {"problem_memory": MB, "peak_memory": MB}: the resident memory of the process
// before the first solve, and its peak.
#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace {

using touchstone::ContactProblem;

// The workspace is kept from solve to solve, as in a simulation; the start is zero every time.
class OurSolver final : public bench::Contestant {
 public:
  // `words`: a name of the catalogue, then options, separated by commas.
  OurSolver(const ContactProblem& problem, const std::string& words) : problem_(problem) {
    std::istringstream stream(words);
    std::string word;
    std::getline(stream, word, ',');
    solver_ = touchstone::make_solver(word);
    options_ = solver_->make_options();
    workspace_ = solver_->make_workspace();
    while (std::getline(stream, word, ',')) touchstone::set_option(*options_, word);
  }

  void set_tolerance(double tolerance) override { options_->relative_tolerance = tolerance; }
  bool run() override {
    return solver_->solve(problem_, *options_, *workspace_, solution_) == touchstone::SolveStatus::kSolved;
  }
  int iterations() const override { return solution_.iterations; }
  touchstone::VectorX lambda() const override { return solution_.lambda; }

  bench::History history() override {
    options_->record_history = true;
    run();
    options_->record_history = false;
    bench::History history;
    for (std::size_t i = 0; i < solution_.history.size(); ++i) {
      const int iteration = static_cast<int>(i) + 1;
      if (history.wants(iteration)) history.add(iteration, solution_.history[i]);
    }
    return history;
  }

 private:
  const ContactProblem& problem_;
  std::unique_ptr<touchstone::ContactSolver> solver_;
  std::unique_ptr<touchstone::SolverOptions> options_;
  std::unique_ptr<touchstone::SolverWorkspace> workspace_;
  touchstone::Solution solution_;
};

ContactProblem make_problem(const std::string& kind, const std::string& which) {
  if (kind == "file") return bench::load_local_problem(which);
  const int contacts = std::stoi(which);
  if (kind == "pile") return touchstone::make_pile(contacts, 1);
  if (kind == "chain") return touchstone::make_chain(contacts);
  if (kind == "wall") return touchstone::make_wall(contacts);
  throw std::runtime_error("'" + kind + "' is no kind of problem; use file, pile, chain or wall");
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts kilobytes
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) {
    std::cerr << "usage: bench_fclib_touchstone file|pile|chain|wall FILE|CONTACTS SECONDS SOLVER TOLERANCE..\n";
    return 2;
  }
  try {
    const ContactProblem problem = make_problem(words[1], words[2]);
    const double before = peak_megabytes();
    OurSolver solver(problem, words[4]);
    std::vector<double> tolerances;
    for (int i = 5; i < count; ++i) tolerances.push_back(std::stod(words[i]));
    bench::measure(problem, solver, tolerances, {.solve = std::stod(words[3])});
    if (std::string(words[1]) != "file") {
      std::cout << R"({"problem_memory": )" << before << R"(, "peak_memory": )" << peak_megabytes() << "}" << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}

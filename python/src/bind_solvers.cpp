// The catalogue of solvers, and one solver with its options and memory.
#include <limits>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/laws/certify_law.hpp"
#include "touchstone/io/fclib.hpp"
#include "touchstone/solvers/catalogue.hpp"
#include "touchstone/solvers/references.hpp"

namespace touchstone::python {
namespace {

// The answer of a solver with the certificate of its problem.
struct PySolution {
  SolveStatus status = SolveStatus::kSolved;
  Solution solution;
  Residuals residuals;
  double seconds = 0.0;
};

// Of a problem that has no answer.
Residuals no_residuals() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Residuals r;
  for (double* figure : {&r.natv, &r.natv_relative, &r.natv_relative_to_change, &r.primal_cone, &r.dual_cone,
                         &r.complementarity, &r.natural_map, &r.coulomb, &r.signorini, &r.max_dissipation,
                         &r.model_natv, &r.model_natv_relative, &r.law_natv, &r.law_natv_relative, &r.law_impulse})
    *figure = kNone;
  return r;
}

std::string option_text(nb::handle value) {
  if (PyBool_Check(value.ptr()) != 0) return value.is(Py_True) ? "true" : "false";
  return nb::cast<std::string>(nb::str(value));
}

class PySolver {
 public:
  PySolver(const std::string& name, const nb::kwargs& options)
      : entry_(&find_solver(name)),
        solver_(entry_->make()),
        options_(solver_->make_options()),
        workspace_(solver_->make_workspace()) {
    for (const auto& [key, value] : options) set_option(*options_, nb::cast<std::string>(key), option_text(value));
  }

  PySolution solve(const RecordedProblem& recorded, const std::optional<Numbers>& warm_start) {
    const ContactProblem& problem = recorded.problem;
    if (warm_start) solution_.lambda = warm_start->vector("warm_start", problem.nrow());
    const Guard guard(busy_, "solver");
    const nb::gil_scoped_release release;
    const bool warm = options_->warm_start;
    if (warm_start) options_->warm_start = true;
    PySolution answer;
    const Stopwatch watch;
    answer.status = solver_->solve(problem, *options_, *workspace_, solution_);
    answer.seconds = watch.seconds();
    options_->warm_start = warm;
    answer.solution = solution_;
    const bool answered = answer.status != SolveStatus::kInvalidProblem && answer.status != SolveStatus::kUnsupported;
    answer.residuals =
        answered ? certify(problem, solution_.lambda, certificate_, entry_->certificate) : no_residuals();
    if (answered && entry_->law)
      certify_law(problem, solution_.lambda, *entry_->law, law_certificate_, answer.residuals);
    return answer;
  }

  std::string name() const { return std::string(entry_->name); }
  nb::dict options() const {
    nb::dict d;
    for (const OptionField& field : list_options(*options_)) d[field.name.c_str()] = field.get();
    return d;
  }

 private:
  const CatalogueEntry* entry_;
  std::unique_ptr<ContactSolver> solver_;
  std::unique_ptr<SolverOptions> options_;
  std::unique_ptr<SolverWorkspace> workspace_;
  CertificateWorkspace certificate_;
  LawCertificateWorkspace law_certificate_;
  Solution solution_;
  std::atomic<bool> busy_{false};
};

std::string option_help(const std::string& name) {
  const std::unique_ptr<SolverOptions> options = make_solver(name)->make_options();
  std::string text;
  for (const OptionField& field : list_options(*options)) {
    text += fmt::format("{} = {}  {} {}: {}\n", field.name, field.get(), field.kind, field.range, field.help);
  }
  return text;
}

std::string status_text(SolveStatus status) {
  switch (status) {
    case SolveStatus::kSolved:
      return "solved";
    case SolveStatus::kMaxIterations:
      return "max iterations";
    case SolveStatus::kStalled:
      return "stalled";
    case SolveStatus::kUnsupported:
      return "unsupported";
    case SolveStatus::kTimeLimit:
      return "time limit";
    case SolveStatus::kInvalidProblem:
      break;
  }
  return "invalid problem";
}

}  // namespace

void bind_solvers(nb::module_& m) {
  nb::class_<CatalogueEntry>(m, "SolverInfo", "A line of the catalogue of solvers.")
      .def_prop_ro("name", [](const CatalogueEntry& e) { return std::string(e.name); })
      .def_prop_ro(
          "model", [](const CatalogueEntry& e) { return std::string(e.model); },
          "The contact model that it solves: NCP, CCP, LCP or RaiSim.")
      .def_prop_ro("algorithm", [](const CatalogueEntry& e) { return std::string(e.algorithm); })
      .def_prop_ro("blocks", [](const CatalogueEntry& e) { return std::string(e.blocks); })
      .def_prop_ro(
          "reference", [](const CatalogueEntry& e) { return full_reference(e.reference); },
          "Authors, year and title of what it follows, with the algorithm or section.")
      .def_prop_ro(
          "options", [](const CatalogueEntry& e) { return option_help(std::string(e.name)); },
          "Its options with defaults, ranges and meaning, one a line.")
      .def("__repr__", [](const CatalogueEntry& e) {
        return fmt::format("<SolverInfo {} ({}): {}>", e.name, e.model, e.algorithm);
      });
  m.def(
      "solvers", [] { return std::vector<CatalogueEntry>(solver_catalogue()); }, "The catalogue of contact solvers.");

  nb::class_<PySolution>(m, "Solution", "The answer of a solver, with the certificate of its problem.")
      .def_prop_ro(
          "status", [](const PySolution& s) { return status_text(s.status); },
          "'solved', 'max iterations', 'time limit', 'stalled', 'unsupported' or 'invalid problem'.")
      .def_prop_ro("solved", [](const PySolution& s) { return s.status == SolveStatus::kSolved; })
      .def_prop_ro(
          "impulse", [](const PySolution& s) { return copy(s.solution.lambda); }, "lambda, nrow, N s")
      .def_prop_ro(
          "velocity", [](const PySolution& s) { return copy(s.solution.u); }, "u = G lambda + g, nrow, m/s")
      .def_prop_ro(
          "next_velocity", [](const PySolution& s) { return copy(s.solution.v); },
          "v', nv; empty without a primal view.")
      .def_prop_ro("iterations", [](const PySolution& s) { return s.solution.iterations; })
      .def_prop_ro(
          "stage", [](const PySolution& s) { return s.solution.stage.name; },
          "The stage of 'auto' that gave the answer: 'start', 'sweeps', 'modes', ...; empty for other solvers.")
      .def_prop_ro("factorizations", [](const PySolution& s) { return s.solution.factorizations; })
      .def_prop_ro(
          "shift", [](const PySolution& s) { return s.solution.shift; },
          "Largest number added to the diagonal of G for good; 0: the problem as given.")
      .def_prop_ro(
          "history", [](const PySolution& s) { return copy(s.solution.history); },
          "Relative natv after each iteration, if record_history was set.")
      .def_prop_ro(
          "message", [](const PySolution& s) { return s.solution.message; }, "Why it is not solved.")
      .def_prop_ro(
          "warning", [](const PySolution& s) { return s.solution.warning; },
          "What is unusual about the problem, such as a G that is not symmetric; empty otherwise.")
      .def_prop_ro(
          "infeasible", [](const PySolution& s) { return s.solution.infeasible; },
          "The solver saw that no impulses satisfy all laws; only 'auto' looks.")
      .def_ro("residuals", &PySolution::residuals,
              "The certificate, from the problem's own data; nan if the problem is invalid or unsupported.")
      .def_ro("seconds", &PySolution::seconds, "Time of the solve, s.")
      .def("__repr__", [](const PySolution& s) {
        return fmt::format("<Solution {}: {} iterations, natv {:.3g} m/s, {:.4g} ms{}{}>", status_text(s.status),
                           s.solution.iterations, s.residuals.natv, 1e3 * s.seconds,
                           s.solution.message.empty() ? "" : "; ", s.solution.message);
      });

  nb::class_<PySolver>(m, "Solver",
                       "A solver with its options and memory, for many problems. Not for two threads at once.")
      .def(nb::init<const std::string&, const nb::kwargs&>(), nb::arg("name") = "auto", nb::arg("options"),
           nb::sig("def __init__(self, name: str = 'auto', **options: bool | int | float | str) -> None"),
           "A name of `solvers()`, and its options by name, such as relative_tolerance=1e-10, max_iterations=500, "
           "record_history=True; SolverInfo.options lists them.")
      .def("solve", &PySolver::solve, nb::arg("problem"), nb::arg("warm_start") = nb::none(),
           "warm_start: impulses to begin from.")
      .def_prop_ro("name", &PySolver::name)
      .def_prop_ro("options", &PySolver::options, nb::sig("def options(self) -> dict[str, str]"))
      .def("__repr__", [](const PySolver& s) { return fmt::format("<Solver {}>", s.name()); });
}

}  // namespace touchstone::python

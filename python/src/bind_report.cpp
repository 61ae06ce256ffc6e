// The certificate of a problem, and the report of a step.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "touchstone/sim/report.hpp"

namespace touchstone::python {
namespace {

nb::dict as_dict(const Residuals& r) {
  nb::dict d;
  d["natv"] = r.natv;
  d["natv_relative"] = r.natv_relative;
  d["natv_relative_to_change"] = r.natv_relative_to_change;
  d["primal_cone"] = r.primal_cone;
  d["dual_cone"] = r.dual_cone;
  d["complementarity"] = r.complementarity;
  d["natural_map"] = r.natural_map;
  d["coulomb"] = r.coulomb;
  d["signorini"] = r.signorini;
  d["max_dissipation"] = r.max_dissipation;
  d["model_natv"] = r.model_natv;
  d["model_natv_relative"] = r.model_natv_relative;
  d["law_natv"] = r.law_natv;
  d["law_natv_relative"] = r.law_natv_relative;
  d["law_impulse"] = r.law_impulse;
  return d;
}

std::string report_html(const StepReport& r) {
  return html_table(fmt::format("Step to {:.6g} s: {}", r.time, to_string(r.status)),
                    {{"contacts, islands", fmt::format("{}, {}", r.contacts, r.islands)},
                     {"iterations", std::to_string(r.iterations)},
                     {"natv", fmt::format("{:.3g} m/s", r.residuals.natv)},
                     {"natv, relative", fmt::format("{:.3g}", r.residuals.natv_relative)},
                     {"penetration", fmt::format("{:.3g} m", r.penetration)},
                     {"violation", fmt::format("{:.3g} m or rad", r.violation)},
                     {"time of the step", fmt::format("{:.4g} us", 1e6 * r.times.total())}});
}

void bind_residuals(nb::module_& m) {
  nb::class_<Residuals>(m, "Residuals",
                        "The certificate: how well an answer obeys the physics of its problem, computed from the "
                        "problem's own data (docs/contact.md has the definitions).")
      .def_ro("natv", &Residuals::natv, "m/s: the natural map with consistent units, the largest over the blocks.")
      .def_ro("natv_relative", &Residuals::natv_relative, "natv over the largest free velocity.")
      .def_ro("natv_relative_to_change", &Residuals::natv_relative_to_change, "natv over |G lambda|.")
      .def_ro("worst_block", &Residuals::worst_block, "The block of natv; -1 if there is none.")
      .def_ro("primal_cone", &Residuals::primal_cone, "N s: how far impulses are outside their sets.")
      .def_ro("dual_cone", &Residuals::dual_cone, "m/s: how far velocities are outside theirs.")
      .def_ro("complementarity", &Residuals::complementarity, "J: largest |impulse . velocity|.")
      .def_ro("natural_map", &Residuals::natural_map, "The natural map with unit step; mixes N s and m/s.")
      .def_ro("coulomb", &Residuals::coulomb, "N s: friction beyond the cone.")
      .def_ro("signorini", &Residuals::signorini, "J: normal impulse times normal velocity.")
      .def_ro("max_dissipation", &Residuals::max_dissipation, "J: friction that does not oppose sliding.")
      .def_ro("model_natv", &Residuals::model_natv, "m/s: natv of the contact model that the solver claims to solve.")
      .def_ro("model_natv_relative", &Residuals::model_natv_relative)
      .def_ro("law_natv", &Residuals::law_natv, "m/s: natural map of the laws of a compliant solver; 0 for others.")
      .def_ro("law_natv_relative", &Residuals::law_natv_relative)
      .def_ro("law_impulse", &Residuals::law_impulse, "N s: what law and answer do not agree about.")
      .def("as_dict", &as_dict, nb::sig("def as_dict(self) -> dict[str, float]"))
      .def("__repr__", [](const Residuals& r) {
        return fmt::format("<Residuals natv {:.3g} m/s (relative {:.3g}), complementarity {:.3g} J>", r.natv,
                           r.natv_relative, r.complementarity);
      });
}

void bind_accounts(nb::module_& m) {
  nb::class_<StageTimes>(m, "StageTimes", "Seconds that the stages of a step took.")
      .def_ro("dynamics", &StageTimes::dynamics)
      .def_ro("collision", &StageTimes::collision)
      .def_ro("assembly", &StageTimes::assembly)
      .def_ro("solve", &StageTimes::solve)
      .def_ro("integrate", &StageTimes::integrate)
      .def_ro("certify", &StageTimes::certify)
      .def_prop_ro("total", &StageTimes::total)
      .def("__repr__", [](const StageTimes& t) {
        return fmt::format(
            "<StageTimes in us: dynamics {:.1f}, collision {:.1f}, assembly {:.1f}, solve {:.1f}, integrate {:.1f}, "
            "certify {:.1f}>",
            1e6 * t.dynamics, 1e6 * t.collision, 1e6 * t.assembly, 1e6 * t.solve, 1e6 * t.integrate, 1e6 * t.certify);
      });
  nb::class_<EnergyAccount>(m, "EnergyAccount", "Where the energy of a step went, J.")
      .def_ro("kinetic", &EnergyAccount::kinetic, "After the step.")
      .def_ro("potential", &EnergyAccount::potential, "After the step: gravity and springs.")
      .def_ro("actuators", &EnergyAccount::actuators, "Work of actuators and gravity compensation.")
      .def_ro("applied", &EnergyAccount::applied, "Work of applied forces and wrenches.")
      .def_ro("dampers", &EnergyAccount::dampers, "Work of dampers.")
      .def_ro("surfaces", &EnergyAccount::surfaces, "Work of surfaces that move on their own.")
      .def_ro("constraints", &EnergyAccount::constraints, "Work of contacts, limits, dry friction and equalities.")
      .def_ro("inelastic", &EnergyAccount::inelastic, "Lost in impacts.")
      .def_ro("stabilisation", &EnergyAccount::stabilisation, "Added by bringing violated constraints back.")
      .def_prop_ro("total", &EnergyAccount::total, "Kinetic and potential, after the step.")
      .def_prop_ro("error", &EnergyAccount::error, "What no force did: the error of the time step.")
      .def("__repr__", [](const EnergyAccount& e) {
        return fmt::format("<EnergyAccount: total {:.6g} J, error of the step {:.3g} J>", e.total(), e.error());
      });
}

void bind_sleep_report(nb::module_& m) {
  nb::class_<SleepReport>(m, "SleepReport", "What sleeps after a step.")
      .def_ro("bodies", &SleepReport::bodies)
      .def_ro("trees", &SleepReport::trees)
      .def_ro("islands", &SleepReport::islands)
      .def_ro("fell_asleep", &SleepReport::fell_asleep, "Islands, in this step.")
      .def_ro("woken", &SleepReport::woken, "Islands, in this step.")
      .def_ro("contacts", &SleepReport::contacts, "Part of StepReport.contacts.")
      .def_ro("residuals", &SleepReport::residuals,
              "The worst certificate of what sleeps, each of the step in which it fell asleep; part of "
              "StepReport.residuals.")
      .def("__repr__", [](const SleepReport& r) {
        return fmt::format("<SleepReport: {} bodies in {} islands>", r.bodies, r.islands);
      });
}

void bind_accuracy_report(nb::module_& m) {
  nb::class_<AccuracyReport>(m, "AccuracyReport", "How a step kept to the option `accuracy`; zero without.")
      .def_ro("parts", &AccuracyReport::parts, "That the step was made of.")
      .def_ro("rejected", &AccuracyReport::rejected, "That were tried again with half their size.")
      .def_ro("missed", &AccuracyReport::missed, "That have a larger error: smaller ones did not mend it.")
      .def_ro("smallest", &AccuracyReport::smallest, "s, the shortest part.")
      .def_ro("error", &AccuracyReport::error, "m, the largest estimate of a part.")
      .def("__repr__", [](const AccuracyReport& r) {
        return fmt::format("<AccuracyReport: {} parts, {} tried again, error {:.3g} m>", r.parts, r.rejected, r.error);
      });
}

void bind_event_report(nb::module_& m) {
  nb::class_<EventReport>(m, "EventReport", "What happened in a step of the integrator 'event'; zero otherwise.")
      .def_ro("smooth_steps", &EventReport::smooth_steps, "Between events.")
      .def_ro("rejected", &EventReport::rejected, "Smooth steps that were tried again with a smaller size.")
      .def_ro("events", &EventReport::events, "Moments at which a contact or limit closed, opened, slipped or stuck.")
      .def_ro("impacts", &EventReport::impacts, "Contact problems of impacts that were solved.")
      .def_ro("fallbacks", &EventReport::fallbacks, "Parts that were made by time stepping.")
      .def_prop_ro(
          "why", [](const EventReport& r) { return std::string(to_string(r.why)); },
          "Why the last of them was; 'none' without.")
      .def_ro("last", &EventReport::last, "s, the time of the last event.")
      .def("__repr__", [](const EventReport& r) {
        return fmt::format("<EventReport: {} events, {} impacts, {} smooth steps>", r.events, r.impacts,
                           r.smooth_steps);
      });
}

void bind_warnings(nb::class_<StepReport>& c) {
  c.def_prop_ro(
       "energy_jump", [](const StepReport& r) { return r.warnings.energy_jump; },
       "The step added energy that no force did; a smaller time step may help.")
      .def_prop_ro("deep_penetration", [](const StepReport& r) { return r.warnings.deep_penetration; })
      .def_prop_ro("recovery_conflict", [](const StepReport& r) { return r.warnings.recovery_conflict; })
      .def_prop_ro("variational_fallback", [](const StepReport& r) { return r.warnings.variational_fallback; })
      .def_prop_ro(
          "limit_cycle", [](const StepReport& r) { return r.warnings.limit_cycle; },
          "An actuator drives a joint to and fro from step to step: its gains are too high for the time step.")
      .def_prop_ro(
          "accuracy_missed", [](const StepReport& r) { return r.warnings.accuracy_missed; },
          "Some part of the step has a larger error than the option `accuracy`.")
      .def_prop_ro(
          "event_fallback", [](const StepReport& r) { return r.warnings.event_fallback; },
          "Part of the step was made by time stepping.")
      .def_prop_ro(
          "contacts_left_out", [](const StepReport& r) { return r.warnings.contacts_left_out; },
          "Surfaces of triangles had more contacts than a step looks for: the deepest were kept.");
}

void bind_step_report(nb::module_& m) {
  nb::class_<StepReport> c(m, "StepReport", "What one step says about itself; a snapshot.");
  bind_warnings(c);
  c.def_prop_ro(
       "status", [](const StepReport& r) { return std::string(to_string(r.status)); }, "'ok', or what went wrong.")
      .def_prop_ro("ok", [](const StepReport& r) { return r.status == StepStatus::kOk; })
      .def_prop_ro(
          "diverged", [](const StepReport& r) { return r.status == StepStatus::kDiverged; },
          "The step failed and the state is the one before it.")
      .def_ro("time", &StepReport::time, "s, at the end of the step")
      .def_ro("contacts", &StepReport::contacts)
      .def_ro("constraints", &StepReport::constraints, "Blocks of all kinds.")
      .def_ro("rows", &StepReport::rows)
      .def_ro("islands", &StepReport::islands)
      .def_ro("iterations", &StepReport::iterations, "Of the solver, over all islands.")
      .def_ro("largest_iterations", &StepReport::largest_iterations)
      .def_ro("newton", &StepReport::newton,
              "Iterations of the equation of motion, of integrators that solve one (variational, contact-implicit).")
      .def_prop_ro(
          "solver_stage", [](const StepReport& r) { return r.stage.name; },
          "The dearest stage of 'auto' that an island needed: 'start', 'sweeps', 'modes', ...; empty for other "
          "solvers.")
      .def_ro("residuals", &StepReport::residuals, "The worst of all islands, field by field.")
      .def_ro("message", &StepReport::worst, "Why a solver refused an island; empty otherwise.")
      .def_ro("penetration", &StepReport::penetration, "m, the deepest contact at the start of the step.")
      .def_ro("violation", &StepReport::violation, "Largest error of limits and equalities, m or rad.")
      .def_ro("shift", &StepReport::shift, "Compliance that the solver had to add; 0: the problem as assembled.")
      .def_ro("recovered", &StepReport::recovered, "The configuration was moved out of violations after the step.")
      .def_ro("recovery_residual", &StepReport::recovery_residual, "m: the certificate of that.")
      .def_ro("loop_error", &StepReport::loop_error, "m: error of loops after the step; 0 unless loops='closed'.")
      .def_ro(
          "hindered_block", &StepReport::hindered_block,
          "A constraint that asked for more of it than others let it have, see Simulator.describe_hindered; -1: none.")
      .def_ro("sleep", &StepReport::sleep)
      .def_ro("accuracy", &StepReport::accuracy)
      .def_ro("events", &StepReport::events)
      .def_ro("energy", &StepReport::energy)
      .def_ro("cycling_actuator", &StepReport::cycling_actuator, "The actuator of limit_cycle; -1: none.")
      .def_ro("times", &StepReport::times)
      .def("_repr_html_", &report_html)
      .def("__repr__", [](const StepReport& r) {
        return fmt::format("<StepReport {} at {:.6g} s: {} contacts, {} iterations, natv {:.3g} m/s, {:.3g} us>",
                           to_string(r.status), r.time, r.contacts, r.iterations, r.residuals.natv,
                           1e6 * r.times.total());
      });
}

}  // namespace

void bind_report(nb::module_& m) {
  bind_residuals(m);
  bind_accounts(m);
  bind_sleep_report(m);
  bind_accuracy_report(m);
  bind_event_report(m);
  bind_step_report(m);
}

}  // namespace touchstone::python

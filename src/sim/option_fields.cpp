#include "touchstone/sim/option_fields.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/error.hpp"
#include "touchstone/base/similar.hpp"
#include "touchstone/base/thread_pool.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

const OptionField* find_field(const std::vector<OptionField>& fields, std::string_view name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [name](const OptionField& f) { return f.name == name; });
  return found != fields.end() ? &*found : nullptr;
}

void set_field(const OptionField& field, std::string_view value) {
  if (field.set(value)) return;
  throw Error({.where = {},
               .message = fmt::format("option {}: '{}' is not {}", field.name, value, field.kind),
               .remedy = fmt::format("give {} ({})", field.range, field.help)});
}

// A solver's option goes into the list as text; a later value replaces an earlier one.
void keep_solver_option(SimulatorOptions& options, std::string_view name, std::string_view value) {
  const std::string start = std::string(name) + "=";
  auto& list = options.solver_options;
  list.erase(std::remove_if(list.begin(), list.end(), [&](const std::string& o) { return o.rfind(start, 0) == 0; }),
             list.end());
  list.push_back(start + std::string(value));
}

void add_event_options(OptionList& list, EventOptions& events) {
  list.add("event_rule", events.rule, {"dopri", "rk4", "midpoint", "variational"},
           "event: Dormand-Prince 5(4), the classical Runge-Kutta, the implicit midpoint rule or the variational one "
           "between events");
  list.add("event_root", events.root, {"brent", "bisection"}, "event: how the times of events are found");
  list.add("impact_law", events.impact_law, {"newton", "poisson"}, "event: restitution of velocities or of impulses");
  list.add("impact_order", events.impact_order, {"together", "sequence"},
           "event: impacts of one moment are one problem, or are solved one by one");
  list.add("impact_cone", events.impact_cone, {"exact", "linear", "smooth"},
           "event: friction of impacts by Coulomb's cone, a pyramid in it, or with a smoothed norm");
  list.add("cone_directions", events.cone_directions, 4, 64, "event: edges of the linear cone, a multiple of 4");
  list.add("cone_smoothing", events.cone_smoothing, 0.0, 1e3, "N s; event: smoothing of the norm of the smooth cone");
  list.add("event_tolerance", events.tolerance, 1e-14, 1.0,
           "m and m/s; event: error that a smooth step of dopri may make");
  list.add("tangential_restitution", events.tangential_restitution, 0.0, 1.0,
           "event: impacts that stick leave with this share of their slip, reversed");
  list.add("max_events", events.max_events, 1, 1'000'000,
           "event: more in one step, and the rest of it is made by time stepping");
}

void add_law_options(OptionList& list, ContactLawOptions& laws) {
  constexpr double kLarge = std::numeric_limits<double>::max();
  list.add("stiction_tolerance", laws.stiction_tolerance, 1e-12, 1.0,
           "m/s; lagged, similar: friction holds up to about this slip");
  list.add("friction_sigma", laws.sigma, 0.0, 1.0,
           "sap, lagged, similar: how much friction of strong impacts is softened");
  list.add("near_rigid", laws.near_rigid, 1e-3, 1e3,
           "sap, lagged, similar: period in steps of contacts without stiffness");
  list.add("near_rigid_dissipation", laws.dissipation, 0.0, kLarge,
           "s/m; lagged, similar: of contacts without stiffness");
  list.add("linear_damping", laws.linear_damping,
           "lagged, similar: relaxation times of materials in place of dissipations");
}

}  // namespace

std::vector<OptionField> list_options(SimulatorOptions& options) {
  constexpr double kLarge = std::numeric_limits<double>::max();
  OptionList list;
  list.add("time_step", options.time_step, 0.0, 1.0, "s; 0: that of the model");
  std::vector<std::string_view> integrators;
  for (const IntegratorEntry& entry : integrator_catalogue()) integrators.emplace_back(entry.name);
  list.add("integrator", options.integrator, integrators,
           "semi-implicit Euler, Moreau's or the variational midpoint rule, or from event to event");
  list.add("tolerance", options.tolerance, 1e-15, 1.0, "relative natv that the solver is asked for");
  list.add("max_iterations", options.max_iterations, 0, std::numeric_limits<int>::max(), "0: the solver's own limit");
  list.add("constraints", options.constraints, {"rigid", "mujoco"}, "hard, or softened as MuJoCo's");
  list.add("substeps", options.substeps, 1, 1'000'000, "equal parts of a step, with the same input");
  list.add("accuracy", options.accuracy, 0.0, kLarge,
           "m; error of positions that a part of a step may make, which chooses its size; 0: steps of one size");
  list.add("min_step", options.min_step, 1e-12, 1.0, "s; accuracy: smaller parts are not tried");
  list.add("threads", options.threads, 0, ThreadPool::kMostThreads,
           "that share the islands of a step; 0: one a processor");
  list.add("warm_start", options.warm_start, "begin with the impulses of the step before");
  list.add("islands", options.islands, "solve groups of bodies that do not touch one by one");
  list.add("long_trees", options.long_trees, "step long chains without a mass matrix; derivatives need one");
  list.add("swept_margin", options.swept_margin, "look for contacts as far as bodies move in a step");
  list.add("margin", options.collision.margin, 0.0, 1.0, "m; contacts are kept up to this distance");
  list.add("stabilisation", options.stabilisation.method, {"position", "baumgarte"},
           "how violations end: the configuration is moved, or the contact problem asks for a velocity");
  list.add("recovery_time", options.stabilisation.time_constant, 1e-9, kLarge,
           "s; position: violations fall to 1/e in this time");
  list.add("erp", options.stabilisation.erp, 0.0, 1.0, "baumgarte: share of a violation that one step removes");
  list.add("loop_erp", options.stabilisation.loop_erp, -1.0, 1.0,
           "share of an error of loops that the contact problem removes in a step; -1: as stabilisation says");
  list.add("limit_erp", options.stabilisation.limit_erp, -1.0, 1.0, "the same for limits");
  list.add("contact_erp", options.stabilisation.contact_erp, -1.0, 1.0, "the same for contacts");
  list.add("slop", options.stabilisation.slop, 0.0, 1.0, "m or rad; violation that is left alone");
  list.add("recovery_speed", options.stabilisation.recovery_speed, 0.0, kLarge,
           "m/s; penetrations end at most so fast");
  list.add("loops", options.stabilisation.loops, {"pass", "closed"},
           "position: loops get one pass a step, or as many as close them");
  list.add("loop_softening", options.stabilisation.loop_softening, {"none", "impedance"},
           "loops of rigid constraints are rigid, or springs and dampers by their solref and solimp");
  list.add("loop_tolerance", options.stabilisation.loop_tolerance, 1e-9, 1.0, "m; closed: error that may be left");
  list.add("restitution_threshold", options.stabilisation.restitution_threshold, 0.0, kLarge,
           "m/s; slower impacts do not bounce");
  list.add("sleep", options.sleep.mode, {"model", "false", "true"},
           "islands of bodies that rest cost nothing until something happens to them");
  list.add("sleep_speed", options.sleep.speed, 0.0, kLarge,
           "m/s; slower bodies rest, turns by the body's length; 0: 0.01, or the sleep_tolerance of a model that asks "
           "for sleep");
  list.add("sleep_time", options.sleep.time, 0.0, kLarge, "s; how long they must");
  add_event_options(list, options.events);
  add_law_options(list, options.laws);
  list.add("watch_energy", options.watch.energy, "keep an account of energy");
  list.add("energy_jump", options.watch.energy_jump, 0.0, kLarge,
           "share of the kinetic energy that is worth a warning");
  list.add("deep_penetration", options.watch.penetration, 0.0, kLarge, "m; deeper contacts are worth a warning");
  return list.fields();
}

void set_option(SimulatorOptions& options, std::string_view name, std::string_view value) {
  if (name == "solver") {
    options.solver = find_solver(value).name;
    return;
  }
  const std::vector<OptionField> fields = list_options(options);
  if (const OptionField* field = find_field(fields, name)) {
    set_field(*field, value);
    return;
  }
  const auto of_solver = make_solver(options.solver)->make_options();
  const std::vector<OptionField> solver_fields = list_options(*of_solver);
  if (const OptionField* field = find_field(solver_fields, name)) {
    set_field(*field, value);
    keep_solver_option(options, name, value);
    return;
  }
  std::vector<std::string> names{"solver"};
  for (const auto* list : {&fields, &solver_fields}) {
    for (const OptionField& field : *list) names.push_back(field.name);
  }
  throw Error(
      {.where = {},
       .message = fmt::format("neither the simulator nor the solver '{}' has an option '{}'", options.solver, name),
       .remedy = did_you_mean(name, names)});
}

void set_option(SimulatorOptions& options, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error({.where = {},
                 .message = fmt::format("'{}' is no option", assignment),
                 .remedy = "write name=value, such as erp=0.1"});
  }
  set_option(options, assignment.substr(0, equals), assignment.substr(equals + 1));
}

std::vector<std::pair<std::string, std::string>> option_values(const SimulatorOptions& options) {
  SimulatorOptions copy = options;
  std::vector<std::pair<std::string, std::string>> values{{"solver", options.solver}};
  for (const OptionField& field : list_options(copy)) values.emplace_back(field.name, field.get());
  for (const std::string& option : options.solver_options) {
    const std::size_t equals = option.find('=');
    values.emplace_back(option.substr(0, equals), option.substr(std::min(equals, option.size() - 1) + 1));
  }
  return values;
}

}  // namespace touchstone

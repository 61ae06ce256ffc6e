#include "touchstone/sim/step_context.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/long_trees.hpp"

namespace touchstone {

ModelPtr require_model(ModelPtr model) {
  if (model == nullptr) throw Error("Simulator: the model is null");
  return model;
}

namespace {

double chosen_step(const Model& model, const SimulatorOptions& options) {
  options.validate();
  return options.time_step > 0.0 ? options.time_step : model.options.time_step;
}

// Only what needs no factor of A: one step rule, hard constraints, the default solver; and where A is M and a diagonal.
bool may_use_long_trees(const StepContext& s) {
  const SimulatorOptions& o = s.options;
  return o.long_trees && has_long_paths(s.model) && is_diagonal_beside_mass(s.model) &&
         o.integrator == Integrator::kSemiImplicitEuler && o.accuracy == 0.0 && s.rules.is_exact &&
         !s.rules.contact_laws && s.solver.entry().eliminates && !s.sleep.is_enabled();
}

}  // namespace

StepContext::StepContext(ModelPtr given, const SimulatorOptions& chosen, std::shared_ptr<const CollisionModel> shapes)
    : model_ptr(require_model(std::move(given))),
      model(*model_ptr),
      options(chosen),
      rules(rules_of(chosen)),
      duration(chosen_step(model, chosen)),
      h(duration / chosen.substeps),
      parameters(model.defaults),
      state(model),
      input(model),
      sleep(model, chosen),
      work(model),
      data(model),
      detector(shapes, chosen.collision),
      weights(model),
      solver(rules.solver_options(model, chosen)),
      v_next(VectorX::Zero(model.nv)),
      impulse(VectorX::Zero(model.nv)),
      late(model, std::move(shapes), chosen.collision, chosen.stabilisation.slop),
      late_end(model),
      before(model),
      left_velocity(VectorX::Zero(4 * model.nv)),
      acceleration(VectorX::Zero(model.nv)),
      actuator_force(VectorX::Zero(model.nu)),
      meter(model),
      total_mass(model.total_mass()) {
  if (chosen.accuracy > 0.0 && sleep.is_enabled()) {
    throw Error({.where = {},
                 .message = "accuracy and sleep were both asked for",
                 .remedy = "set sleep=false, or accuracy=0 for steps of one size"});
  }
  const bool is_exact_rule =
      chosen.integrator == Integrator::kEvent || chosen.integrator == Integrator::kContactImplicit;
  if (is_exact_rule && (sleep.is_enabled() || !rules.is_exact || rules.contact_laws)) {
    throw Error({.where = {},
                 .message =
                     "this integrator (event, contact-implicit) was asked for with sleep, MuJoCo's constraints or a "
                     "compliant solver",
                 .remedy = "set sleep=false, constraints=rigid and a solver of rigid contact, or another integrator"});
  }
  if (is_exact_rule && chosen.stabilisation.softens_loops()) {
    throw Error({.where = {},
                 .message = "this integrator (event, contact-implicit) was asked for with loops that give way",
                 .remedy = "set loop_softening=none, or another integrator"});
  }
  if (options.stabilisation.loops == LoopClosing::kClosed && rules.is_exact &&
      options.stabilisation.passes(StabilisedKind::kLoop) && !(model.equalities.empty() && model.loop_joints.empty()))
    closure.emplace(model);
  if (may_use_long_trees(*this)) {
    use_long_trees(model, data);
    if (closure) use_long_trees(model, closure->data());
  }
  forget();
}

void StepContext::require_mass_matrix(const char* what) const {
  if (!data.long_trees.used) return;
  throw Error(
      {.where = {},
       .message = fmt::format("{} needs the mass matrix, and paths to the root are so long that none is made", what),
       .remedy = "set the option long_trees=false"});
}

void StepContext::forget() {
  cache.clear();
  cycles.clear();
  detector.reset();
  late.reset();
  has_before = false;
  next_part = 0.0;
  left_velocity.setConstant(std::numeric_limits<double>::quiet_NaN());
  if (sleep.is_enabled()) {
    sleep.forget();
    data.scope.set_whole(model);
    meter.set_scope(data.scope, 0.0);
  }
  is_resting = false;
  copies_whole = true;
  // A state that was put together may be deep in violations.
  const bool recovers = rules.is_exact && options.stabilisation.any_passes();
  since_pass = std::max(h, 0.5 * options.stabilisation.time_constant);
  recovery_reach = recovers ? options.stabilisation.recovery_speed * since_pass : 0.0;
}

}  // namespace touchstone

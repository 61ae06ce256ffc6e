#include "touchstone/diff/contact_law.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "touchstone/base/error.hpp"
#include "touchstone/sim/step_context.hpp"
#include "touchstone/solvers/catalogue.hpp"
#include "touchstone/solvers/lcp/pyramid.hpp"

namespace touchstone {
namespace {

// The value of the solver's last option `name`, "name=", or nothing; the simulator has read it before.
std::string_view option(const SimulatorOptions& options, std::string_view name) {
  std::string_view value;
  for (const std::string& assignment : options.solver_options) {
    if (assignment.compare(0, name.size(), name) == 0) value = std::string_view(assignment).substr(name.size());
  }
  return value;
}

template <typename Number>
void read_number(std::string_view text, Number& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}

void set_regularised(const StepContext& step, bool is_default, ContactLaw& law) {
  law.regularised = true;
  read_number(option(step.options, "alpha="), law.alpha);
  std::string_view cone = option(step.options, "cone=");
  if (cone.empty() && is_default) cone = step.model.options.cone;
  if (cone == "pyramidal") law.cone = NewtonCone::kPyramidal;
}

}  // namespace

void ContactLaw::validate() const {
  std::string message;
  if (model == ContactModel::kLcp && !Pyramid::valid(facets, message)) throw Error("{}", message);
  if (regularised) throw Error("a regularised law has derivatives of its own (law_derivatives.hpp)");
  if (raisim && model != ContactModel::kNcp) throw Error("RaiSim's law of sliding goes with the model NCP");
  if (!(width >= 0.0)) throw Error("a smoothing of {} m/s; give 0 for none, or a width above", width);
  if (width > 0.0 && (raisim || model != ContactModel::kNcp)) {
    throw Error("smoothed derivatives are those of the NCP; use a solver of it, as 'auto'");
  }
}

ContactLaw contact_law_of(const StepContext& step) {
  // Softened models have a default of their own (sim/models/soft.cpp).
  const bool is_soft_default = !step.rules.is_exact && step.options.solver == "auto";
  const CatalogueEntry& entry = find_solver(is_soft_default ? "ccp-newton" : step.options.solver);
  ContactLaw law = entry.certificate;
  if (entry.name == "ccp-newton") {
    set_regularised(step, is_soft_default, law);
    return law;
  }
  law.raisim = entry.model == "RaiSim";
  if (entry.model == "LCP") read_number(option(step.options, "facets="), law.facets);
  if (law.raisim || entry.model == "LCP" || entry.model == "NCP" || entry.model == "CCP") return law;
  throw Error("derivatives of the model {} (solver '{}') are not available; use one of NCP, CCP, LCP or RaiSim",
              entry.model, step.options.solver);
}

}  // namespace touchstone

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

// The option "facets" of the solvers of the LCP; the simulator has read it before.
int facets_of(const SimulatorOptions& options) {
  constexpr std::string_view kName = "facets=";
  int facets = ContactLaw().facets;
  for (const std::string& option : options.solver_options) {
    if (option.compare(0, kName.size(), kName) != 0) continue;
    std::from_chars(option.data() + kName.size(), option.data() + option.size(), facets);
  }
  return facets;
}

}  // namespace

void ContactLaw::validate() const {
  std::string message;
  if (model == ContactModel::kLcp && !Pyramid::valid(facets, message)) throw Error("{}", message);
  if (raisim && model != ContactModel::kNcp) throw Error("RaiSim's law of sliding goes with the model NCP");
  if (!(width >= 0.0)) throw Error("a smoothing of {} m/s; give 0 for none, or a width above", width);
  if (width > 0.0 && (raisim || model != ContactModel::kNcp)) {
    throw Error("smoothed derivatives are those of the NCP; use a solver of it, as 'auto'");
  }
}

ContactLaw contact_law_of(const StepContext& step) {
  const CatalogueEntry& entry = find_solver(step.options.solver);
  ContactLaw law = entry.certificate;
  law.raisim = entry.model == "RaiSim";
  if (entry.model == "LCP") law.facets = facets_of(step.options);
  if (law.raisim || entry.model == "LCP" || entry.model == "NCP" || entry.model == "CCP") return law;
  throw Error("derivatives of the model {} (solver '{}') are not available; use one of NCP, CCP, LCP or RaiSim",
              entry.model, step.options.solver);
}

}  // namespace touchstone

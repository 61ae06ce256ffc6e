#include "touchstone/sim/integrators/contact_implicit.hpp"
#include "touchstone/sim/integrators/event_driven.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/integrators/moreau_midpoint.hpp"
#include "touchstone/sim/integrators/semi_implicit_euler.hpp"
#include "touchstone/sim/integrators/variational.hpp"

namespace touchstone {
namespace {

template <typename Rule>
std::unique_ptr<StepRule> make(const Model& model) {
  return std::make_unique<Rule>(model);
}

constexpr IntegratorEntry kIntegrators[] = {
    {Integrator::kSemiImplicitEuler, "euler", "semi-implicit Euler", make<SemiImplicitEuler>},
    {Integrator::kMoreauMidpoint, "midpoint", "Moreau's midpoint rule", make<MoreauMidpoint>},
    {Integrator::kVariational, "variational", "the variational midpoint rule", make<VariationalMidpoint>},
    {Integrator::kEvent, "event", "from event to event, with impacts", make<EventDriven>},
    {Integrator::kContactImplicit, "contact-implicit", "the variational midpoint rule, constraints where a step ends",
     make<ContactImplicit>},
};

constexpr bool integrators_are_in_order() {
  for (std::size_t i = 0; i < std::size(kIntegrators); ++i) {
    if (kIntegrators[i].integrator != static_cast<Integrator>(i)) return false;
  }
  return true;
}
static_assert(integrators_are_in_order(), "integrators are listed in the order of Integrator");

}  // namespace

std::span<const IntegratorEntry> integrator_catalogue() { return kIntegrators; }

const IntegratorEntry& entry_of(Integrator integrator) { return kIntegrators[static_cast<std::size_t>(integrator)]; }

}  // namespace touchstone

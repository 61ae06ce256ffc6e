// Which law the impulses of a contact problem obey, for whoever differentiates it.
#pragma once

#include "touchstone/contact/blocks.hpp"
#include "touchstone/solvers/newton/regularised_law.hpp"

namespace touchstone {

struct StepContext;

struct ContactLaw {
  ContactModel model = ContactModel::kNcp;
  bool raisim = false;  // with kNcp: contacts slide as RaiSim has it (solvers/gauss_seidel/raisim.hpp)
  int facets = 4;       // with kLcp: of the friction pyramid (solvers/lcp/pyramid.hpp)
  // With kCcp: as ccp-newton has it, with a compliance in every row (solvers/newton/regularised_law.hpp).
  bool regularised = false;
  double alpha = 1e-5;  // compliance of rows that have none, of their mobility
  NewtonCone cone = NewtonCone::kElliptic;
  double width = 0.0;  // m/s; above 0, with kNcp: relaxed by this much (smoothed_contact.hpp)

  ContactLaw() = default;
  ContactLaw(ContactModel contact_model) : model(contact_model) {}  // NOLINT: a model is a law

  // Throws Error, with the remedy, for a law that cannot be differentiated.
  void validate() const;
};

// The law that the solver of a step obeys where it is solved. Staggered projections end where the NCP or the LCP is
// solved, so the cascade has that one's derivative. Throws Error for solvers that end elsewhere.
ContactLaw contact_law_of(const StepContext& step);

}  // namespace touchstone

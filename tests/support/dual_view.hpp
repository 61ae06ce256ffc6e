// A problem without its primal view.
#pragma once

#include "touchstone/contact/problem.hpp"

namespace touchstone::test {

// The same problem, given by G and g alone.
ContactProblem dual_view(const ContactProblem& problem);

}  // namespace touchstone::test

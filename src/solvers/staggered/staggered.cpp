#include "touchstone/solvers/staggered/staggered.hpp"

namespace touchstone {
void StaggeredOptions::describe(OptionList& list) {
  AdmmOptions::describe(list);
  list.add("inner_iterations", inner_iterations, 1, 1000000, "ADMM iterations for each of the two problems");
  list.add("inner_accuracy", inner_accuracy, 1e-6, 1.0, "share of the present residual at which ADMM stops");
}

}  // namespace touchstone

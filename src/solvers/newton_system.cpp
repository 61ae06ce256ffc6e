#include "touchstone/solvers/newton_system.hpp"

namespace touchstone {

void NewtonSystem::prepare(const DualProblem& dual) {
  dual_ = &dual;
  Lambda.set_partition(dual.blocks.row);
}

bool NewtonSystem::factorize() {
  for (double shift = kFloor; shift < 1e-6; shift *= 1e3) {
    ++factorizations_;
    if (lu_.factorize(dual_->G, shift, &Lambda)) return true;
  }
  return false;
}

void NewtonSystem::solve(VectorX& x) { lu_.solve(x); }

}  // namespace touchstone

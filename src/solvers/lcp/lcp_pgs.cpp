#include "touchstone/solvers/lcp/lcp_pgs.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/solvers/lcp/pyramid.hpp"

namespace touchstone {
namespace {

// One contact in turn; u is kept up to date with lambda.
class PyramidStep {
 public:
  PyramidStep(const DualProblem& dual, const Pyramid& pyramid) : dual_(dual), pyramid_(pyramid) {}

  void operator()(int block, const double* velocity, double* lambda) const {
    const int m = dual_.blocks.size(block), n = m - 1;
    const double* A = dual_.diagonal_block(block);
    const double* mu = dual_.blocks.mu.data() + dual_.blocks.row[block];
    double u[kMaxBlockSize];
    std::copy(velocity, velocity + m, u);
    const auto set = [&](int j, double value) {
      const double change = value - lambda[j];
      lambda[j] = value;
      for (int k = 0; k < m; ++k) u[k] += A[j * m + k] * change;
    };
    const auto own = [&](int j) { return A[j * m + j] > 0.0 ? A[j * m + j] : dual_.d[block]; };
    set(n, project_nonnegative(lambda[n] - u[n] / own(n)));
    for (int j = 0; j < n; ++j) {
      if (!pyramid_.is_pair(m, mu, j)) {
        set(j, project_interval(lambda[j] - u[j] / own(j), -mu[j] * lambda[n], mu[j] * lambda[n]));
        continue;
      }
      const double a = own(j), b = own(j + 1), c = 0.5 * (A[j * m + j + 1] + A[(j + 1) * m + j]);
      const double largest = 0.5 * (a + b) + std::sqrt(0.25 * (a - b) * (a - b) + c * c);
      double point[2] = {lambda[j] - u[j] / largest, lambda[j + 1] - u[j + 1] / largest};
      pyramid_.project_pair(mu + j, lambda[n], point, point);
      set(j, point[0]);
      set(j + 1, point[1]);
      ++j;
    }
  }

 private:
  const DualProblem& dual_;
  const Pyramid& pyramid_;
};

}  // namespace

void LcpPgsOptions::describe(OptionList& list) {
  GaussSeidelOptions::describe(list);
  list.add("facets", facets, 4, Pyramid::kMaxFacets, "facets of the friction pyramid, a multiple of 4");
}

SolveStatus LcpPgsSolver::run(const ContactProblem& problem, const LcpPgsOptions& options, LcpPgsWorkspace& workspace,
                              Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return status;
  }
  const DualProblem& dual = workspace.dual;
  if (!Pyramid::valid(options.facets, solution.message)) {
    return end_dual_solve(problem, dual, workspace.lambda, SolveStatus::kUnsupported, solution);
  }
  workspace.prepare_equalities();
  const Pyramid pyramid(options.facets);
  const PyramidStep contact(dual, pyramid);
  const auto residual = [&](const VectorX& lambda, const VectorX& u) { return pyramid_natv(dual, pyramid, lambda, u); };
  status = iterate_gauss_seidel(options, residual, workspace, solution, contact);
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

}  // namespace touchstone

#include "touchstone/solvers/gauss_seidel/ccp_pgs.hpp"

#include <Eigen/Eigenvalues>

namespace touchstone {
namespace {

// Of the symmetric part of the diagonal block; the mean diagonal if there is nothing else.
double largest_eigenvalue(const DualProblem& dual, int block) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;
  const int m = dual.blocks.size(block);
  const Eigen::Map<const MatrixX> A(dual.diagonal_block(block), m, m);
  const Matrix symmetric = 0.5 * (A + A.transpose());
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(symmetric, Eigen::EigenvaluesOnly);
  const double largest = solver.eigenvalues()[m - 1];
  return largest > 0.0 ? largest : dual.d[block];
}

}  // namespace

void CcpPgsOptions::describe(OptionList& list) {
  GaussSeidelOptions::describe(list);
  list.add("de_saxce", de_saxce, "add De Saxce's correction: solves the NCP instead of the CCP");
  list.add("paper_step", paper_step, "step 1 / (mean diagonal) as in the papers, not 1 / (largest eigenvalue)");
}

SolveStatus CcpPgsSolver::run(const ContactProblem& problem, const CcpPgsOptions& options, CcpPgsWorkspace& workspace,
                              Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return status;
  }
  workspace.prepare_equalities();
  const DualProblem& dual = workspace.dual;
  workspace.step.resize(dual.nblock());
  for (int i = 0; i < dual.nblock(); ++i) {
    if (dual.blocks.type[i] != BlockType::kCoulomb) continue;
    workspace.step[i] = 1.0 / (options.paper_step ? dual.d[i] : largest_eigenvalue(dual, i));
  }
  const auto contact = [&](int block, const double* u, double* lambda) {
    const int m = dual.blocks.size(block);
    const double step = workspace.step[block];
    for (int k = 0; k < m; ++k) lambda[k] -= step * u[k];
    if (options.de_saxce) lambda[m - 1] -= step * de_saxce(dual.blocks, block, u);
    project_block(dual.blocks, block, lambda, lambda);
  };
  const ContactModel model = options.de_saxce ? ContactModel::kNcp : ContactModel::kCcp;
  status = iterate_gauss_seidel(options, model, workspace, solution, contact);
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

}  // namespace touchstone

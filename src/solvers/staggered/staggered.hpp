// Staggered projections, shared by ncp-staggered and lcp-staggered.
//
// Problem: normal and tangential laws of contacts apart. Given friction, the normal impulses solve a convex problem;
//   given normal impulses, friction minimises the same objective over disks (or polygons) of fixed size.
// Method: Le Lidec et al. 2024, Alg. 7 (line 2 means g_N): the two convex problems in turn,
//       min 1/2 lambda' G lambda + g' lambda   over lambda_n >= 0,               lambda_t as it is
//       min 1/2 lambda' G lambda + g' lambda   over lambda_t in mu lambda_n D,   lambda_n as it is
//   until natv is small. Equalities, limits and boxes are unknowns of both. Each is solved by ADMM (admm.hpp) from the
//   last answer, to a tenth of the present residual.
// Deviations: both problems are solved in the full space, with a projection that holds the frozen part where it is, so
//   that they share one matrix, one penalty and one factorisation.
// No proof of convergence; the outer loop converges fast when friction hardly changes normal impulses.
#pragma once

#include "touchstone/solvers/admm/admm.hpp"

namespace touchstone {

struct StaggeredOptions : AdmmOptions {
  int inner_iterations = 2000;  // of ADMM, for each of the two problems
  double inner_accuracy = 0.1;  // ADMM stops at this share of the present residual

  void describe(OptionList& list) override;
};

struct StaggeredWorkspace : AdmmWorkspace {
  VectorX frozen;  // nrow: the last answer
};

// project_tangent(m, mu, normal, point, result): the nearest tangential impulse (m - 1 numbers) for a normal impulse.
// residual(lambda, u) in m/s.
template <typename Tangent, typename Residual>
class StaggeredProjections {
 public:
  StaggeredProjections(const StaggeredOptions& options, StaggeredWorkspace& workspace, const Tangent& project_tangent,
                       const Residual& residual)
      : options_(options), workspace_(workspace), project_tangent_(project_tangent), residual_(residual) {}

  SolveStatus run(const ContactProblem& problem, Solution& solution) {
    const DualProblem& dual = workspace_.dual;
    const double tolerance = velocity_tolerance(options_, dual);
    workspace_.admm.prepare(problem, dual, options_, workspace_.lambda);
    workspace_.frozen = workspace_.lambda;
    double residual = current_residual();
    StallDetector stall;
    SolveStatus status = residual <= tolerance ? SolveStatus::kSolved : SolveStatus::kMaxIterations;
    while (solution.iterations < options_.max_iterations && status == SolveStatus::kMaxIterations) {
      const double accuracy = std::max(kInnerFloor * tolerance, options_.inner_accuracy * residual);
      if (!solve_part(true, accuracy) || !solve_part(false, accuracy)) {
        solution.message = "G + (rho + eta) I is not positive definite; G is indefinite";
        status = SolveStatus::kStalled;
        break;
      }
      ++solution.iterations;
      residual = current_residual();
      if (options_.record_history) solution.history.push_back(residual / dual.velocity_scale);
      if (residual <= tolerance) {
        status = SolveStatus::kSolved;
      } else if (!stall.progresses(residual)) {
        status = SolveStatus::kStalled;
      } else if (workspace_.deadline.passed()) {
        status = SolveStatus::kTimeLimit;
      }
    }
    solution.factorizations = workspace_.admm.factorizations();
    return status;
  }

 private:
  static constexpr double kInnerFloor = 0.1;  // of the tolerance

  double current_residual() {
    compute_velocity(workspace_.dual, workspace_.frozen, workspace_.u);
    return residual_(workspace_.frozen, workspace_.u);
  }

  // The normal or the tangential problem; the answer replaces `frozen`.
  bool solve_part(bool normal_part, double accuracy) {
    const DualProblem& dual = workspace_.dual;
    ProximalAdmm& admm = workspace_.admm;
    const double* frozen = workspace_.frozen.data();
    const auto project_part = [&](const double* point, double* y) {
      for (int i = 0; i < dual.nblock(); ++i) {
        const int r = dual.blocks.row[i], m = dual.blocks.size(i), n = r + m - 1;
        if (dual.blocks.type[i] != BlockType::kCoulomb) {
          project_block(dual.blocks, i, point + r, y + r);
        } else if (normal_part) {
          std::copy(frozen + r, frozen + n, y + r);
          y[n] = point[n] > 0.0 ? point[n] : 0.0;
        } else {
          project_tangent_(m, dual.blocks.mu.data() + r, frozen[n], point + r, y + r);
          y[n] = frozen[n];
        }
      }
    };
    const auto no_shift = [](const VectorX& /*z*/, VectorX& /*rhs*/) {};
    admm.restart();
    for (int k = 0; k < options_.inner_iterations; ++k) {
      if (!admm.step(dual, options_, project_part, no_shift)) return false;
      if (admm.residual() <= accuracy || workspace_.deadline.passed()) break;
    }
    workspace_.frozen = admm.y;
    return true;
  }

  const StaggeredOptions& options_;
  StaggeredWorkspace& workspace_;
  const Tangent& project_tangent_;
  const Residual& residual_;
};

}  // namespace touchstone

#include "support/dual_view.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "touchstone/contact/dual.hpp"

namespace touchstone::test {

ContactProblem dual_view(const ContactProblem& problem) {
  DualProblem dual;
  EXPECT_TRUE(prepare_dual(problem, {.scaling = DualScaling::kUnits}, dual).usable());
  BlockSparseMatrix G = dual.G;
  for (int i = 0; i < dual.nblock(); ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      auto block = G.block(i, k);
      for (int c = 0; c < block.cols(); ++c) {
        for (int r = 0; r < block.rows(); ++r)
          block(r, c) *= dual.u_scale[G.row_begin[i] + r] / dual.lambda_scale[G.col_begin[G.col[k]] + c];
      }
    }
  }
  ContactProblem result;
  result.blocks = problem.blocks;
  result.time_step = problem.time_step;
  result.row_length = problem.row_length;
  result.R = problem.R;
  result.dual.set(std::move(G), dual.g.cwiseProduct(dual.u_scale));
  return result;
}

}  // namespace touchstone::test

#include "touchstone/contact/certify.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/generate.hpp"

namespace touchstone {
namespace {

// One contact with G = 2 I and a given free velocity.
ContactProblem one_contact(const Vector3& g, double mu) {
  ContactProblem problem;
  problem.blocks.add_coulomb(mu);
  problem.dual.set(MatrixX(2.0 * Matrix3::Identity()), VectorX(g));
  return problem;
}

TEST(Residuals, AreZeroInEveryMode) {
  // Open; sticking; sliding: lambda_n = -g_n / 2, lambda_t = -mu lambda_n along g_t, u_t = g_t + 2 lambda_t.
  const ContactProblem open = one_contact({0.3, 0.1, 0.2}, 0.5);
  EXPECT_EQ(certify(open, Vector3(0, 0, 0)).natv, 0.0);
  const ContactProblem stick = one_contact({0.2, 0.0, -1.0}, 0.5);
  EXPECT_LE(certify(stick, Vector3(-0.1, 0.0, 0.5)).natv, 1e-15);
  const ContactProblem slide = one_contact({3.0, 4.0, -2.0}, 0.5);
  const Residuals r = certify(slide, Vector3(-0.3, -0.4, 1.0));
  EXPECT_LE(r.natv, 2e-15);
  EXPECT_LE(r.primal_cone, 1e-16);
  EXPECT_LE(r.dual_cone, 1e-15);
  EXPECT_LE(r.complementarity, 1e-15);
  EXPECT_LE(r.max_dissipation, 1e-15);
  EXPECT_LE(r.signorini, 1e-15);
  EXPECT_LE(r.coulomb, 1e-15);
  EXPECT_EQ(r.worst_block, 0);
}

TEST(Residuals, MeasureWhatIsWrong) {
  const ContactProblem slide = one_contact({3.0, 4.0, -2.0}, 0.5);
  // No force at all: u = g penetrates with 2 m/s. Shifted by Gamma = 2.5 the normal part is 0.5, below |mu g_t| = 2.5.
  Residuals r = certify(slide, Vector3(0, 0, 0));
  EXPECT_EQ(r.primal_cone, 0.0);
  EXPECT_NEAR(r.dual_cone, 2.0 / std::sqrt(1.25), 1e-14);
  // -u^/d = (-1.5, -2, -0.25) projects on (mu 2.5 - 0.25)/1.25 = 0.8 along the normal, 0.4 tangentially.
  EXPECT_NEAR(r.natv, 2.0 * std::hypot(0.8, 0.4), 1e-14);
  EXPECT_NEAR(r.natv_relative, r.natv / 4.0, 1e-15);
  // Too much friction: 0.1 N s beyond the cone.
  r = certify(slide, Vector3(-0.36, -0.48, 1.0));
  EXPECT_NEAR(r.coulomb, 0.2, 1e-14);  // |lambda_t| / mu - lambda_n
  EXPECT_NEAR(r.primal_cone, 0.1 / std::sqrt(1.25), 1e-14);
  // Friction across the slip: the work misses -mu lambda_n |u_t|.
  r = certify(slide, Vector3(0.4, -0.3, 1.0));
  EXPECT_GT(r.max_dissipation, 1.0);
  // Not a number is never good.
  r = certify(slide, Vector3(0.0, 0.0, std::nan("")));
  EXPECT_TRUE(std::isnan(r.natv));
}

TEST(Residuals, AreNeverBelowRounding) {
  const ContactProblem problem = one_contact({0.0, 0.0, -1.0}, 0.5);
  ContactProblem diverged = problem;
  diverged.dual.G_dense.setZero();
  diverged.dual.G_dense.diagonal() << 1.0, 1.0, 1e-30;
  // A force of 1e30 N s holds the contact exactly, but nobody could tell from lambda - P(lambda - u/d).
  const Residuals r = certify(diverged, Vector3(0.0, 0.0, 1e30));
  EXPECT_GE(r.natv, 4.4e-16 * 1e30 * (2.0 / 3.0));
}

TEST(Residuals, OfTheConvexModel) {
  // The CCP solution of a slider lifts off: u_n = mu |u_t|. G = I, lambda = P_K(-g).
  ContactProblem problem;
  problem.blocks.add_coulomb(0.5);
  problem.dual.set(MatrixX(Matrix3::Identity()), VectorX(Vector3(1.0, 0.0, -0.1)));
  const double normal = (0.5 * 1.0 + 0.1) / 1.25;
  const Vector3 lambda(-0.5 * normal, 0.0, normal);
  const Residuals r = certify(problem, lambda, ContactModel::kCcp);
  EXPECT_LE(r.model_natv, 1e-15);
  EXPECT_GT(r.natv, 0.1);
  EXPECT_NEAR(r.signorini, normal * (normal - 0.1), 1e-15);
}

TEST(Residuals, OfEqualitiesLimitsAndBoxes) {
  ContactProblem problem;
  problem.blocks.add_equality(2);
  problem.blocks.add_nonnegative();
  problem.blocks.add_box(-1.0, 2.0);
  problem.blocks.add_box(-std::numeric_limits<double>::infinity(), 0.5);
  VectorX g(5);
  g << -1.0, 2.0, -3.0, -5.0, 1.0;
  problem.dual.set(MatrixX(MatrixX::Identity(5, 5)), g);
  VectorX lambda(5);
  lambda << 1.0, -2.0, 3.0, 2.0, -1.0;                // the box is at its upper bound and still moves
  EXPECT_LE(certify(problem, lambda).natv, 1.4e-15);  // the floor for 3 N s
  EXPECT_EQ(certify(problem, lambda).complementarity, 0.0);
  lambda << 1.0, -1.5, 3.0, 2.0, -1.0;
  EXPECT_NEAR(certify(problem, lambda).natv, 0.5, 1e-15);
  EXPECT_EQ(certify(problem, lambda).worst_block, 0);
  lambda << 1.0, -2.0, 3.0, 1.0, -1.0;
  EXPECT_NEAR(certify(problem, lambda).natv, 1.0, 1e-15);
  EXPECT_NEAR(certify(problem, lambda).complementarity, 4.0, 1e-15);
  EXPECT_EQ(certify(problem, lambda).worst_block, 2);
  lambda << 1.0, -2.0, -1.0, 2.0, 0.5;
  const Residuals r = certify(problem, lambda);
  EXPECT_NEAR(r.primal_cone, 1.0, 1e-15);
  EXPECT_NEAR(r.dual_cone, 4.0, 1e-15);  // the limit still closes with 4 m/s; the last row moves with 1.5
}

// The primal view, the dual built from it and the dense copy certify alike, also in scaled units.
TEST(Residuals, AgreeForAllViews) {
  const ContactProblem primal = make_pile(60, 3);
  DualProblem scaled;
  ASSERT_TRUE(prepare_dual(primal, {}, scaled).usable());
  const VectorX lambda = VectorX::Random(primal.nrow()).cwiseAbs();
  ContactProblem dense;
  dense.blocks = primal.blocks;
  dense.time_step = primal.time_step;
  const VectorX s = scaled.lambda_scale.cwiseInverse(), t = scaled.u_scale;
  dense.dual.set(MatrixX(t.asDiagonal() * scaled.G.dense() * s.asDiagonal()), VectorX(t.cwiseProduct(scaled.g)));
  const Residuals a = certify(primal, lambda), b = certify(dense, lambda);
  EXPECT_NEAR(a.natv, b.natv, 1e-12 * a.natv);
  EXPECT_NEAR(a.natv_relative, b.natv_relative, 1e-12 * a.natv_relative);
  EXPECT_NEAR(a.max_dissipation, b.max_dissipation, 1e-12 * a.max_dissipation);
  EXPECT_NEAR(a.complementarity, b.complementarity, 1e-12 * a.complementarity);
  EXPECT_EQ(a.worst_block, b.worst_block);
  VectorX own, u;
  scale_lambda(scaled, lambda, own);
  compute_velocity(scaled, own, u);
  EXPECT_NEAR(natv(scaled, ContactModel::kNcp, own, u), a.natv, 1e-12 * a.natv);
}

// A change of the units of length changes nothing but the units: rotational rows carry a body length.
TEST(Residuals, DoNotDependOnTheUnitOfAngles) {
  ContactProblem problem;
  const double mu[3] = {0.5, 0.5, 0.02};
  problem.blocks.add_coulomb(mu, 3);
  problem.row_length = {1.0, 1.0, 0.1, 1.0};
  MatrixX G = MatrixX::Identity(4, 4);
  G(2, 2) = 80.0;
  problem.dual.set(G, VectorX::Constant(4, -1.0));
  VectorX lambda(4);
  lambda << 0.1, 0.2, 0.01, 0.7;
  const Residuals before = certify(problem, lambda);
  const double k = 180.0 / M_PI;  // degrees instead of radians
  problem.row_length[2] /= k;
  problem.blocks.mu[2] /= k;
  problem.dual.G_dense.row(2) *= k;
  problem.dual.G_dense.col(2) *= k;
  problem.dual.g[2] *= k;
  lambda[2] /= k;
  const Residuals after = certify(problem, lambda);
  EXPECT_NEAR(after.natv, before.natv, 1e-14);
  EXPECT_NEAR(after.coulomb, before.coulomb, 1e-14);
  EXPECT_NEAR(after.natural_map, before.natural_map, 1e-14);
}

TEST(Residuals, AllocateNothingTheSecondTime) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const ContactProblem problem = make_wall(60);
  const VectorX lambda = VectorX::Ones(problem.nrow());
  CertificateWorkspace workspace;
  certify(problem, lambda, workspace);
  const test::AllocationGuard guard;
  certify(problem, lambda, workspace);
  EXPECT_EQ(guard.allocations(), 0u);
}

}  // namespace
}  // namespace touchstone

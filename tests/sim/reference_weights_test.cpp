// How bodies and dofs give way at the reference configuration, against dense algebra.
#include "touchstone/sim/reference_weights.hpp"

#include <random>

#include <gtest/gtest.h>

#include "support/random_model.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {
namespace {

struct Dense {
  std::vector<Vector2> body;
  VectorX dof;
};

Dense dense_weights(const Model& model) {
  Data data(model);
  forward_kinematics(model, model.defaults, model.reference_q, data);
  crba(model, model.defaults, data);
  const MatrixX inverse = dense_mass_matrix(model, data).inverse();
  Dense dense{std::vector<Vector2>(at(model.nbody), Vector2::Zero()), inverse.diagonal()};
  Matrix6X J(6, model.nv);
  for (int b = 1; b < model.nbody; ++b) {
    const int tree = model.body_kernels[at(b)].tree;
    if (tree < 0) continue;
    const Vec3 com = data.body_com[at(b)] + data.reference_point[at(tree)];
    point_jacobian(model, data, b, com.eigen(), J);
    const Vector6 diagonal = (J * inverse * J.transpose()).diagonal();
    dense.body[at(b)] = {diagonal.head<3>().mean(), diagonal.tail<3>().mean()};
  }
  return dense;
}

TEST(ReferenceWeights, AreThoseOfDenseAlgebra) {
  std::mt19937_64 random(5);
  for (int n = 0; n < 40; ++n) {
    const ModelPtr model = n % 2 == 0 ? test::random_model(random) : test::random_bound_model(random);
    const ReferenceWeights weights(*model);
    const Dense dense = dense_weights(*model);
    for (int b = 1; b < model->nbody; ++b) {
      for (int k = 0; k < 2; ++k)
        EXPECT_NEAR(weights.body[at(b)][k], dense.body[at(b)][k], 1e-9 * (1.0 + dense.body[at(b)][k])) << n << " " << b;
    }
    for (int j = 0; j < model->njoint; ++j) {
      const int dof = model->joint_dof[at(j)];
      if (dof_count(model->joints[at(j)].type) != 1) continue;
      EXPECT_NEAR(weights.dof[dof], dense.dof[dof], 1e-9 * (1.0 + dense.dof[dof])) << n;
    }
  }
}

// What has no mass gives way without bound: nothing is weighed.
TEST(ReferenceWeights, MasslessPartsAreNotWeighed) {
  ModelBuilder b("massless");
  b.set_allow_massless(true, "");
  const int arm = b.add_body({.name = "arm"});
  b.add_joint({.name = "hinge", .body = arm, .axis = Vector3::UnitY()});
  const ReferenceWeights weights(*b.build());
  EXPECT_EQ(weights.body[1], Vector2::Zero());
  EXPECT_EQ(weights.dof[0], 0.0);
}

}  // namespace
}  // namespace touchstone

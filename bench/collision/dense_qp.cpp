#include "dense_qp.hpp"

#include <Eigen/Cholesky>
#include <limits>

namespace bench {

using namespace touchstone;

FaceQp face_qp(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB) {
  const Polytope &a = *A.polytope(), &b = *B.polytope();
  FaceQp qp;
  const auto rows = static_cast<Eigen::Index>(a.triangles.size() + b.triangles.size());
  qp.G.setZero(rows, 6);
  qp.h.resize(rows);
  Eigen::Index row = 0;
  const auto add = [&](const Polytope& polytope, const Pose& X, Eigen::Index column) {
    for (const Eigen::Vector3i& t : polytope.triangles) {
      const auto vertex = [&](int k) { return (X * polytope.vertices[static_cast<std::size_t>(t[k])]).eigen(); };
      const Vector3 n = (vertex(1) - vertex(0)).cross(vertex(2) - vertex(0)).normalized();
      qp.G.block<1, 3>(row, column) = n.transpose();
      qp.h[row++] = n.dot(vertex(0));
    }
  };
  add(a, Pose(), 0);
  add(b, X_AB, 3);
  return qp;
}

// min z'Pz/2, G z + s = h, s >= 0, multipliers l >= 0.
double solve_distance(const FaceQp& qp, int* iterations) {
  using Vector6d = Eigen::Matrix<double, 6, 1>;
  using Matrix6d = Eigen::Matrix<double, 6, 6>;
  const Eigen::Index m = qp.h.size();
  Matrix6d P = Matrix6d::Identity() * 2.0;
  P.topRightCorner<3, 3>().diagonal().setConstant(-2.0);
  P.bottomLeftCorner<3, 3>().diagonal().setConstant(-2.0);
  P.diagonal().array() += 1e-10;
  Vector6d z = Vector6d::Zero();
  Eigen::VectorXd s = Eigen::VectorXd::Ones(m), l = s, ds(m), dl(m), r_s(m);
  for (int k = 0; k < 100; ++k) {
    const Vector6d r_z = P * z + qp.G.transpose() * l;
    const Eigen::VectorXd r_h = qp.G * z + s - qp.h;
    const double mu = s.dot(l) / static_cast<double>(m);
    if (iterations != nullptr) *iterations = k;
    if (mu * static_cast<double>(m) < 1e-11 && r_h.lpNorm<Eigen::Infinity>() < 1e-9 && r_z.norm() < 1e-9) {
      return (z.head<3>() - z.tail<3>()).norm();
    }
    const Eigen::VectorXd weight = l.cwiseQuotient(s);
    const Matrix6d K = P + qp.G.transpose() * weight.asDiagonal() * qp.G;
    const Eigen::LDLT<Matrix6d> factor(K);
    double step = 1.0;
    const auto direction = [&](const Eigen::VectorXd& complement) {  // s dl + l ds = -complement
      const Eigen::VectorXd q = (l.cwiseProduct(r_h) - complement).cwiseQuotient(s);
      Vector6d dz = factor.solve(-r_z - qp.G.transpose() * q);
      ds = -r_h - qp.G * dz;
      dl = (-complement - l.cwiseProduct(ds)).cwiseQuotient(s);
      step = 1.0;
      for (Eigen::Index i = 0; i < m; ++i) {
        if (ds[i] < 0.0) step = std::min(step, -s[i] / ds[i]);
        if (dl[i] < 0.0) step = std::min(step, -l[i] / dl[i]);
      }
      return dz;
    };
    direction(s.cwiseProduct(l));  // the predictor
    const double mu_there = (s + step * ds).dot(l + step * dl) / static_cast<double>(m);
    const double centring = std::pow(mu_there / mu, 3.0);
    r_s = s.cwiseProduct(l) + ds.cwiseProduct(dl) - Eigen::VectorXd::Constant(m, centring * mu);
    const Vector6d dz = direction(r_s);
    step *= 0.99;
    z += step * dz;
    s += step * ds;
    l += step * dl;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace bench

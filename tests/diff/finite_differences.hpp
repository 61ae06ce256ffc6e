// Central differences with Richardson's extrapolation, for functions of a configuration and of vectors.
#pragma once

#include <functional>

#include "touchstone/model/configuration.hpp"

namespace touchstone::test {

// d f(t)/dt at 0: (4 D(h/2) - D(h))/3 has an error of O(h^4).
inline MatrixX derivative(const std::function<MatrixX(double)>& f, double h) {
  const MatrixX coarse = (f(h) - f(-h)) / (2.0 * h);
  const MatrixX fine = (f(0.5 * h) - f(-0.5 * h)) / h;
  return (4.0 * fine - coarse) / 3.0;
}

inline VectorX moved(const Model& model, const VectorX& q, int dof, double way) {
  VectorX result(model.nq);
  integrate(model, q, VectorX::Unit(model.nv, dof), way, result);
  return result;
}

// Columns: the derivative of f along each dof.
inline MatrixX by_configuration(const Model& model, const VectorX& q, const std::function<VectorX(const VectorX&)>& f,
                                double h = 1e-3) {
  MatrixX result(f(q).size(), model.nv);
  for (int i = 0; i < model.nv; ++i) {
    result.col(i) = derivative([&](double t) -> MatrixX { return f(moved(model, q, i, t)); }, h);
  }
  return result;
}

inline MatrixX by_vector(const VectorX& x, const std::function<VectorX(const VectorX&)>& f, double h = 1e-3) {
  MatrixX result(f(x).size(), x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    result.col(i) = derivative([&](double t) -> MatrixX { return f(x + t * VectorX::Unit(x.size(), i)); }, h);
  }
  return result;
}

}  // namespace touchstone::test

// The end of a step: how v', the displacement of the position pass and the way make the state, as matrices and as
// products in both directions.
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

// Calls scalar(dof) for coordinates that are numbers, turn(first dof) for rotations.
template <typename Scalar, typename Turn>
void visit_coordinates(const Model& model, const Scalar& scalar, const Turn& turn) {
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    const int dof = model.joint_dof[at(j)];
    const int scalars = type == JointType::kBall ? 0 : type == JointType::kFree ? 3 : 1;
    for (int i = dof; i < dof + scalars; ++i) scalar(i);
    if (dof_count(type) > scalars) turn(dof + scalars);
  }
}

Matrix3 back(const Vector3& turn) { return so3_exp(-turn).toRotationMatrix(); }

}  // namespace

// The rows of the pass follow the gaps that the new velocity leads to.
void StepDerivatives::form_pass() {
  const auto count = static_cast<Eigen::Index>(pass_rows_.size());
  Growing<RowMatrixX>::View follows = pass_follows_.resize(count, model_.nv);
  for (Eigen::Index i = 0; i < count; ++i) {
    const PassRow& row = pass_rows_[at(i)];
    follows.row(i) = (remaining_ * row.slope) * main_.J().row(row.row);
    if (row.longest >= 0) follows.row(i) += (remaining_ * row.by_longest) * main_.J().row(row.longest);
  }
  pass_more_.resize(count, columns_).noalias() = follows * dv_;
  pass_.columns(model_, &pass_more_, dd_);
}

// q' = (q + h v') + d, each on the manifold; of midpoint rules half of h, from the middle.
void StepDerivatives::form() {
  const double h = remaining_;
  const int nv = model_.nv, nu = model_.nu;
  main_.columns(model_, nullptr, dv_);
  if (is_variational_) {
    dv_ += shift_;
  } else {
    dv_.middleCols(nv, nv).diagonal().array() += 1.0;
  }
  if (is_damped_) damp_columns();
  if (has_pass_) form_pass();
  const auto put = [&](int first, const MatrixX& rows) {
    A.middleRows(first, rows.rows()) = rows.leftCols(nx_);
    if (nu > 0) B.middleRows(first, rows.rows()) = rows.middleCols(nx_, nu);
    if (ntheta_ > 0) C.middleRows(first, rows.rows()) = rows.rightCols(ntheta_);
  };
  put(nv, dv_);
  if (is_variational_) {
    dv_scratch_.noalias() = way_by_velocity_ * dv_;
    dv_ = dv_scratch_ + drift_;
  } else {
    dv_ *= h;
  }
  visit_coordinates(
      model_, [&](int i) { dv_(i, i) += 1.0; },
      [&](int i) {
        const Vector3 turn = way_.segment<3>(i);
        const Matrix3 J = right_jacobian(turn), R = back(turn);
        for (int column = 0; column < columns_; ++column) {
          const Vector3 rate = dv_.block<3, 1>(i, column);
          dv_.block<3, 1>(i, column) = J * rate;
        }
        dv_.block<3, 3>(i, i) += R;
        if (!has_pass_ && displacement_.segment<3>(i).isZero(0.0)) return;
        const Vector3 way = displacement_.segment<3>(i);
        const Matrix3 J_d = right_jacobian(way), R_d = back(way);
        for (int column = 0; column < columns_; ++column) {
          const Vector3 rate = dv_.block<3, 1>(i, column), moved = dd_.block<3, 1>(i, column);
          dv_.block<3, 1>(i, column) = R_d * rate;
          dd_.block<3, 1>(i, column) = J_d * moved;
        }
      });
  if (has_pass_) dv_ += dd_;
  put(0, dv_);
  if (model_.na > 0) put(2 * nv, activation_);
  take_columns_to_start();
  for (const int i : asleep_) A.col(nv + i).setZero();
}

void StepDerivatives::require_sizes(Eigen::Index x, Eigen::Index u, Eigen::Index theta) const {
  if (!has_result_) throw Error("no step has been differentiated: call linearise or compute first");
  require_size("the part of x", x, nx_);
  require_size("the part of u", u, model_.nu);
  require_size("the part of theta", theta, ntheta_);
}

void StepDerivatives::vjp(const ConstVectorRef& x_next_bar, VectorRef x_bar, VectorRef u_bar) {
  VectorX none(ntheta_);
  vjp(x_next_bar, x_bar, u_bar, none);
}

void StepDerivatives::vjp(const ConstVectorRef& x_next_bar, VectorRef x_bar, VectorRef u_bar, VectorRef theta_bar) {
  require_size("x_next_bar", x_next_bar.size(), nx_);
  require_sizes(x_bar.size(), u_bar.size(), theta_bar.size());
  if (has_only_matrices_) {
    x_bar.noalias() = A.transpose() * x_next_bar;
    u_bar.noalias() = B.transpose() * x_next_bar;
    theta_bar.noalias() = C.transpose() * x_next_bar;
    return;
  }
  const int nv = model_.nv;
  columns_bar_.setZero(columns_);
  way_bar_ = x_next_bar.head(nv);
  columns_bar_.head(nv) = d_bar_ = x_next_bar.head(nv);
  visit_coordinates(
      model_, [](int) {},
      [&](int i) {
        const Vector3 y = x_next_bar.segment<3>(i), turn = way_.segment<3>(i);
        const Vector3 before_pass = back(displacement_.segment<3>(i)).transpose() * y;
        d_bar_.segment<3>(i) = right_jacobian(displacement_.segment<3>(i)).transpose() * y;
        way_bar_.segment<3>(i) = right_jacobian(turn).transpose() * before_pass;
        columns_bar_.segment<3>(i) = back(turn).transpose() * before_pass;
      });
  v_bar_ = x_next_bar.segment(nv, nv);
  if (is_variational_) {
    v_bar_.noalias() += way_by_velocity_.transpose() * way_bar_;
    columns_bar_.noalias() += drift_.transpose() * way_bar_;
  } else {
    v_bar_ += remaining_ * way_bar_;
  }
  if (has_pass_) {
    pass_.reverse(model_, data_.scope, d_bar_, columns_bar_);
    const auto bar = pass_.rows_bar();
    for (std::size_t r = 0; r < pass_rows_.size(); ++r) {
      const PassRow& row = pass_rows_[r];
      const double y = remaining_ * bar[static_cast<Eigen::Index>(r)];
      v_bar_ += (y * row.slope) * main_.J().row(row.row).transpose();
      if (row.longest >= 0) v_bar_ += (y * row.by_longest) * main_.J().row(row.longest).transpose();
    }
  }
  damped_bar_ = v_bar_;
  if (is_damped_) {
    damped_bar_.noalias() = damped_map_.transpose() * v_bar_;
    columns_bar_.noalias() += damped_change_.transpose() * v_bar_;
  }
  main_.reverse(model_, data_.scope, damped_bar_, columns_bar_);
  if (is_variational_) {
    columns_bar_.noalias() += shift_.transpose() * damped_bar_;
    columns_bar_.segment(nv, nv) += v_bar_ - damped_bar_;
  } else {
    columns_bar_.segment(nv, nv) += v_bar_;
  }
  if (model_.na > 0) columns_bar_.noalias() += activation_.transpose() * x_next_bar.tail(model_.na);
  take_to_start(columns_bar_);
  for (const int i : asleep_) columns_bar_[nv + i] = 0.0;
  x_bar = columns_bar_.head(nx_);
  u_bar = columns_bar_.segment(nx_, model_.nu);
  theta_bar = columns_bar_.tail(ntheta_);
}

void StepDerivatives::jvp(const ConstVectorRef& dx, const ConstVectorRef& du, const ConstVectorRef& dtheta,
                          VectorRef dx_next) {
  require_sizes(dx.size(), du.size(), dtheta.size());
  require_size("dx_next", dx_next.size(), nx_);
  if (has_only_matrices_) {
    dx_next.noalias() = A * dx;
    dx_next.noalias() += B * du;
    dx_next.noalias() += C * dtheta;
    return;
  }
  columns_bar_.resize(columns_);
  columns_bar_ << dx, du, dtheta;
  for (const int i : asleep_) columns_bar_[model_.nv + i] = 0.0;
  take_from_start(columns_bar_);
  rows_vector_.resize(0);
  push(dx_next);
}

// Forward, along columns_bar_ as they are in the middle; rows change by rows_vector_ besides, if it has any.
void StepDerivatives::push(VectorRef dx_next) {
  const int nv = model_.nv;
  main_.forward(model_, data_.scope, columns_bar_, rows_vector_, v_bar_);
  way_bar_.setZero(nv);  // beside what v' does
  if (is_variational_) {
    v_bar_.noalias() += shift_ * columns_bar_;
    way_bar_.noalias() += drift_ * columns_bar_;
  } else {
    v_bar_ += columns_bar_.segment(nv, nv);
  }
  if (is_damped_) {
    damped_bar_ = v_bar_ - columns_bar_.segment(nv, nv);
    v_bar_ = columns_bar_.segment(nv, nv);
    v_bar_.noalias() += damped_map_ * damped_bar_;
    v_bar_.noalias() += damped_change_ * columns_bar_;
  }
  d_bar_.setZero(nv);
  if (has_pass_) {
    pass_vector_.resize(static_cast<Eigen::Index>(pass_rows_.size()));
    for (std::size_t r = 0; r < pass_rows_.size(); ++r) {
      const PassRow& row = pass_rows_[r];
      double change = row.slope * main_.J().row(row.row).dot(v_bar_);
      if (row.longest >= 0) change += row.by_longest * main_.J().row(row.longest).dot(v_bar_);
      pass_vector_[static_cast<Eigen::Index>(r)] = remaining_ * change;
    }
    pass_.forward(model_, data_.scope, columns_bar_, pass_vector_, d_bar_);
  }
  if (is_variational_) {
    way_bar_.noalias() += way_by_velocity_ * v_bar_;
  } else {
    way_bar_ += remaining_ * v_bar_;
  }
  dx_next.head(nv) = columns_bar_.head(nv) + way_bar_ + d_bar_;
  visit_coordinates(
      model_, [](int) {},
      [&](int i) {
        const Vector3 turn = way_.segment<3>(i), way = displacement_.segment<3>(i);
        const Vector3 moved = back(turn) * columns_bar_.segment<3>(i) + right_jacobian(turn) * way_bar_.segment<3>(i);
        dx_next.segment<3>(i) = back(way) * moved + right_jacobian(way) * d_bar_.segment<3>(i);
      });
  dx_next.segment(nv, nv) = v_bar_;
  if (model_.na > 0) dx_next.tail(model_.na).noalias() = activation_ * columns_bar_;
}

}  // namespace touchstone

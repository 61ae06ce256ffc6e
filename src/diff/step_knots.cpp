// Derivatives of a step of the contact-implicit rule (sim/integrators/contact_implicit.hpp), by the implicit function
// theorem on its equations.
//
//   first knot    M(q0) c = J0' lambda,  v+ = v + c. Rows see friction J0 w, and (phi(q1) - floor)/h along normals and
//                 equalities, of the motion w, q1 = q0 + h w that v+ leads to: with the derivative W of w by v+ they
//                 see J0 W dc, and P1 dq1/dw W dc / h, P1 = dphi/dq at q1. So tests of c are not J0, and the matrix of
//                 the contact problem J0 W M^-1 J0' is not symmetric.
//   between       w and v1- by q0 and v+ (variational_derivatives.hpp)
//   second knot   M(q1) (v1 - v1-) = J1' lambda', the laws of what is closed at q1 for v1
//
// A, B and C are chained through the three. Products are those of the matrices.
#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/contact_law.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/integrators/contact_implicit.hpp"

namespace touchstone {

struct StepDerivatives::Knots {
  explicit Knots(const StepContext& step)
      : shapes(&step.detector.shapes()),
        free(step.model_ptr, step.options, std::shared_ptr<const CollisionModel>(std::shared_ptr<void>(), shapes)) {}

  const CollisionModel* shapes;  // the simulator keeps them
  StepContext free;              // the step from v+, without constraints
  ImplicitBalance first, second;
  Growing<RowMatrixX> position;  // nrow x nv: of gaps and errors at q1, by q1
  VectorX seen;                  // nrow: u
  VectorX moved;                 // nv
  MatrixX dc, dv;                // nv x columns; nv x (q1, v1-, theta)
  MatrixX dw, dv1, dq1;          // nv x columns
};

const ContactDerivatives& StepDerivatives::contact() const {
  return knots_ != nullptr && has_knots_ ? knots_->first.contact() : main_.contact();
}

void StepDerivatives::compute_knots(const StepContext& step) {
  require_usable(step);
  if (smoothing_ > 0.0) {
    throw Error(
        "smoothed derivatives are not available for the integrator 'contact-implicit'; set no smoothing, or use "
        "'euler', 'midpoint' or 'variational'");
  }
  require_variational(step);
  has_pass_ = false;
  asleep_.clear();
  is_variational_ = has_knots_ = true;
  has_laws_ = is_regularised_ = is_soft_ = is_damped_ = false;
  if (knots_ == nullptr || knots_->shapes != &step.detector.shapes()) knots_ = std::make_shared<Knots>(step);
  const ContactLaw law = contact_law_of(step);
  contact_motion_.set_tangents_matter(law.model == ContactModel::kLcp);
  const int nv = model_.nv, na = model_.na;
  move_between_knots(step);
  linearise_first_knot(step, law);
  linearise_second_knot(step, law);

  const Knots& k = *knots_;
  chain_scratch_.resize(nx_, columns_);
  chain_scratch_.topRows(nv) = k.dq1;
  auto velocity = chain_scratch_.middleRows(nv, nv);
  velocity.noalias() = k.dv.leftCols(nv) * k.dq1;
  velocity.noalias() += k.dv.middleCols(nv, nv) * k.dv1;
  velocity.rightCols(ntheta_) += k.dv.rightCols(ntheta_);
  chain_scratch_.bottomRows(na) = activation_;
  A = chain_scratch_.leftCols(nx_);
  B = chain_scratch_.middleCols(nx_, model_.nu);
  C = chain_scratch_.rightCols(ntheta_);
  has_only_matrices_ = true;
}

// From v+, with nothing that constrains it: dw and dv1- by q0, v+ and all else.
void StepDerivatives::move_between_knots(const StepContext& step) {
  StepContext& free = knots_->free;
  free.parameters = step.parameters;
  free.input = step.input;
  free.before = free.work = step.knots->start;
  free.h = step.h;
  free.remaining = 0.5 * step.h;
  integrate(model_, free.before.q, free.before.v, 0.5 * step.h, free.work.q);
  if (!compute_free_motion(model_, free.parameters, free.work, free.input, free.h, free.data, ServoMode::kExplicit,
                           SpringRule::kMiddle)) {
    throw Error(
        "derivatives of a step: the mass matrix is not positive definite in the middle of the step; check masses, "
        "inertias and armature, or take a smaller step");
  }
  begin(free);
}

// Kinematics and contacts of a knot.
void StepDerivatives::stand_at(const StepContext& step, const Survey& knot) {
  here_ = knot.state;
  contacts_ = knot.contacts;
  forward_kinematics(model_, step.parameters, here_, data_);
}

void StepDerivatives::linearise_first_knot(const StepContext& step, const ContactLaw& law) {
  const ContactKnots& s = *step.knots;
  Knots& k = *knots_;
  const Constraints &c = s.here.c, &ahead = s.ahead.c;
  const int nv = model_.nv;
  const MatrixX &dw = variational_->dw, &dv1 = variational_->dv1, &by_w = variational_->end_by_w();
  k.dw = dw;
  k.dv1 = dv1;
  if (c.count() > 0) {
    // How the end moves while c stays, and with c.
    k.dq1.noalias() = by_w * dw;
    k.dq1.leftCols(nv) += variational_->end_by_q();
    columns_scratch_.noalias() = by_w * dw.middleCols(nv, nv);
    k.second.begin(model_, ahead, 1);
    stand_at(step, s.ahead);
    set_position_rates(step, ahead, k.second.J(), k.position);
    stand_at(step, s.here);
    k.first.begin(model_, c, columns_);
    add_balance_rows(step, c, s.lambda.data(), s.change, s.w, k.first);
    if (ntheta_ > 0) add_metric_parameters(step, s.change, nx_ + model_.nu, k.first);
    set_position_rates(step, c, k.first.J(), position_);
    ImplicitBalance::View tests = k.first.set_tests(), rows = k.first.rows();
    tests.noalias() = k.first.J() * dw.middleCols(nv, nv);
    rows.noalias() += k.first.J() * dw;
    for (int block = 0; block < c.count(); ++block) {
      const BlockType type = c.blocks.type[at(block)];
      const int same = s.ahead.find_block(c.list[at(block)], block), normal = s.here.normal(block);
      if (type == BlockType::kBox) continue;
      for (int row = type == BlockType::kEquality ? s.here.first(block) : normal; row <= normal; ++row) {
        tests.row(row).setZero();
        rows.row(row).setZero();
        if (same < 0 || s.bounces[at(block)] != 0) continue;
        const auto rate = k.position.view().row(s.ahead.first(same) + row - s.here.first(block));
        tests.row(row).noalias() = (1.0 / step.h) * rate * columns_scratch_;
        rows.row(row).noalias() = (1.0 / step.h) * rate * k.dq1;
        const bool is_deep = type != BlockType::kEquality && c.position[at(row)] < 0.0;
        if (is_deep) rows.row(row).head(nv) -= (1.0 / step.h) * position_.view().row(row);
      }
    }
    k.seen = s.target.head(c.rows()) + c.compliance.head(c.rows()).cwiseProduct(s.lambda.head(c.rows()));
    k.first.close_tests(model_, c, law, s.here.data.L, s.here.data.D_inverse, s.lambda.head(c.rows()), k.seen,
                        kModeShare);
    add_hard_frictions(step, c, 0.5 * step.h, nx_ + model_.nu, k.first);
    k.first.columns(model_, nullptr, k.dc);
    k.dw.noalias() += dw.middleCols(nv, nv) * k.dc;
    k.dv1.noalias() += dv1.middleCols(nv, nv) * k.dc;
  } else {
    k.first.begin(model_, c, columns_);
    k.first.close_tests(model_, c, law, s.here.data.L, s.here.data.D_inverse, k.seen.head(0), k.seen.head(0),
                        kModeShare);
  }
  k.dq1.noalias() = by_w * k.dw;
  k.dq1.leftCols(nv) += variational_->end_by_q();
}

// By q1, v1- and theta.
void StepDerivatives::linearise_second_knot(const StepContext& step, const ContactLaw& law) {
  const ContactKnots& s = *step.knots;
  Knots& k = *knots_;
  const Constraints& c = s.closed.c;
  const StabilisationOptions& recovery = step.options.stabilisation;
  const int nv = model_.nv;
  stand_at(step, s.closed);
  k.second.begin(model_, c, 2 * nv + ntheta_);
  ImplicitBalance::View rows = k.second.rows();
  rows.middleCols(nv, nv) = k.second.J();  // v1 = v1- + M^-1 (..)
  old_V_S_.resize(V_S_.size());
  velocity_derivatives(model_, s.v_before, data_, old_V_S_);
  for (int block = 0; block < c.count(); ++block) {
    const int row = s.closed.normal(block);
    if (c.list[at(block)].kind != ConstraintKind::kContact || !(c.bias[row] < 0.0)) continue;
    if (c.bias[row] == c.recovery[row]) {
      const double share =
          c.recovery[row] > -recovery.recovery_speed ? recovery.share_of(StabilisedKind::kContact) : 0.0;
      rows.row(row).head(nv) += share * k.second.J().row(row);
    } else if (c.velocity[row] != 0.0) {
      add_approach_rate(step, c, block, c.bias[row] / c.velocity[row], k.second, rows, row);
    }
  }
  int column = 2 * nv + (theta_.gravity ? 3 : 0) + kInertialParameters * static_cast<int>(theta_.inertias.size()) +
               static_cast<int>(theta_.frictions.size());
  for (const int shape : theta_.restitutions) add_restitution(step, c, shape, column++, k.second);
  k.moved = s.end.v - s.v_before;
  add_balance_rows(step, c, s.lambda_end.data(), k.moved, s.end.v, k.second);
  if (ntheta_ > 0) add_metric_parameters(step, k.moved, 2 * nv, k.second);
  k.second.close(model_, c, law, s.closed.data.L, s.closed.data.D_inverse, s.lambda_end.head(c.rows()), s.end.v,
                 kModeShare);
  add_hard_frictions(step, c, 0.5 * step.h, 2 * nv, k.second);
  k.second.columns(model_, nullptr, k.dv);
  for (int i = 0; i < nv; ++i) k.dv(i, nv + i) += 1.0;
}

}  // namespace touchstone

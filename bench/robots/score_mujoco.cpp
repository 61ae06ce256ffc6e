#include "score_mujoco.hpp"

#include <algorithm>
#include <vector>

#include "touchstone/contact/problem.hpp"

namespace bench {
namespace {

using namespace touchstone;

constexpr double kBodyLength = 0.1;  // m, as in our assembly
// The defaults of StabilisationOptions.
constexpr double kErp = 0.2, kSlop = 2e-4, kRecoverySpeed = 1.0;

// A row of J as a combination of rows of MuJoCo's.
struct Row {
  struct Term {
    int row;
    double factor;
  };
  std::vector<Term> terms;
  double impulse = 0.0, bias = 0.0, compliance = 0.0, length = 1.0;
};

class Scorer {
 public:
  Scorer(const mjModel* model, const mjData* data, bool soft) : m_(model), d_(data), soft_(soft) {
    h_ = model->opt.timestep;
    add_inertia();
    for (int i = 0; i < data->nefc;) i += add_constraint(i);
  }

  Residuals score() {
    problem_.time_step = h_;
    const auto n = static_cast<Eigen::Index>(rows_.size());
    VectorX lambda(n);
    problem_.R.resize(n);
    problem_.b.resize(n);
    for (Eigen::Index r = 0; r < n; ++r) {
      const Row& row = rows_[static_cast<std::size_t>(r)];
      lambda[r] = row.impulse;
      problem_.b[r] = row.bias;
      problem_.R[r] = row.compliance;
      problem_.row_length.push_back(row.length);
    }
    const Eigen::Map<const VectorX> v(d_->qvel, m_->nv), a(d_->qacc_smooth, m_->nv);
    problem_.primal.v_free = soft_ ? VectorX(h_ * a) : VectorX(v + h_ * a);
    set_jacobian();
    return certify(problem_, lambda, soft_ ? ContactModel::kCcp : ContactModel::kNcp);
  }

 private:
  void add_inertia() {
    DenseInertia inertia;
    for (int tree = 0; tree < m_->ntree; ++tree) {
      const int first = m_->tree_dofadr[tree], size = m_->tree_dofnum[tree];
      MatrixX A = MatrixX::Zero(size, size);
      for (int i = 0; i < size; ++i) {
        for (int k = 0; k < m_->M_rownnz[first + i]; ++k) {
          const int address = m_->M_rowadr[first + i] + k, j = m_->M_colind[address] - first;
          A(i, j) = A(j, i) = d_->M[address];
        }
      }
      inertia.add(A);
    }
    problem_.primal.set_inertia(std::move(inertia));
  }

  // Adds what begins at row i of MuJoCo's list; returns how many rows it has there.
  int add_constraint(int i) {
    switch (d_->efc_type[i]) {
      case mjCNSTR_EQUALITY:
        return add_equality(i);
      case mjCNSTR_FRICTION_DOF:
      case mjCNSTR_FRICTION_TENDON: {
        const double bound = h_ * d_->efc_frictionloss[i];
        problem_.blocks.add_box(-bound, bound);
        add_plain(i, soft_ ? -h_ * d_->efc_aref[i] : 0.0, length_of_dof_row(i));
        return 1;
      }
      case mjCNSTR_CONTACT_PYRAMIDAL:
        return soft_ ? add_soft_pyramid(i) : add_pyramid(i);
      case mjCNSTR_CONTACT_ELLIPTIC:
        return add_elliptic(i);
      case mjCNSTR_CONTACT_FRICTIONLESS:
      default:  // limits of joints and tendons
        problem_.blocks.add_nonnegative();
        add_plain(i, normal_bias(i), length_of_dof_row(i));
        return 1;
    }
  }

  double normal_bias(int i) const {
    if (soft_) return -h_ * d_->efc_aref[i];
    const double phi = d_->efc_pos[i] - d_->efc_margin[i];
    const double back = std::max(kErp * std::min(0.0, phi + kSlop) / h_, -kRecoverySpeed);
    return std::max(0.0, phi) / h_ + back;
  }

  double length_of_dof_row(int i) const {
    const int type = d_->efc_type[i], id = d_->efc_id[i];
    if (type == mjCNSTR_CONTACT_FRICTIONLESS) return 1.0;
    int joint = -1;
    if (type == mjCNSTR_LIMIT_JOINT) joint = id;
    if (type == mjCNSTR_FRICTION_DOF) joint = m_->dof_jntid[id];
    return joint >= 0 && m_->jnt_type[joint] == mjJNT_SLIDE ? 1.0 : kBodyLength;
  }

  void add_plain(int i, double bias, double length) {
    Row row;
    row.terms = {{i, 1.0}};
    row.impulse = h_ * d_->efc_force[i];
    row.bias = bias;
    row.compliance = soft_ ? d_->efc_R[i] : 0.0;
    row.length = length;
    rows_.push_back(row);
  }

  int add_equality(int i) {
    int size = 1;
    while (i + size < d_->nefc && d_->efc_type[i + size] == mjCNSTR_EQUALITY && d_->efc_id[i + size] == d_->efc_id[i]) {
      ++size;
    }
    const int type = m_->eq_type[d_->efc_id[i]];
    problem_.blocks.add_equality(size);
    for (int r = 0; r < size; ++r) {
      const bool linear = (type == mjEQ_CONNECT) || (type == mjEQ_WELD && r < 3);
      const double bias = soft_ ? -h_ * d_->efc_aref[i + r] : kErp * d_->efc_pos[i + r] / h_;
      add_plain(i + r, bias, linear ? 1.0 : kBodyLength);
    }
    return size;
  }

  // Rows n + mu_k t_k and n - mu_k t_k for each tangent k: back to [t.., n].
  int add_pyramid(int i) {
    const mjContact& contact = d_->contact[d_->efc_id[i]];
    const int tangents = contact.dim - 1;
    problem_.blocks.add_coulomb(contact.friction, tangents);
    Row normal;
    normal.bias = normal_bias(i);
    normal.terms = {{i, 0.5}, {i + 1, 0.5}};
    for (int k = 0; k < tangents; ++k) {
      const int plus = i + 2 * k, minus = plus + 1;
      const double mu = contact.friction[k];
      Row row;
      row.terms = {{plus, 0.5 / mu}, {minus, -0.5 / mu}};
      row.impulse = h_ * mu * (d_->efc_force[plus] - d_->efc_force[minus]);
      row.length = k < 2 ? 1.0 : kBodyLength;
      normal.impulse += h_ * (d_->efc_force[plus] + d_->efc_force[minus]);
      rows_.push_back(row);
    }
    rows_.push_back(normal);
    return 2 * tangents;
  }

  int add_soft_pyramid(int i) {
    const int size = 2 * (d_->contact[d_->efc_id[i]].dim - 1);
    for (int r = 0; r < size; ++r) {
      problem_.blocks.add_nonnegative();
      add_plain(i + r, -h_ * d_->efc_aref[i + r], 1.0);
    }
    return size;
  }

  // Rows [n, t..]: the normal goes last.
  int add_elliptic(int i) {
    const mjContact& contact = d_->contact[d_->efc_id[i]];
    problem_.blocks.add_coulomb(contact.friction, contact.dim - 1);
    for (int k = 1; k < contact.dim; ++k) {
      add_plain(i + k, soft_ ? -h_ * d_->efc_aref[i + k] : 0.0, k < 3 ? 1.0 : kBodyLength);
    }
    add_plain(i, normal_bias(i), 1.0);
    return contact.dim;
  }

  void add_entries(int efc_row, double factor, int row_in_block, int block, std::vector<JacobianBlock>& jacobian,
                   std::size_t first) {
    const auto add = [&](int dof, double value) {
      if (value == 0.0) return;
      const int tree = m_->dof_treeid[dof];
      std::size_t k = first;
      while (k < jacobian.size() && jacobian[k].group != tree) ++k;
      if (k == jacobian.size()) {
        jacobian.push_back({block, tree, MatrixX::Zero(problem_.blocks.size(block), m_->tree_dofnum[tree])});
      }
      jacobian[k].values(row_in_block, dof - m_->tree_dofadr[tree]) += factor * value;
    };
    if (mj_isSparse(m_) != 0) {
      for (int k = 0; k < d_->efc_J_rownnz[efc_row]; ++k) {
        const int address = d_->efc_J_rowadr[efc_row] + k;
        add(d_->efc_J_colind[address], d_->efc_J[address]);
      }
    } else {
      for (int dof = 0; dof < m_->nv; ++dof) add(dof, d_->efc_J[efc_row * m_->nv + dof]);
    }
  }

  void set_jacobian() {
    std::vector<JacobianBlock> jacobian;
    for (int block = 0; block < problem_.nblock(); ++block) {
      const std::size_t first = jacobian.size();
      for (int r = 0; r < problem_.blocks.size(block); ++r) {
        for (const Row::Term& term :
             rows_[static_cast<std::size_t>(problem_.blocks.row[static_cast<std::size_t>(block)] + r)].terms) {
          add_entries(term.row, term.factor, r, block, jacobian, first);
        }
      }
    }
    problem_.set_jacobian(jacobian);
  }

  const mjModel* m_;
  const mjData* d_;
  bool soft_;
  double h_ = 0.0;
  ContactProblem problem_;
  std::vector<Row> rows_;
};

}  // namespace

Residuals score_hard(const mjModel* model, const mjData* data) { return Scorer(model, data, false).score(); }
Residuals score_soft(const mjModel* model, const mjData* data) { return Scorer(model, data, true).score(); }

}  // namespace bench

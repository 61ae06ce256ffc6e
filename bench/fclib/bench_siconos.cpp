// The solvers of Siconos on a recorded problem (harness.hpp says what is printed).
//
//   bench_fclib_siconos FILE SECONDS CONFIGURATION TOLERANCE..
//
// The file is read by our library and handed over, normal first, as Siconos' sparse block matrix or, if the
// configuration ends in "/dense", as a dense one: run.py counts the faster. Options are made before the clock starts,
// and what Siconos caches in the matrix (other storages of it) stays from solve to solve. Iteration limits are raised:
// the time limit decides.
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <NumericsVerbose.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>
#include <fc3d_Solvers.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "FrictionContactProblem.h"
#include "harness.hpp"
#include "touchstone/contact/certify.hpp"

namespace {

using touchstone::ContactProblem;
using touchstone::MatrixX;
using touchstone::VectorX;

// Siconos' (n, t1, t2) in our (t1, t2, n).
constexpr std::array<int, 3> kOurs = {2, 0, 1};

// u = W r + q with normals first, owned here for as long as Siconos points to it.
class SiconosProblem {
 public:
  SiconosProblem(const ContactProblem& problem, bool dense) {
    for (int i = 0; i < problem.nblock(); ++i) {
      if (problem.blocks.type[i] != touchstone::BlockType::kCoulomb || problem.blocks.size(i) != 3) {
        throw std::runtime_error("Siconos' driver takes contacts of three rows only");
      }
      mu_.push_back(problem.blocks.mu[problem.blocks.row[i]]);
    }
    if (problem.dual.form == touchstone::DualData::Form::kSparse) {
      take(problem.dual.G_sparse, problem.dual.g);
    } else {
      take(problem.dual.G_dense, problem.dual.g);
    }
    problem_.dimension = 3;
    problem_.numberOfContacts = contacts();
    problem_.M = dense ? dense_matrix() : sparse_matrix();
    problem_.q = q_.data();
    problem_.mu = mu_.data();
  }

  FrictionContactProblem* get() { return &problem_; }
  int contacts() const { return static_cast<int>(mu_.size()); }

 private:
  template <typename Block>
  void add_block(int column, const Block& block) {
    column_.push_back(static_cast<std::size_t>(column));
    for (const int c : kOurs) {
      for (const int r : kOurs) values_.push_back(block(r, c));
    }
  }

  void take(const touchstone::BlockSparseMatrix& G, const VectorX& g) {
    for (int i = 0; i < contacts(); ++i) {
      row_.push_back(column_.size());
      for (int k = G.start[i]; k < G.start[i + 1]; ++k) add_block(G.col[k], G.block(i, k));
    }
    take_free_velocity(g);
  }

  void take(const MatrixX& G, const VectorX& g) {
    for (int i = 0; i < contacts(); ++i) {
      row_.push_back(column_.size());
      for (int j = 0; j < contacts(); ++j) {
        const auto block = G.block<3, 3>(3 * i, 3 * j);
        if (i == j || !block.isZero(0.0)) add_block(j, block);
      }
    }
    take_free_velocity(g);
  }

  void take_free_velocity(const VectorX& g) {
    for (int i = 0; i < contacts(); ++i) {
      for (const int r : kOurs) q_.push_back(g[3 * i + r]);
    }
  }

  NumericsMatrix* sparse_matrix() {
    row_.push_back(column_.size());
    for (std::size_t k = 0; k < column_.size(); ++k) block_.push_back(values_.data() + 9 * k);
    for (int i = 0; i < contacts(); ++i) end_.push_back(3U * static_cast<unsigned>(i + 1));
    SparseBlockStructuredMatrix* matrix = SBM_new();
    matrix->nbblocks = static_cast<unsigned>(block_.size());
    matrix->block = block_.data();
    matrix->blocknumber0 = matrix->blocknumber1 = static_cast<unsigned>(contacts());
    matrix->blocksize0 = matrix->blocksize1 = end_.data();
    matrix->filled1 = row_.size();
    matrix->filled2 = column_.size();
    matrix->index1_data = row_.data();
    matrix->index2_data = column_.data();
    return NM_new_SBM(3 * contacts(), 3 * contacts(), matrix);
  }

  NumericsMatrix* dense_matrix() {
    row_.push_back(column_.size());
    dense_ = MatrixX::Zero(3 * contacts(), 3 * contacts());
    for (int i = 0; i < contacts(); ++i) {
      for (std::size_t k = row_[i]; k < row_[i + 1]; ++k) {
        dense_.block<3, 3>(3 * i, 3 * static_cast<int>(column_[k])) =
            Eigen::Map<const Eigen::Matrix3d>(values_.data() + 9 * k);
      }
    }
    return NM_create_from_data(NM_DENSE, 3 * contacts(), 3 * contacts(), dense_.data());
  }

  std::vector<double> mu_, q_, values_;
  MatrixX dense_;
  std::vector<double*> block_;
  std::vector<unsigned> end_;
  std::vector<std::size_t> row_, column_;
  FrictionContactProblem problem_{};
};

SolverOptions* make_gauss_seidel(int local, bool full_error) {
  SolverOptions* options = solver_options_create(SICONOS_FRICTION_3D_NSGS);
  options->iparam[SICONOS_IPARAM_MAX_ITER] = 1000000;
  if (full_error) {
    options->iparam[SICONOS_FRICTION_3D_IPARAM_ERROR_EVALUATION] = SICONOS_FRICTION_3D_NSGS_ERROR_EVALUATION_FULL;
  }
  if (local != 0) solver_options_update_internal(options, 0, local);
  return options;
}

// NSGS: nonsmooth Gauss-Seidel as Siconos sets it up. _FULL: with the error computed in full after each sweep; _PLI,
// _QUARTIC: that with another local solver. NSN_AC: nonsmooth Newton on Alart and Curnier's function; _HYB: started by
// extragradient steps. ADMM.
SolverOptions* make_options(const std::string& configuration) {
  if (configuration == "NSGS") return make_gauss_seidel(0, false);
  if (configuration == "NSGS_FULL") return make_gauss_seidel(0, true);
  if (configuration == "NSGS_PLI") {
    return make_gauss_seidel(SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnConeWithLocalIteration, true);
  }
  if (configuration == "NSGS_QUARTIC") return make_gauss_seidel(SICONOS_FRICTION_3D_ONECONTACT_QUARTIC, true);
  if (configuration == "ADMM") {
    SolverOptions* options = solver_options_create(SICONOS_FRICTION_3D_ADMM);
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 1000000;
    return options;
  }
  if (configuration == "NSN_AC" || configuration == "NSN_AC_HYB") {
    SolverOptions* options = solver_options_create(SICONOS_FRICTION_3D_NSN_AC);
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 10000;
    if (configuration == "NSN_AC_HYB") {
      options->iparam[SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY] = SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY_VI_EG_NSN;
    }
    return options;
  }
  throw std::runtime_error("no configuration '" + configuration + "'");
}

class SiconosSolver final : public bench::Contestant {
 public:
  SiconosSolver(const ContactProblem& problem, const std::string& configuration)
      : original_(problem),
        problem_(problem, configuration.ends_with("/dense")),
        configuration_(configuration.substr(0, configuration.find('/'))) {
    make_options(configuration_);  // throws if there is no such configuration
    reaction_.resize(static_cast<std::size_t>(problem.nrow()));
    velocity_.resize(reaction_.size());
  }

  void set_tolerance(double tolerance) override { tolerance_ = tolerance; }

  void prepare(int runs) override {
    for (SolverOptions* options : options_) {
      options->callback = nullptr;
      solver_options_delete(options);
    }
    options_.clear();
    for (int i = 0; i < runs; ++i) {
      options_.push_back(make_options(configuration_));
      options_.back()->dparam[SICONOS_DPARAM_TOL] = tolerance_;
    }
    next_ = 0;
  }

  bool run() override {
    std::fill(reaction_.begin(), reaction_.end(), 0.0);
    std::fill(velocity_.begin(), velocity_.end(), 0.0);
    used_ = options_[next_++];
    return fc3d_driver(problem_.get(), reaction_.data(), velocity_.data(), used_) == 0;
  }

  int iterations() const override { return used_->iparam[SICONOS_IPARAM_ITER_DONE]; }
  VectorX lambda() const override { return normal_last(reaction_.data()); }

  bench::History history() override {
    prepare(1);
    Observer observer{this, 0, {}};
    Callback callback{&observer, &observe};
    options_.front()->callback = &callback;
    run();
    return observer.history;
  }

 private:
  struct Observer {
    const SiconosSolver* solver;
    int iteration;
    bench::History history;
  };

  static void observe(void* environment, int /*size*/, double* reaction, double* /*velocity*/, double /*error*/,
                      void* /*extra*/) {
    auto& observer = *static_cast<Observer*>(environment);
    if (!observer.history.wants(++observer.iteration)) return;
    const VectorX lambda = observer.solver->normal_last(reaction);
    observer.history.add(observer.iteration, touchstone::certify(observer.solver->original_, lambda).natv_relative);
  }

  VectorX normal_last(const double* reaction) const {
    VectorX lambda(original_.nrow());
    for (int i = 0; i < problem_.contacts(); ++i) {
      for (int r = 0; r < 3; ++r) lambda[3 * i + kOurs[r]] = reaction[3 * i + r];
    }
    return lambda;
  }

  const ContactProblem& original_;
  SiconosProblem problem_;
  std::string configuration_;
  double tolerance_ = 1e-8;
  std::vector<SolverOptions*> options_;
  std::size_t next_ = 0;
  SolverOptions* used_ = nullptr;
  std::vector<double> reaction_, velocity_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::cerr << "usage: bench_fclib_siconos FILE SECONDS CONFIGURATION TOLERANCE..\n";
    return 2;
  }
  try {
    // Some of its solvers print whatever the verbosity: the answers leave by a stream of their own.
    std::FILE* out = fdopen(dup(STDOUT_FILENO), "w");
    if (out == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr) {
      throw std::runtime_error("no stream for the answers");
    }
    numerics_set_verbose(0);
    const ContactProblem problem = bench::load_local_problem(words[1]);
    SiconosSolver solver(problem, words[3]);
    std::vector<double> tolerances;
    for (int i = 4; i < count; ++i) tolerances.push_back(std::stod(words[i]));
    bench::measure(problem, solver, tolerances, {.solve = std::stod(words[2])}, out);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}

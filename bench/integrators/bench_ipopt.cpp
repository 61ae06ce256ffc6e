// The tossed cube of Boussema's comparison by time stepping with a general solver: each step is the program of eq. (4),
// with the linearised cone of eq. (5), for Ipopt. JSON on the standard output, for run.py.
//
// Unknowns: velocity and turning velocity of the step; of each corner a normal impulse, impulses along four directions,
// the speed of slip l, and three slacks. The slacks of complementarity are the objective. The rule is the variational
// midpoint rule on the group of motions with Cayley's map; a cube's inertia is that of a ball, so that its momentum is
// j w (1 + h^2 |w|^2 / 4). Jacobians are exact, the Hessian is Ipopt's own limited-memory one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <vector>

#include <Eigen/Dense>
#include <IpIpoptApplication.hpp>
#include <IpSolveStatistics.hpp>
#include <IpTNLP.hpp>
#include <nlohmann/json.hpp>
#include <unsupported/Eigen/AutoDiff>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/index.hpp"

namespace {

using Ipopt::Index;
using Ipopt::Number;
using nlohmann::json;
using touchstone::at;
using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;
using Dual = Eigen::AutoDiffScalar<Eigen::Matrix<double, 6, 1>>;
using DualVector = Eigen::Matrix<Dual, 3, 1>;
using DualMatrix = Eigen::Matrix<Dual, 3, 3>;

constexpr double kMass = 1.0, kHalf = 0.1, kFriction = 0.3, kG = 9.81;
constexpr double kInertia = kMass * (2.0 * kHalf) * (2.0 * kHalf) / 6.0;
constexpr int kCorners = 8, kDirections = 4;
constexpr int kPerCorner = 1 + kDirections + 1 + 3;  // normal, directions, slip, slacks
constexpr int kUnknowns = 6 + kCorners * kPerCorner;
constexpr int kRowsPerCorner = 5 + kDirections;
constexpr int kRows = 6 + kCorners * kRowsPerCorner;

struct CubeState {
  Vector3 position{0.0, 0.0, 1.0};
  Matrix3 rotation = Matrix3::Identity();
  Vector3 v{1.0, 0.5, 1.0};
  Vector3 w{1.0, 2.0, 1.5};  // in the body
};

Vector3 corner(int c) { return kHalf * Vector3(c & 1 ? 1 : -1, c & 2 ? 1 : -1, c & 4 ? 1 : -1); }

Eigen::Vector2d direction(int d) { return {d == 0 ? 1.0 : d == 1 ? -1.0 : 0.0, d == 2 ? 1.0 : d == 3 ? -1.0 : 0.0}; }

template <class Scalar>
Eigen::Matrix<Scalar, 3, 3> skew(const Eigen::Matrix<Scalar, 3, 1>& x) {
  Eigen::Matrix<Scalar, 3, 3> S;
  S << Scalar(0.0), -x[2], x[1], x[2], Scalar(0.0), -x[0], -x[1], x[0], Scalar(0.0);
  return S;
}

// Cayley's map, the turn of a step.
template <class Scalar>
Eigen::Matrix<Scalar, 3, 3> turn(const Eigen::Matrix<Scalar, 3, 1>& x) {
  const Eigen::Matrix<Scalar, 3, 3> S = skew(x);
  const Scalar factor = Scalar(1.0) / (Scalar(1.0) + Scalar(0.25) * x.dot(x));
  Eigen::Matrix<Scalar, 3, 3> R = factor * (S + Scalar(0.5) * (S * S));
  for (int i = 0; i < 3; ++i) R(i, i) += Scalar(1.0);
  return R;
}

// One step as a nonlinear program.
class StepProgram : public Ipopt::TNLP {
 public:
  StepProgram(const CubeState& from, double h, const std::vector<double>& guess) : from_(from), h_(h), x_(guess) {}
  const std::vector<double>& solution() const { return x_; }

  bool get_nlp_info(Index& n, Index& m, Index& nonzeros, Index& hessian, IndexStyleEnum& style) override {
    n = kUnknowns;
    m = kRows;
    nonzeros = kUnknowns * kRows;
    hessian = 0;
    style = C_STYLE;
    return true;
  }

  bool get_bounds_info(Index n, Number* lower, Number* upper, Index m, Number* g_lower, Number* g_upper) override {
    for (Index i = 0; i < n; ++i) {
      lower[i] = i < 6 ? -1e19 : 0.0;
      upper[i] = 1e19;
    }
    for (Index i = 0; i < m; ++i) {
      g_lower[i] = 0.0;
      g_upper[i] = i < 6 ? 0.0 : 1e19;
    }
    return true;
  }

  bool get_starting_point(Index n, bool, Number* x, bool, Number*, Number*, Index, bool, Number*) override {
    for (Index i = 0; i < n; ++i) x[i] = x_[static_cast<std::size_t>(i)];
    return true;
  }

  bool eval_f(Index, const Number* x, bool, Number& value) override {
    value = 0.0;
    for (int c = 0; c < kCorners; ++c) {
      for (int k = 0; k < 3; ++k) value += x[first(c) + kDirections + 2 + k];
    }
    return true;
  }

  bool eval_grad_f(Index n, const Number*, bool, Number* gradient) override {
    std::fill_n(gradient, n, 0.0);
    for (int c = 0; c < kCorners; ++c) {
      for (int k = 0; k < 3; ++k) gradient[first(c) + kDirections + 2 + k] = 1.0;
    }
    return true;
  }

  bool eval_g(Index, const Number* x, bool, Index, Number* g) override {
    evaluate(x, g, nullptr);
    return true;
  }

  bool eval_jac_g(Index n, const Number* x, bool, Index m, Index, Index* row, Index* column, Number* values) override {
    if (values != nullptr) {
      std::array<double, kRows> g{};
      std::fill_n(values, static_cast<std::size_t>(n) * static_cast<std::size_t>(m), 0.0);
      evaluate(x, g.data(), values);
      return true;
    }
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        row[i * n + j] = i;
        column[i * n + j] = j;
      }
    }
    return true;
  }

  void finalize_solution(Ipopt::SolverReturn, Index n, const Number* x, const Number*, const Number*, Index,
                         const Number*, const Number*, Number, const Ipopt::IpoptData*,
                         Ipopt::IpoptCalculatedQuantities*) override {
    x_.assign(x, x + n);
  }

 private:
  static int first(int c) { return 6 + c * kPerCorner; }
  static void add(double* J, int row, int column, double value) {
    if (J != nullptr) J[row * kUnknowns + column] += value;
  }
  static void add(double* J, int row, const Dual& value, double factor = 1.0) {
    for (int i = 0; i < 6; ++i) add(J, row, i, factor * value.derivatives()[i]);
  }

  // The rows, and their derivatives where J is given.
  void evaluate(const double* x, double* g, double* J) const {
    DualVector v, w;
    for (int i = 0; i < 3; ++i) {
      v[i] = Dual(x[i], 6, i);
      w[i] = Dual(x[3 + i], 6, 3 + i);
    }
    const DualVector way = Dual(h_) * w;
    const DualMatrix R = from_.rotation.cast<Dual>() * turn<Dual>(way);
    momentum(v, w, g, J);
    for (int c = 0; c < kCorners; ++c) {
      const DualVector there = from_.position.cast<Dual>() + Dual(h_) * v + R * corner(c).cast<Dual>();
      push(x + first(c), R, c, g, J);
      write_corner(x + first(c), there, c, g, J);
    }
  }

  // Momentum after the step less that before and gravity's.
  void momentum(const DualVector& v, const DualVector& w, double* g, double* J) const {
    const Dual stretch = Dual(kInertia) * (Dual(1.0) + Dual(0.25 * h_ * h_) * w.dot(w));
    const double before = kInertia * (1.0 + 0.25 * h_ * h_ * from_.w.squaredNorm());
    for (int i = 0; i < 3; ++i) {
      const Dual linear = Dual(kMass) * v[i], turning = stretch * w[i];
      g[i] = linear.value() - kMass * from_.v[i] + (i == 2 ? kMass * kG * h_ : 0.0);
      g[3 + i] = turning.value() - before * from_.w[i];
      add(J, i, linear);
      add(J, 3 + i, turning);
    }
  }

  // Takes the impulse of a corner from the rows of momentum.
  static void push(const double* y, const DualMatrix& R, int c, double* g, double* J) {
    Vector3 impulse(0.0, 0.0, y[0]);
    for (int d = 0; d < kDirections; ++d) impulse.head<2>() += y[1 + d] * direction(d);
    const DualVector turning = skew<Dual>(corner(c).cast<Dual>()) * (R.transpose() * impulse.cast<Dual>());
    Matrix3 now;
    for (int i = 0; i < 9; ++i) now(i / 3, i % 3) = R(i / 3, i % 3).value();
    const Matrix3 arm = skew<double>(corner(c)) * now.transpose();
    for (int i = 0; i < 3; ++i) {
      g[i] -= impulse[i];
      g[3 + i] -= turning[i].value();
      add(J, 3 + i, turning[i], -1.0);
      add(J, 3 + i, first(c), -arm(i, 2));
      for (int d = 0; d < kDirections; ++d) {
        const Eigen::Vector2d way = direction(d);
        if (i < 2) add(J, i, first(c) + 1 + d, -way[i]);
        add(J, 3 + i, first(c) + 1 + d, -(arm(i, 0) * way[0] + arm(i, 1) * way[1]));
      }
    }
    add(J, 2, first(c), -1.0);
  }

  // Gap, cone, slip against each direction, and the three complementarities with their slacks.
  void write_corner(const double* y, const DualVector& there, int c, double* g, double* J) const {
    const int row = 6 + c * kRowsPerCorner, column = first(c), slip = column + 1 + kDirections;
    const Vector3 before = from_.position + from_.rotation * corner(c);
    const Dual& gap = there[2];
    const double l = y[1 + kDirections];
    double inside = kFriction * y[0], sum = 0.0;
    for (int d = 0; d < kDirections; ++d) inside -= y[1 + d];
    g[row] = gap.value();
    add(J, row, gap);
    g[row + 1] = y[kDirections + 2] - y[0] * gap.value();
    add(J, row + 1, slip + 1, 1.0);
    add(J, row + 1, column, -gap.value());
    add(J, row + 1, gap, -y[0]);
    g[row + 2] = inside;
    g[row + 3] = y[kDirections + 3] - l * inside;
    add(J, row + 2, column, kFriction);
    add(J, row + 3, column, -l * kFriction);
    add(J, row + 3, slip, -inside);
    add(J, row + 3, slip + 2, 1.0);
    add(J, row + 4, slip + 3, 1.0);
    for (int d = 0; d < kDirections; ++d) {
      const Eigen::Vector2d way = direction(d);
      const Dual along =
          (Dual(way[0]) * (there[0] - Dual(before[0])) + Dual(way[1]) * (there[1] - Dual(before[1]))) / Dual(h_);
      const double speed = along.value() + l;
      g[row + 5 + d] = speed;
      add(J, row + 5 + d, along);
      add(J, row + 5 + d, slip, 1.0);
      sum += y[1 + d] * speed;
      add(J, row + 4, along, -y[1 + d]);
      add(J, row + 4, slip, -y[1 + d]);
      add(J, row + 4, column + 1 + d, -speed);
      add(J, row + 2, column + 1 + d, -1.0);
      add(J, row + 3, column + 1 + d, l);
    }
    g[row + 4] = y[kDirections + 4] - sum;
  }

  CubeState from_;
  double h_;
  std::vector<double> x_;
};

json toss(Ipopt::IpoptApplication& ipopt, double h) {
  constexpr double kSeconds = 2.0;
  CubeState state;
  std::vector<double> guess(kUnknowns, 1e-3);
  double seconds = 0.0, deepest = 0.0, slack = 0.0;
  long iterations = 0;
  int steps = 0, unsolved = 0;
  json time = json::array(), x = json::array(), y = json::array(), z = json::array();
  for (; steps * h < kSeconds - 0.5 * h; ++steps) {
    for (int i = 0; i < 3; ++i) {
      guess[at(i)] = state.v[i];
      guess[at(3 + i)] = state.w[i];
    }
    const Ipopt::SmartPtr<StepProgram> program = new StepProgram(state, h, guess);
    const touchstone::Stopwatch watch;
    const Ipopt::ApplicationReturnStatus status = ipopt.OptimizeTNLP(program);
    seconds += watch.seconds();
    if (IsValid(ipopt.Statistics())) iterations += ipopt.Statistics()->IterationCount();
    unsolved += status == Ipopt::Solve_Succeeded || status == Ipopt::Solved_To_Acceptable_Level ? 0 : 1;
    guess = program->solution();
    for (int c = 0; c < kCorners; ++c) {
      for (int k = 0; k < 3; ++k) slack = std::max(slack, guess[at(6 + c * kPerCorner + 6 + k)]);
    }
    state.v = Vector3(guess[0], guess[1], guess[2]);
    state.w = Vector3(guess[3], guess[4], guess[5]);
    state.position += h * state.v;
    const Vector3 way = h * state.w;
    state.rotation = state.rotation * turn<double>(way);
    for (int c = 0; c < kCorners; ++c) deepest = std::max(deepest, -(state.position + state.rotation * corner(c)).z());
    time.push_back((steps + 1) * h);
    x.push_back(state.position.x());
    y.push_back(state.position.y());
    z.push_back(state.position.z());
  }
  return {{"h", h},
          {"steps", steps},
          {"seconds_per_step", seconds / steps},
          {"iterations_per_step", static_cast<double>(iterations) / steps},
          {"unsolved", unsolved},
          {"largest_slack", slack},
          {"deepest", deepest},
          {"time", time},
          {"x", x},
          {"y", y},
          {"z", z}};
}

}  // namespace

int main() {
  const Ipopt::SmartPtr<Ipopt::IpoptApplication> ipopt = IpoptApplicationFactory();
  ipopt->Options()->SetIntegerValue("print_level", 0);
  ipopt->Options()->SetStringValue("sb", "yes");
  ipopt->Options()->SetStringValue("hessian_approximation", "limited-memory");
  ipopt->Options()->SetIntegerValue("max_iter", 1000);
  ipopt->Options()->SetNumericValue("tol", 1e-8);
  if (ipopt->Initialize() != Ipopt::Solve_Succeeded) {
    std::cerr << "Ipopt does not start\n";
    return 1;
  }
  std::cout << json::array({toss(*ipopt, 0.01), toss(*ipopt, 0.05)}) << "\n";
}

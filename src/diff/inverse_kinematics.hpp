// Inverse kinematics: a configuration within the joints' limits in which points of bodies are where they are wanted,
// bodies are turned as they are wanted, and the centre of mass is over a wanted place; or, where there is none, the
// nearest one in the sense of least squares that was found.
//
//   IkProblem problem;
//   problem.points.push_back({hand, Vector3(0, 0, 0.1), Vector3(0.4, 0.1, 0.8)});
//   InverseKinematics ik(model);
//   const IkResult result = ik.solve(problem, start);     // result.q
//
// Method: damped Gauss-Newton (Levenberg, damping by the gain of each step as in Nielsen 1999) on the tangent space of
// the configuration; each step is the minimum of the quadratic model within the bounds that an active set finds. If it
// ends in a minimum that is no solution it begins anew from random configurations, a fixed number of times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

struct PointTarget {
  int body = 0;
  Vector3 point = Vector3::Zero();     // body frame, m
  Vector3 position = Vector3::Zero();  // where it shall be, world, m
  double weight = 1.0;
  std::array<bool, 3> axes{true, true, true};  // of the world, that count
};

struct TurnTarget {
  int body = 0;
  Quaternion rotation = Quaternion::Identity();  // of the body in the world
  double weight = 1.0;                           // m for a radian
};

struct MassTarget {
  Vector3 position = Vector3::Zero();  // of the centre of mass of all that moves, world, m
  double weight = 0.0;                 // 0: none is wanted
  std::array<bool, 3> axes{true, true, true};
};

struct IkProblem {
  std::vector<PointTarget> points;
  std::vector<TurnTarget> turns;
  MassTarget centre_of_mass;
  std::vector<int> fixed_dofs;  // that stay as they are
};

struct IkOptions {
  double tolerance = 1e-6;   // m and rad: largest error of a target that is reached
  int max_iterations = 100;  // of each attempt
  int restarts = 20;         // attempts from random configurations, if the first one fails
  std::uint64_t seed = 1;
  bool limits = true;  // of joints
};

struct IkResult {
  VectorX q;
  bool reached = false;
  double position_error = 0.0;  // m: the largest of a point or the centre of mass
  double angle_error = 0.0;     // rad: the largest of a body
  int iterations = 0, attempts = 0;
};

class InverseKinematics {
 public:
  explicit InverseKinematics(const Model& model);

  // From a configuration `start`, moved into the limits. Throws Error for targets that the model does not have, or that
  // are not finite, and for a problem without any.
  IkResult solve(const IkProblem& problem, const ConstVectorRef& start, const IkOptions& options = {});

 private:
  void require_usable(const IkProblem& problem) const;
  void set_bounds(const IkProblem& problem, const IkOptions& options);
  void move_inside(VectorX& q) const;
  double evaluate(const IkProblem& problem, const VectorX& q, bool with_jacobian);
  void point_rows(const PointTarget& target, int& row, bool with_jacobian);
  void turn_rows(const TurnTarget& target, int& row, bool with_jacobian);
  void mass_rows(const MassTarget& target, int& row, bool with_jacobian);
  bool bounded_step(double damping);
  double predicted_gain() const;
  void attempt(const IkProblem& problem, const IkOptions& options, VectorX& q, IkResult& result);
  void draw(std::uint64_t& random, VectorX& q) const;

  const Model& model_;
  Data data_;
  std::vector<char> fixed_;  // nv
  bool limits_ = true;
  VectorX lower_, upper_;  // nv: how far each dof may move, of scalar joints with limits
  MatrixX J_, H_, reduced_;
  VectorX residual_, gradient_, step_, right_, trial_;
  std::vector<char> at_bound_;  // nv
  std::vector<int> free_;
  double position_error_ = 0.0, angle_error_ = 0.0;
};

}  // namespace touchstone

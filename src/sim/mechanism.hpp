// Kinematics of mechanisms: configurations and velocities that obey all loops and limits, and how many dofs these
// leave.
//
//   Mechanism mechanism(model);
//   ClosureReport report = mechanism.close(state);            an inconsistent configuration, made consistent
//   report = mechanism.move_to(state, {crank}, {0.3});        forward kinematics: passive joints from actuated ones
//   MatrixX V = mechanism.project_velocities(state, V0);      velocities, several at once
//   MechanismJacobian J = mechanism.jacobian(state, {crank}); dq_all/dq_actuated
//   Mobility mobility = mechanism.mobility(state);            rank of the loops, dofs left, redundancy
//
// Coordinates of loop joints may drive it as joints of trees do. All functions read the turns of their angles in
// state.loop_q, and those that move a state keep it.
//
// Works on the rows of the constraints of a step (sim/constraints/): a new type of loop is taken up by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone {

class LoopClosure;        // sim/closure.hpp
struct ReferenceWeights;  // sim/reference_weights.hpp

// What "least motion" means.
enum class ClosureMetric : std::uint8_t {
  kMass,   // the mass matrix: heavy bodies stay, light ones move
  kPlain,  // all dofs alike, radians times the length of what they turn
};

struct ClosureOptions {
  double tolerance = 1e-9;  // m; turns count by the length of the row. 1e-9 is the least
  int max_iterations = 100;
  ClosureMetric metric = ClosureMetric::kMass;
  bool limits = true;
  std::vector<int> held{};  // joints that stay where they are

  // Throws Error naming the field, its value and what is allowed.
  void validate(const Model& model) const;
};

// A loop or limit that is not closed.
struct OpenConstraint {
  std::string name;    // "equality 'left'"
  double error = 0.0;  // m
};

struct ClosureReport {
  bool closed = false;
  int iterations = 0;
  double error = 0.0;                // m: the largest
  double reached = 1.0;              // move_to: share of the way to the target, 1: all of it
  std::vector<OpenConstraint> open;  // worst first
};

// What drives a mechanism: a joint of a tree, or a coordinate of a loop joint (not of a spherical one).
struct Drive {
  int joint = -1;
  int loop_joint = -1, coordinate = 0;  // where joint is below zero
};

// How all dofs move with chosen ones.
struct MechanismJacobian {
  MatrixX J;      // nv x dofs of the chosen joints, a column for each coordinate of a loop joint
  VectorX error;  // of these, m a unit: how much loops would open; not zero: this motion alone is impossible
  int free = 0;   // dofs that the chosen ones leave undetermined (they move least)
};

struct Mobility {
  int dofs = 0;          // nv
  int rows = 0;          // of all loops
  int rank = 0;          // of their J here
  int generic_rank = 0;  // largest of here and of consistent configurations nearby
  int samples = 0;       // how many of these there were; 0: a structure, or nothing to move
  double error = 0.0;    // m: how far loops are from closed here
  bool known = true;     // false: too many rows to decompose, ranks are not computed

  int gruebler() const { return dofs - rows; }              // dofs left by counting
  int mobility() const { return dofs - generic_rank; }      // dofs left
  int redundancy() const { return rows - generic_rank; }    // rows that say what others say
  bool is_singular() const { return rank < generic_rank; }  // here alone
};

// Whether anything closes a loop. Without, there is nothing to ask a Mechanism, whose set-up is not free.
bool has_loops(const Model& model);

class Mechanism {
 public:
  // With the model's default parameters, or others: the masses are what "nearest" is measured by. Throws Error if it is
  // null.
  explicit Mechanism(const ModelPtr& model);
  Mechanism(ModelPtr model, const Parameters& parameters);
  Mechanism(Mechanism&&) noexcept;
  Mechanism& operator=(Mechanism&&) noexcept;
  ~Mechanism();

  const Model& model() const { return *model_; }

  // Moves state.q onto loops and limits; the nearest place in the metric, to first order. What cannot be closed is left
  // as near as it gets, and named.
  ClosureReport close(State& state, const ClosureOptions& options = {});

  // Forward kinematics: moves the given drives (hinges, slides, screws) to these values and all others along, on the
  // branch that continues from state.q. On the way there loops stay closed; where they cannot, it stops at the last
  // configuration in which they could and says how far that was. Limits are respected.
  ClosureReport move_to(State& state, const std::vector<int>& joints, const std::vector<double>& values,
                        const ClosureOptions& options = {});
  ClosureReport move_to(State& state, std::span<const Drive> drives, const std::vector<double>& values,
                        const ClosureOptions& options = {});

  // The nearest velocities (columns) with J v = 0 for all loops, one factorisation for all columns.
  MatrixX project_velocities(const State& state, const MatrixX& velocities, const ClosureOptions& options = {});
  // The same of state.v, which does not run into limits either.
  void project_velocity(State& state, const ClosureOptions& options = {});

  MechanismJacobian jacobian(const State& state, const std::vector<int>& joints, const ClosureOptions& options = {});
  MechanismJacobian jacobian(const State& state, std::span<const Drive> drives, const ClosureOptions& options = {});

  Mobility mobility(const State& state);

 private:
  void set_metric(const State& state, const ClosureOptions& options);
  ClosureReport run(State& state, const ClosureOptions& options);
  std::vector<int> held_dofs(const ClosureOptions& options) const;
  std::string name_of(int block) const;
  double value_of(const State& state, const Drive& drive) const;
  void drive_to(const Drive& drive, std::size_t number, double value, State& state);

  ModelPtr model_;
  std::unique_ptr<const Parameters> parameters_;
  std::unique_ptr<ReferenceWeights> weights_;
  std::unique_ptr<LoopClosure> closure_;
};

}  // namespace touchstone

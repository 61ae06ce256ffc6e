// The account of energy of a step: what it was, what it is, and who did the work.
#pragma once

#include <vector>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/report.hpp"

namespace touchstone {

struct Energies {
  double kinetic = 0.0, potential = 0.0;  // J
};

// One step as the account sees it. The forces in `data` are those of compute_free_motion.
struct StepMotion {
  const State& before;
  const State& after;
  const Input& input;
  double h;
  const Constraints& constraints;
  const VectorX& lambda;          // at least nrow
  const VectorX& next_velocity;   // at least nrow: of the rows, with the velocity after the step
  double impact_speed;            // m/s or rad/s: contacts and limits that close faster are impacts
  bool keeps_parameters = false;  // nobody can have changed the model's parameters since the step before
};

class EnergyMeter {
 public:
  explicit EnergyMeter(const Model& model)
      : data_(model), impulse_(VectorX::Zero(model.nv)), mean_(VectorX::Zero(model.nv)) {}

  // What sleeps is left out from now on; the potential energy that it keeps, J, is added to that of the rest.
  void set_scope(const Scope& scope, double resting_potential) {
    data_.scope = scope;
    resting_potential_ = resting_potential;
    forget();
  }
  // Forgets the state that was moved to last: its kinematics may be of another scope.
  void forget() { known_ = knows_end_ = false; }
  // The kinematics of what is in a scope, whoever is moved to; for what is about to rest.
  void place(const Model& model, const Parameters& parameters, const State& state, const Scope& scope);

  // Computes the kinematics of a state, unless it has them.
  void move_to(const Model& model, const Parameters& parameters, const State& state);
  // The same from somebody who has them, all bodies in scope: exchanges what forward_kinematics has filled in.
  void adopt(const Parameters& parameters, const State& state, Data& placed);
  const Data& kinematics() const { return data_; }
  // Of a state whose kinematics somebody has; fills in velocities.
  Energies energies(const Model& model, const Parameters& parameters, const State& state, Data& placed) const;
  // Of any state; computes its kinematics.
  Energies measure(const Model& model, const Parameters& parameters, const State& state);
  // The same of all bodies, whatever the scope is.
  Energies measure_all(const Model& model, const Parameters& parameters, const State& state);

  // If the last state that was moved to has the configuration of this one, with the same centres of mass: exchanges
  // what forward_kinematics has filled in, so that `data` has it, and returns true. So the account of a step serves the
  // next one, unless the user has moved something in between.
  bool lend(const Parameters& parameters, const State& state, Data& data);

  // Needs compute_free_motion for the step in `data`. `at_start`: data holds the kinematics of `motion.before`,
  // move_to was told `motion.after`, and the new velocity moves the configuration (Euler's rule); else the midpoint
  // rule is meant.
  EnergyAccount account(const Model& model, const Parameters& parameters, const StepMotion& motion, bool at_start,
                        const Data& data);

 private:
  void add_constraint_work(const Model& model, const StepMotion& motion, EnergyAccount& e);
  bool knows(const Parameters& parameters, const State& state) const;
  void remember(const Parameters& parameters, const State& state);

  Data data_;
  // Whether data_ has the kinematics of a state, and of which.
  bool known_ = false;
  VectorX q_;
  std::vector<Transform> mocap_;
  std::vector<BodyInertia> inertia_;
  // The energies of that state with some velocity, and whether the step at hand began with both.
  Energies end_;
  VectorX v_end_;
  bool knows_end_ = false, starts_there_ = false;
  VectorX impulse_, mean_;
  double resting_potential_ = 0.0;  // J
};

// Whether the step added energy that no force did: more than `share` of the kinetic energy.
bool is_energy_jump(const EnergyAccount& energy, double share, double floor);

}  // namespace touchstone

// The simulator: a model, its state, and one function that moves it on.
//
//   Simulator sim(load_model("robot.xml"));
//   sim.input().control[0] = 1.0;
//   sim.step(1000);
//   for (const ContactForce& c : sim.contacts()) ...
//   if (sim.report().status != StepStatus::kOk) ...
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/collision/detector.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/dynamics/variational.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/contact_cache.hpp"
#include "touchstone/sim/energy.hpp"
#include "touchstone/sim/island_solver.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/report.hpp"
#include "touchstone/sim/sensors.hpp"

namespace touchstone {

// A contact of the last step with what it did.
struct ContactForce {
  const Contact* contact = nullptr;
  Vec3 force;        // N, world axes, on body b at the contact's position; -force acts on body a
  Vec3 torque;       // N m, world axes: torsional and rolling friction
  Vec3 local_force;  // N, in the contact frame: t1, t2, n
};

class Simulator {
 public:
  explicit Simulator(const ModelPtr& model, const SimulatorOptions& options = {});
  // With shapes that were made before for this model: simulators may share them, and hulls are made only once.
  Simulator(ModelPtr model, const SimulatorOptions& options, std::shared_ptr<const CollisionModel> shapes);

  const Model& model() const { return *model_; }
  const ModelPtr& model_ptr() const { return model_; }
  const SimulatorOptions& options() const { return options_; }
  double time_step() const { return h_ * options_.substeps; }

  // Free to change between steps. Sizes must stay.
  State& state() { return state_; }
  const State& state() const { return state_; }
  Input& input() { return input_; }
  const Input& input() const { return input_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // One step; never throws for numerical trouble. After kDiverged the state is that before the step.
  const StepReport& step();
  // Stops early when a step diverges.
  const StepReport& step(int count);

  // The reference configuration, a keyframe (by index or name) or a given state; contacts are forgotten.
  void reset();
  void reset(int keyframe);
  void reset(std::string_view keyframe);
  void reset(const State& state);
  // A random state in which nothing overlaps: joints within their limits, free bodies where the reference configuration
  // has them but for `spread` metres and any orientation, velocities up to `speed` (m/s, rad/s). The same seed gives
  // the same state. Throws Error if none is found.
  void reset_random(std::uint64_t seed, double spread = 0.5, double speed = 0.5);

  // Called after each step with the simulator itself; an empty function ends that.
  void set_callback(std::function<void(Simulator&)> callback) { callback_ = std::move(callback); }

  // Everything the next step depends on, so that a restored simulator goes on bit for bit.
  struct Snapshot {
    State state;
    Input input;
    ContactCache cache;
    CollisionDetector detector;
  };
  Snapshot save() const { return {state_, input_, cache_, detector_}; }
  void restore(const Snapshot& snapshot);

  const StepReport& report() const { return report_; }
  // The constraint that the certificate of the last step is worst at: "contact of 'foot' and 'floor'".
  std::string describe_worst() const;
  std::span<const ContactForce> contacts() const { return contact_forces_; }
  // [force; torque] of all contacts on a body in the last step, world axes, about the body's origin at its start.
  Vector6 contact_wrench(int body) const;
  // Values of the model's sensors in the last step, in the order of Model::sensors (sim/sensors.hpp). Computed when
  // asked for. Zero before the first step.
  const VectorX& sensors();
  // One sensor by name. Throws Error for an unknown one.
  std::span<const double> sensor(std::string_view name);
  // What the actuators pushed with in the last step (nu), and the accelerations (nv).
  const VectorX& actuator_forces() const { return actuator_force_; }
  const VectorX& acceleration() const { return acceleration_; }

  // Kinetic and potential energy of the current state, J. Computes kinematics.
  double kinetic_energy() { return meter_.measure(*model_, parameters_, state_).kinetic; }
  double potential_energy() { return meter_.measure(*model_, parameters_, state_).potential; }

  // Of the last step, at its start (kMoreauMidpoint, kVariational: moved by half a step with the old velocity).
  const Data& data() const { return data_; }
  const Constraints& constraints() const { return constraints_; }
  const VectorX& impulses() const { return lambda_; }
  const CollisionDetector& detector() const { return detector_; }

 private:
  void advance();
  void merge(const StepReport& earlier);
  bool is_soft() const { return options_.constraints == ConstraintModel::kMujoco; }
  bool free_motion();
  void refine_free_motion();
  void detect();
  void assemble(double remaining);
  void solve();
  void advance_damped();
  void bound_servos(double remaining);
  void integrate(double remaining);
  void finish_report();
  void watch_energy();
  void fill_contact_forces();

  ModelPtr model_;
  SimulatorOptions options_;
  double h_;  // of a substep
  Parameters parameters_;
  State state_;   // its arrays stay where they are
  State before_;  // at the start of the last step
  State work_;    // where forces are evaluated, and then the new state
  Input input_;
  Data data_;
  std::optional<VariationalStep> variational_;  // if that is the integrator
  ReferenceWeights weights_;
  CollisionDetector detector_;
  Constraints constraints_;
  ContactCache cache_;
  IslandSolver solver_;
  EnergyMeter meter_;
  double total_mass_;
  VectorX lambda_, v_next_, impulse_;
  VectorX v_mean_;  // variational rule: what moves the configuration
  VectorX acceleration_, actuator_force_;
  Sensors sensors_;
  bool sensors_known_ = true;
  std::function<void(Simulator&)> callback_;
  std::vector<ContactForce> contact_forces_;
  StepReport report_;
};

}  // namespace touchstone

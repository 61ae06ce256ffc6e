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
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/contact_force.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/report.hpp"

namespace touchstone {

class CollisionDetector;   // sim/detection/detector.hpp
class CollisionModel;      // sim/detection/collision_model.hpp
class ErrorControl;        // sim/error_control.hpp
class Sensors;             // sim/sensors.hpp
class StepRule;            // sim/integrators/integrator.hpp
struct Constraints;        // sim/constraints.hpp
struct Data;               // dynamics/data.hpp
struct LoopReading;        // sim/loop_reading.hpp
struct SimulatorSnapshot;  // in the source
struct StepContext;        // sim/step_context.hpp
struct StepReplay;         // in the source

class Simulator {
 public:
  explicit Simulator(const ModelPtr& model, const SimulatorOptions& options = {});
  // With shapes that were made before for this model: simulators may share them, and hulls are made only once.
  Simulator(ModelPtr model, const SimulatorOptions& options, std::shared_ptr<const CollisionModel> shapes);
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;
  ~Simulator();

  const Model& model() const;
  const ModelPtr& model_ptr() const;
  const SimulatorOptions& options() const;
  double time_step() const;
  double part_size() const;  // s: of the last part of a step, if it is made in parts; forces are impulses by it

  // Free to change between steps. Sizes must stay.
  State& state();
  const State& state() const;
  Input& input();
  const Input& input() const;
  Parameters& parameters();
  const Parameters& parameters() const;

  // One step; never throws for numerical trouble. After kDiverged the state is that before the step.
  const StepReport& step();
  // Stops early when a step diverges. The account of energy is that of the last step.
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

  // Everything the next step depends on, so that a restored simulator goes on bit for bit. Copies are cheap.
  class Snapshot {
   public:
    const State& state() const;

   private:
    friend class Simulator;
    explicit Snapshot(std::shared_ptr<const SimulatorSnapshot> data) : data_(std::move(data)) {}
    std::shared_ptr<const SimulatorSnapshot> data_;
  };
  Snapshot save() const;
  void restore(const Snapshot& snapshot);

  const StepReport& report() const;
  // The constraint that the certificate of the last step is worst at: "contact of 'foot' and 'floor'".
  std::string describe_worst() const;
  // The constraint that asked for more recovery than others let it have (StepReport::hindered_block); empty: none.
  std::string describe_hindered() const;
  std::span<const ContactForce> contacts() const;
  // [force; torque] of all contacts on a body in the last step, world axes, about the body's origin at its start.
  Vector6 contact_wrench(int body) const;
  // Values of the model's sensors in the last step, in the order of Model::sensors (sim/sensors.hpp). Computed when
  // asked for. Zero before the first step.
  const VectorX& sensors();
  // One sensor by name. Throws Error for an unknown one.
  std::span<const double> sensor(std::string_view name);
  // Coordinates and errors of a loop joint in the current state, and its forces in the last step
  // (sim/loop_reading.hpp). Computes kinematics. Throws Error for one that does not exist.
  LoopReading loop_joint(int index);
  LoopReading loop_joint(std::string_view name);
  // What the actuators pushed with in the last step (nu), and the accelerations (nv).
  const VectorX& actuator_forces() const;
  const VectorX& acceleration() const;

  // Whether a body sleeps (SimulatorOptions::sleep); what does not move never does.
  bool is_asleep(int body) const;
  // Wakes everything, or a body with its island.
  void wake();
  void wake(int body);
  // Tries to put a body to sleep without waiting for SleepOptions::time, with all that it touches, if that is ready
  // too: in one of the next two steps.
  void put_to_sleep(int body);

  // Kinetic and potential energy of the current state, J. Computes kinematics.
  double kinetic_energy();
  double potential_energy();

  // Of the last step, at its start (kMoreauMidpoint, kVariational: moved by half a step with the old velocity).
  const Data& data() const;
  const Constraints& constraints() const;
  const VectorX& impulses() const;
  const CollisionDetector& detector() const;

  // For the stages one by one (sim/stages.hpp). Callback and substeps are those of step() alone.
  StepContext& context();

  // From now on steps keep where they began, a copy of all that a step depends on, for `replay`; or no more. Steps of
  // one part need none.
  void keep_starts(bool keep = true);
  // Makes the last step of several parts (substeps, or those of an accuracy) once more and calls `look` after each, for
  // whoever needs what lies between them (diff/step_derivatives.hpp). The same bits as before, but for times in the
  // report; the user's state and input stay, for the step has the input it had. Needs its parameters. Throws Error if
  // there was none, or if its start was not kept.
  void replay(const std::function<void(const StepContext&)>& look);

 private:
  void step_in_parts(const std::function<void(const StepContext&)>* look = nullptr);
  void forget_step();
  int tree_of(int body) const;

  std::unique_ptr<StepContext> s_;
  std::unique_ptr<StepRule> rule_;
  std::unique_ptr<ErrorControl> error_control_;  // if options ask for an accuracy
  std::unique_ptr<StepReplay> replay_;           // if starts are kept: where the last step began
  std::unique_ptr<Sensors> sensors_;
  std::unique_ptr<Data> readings_;  // kinematics of loop_joint; made when first asked for
  std::function<void(Simulator&)> callback_;
};

}  // namespace touchstone

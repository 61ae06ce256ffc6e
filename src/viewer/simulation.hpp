// Live sources of the viewer: a simulator, and a scene in one, with the user's pull.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/viewer/extremes.hpp"
#include "touchstone/viewer/live_source.hpp"
#include "touchstone/viewer/run_certificate.hpp"

namespace touchstone {

// What all live views of a simulator have in common. Whose simulator it is, and what reset means, is up to others.
class SimulatorSource : public LiveSource {
 public:
  std::vector<Channel> channels() const override;
  double time() const override { return simulator().state().time; }
  // Nothing happens any more after a step that diverged; the certificate says so.
  void step() override;
  void reset() override;
  void read(Frame& frame) override;
  std::vector<CertificateItem> run_certificate() const override;

  // Friction, controls and drag.
  LiveChoices choices() const override;
  std::vector<double> controls() const override;
  void set_friction(double coefficient) override;
  void set_control(int index, double value) override { simulator().input().control[index] = value; }
  void set_drag(const LiveDrag& drag) override { drag_ = drag; }
  void release_drag() override { drag_.reset(); }

 protected:
  explicit SimulatorSource(const Model& model);
  virtual Simulator& simulator() = 0;
  virtual const Simulator& simulator() const = 0;
  virtual void go_to_start() = 0;              // for reset(); controls are kept
  virtual void apply_pushes() {}               // wrenches of the coming step, before the drag's
  virtual void move() { simulator().step(); }  // after them

 private:
  static constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

  void pull();  // the spring of the drag, as a wrench of the input
  void take_step();
  void forget_steps();

  Data data_;  // of the drawn moment; the simulator's own is that of its last step
  double friction_;
  std::optional<LiveDrag> drag_;
  int pulled_ = -1;  // the body whose wrench is set
  std::optional<RunCertificate> certificate_;
  // What the steps since the last frame amount to. A frame that is read twice shows the same.
  Extremes extremes_;
  std::vector<Mark> marks_;
  StepReport since_frame_;
  bool frame_read_ = false;
  double taken_at_ = kNever;  // s, the time of the last step in them
};

// A scene, with a choice of solver and time step.
class Simulation : public SimulatorSource {
 public:
  explicit Simulation(Scene scene);

  const ModelPtr& model() const override { return run_.scene().model; }
  std::string title() const override { return run_.scene().name; }
  std::string subtitle() const override { return run_.scene().description; }
  State initial_state() const override { return run_.scene().start; }
  const State& state() const { return run_.simulator().state(); }
  SceneRun& run() { return run_; }
  const SceneRun& run() const { return run_; }

  LiveChoices choices() const override;
  void set_solver(std::string_view name) override;
  void set_time_step(double seconds) override;

 protected:
  Simulator& simulator() override { return run_.simulator(); }
  const Simulator& simulator() const override { return run_.simulator(); }
  void go_to_start() override { run_.reset(); }
  void apply_pushes() override { run_.apply_pushes(); }

 private:
  SceneRun run_;
};

// --- for whoever fills frames from a simulator: live views, replays of runs and of recordings ---

// Figures of a step: energy, certificate, contacts, penetration, iterations, time of the stages.
std::vector<Channel> step_channels();
using StepValues = std::array<double, 12>;  // one for each of them
StepValues step_values(const StepReport& report, double kinetic, double potential);
// What a step marks on the time line: its last event, and whether another rule had to make part of it.
void add_marks(const StepReport& report, std::vector<Mark>& marks);

// Contacts of the last step. `data` holds poses and velocities (forward_velocity) after it. A contact slips when its
// force is at the edge of the friction cone and its surfaces move along each other. Contacts of bodies that touch,
// directly or through others, share an island.
void fill_contacts(const Model& model, const Data& data, std::span<const ContactForce> forces,
                   std::vector<FrameContact>& contacts);

}  // namespace touchstone

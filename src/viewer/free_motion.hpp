// A live source that needs no contact: the free motion of a model under gravity, springs, dampers, actuators and the
// user's pull. Bodies pass through each other and joints through their limits.
#pragma once

#include "touchstone/dynamics/data.hpp"
#include "touchstone/viewer/live_source.hpp"

namespace touchstone {

// Steps are semi-implicit: v <- v_free (joint damping and springs implicit, see compute_free_motion), then q along v.
class FreeMotion : public LiveSource {
 public:
  // Starts at the first keyframe if there is one. `model` must not be null.
  explicit FreeMotion(ModelPtr model);

  const ModelPtr& model() const override { return model_; }
  std::string subtitle() const override { return "free motion: no contacts, no joint limits"; }
  std::vector<Channel> channels() const override;

  double time() const override { return state_.time; }
  void step() override;
  void reset() override;
  void read(Frame& frame) override;
  State initial_state() const override { return start_; }
  const State& state() const { return state_; }

  LiveChoices choices() const override;
  std::vector<double> controls() const override;
  void set_time_step(double seconds) override { step_ = seconds; }
  void set_control(int index, double value) override { input_.control[index] = value; }
  void set_drag(const LiveDrag& drag) override { drag_ = drag; }
  void release_drag() override { drag_.reset(); }

 private:
  void pull();  // the spring of the drag, as a wrench in input_

  ModelPtr model_;
  State start_, state_;
  Input input_;
  Data data_;
  double step_;
  std::optional<LiveDrag> drag_;
  int pulled_ = -1;      // the body whose wrench is set
  bool failed_ = false;  // the mass matrix was not positive definite, or a number not finite; time stands still
};

}  // namespace touchstone

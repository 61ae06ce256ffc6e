// The seam between the live viewer and what it shows. A simulator implements LiveSource; the server does the rest:
// clients, pace, messages. Every call comes from one thread, the simulation thread of the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/viewer/frame.hpp"

namespace touchstone {

// A number that the user may set while the simulation runs.
struct LiveRange {
  double value = 0.0;
  double minimum = 0.0, maximum = 0.0;
};

// What can be chosen, and what is chosen now. What is absent is not offered, and the server refuses it.
struct LiveChoices {
  std::vector<std::string> solvers;  // empty: no choice
  std::string solver;
  std::optional<LiveRange> time_step;  // s
  std::optional<LiveRange> friction;   // coefficient that replaces those of the materials
  bool controls = false;               // set_control works
  bool drag = false;                   // set_drag works
};

// A spring from a point of a body to a point of the world.
struct LiveDrag {
  int body = 0;
  Vector3 point = Vector3::Zero();   // m, body frame
  Vector3 target = Vector3::Zero();  // m, world
};

class LiveSource {
 public:
  LiveSource() = default;
  LiveSource(const LiveSource&) = delete;
  LiveSource& operator=(const LiveSource&) = delete;
  virtual ~LiveSource() = default;

  // --- does not change while the source lives ---
  virtual const ModelPtr& model() const = 0;
  virtual std::string title() const { return model()->name; }
  virtual std::string subtitle() const { return {}; }
  virtual std::vector<Channel> channels() const { return {}; }

  // --- the simulation ---
  virtual double time() const = 0;  // s
  virtual void step() = 0;          // one time step; numerical trouble is told by the frame, not by throwing
  virtual void reset() = 0;         // back to the start, time 0; choices and controls stay
  virtual void read(Frame& frame) = 0;
  // Of all steps since the start or the last reset; empty: not known.
  virtual std::vector<CertificateItem> run_certificate() const { return {}; }
  virtual State initial_state() const { return State(*model()); }
  virtual bool moves_by_itself() const { return false; }  // others step it too: a paused view looks for news

  // --- what the user sets; arguments are checked against choices() and the model before the call ---
  virtual LiveChoices choices() const { return {}; }
  virtual std::vector<double> controls() const { return {}; }  // nu values, if choices().controls
  virtual void set_solver(std::string_view /*name*/) {}
  virtual void set_time_step(double /*seconds*/) {}
  virtual void set_friction(double /*coefficient*/) {}
  virtual void set_control(int /*index*/, double /*value*/) {}
  virtual void set_drag(const LiveDrag& /*drag*/) {}
  virtual void release_drag() {}
};

}  // namespace touchstone

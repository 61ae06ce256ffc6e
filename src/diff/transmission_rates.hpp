// How lengths and moments of transmissions change with the configuration, where moments do: sites, slider-cranks, ball
// and free joints. In closed form: a moment is S.f of a wrench f at a point, all of which dofs move and turn.
#pragma once

#include <vector>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone {

// Whether an actuator's moment changes with the configuration. That of loop joints has its own rule (step_loops.cpp).
bool has_curved_moment(const Model& model, const Actuator& actuator);

struct TransmissionRates {
  explicit TransmissionRates(const Model& model);

  // Of an actuator with a curved moment. Needs forward_kinematics; `state` is where it was.
  void compute(const Model& model, const Data& data, const State& state, const Actuator& actuator);

  // Dofs that moment and length depend on; all else is constant and has no part in the moment.
  int count = 0;
  std::vector<int> dofs;  // nv, of which `count` are set, as in all that follows
  MatrixX moment;         // nv x nv: (i, k) of the moment on dofs[i], as dofs[k] moves
  VectorX length;         // nv: of the length, which need not be the moment

 private:
  struct Side;
  void of_joint(const Model& model, const State& state, const Actuator& actuator);
  void of_site(const Model& model, const Data& data, const Actuator& actuator);
  void of_slider_crank(const Model& model, const Data& data, const Actuator& actuator);
  // Takes in the dofs between a body and what carries both; these are those of a side.
  void add_path(const Model& model, int body, int common);
  template <typename Rate>
  void add_side(const Model& model, const Data& data, const Side& side, const Rate& rate);
};

}  // namespace touchstone

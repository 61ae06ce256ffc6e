// The arrays of a batch, in the memory of the processor or of a GPU: one world after another.
#pragma once

#include "touchstone/gpu/step.hpp"
#include "touchstone/gpu/world_parameters.hpp"

namespace touchstone::gpu {

struct BatchView {
  int worlds = 0;
  int warm_capacity = 0;  // blocks
  double *q = nullptr, *v = nullptr, *activation = nullptr, *control = nullptr, *applied_force = nullptr;
  double *natv = nullptr, *time = nullptr;
  int *status = nullptr, *contacts = nullptr, *sweeps = nullptr;
  double *since_pass = nullptr, *reach = nullptr;
  int* warm_count = nullptr;
  std::int64_t* warm_key = nullptr;
  double* warm_impulse = nullptr;
  double* sensors = nullptr;
  double* loop_q = nullptr;
  double* mocap_before = nullptr;
  double* old_velocity = nullptr;
  WorldParameters parameters;

  TOUCHSTONE_BOTH WorldState world(const ModelSizes& n, int w) const {
    const auto at = [w](int width) { return static_cast<std::size_t>(w) * static_cast<std::size_t>(width); };
    WorldState state;
    state.q = q + at(n.nq);
    state.v = v + at(n.nv);
    state.activation = activation + at(n.na);
    state.control = control + at(n.nu);
    state.applied_force = applied_force + at(n.nv);
    state.natv = natv + w;
    state.time = time + w;
    state.status = status + w;
    state.contacts = contacts + w;
    state.sweeps = sweeps + w;
    state.warm = {warm_count + w, warm_key + at(warm_capacity), warm_impulse + at(impulse_width(n) * warm_capacity)};
    state.since_pass = since_pass + w;
    state.reach = reach + w;
    state.sensors = sensors + at(n.sensor_numbers);
    state.loop_q = loop_q + at(n.loop_numbers);
    state.mocap_before = mocap_before + at(7 * n.followed);
    state.old_velocity = old_velocity + at(n.old_velocity);
    return state;
  }

  // The `count` worlds from `first` on, as a batch of their own.
  BatchView part(const ModelSizes& n, int first, int count) const {
    const WorldState start = world(n, first);
    BatchView view = *this;
    view.worlds = count;
    view.q = start.q, view.v = start.v, view.activation = start.activation;
    view.control = control + static_cast<std::size_t>(first) * static_cast<std::size_t>(n.nu);
    view.applied_force = applied_force + static_cast<std::size_t>(first) * static_cast<std::size_t>(n.nv);
    view.natv = start.natv, view.time = start.time;
    view.status = start.status, view.contacts = start.contacts, view.sweeps = start.sweeps;
    view.since_pass = start.since_pass, view.reach = start.reach;
    view.warm_count = start.warm.count, view.warm_key = start.warm.key, view.warm_impulse = start.warm.impulse;
    view.sensors = start.sensors;
    view.loop_q = start.loop_q;
    view.mocap_before = start.mocap_before;
    view.old_velocity = start.old_velocity;
    for (int k = 0; k < kWorldParameters; ++k) {
      const int width = parameter_width(n, static_cast<WorldParameter>(k));
      if (view.parameters.array[k] != nullptr)
        view.parameters.array[k] += static_cast<std::size_t>(first) * static_cast<std::size_t>(width);
    }
    return view;
  }
};

}  // namespace touchstone::gpu

#include "touchstone/record/layout.hpp"

namespace touchstone::record {

std::vector<Column> step_columns(const Model& model, StepTable& t, int sleepers) {
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  return {{"/steps/time", 1, &t.time},
          {"/steps/q", size(model.nq), &t.q},
          {"/steps/v", size(model.nv), &t.v},
          {"/steps/activation", size(model.na), &t.activation},
          {"/steps/control", size(model.nu), &t.control},
          {"/steps/loop_q", size(model.nloop), &t.loop_q},
          {"/steps/mocap", 7 * size(model.nmocap), &t.mocap},
          {"/steps/step", 1, nullptr, &t.step},
          {"/steps/status", 1, nullptr, &t.status},
          {"/steps/contacts", 1, nullptr, &t.contacts},
          {"/steps/constraints", 1, nullptr, &t.constraints},
          {"/steps/islands", 1, nullptr, &t.islands},
          {"/steps/iterations", 1, nullptr, &t.iterations},
          {"/steps/events", 1, nullptr, &t.events, true},
          {"/steps/impacts", 1, nullptr, &t.impacts, true},
          {"/steps/rejected", 1, nullptr, &t.rejected, true},
          {"/steps/fallbacks", 1, nullptr, &t.fallbacks, true},
          {"/steps/newton", 1, nullptr, &t.newton, true},
          {"/steps/last_event", 1, &t.last_event, nullptr, true},
          {"/steps/asleep", size(sleepers), nullptr, &t.asleep},
          {"/steps/natv", 1, &t.natv},
          {"/steps/natv_relative", 1, &t.natv_relative},
          {"/steps/law_natv", 1, &t.law_natv},
          {"/steps/law_natv_relative", 1, &t.law_natv_relative},
          {"/steps/penetration", 1, &t.penetration},
          {"/steps/violation", 1, &t.violation},
          {"/steps/kinetic_energy", 1, &t.kinetic_energy},
          {"/steps/potential_energy", 1, &t.potential_energy},
          {"/steps/times", 6, &t.times}};
}

std::vector<Column> contact_columns(ContactTable& t) {
  return {{"/contacts/shape_a", 1, nullptr, &t.shape_a},
          {"/contacts/shape_b", 1, nullptr, &t.shape_b},
          {"/contacts/position", 3, &t.position},
          {"/contacts/normal", 3, &t.normal},
          {"/contacts/force", 3, &t.force},
          {"/contacts/torque", 3, &t.torque},
          {"/contacts/distance", 1, &t.distance},
          {"/contacts/friction", 1, &t.friction}};
}

}  // namespace touchstone::record

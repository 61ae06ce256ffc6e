// Forces and constraint rows at one state: what smooth motion, modes and impacts are computed from.
#pragma once

#include <span>
#include <vector>

#include "touchstone/sim/events/members.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone {

// Below these a row rests: m/s, unless events have become many in a step (Survey::resting_speed), and m.
constexpr double kRestingSpeed = 1e-7;
constexpr double kTouching = 1e-8;

class Survey {
 public:
  explicit Survey(const StepContext& s);

  // Kinematics and contacts, as far as bodies move in `reach` seconds.
  void place(StepContext& s, const State& state, double reach);
  // Kinematics, forces, the acceleration without constraints, contacts, `extra` metres farther. False if the mass
  // matrix is not positive definite.
  bool look(StepContext& s, const State& state, double reach, double extra = 0.0);
  // The rows of contacts that touch, of all limits that are near, equalities and dry friction. Needs place or look.
  void take_touching(StepContext& s, double tolerance);
  // The rows of the same contacts as `first`, known by their features, or else by where they are. Needs place or look.
  void take_same(StepContext& s, const Survey& first);
  // dJ/dt v by central differences of the rows along the motion; `other` is scratch.
  void find_drift(StepContext& s, Survey& other);

  // The block of the same constraint, -1 if there is none; `hint`: where to begin.
  int find_block(const Constraint& constraint, int hint) const;
  // Whether a contact was there under any name, one entry for each that was taken.
  bool is_lost(std::size_t contact) const { return lost_[contact] != 0; }
  // Of a block: the row of its normal.
  int normal(int block) const { return c.blocks.row[static_cast<std::size_t>(block) + 1] - 1; }
  int first(int block) const { return c.blocks.row[static_cast<std::size_t>(block)]; }
  // Velocity of a row with what surfaces add.
  double slip(int row) const { return c.velocity[row] + c.surface(row); }
  const double* J(int row) const { return J_.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(nv_); }
  // With the velocity that the state has now.
  void update_velocity(const Model& model);
  // Adds forces of its rows to the impulses s.lambda of the same constraints in s.constraints, `time` seconds of them.
  void add_impulses(StepContext& s, const VectorX& rows, double time) const;
  // Whether all blocks can be part of smooth motion: no compliant contacts, no blocks of springs and servos.
  bool is_rigid() const;

  double resting_speed = kRestingSpeed;  // m/s: what moves slower rests
  State state;
  Data data;
  VectorX a_free;                 // nv
  std::vector<Contact> seen;      // all contacts, as of place or look
  std::vector<Contact> contacts;  // that were taken
  Constraints c;
  VectorX drift;  // at least nrow

 private:
  void detect(StepContext& s, double reach, double extra);
  void write_rows(StepContext& s);

  int nv_;
  std::vector<double> J_;  // nrow x nv
  std::vector<char> lost_;
};

WarmStartKey key_of(const Contact& contact);

}  // namespace touchstone

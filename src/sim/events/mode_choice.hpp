// Which contacts stay closed, which stick, which slide: the contact problem at the level of accelerations.
//
// Contacts that rest are Coulomb's law with accelerations in the place of velocities, the same problem as that of a
// time step, solved by the same solvers. Contacts that slide have a friction of known direction, which no symmetric
// matrix has: in the problem their slip is a velocity so large that no force turns it, and the modes that come out are
// solved again as the linear system of ModeForces, where their direction is exact. What does not fit (a pulling force,
// an approach, friction outside of its cone) changes its mode, one at a time, a bounded number of times: principal
// pivoting (Cottle, Pang, Stone 1992, ch. 4) on a matrix that need not be a P-matrix. No modes may fit: Painleve's
// paradox.
#pragma once

#include <vector>

#include "touchstone/sim/events/event_solver.hpp"
#include "touchstone/sim/events/members.hpp"
#include "touchstone/sim/events/mode_forces.hpp"
#include "touchstone/sim/events/slip_directions.hpp"

namespace touchstone {

class ModeChoice {
 public:
  // The modes of all blocks of a survey in which nothing approaches, in its order; forces.solve has been called for
  // them. False: none were found.
  bool choose(StepContext& s, Survey& survey, EventSolver& solver, ModeForces& forces);
  const std::vector<Member>& members() const { return members_; }
  bool any_slides_fast() const;

 private:
  void begin(StepContext& s, Survey& survey);
  void read(const Survey& survey, const VectorX& lambda, int block);
  void read_contact(const Survey& survey, const VectorX& lambda, int block, Member& member);
  // Changes the mode that fits worst. False: all fit.
  bool repair(const Survey& survey, const ModeForces& forces);
  // Of closed contacts the least force, or distance of a force that holds to its cone.
  double weakest(const Survey& survey, const ModeForces& forces) const;
  bool spread(const Model& model, const Survey& survey, ModeForces& forces);
  double misfit_of_normal(const Survey& survey, const ModeForces& forces, int block, Member& changed) const;
  double misfit_of_slip(const Survey& survey, const ModeForces& forces, int block, Member& changed) const;
  double misfit_of_box(const Survey& survey, const ModeForces& forces, int block, Member& changed) const;
  double misfit(const Survey& survey, const ModeForces& forces, int block, Member& changed) const;

  std::vector<Member> members_, before_;
  VectorX a_before_;
  std::vector<int> blocks_;
  SlipDirections directions_;
  std::vector<char> may_close_;  // by block: touches and does not leave
  double acceleration_ = 1.0, force_ = 1.0;
  VectorX row_acceleration_;
};

// |u_t|, turns by their length.
double slip_speed(const Survey& survey, int block);

}  // namespace touchstone

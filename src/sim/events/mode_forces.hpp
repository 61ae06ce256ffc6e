// Forces and accelerations of modes that are given: a linear system.
//
// What is closed keeps its rows: J a + dJ/dt v = 0. Its forces are those of the rows, but for contacts that slide in a
// known direction d: there one row, that of the normal, stands against the force n - mu d, so that the matrix
// J M^-1 B' is not symmetric and can be singular or have negative minors (Painleve's paradoxes; Pfeiffer and Glocker
// 1996, ch. 5). Where rows say the same twice the forces are those nearest to the ones of the modes' choice, in the
// sense of PivotedSolve: accelerations are unique, forces are not.
#pragma once

#include <span>
#include <vector>

#include "touchstone/sim/events/members.hpp"
#include "touchstone/sim/events/pivoted_solve.hpp"
#include "touchstone/sim/events/survey.hpp"

namespace touchstone {

class ModeForces {
 public:
  explicit ModeForces(const Model& model);

  // members[k] stands for block blocks[k] of the survey, or none if that is -1. False if numbers are not finite.
  bool solve(const Model& model, const Survey& survey, std::span<const Member> members, std::span<const int> blocks);
  const VectorX& acceleration() const { return a_; }
  void set_acceleration(const VectorX& a) { a_ = a; }
  // Of all rows.
  const VectorX& forces() const { return lambda_; }
  // The acceleration of a row, with dJ/dt v.
  double row_acceleration(const Survey& survey, int row) const;
  // J' lambda v: the power of all constraint forces.
  double power(const Survey& survey) const;

  // The least change of velocity, in the metric of M, that takes `residual` from some rows: dv with J dv = -residual.
  // Rows that contradict each other are left out.
  const VectorX& least_change(const Model& model, const Survey& survey, std::span<const int> rows,
                              std::span<const double> residual);

 private:
  struct Unknown {
    int row = 0;    // of the survey
    int block = 0;  // whose
    bool slides = false;
  };
  void list_unknowns(const Survey& survey, std::span<const Member> members, std::span<const int> blocks);
  void add_known_forces(const Model& model, const Survey& survey, std::span<const Member> members,
                        std::span<const int> blocks);
  void set_reference(const Survey& survey, const Member& member, int block);
  void solve_columns(const Model& model, const Survey& survey);

  int nv_;
  std::vector<Unknown> unknowns_;
  std::vector<double> columns_;  // unknowns x nv: B, then M^-1 B'
  std::vector<double> slip_;     // nrow: force of a row for a unit of the normal force
  std::vector<double> weight_;   // nrow: of changes of forces, where they are not unique
  PivotedSolve system_;
  VectorX lambda_, a_, column_, change_;
};

// The friction of a contact that slides: force of each tangential row for a unit of the normal force, by the principle
// of maximal dissipation in the elliptic cone, -mu^2 d / |mu d|.
void friction_of_slip(const Blocks& blocks, int block, const double* slip, double* force);
// The slip velocity of a member's rows, as the contact's frame has it; and the way back.
void slip_rows(const Contact& contact, const Member& member, double* rows);
void set_slip(const Contact& contact, const double* rows, Member& member);

}  // namespace touchstone

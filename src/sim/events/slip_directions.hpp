// The directions of slips that are slow.
//
// A contact that rested and begins to slip does so along its acceleration, and its friction stands against that: the
// direction is an unknown of its own, d = a_t(d) / |a_t(d)|. Turning d to where the last acceleration points turns too
// far where the slip begins slowly, as friction then is much larger than what is left of the acceleration. So here
// Newton's method for all directions that are sought, with the change of all accelerations by differences.
//
// A slow slip turns fast, at a rate of mu lambda_n / (m |v_t|), to where its forces are in balance across it: motion is
// stiff there, though nothing happens. Directions of slow slips are therefore those of v_t + tau a_t(d), of the
// velocity a short time later, tau = c / |v_t|: rates are no more than 1 / tau, and what the velocity misses is
// c times the rate at which the direction of balance turns, in m/s. At rest that is the rule above. c is a hundred
// times the tolerance of smooth motion. That is done only for slips that have come to their balance, or began in it:
// where the velocity now is not farther than 10 c from that direction.
#pragma once

#include <span>
#include <vector>

#include "touchstone/sim/events/mode_forces.hpp"
#include "touchstone/sim/events/pivoted_solve.hpp"

namespace touchstone {

// c of above.
double blur_of(const SimulatorOptions& options);

class SlipDirections {
 public:
  static constexpr double kFast = 5e-3;  // m/s: faster slips are not stiff
  // Turns the steady slips among the members, whose forces have been solved; forces are solved again. `scale`: of
  // accelerations, m/s^2; `blur`: c, m. Whether all have settled.
  bool settle(const Model& model, const Survey& survey, std::span<Member> members, std::span<const int> blocks,
              double scale, double blur, ModeForces& forces);
  // Finds which slow slips are steady, and turns them; the direction of others is that of their velocity. False: no
  // forces, or directions of slips that begin have not settled.
  bool choose_steady(const Model& model, const Survey& survey, std::span<Member> members, std::span<const int> blocks,
                     double scale, double blur, ModeForces& forces);
  // Whether the last call turned any.
  bool any_turned() const { return any_turned_; }

 private:
  struct Slip {
    int member = 0;
    int first = 0, count = 0;  // tangential rows
    double velocity[5] = {};   // the direction sought is that of velocity + ahead * acceleration
    double ahead = 1.0;        // s
    double along = 0.0;        // of that, along the direction, over usual sizes
    int unknown = 0;           // its first among all: count - 1 of them
    double direction[5] = {};  // unit
    double basis[4][5] = {};   // orthonormal, across it
  };
  void list(const Survey& survey, std::span<const Member> members, std::span<const int> blocks, double blur,
            const ModeForces& forces);
  bool look_ahead(const Survey& survey, double blur, const ModeForces& forces, Slip& slip) const;
  void read_directions(const Survey& survey, std::span<const Member> members);
  struct Misfit {
    double size = 0.0, angle = 0.0;
  };
  // What is across the directions, over usual sizes. Returns the largest, and as an angle.
  Misfit find_residual(const Survey& survey, double scale, const ModeForces& forces, std::vector<double>& out);
  bool drop_unsteady(const Survey& survey, std::span<Member> members, bool all, double blur);
  void turn(const Survey& survey, std::span<Member> members, const std::vector<double>& way, double share);
  bool find_way(const Model& model, const Survey& survey, std::span<Member> members, std::span<const int> blocks,
                double scale, ModeForces& forces);

  int unknowns_ = 0;
  bool any_turned_ = false;
  std::vector<Slip> slips_, before_;
  std::vector<double> residual_, other_, way_;
  PivotedSolve system_;
};

}  // namespace touchstone

// Motion between two events as an ordinary differential equation, and the functions that say when it ends.
//
// Unknowns y: the way on the configuration manifold from where the step began, q = q_0 (+) theta, so that
// theta' = dexp^-1(theta) v; the velocity; and the work of constraints, of actuators, and of dampers and applied
// forces.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/sim/events/knot_step.hpp"
#include "touchstone/sim/events/mode_choice.hpp"
#include "touchstone/sim/events/mode_forces.hpp"
#include "touchstone/sim/events/ode.hpp"
#include "touchstone/sim/events/slip_directions.hpp"
#include "touchstone/sim/events/survey.hpp"

namespace touchstone {

class SmoothMotion final : public OdeSystem {
 public:
  explicit SmoothMotion(StepContext& s);

  // Closed contacts and modes from now on, out of a survey of what touches.
  void set_modes(const Survey& touching, const std::vector<Member>& members);
  // Where a step begins, and how far it may look for contacts.
  void begin(const State& state, double reach);
  const VectorX& start() const { return y_; }
  const State& base() const { return base_; }
  double reach() const { return reach_; }
  bool rate(const VectorX& y, VectorX& dy) override;
  bool make_step(double h, VectorX& end, int& iterations) override;
  // The state of some y, and its work.
  void read(const VectorX& y, State& state) const;
  struct Work {
    double constraints = 0.0, actuators = 0.0, dampers = 0.0, applied = 0.0;
  };
  Work work(const VectorX& y) const;

  // After rate for the start of a step: which guards are away from zero. Forces nearer to it than 1e-6 of the largest,
  // times `patience`, may pass it by as much.
  void arm(double patience);
  // After rate: below zero if something has happened since arm.
  enum class Kind : std::uint8_t {
    kForce,    // of a member: a contact opens or begins to slip
    kSlip,     // of a member, which stops
    kContact,  // that closes
    kLimit,
  };
  struct Guard {
    double value = 0.0;
    Kind kind = Kind::kForce;
    int index = -1;      // of the member
    int which = 0;       // of the member's two values
    WarmStartKey key;    // of the contact or limit
    double floor = 0.0;  // what it is where it happens: below zero for gaps that were, and forces too near to zero
    double speed = 0.0;  // m/s: of what closes
    // Of a gap that was found below its floor as it stopped to leave it: what happens is that its speed is zero.
    bool is_turn = false;
    bool is_gap() const { return kind == Kind::kContact || kind == Kind::kLimit; }
    // Whether a gap closes so fast that its speed says when.
    bool closes() const { return is_gap() && speed < -kSlowest; }
    static constexpr double kSlowest = 1e-6;  // m/s
  };
  Guard guard() const;
  // After rate: how far what a guard watches is from where it happens; nothing if it is not there.
  std::optional<double> distance(const Guard& guard) const;
  // The contact of a guard among those that are seen, and the block of a limit; null and -1: not there.
  const Contact* seen_contact(const Guard& guard) const;
  int limit_block(const Guard& guard) const;
  // Whether anything open is near enough to close in the reach of the step.
  bool any_near() const;

  // After rate: a member whose contact slides slower than this, m/s, and slows down, -1: none. Its direction turns
  // without end as it stops.
  int stopping_member(double speed) const;

  // After rate: the least time in which a slip turns by a radian, s. Longer steps would not see it, as a slip that has
  // turned back keeps its direction until that is an event.
  double turning_time() const;

  // After rate for the end of a step, whose state is given: takes away what closed constraints have drifted, and
  // looks around there. False: no forces.
  bool correct(State& state);
  // After rate for the start of a step: what overlaps keeps the depth that it has there, for motion from another state
  // than that of which modes were chosen.
  void keep_depths();
  // After correct: what the next step goes on from.
  void keep_directions();

  const Survey& survey() const { return survey_; }
  Survey& survey() { return survey_; }
  const StepContext& context() const { return s_; }
  const ModeForces& forces() const { return forces_; }
  const std::vector<Member>& members() const { return members_; }
  const std::vector<int>& blocks() const { return blocks_; }

 private:
  struct PairFloor {
    std::uint64_t owner = 0;
    double floor = 0.0;
  };
  // Rows and forces at at_.
  bool evaluate();
  // Takes positions or velocities of what is closed away; false: there is nothing to take.
  bool take_drift(bool positions, State& state);
  void match();
  void update_slips(bool is_start);
  bool turn_steady_slips();
  double acceleration_scale() const;
  double normal_speed(const Contact& contact) const;
  void member_guards(std::size_t k, double* out) const;
  bool is_closed(const Contact& contact) const;
  bool is_ignored(const Contact& contact) const;
  bool is_open_limit(int block) const;

  StepContext& s_;
  Survey regime_;  // the closed contacts
  Survey survey_, other_;
  ModeForces forces_;
  KnotStep knots_;
  State base_, at_;
  VectorX y_, change_;
  double reach_ = 0.0;
  SlipDirections directions_;
  std::vector<Member> members_, now_;   // as chosen; with the directions of the state at hand
  std::vector<int> blocks_;             // of members_ in survey_
  std::vector<char> has_member_;        // by block of survey_
  std::vector<std::uint64_t> ignored_;  // pairs that touch and no joint lets open or close
  std::vector<char> armed_;             // two for each member
  std::vector<PairFloor> floors_;       // least gaps of pairs when armed; limits by their keys
  double force_ = 1.0;                  // N: the scale of force guards
  double force_noise_ = 0.0;            // of it
  std::vector<int> rows_;
  std::vector<double> residual_;
};

}  // namespace touchstone

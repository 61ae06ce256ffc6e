// Who sleeps: islands of kinematic trees that rest. They are left out of all stages (Scope) until something happens to
// them, and keep what the last step said about them.
//
// Falling asleep. A tree is quiet while no body is faster than `speed`, and stays so up to kHysteresis times that. When
// all trees of an island have been quiet for `time`, a step from zero velocity is tried (sim/settle.cpp): if it is
// solved and ends at rest, the velocity is zero from then on, exactly. So what accelerates, however slowly, or turns
// back, stays awake. The certificate of a sleeping island is that of this step.
//
// Waking. Contact with what is awake or moved by the user, a change of its configuration, velocity, activation,
// control or applied forces, a change of any parameter, or a call: all before the step in which it matters, so that no
// momentum is lost. An island wakes as a whole.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "touchstone/dynamics/scope.hpp"
#include "touchstone/math/union_find.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/constraints/kind.hpp"
#include "touchstone/sim/contact_force.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/report.hpp"

namespace touchstone {

class ContactCache;
struct Data;

// m/s: the threshold, unless the options have one, or the model, which it has if it asks for sleep itself.
inline constexpr double kSleepSpeed = 0.01;

// What is left of the step in which an island fell asleep.
struct SleepingIsland {
  struct Limit {
    int joint = 0;
    double position = 0.0, force = 0.0;
  };
  std::vector<int> trees;  // ascending; none: the place is free
  double since = 0.0;      // s: when it fell asleep
  Residuals residuals;
  double penetration = 0.0, violation = 0.0;
  std::vector<Contact> contacts;
  std::vector<ContactForce> forces;  // of the contacts
  std::vector<PairWrench> wrenches;  // N, N m: of all constraints between bodies
  std::vector<int> mocaps;           // that it touches
  std::vector<Limit> limits;         // of joints
};

// A step from zero velocity, of some trees alone. Memory is kept.
struct SleepTrial {
  std::vector<int> trees;    // that are tried, in the order of their groups
  std::vector<char> others;  // ntree: 1 for those that are not
  std::vector<char> failed;  // ntree: 1 for those that may not sleep
  std::vector<int> owner;    // ntree, by group: the island that it becomes, -1: none
  UnionFind groups;          // that sleep or stay awake together
  VectorX moving;            // nv: the velocity before
};

class Sleep {
 public:
  Sleep(const Model& model, const SimulatorOptions& options);

  bool is_enabled() const { return enabled_; }
  bool is_asleep(int tree) const { return island_of_[static_cast<std::size_t>(tree)] >= 0; }
  bool any() const { return total_.trees > 0; }
  bool all() const { return total_.trees == static_cast<int>(island_of_.size()); }
  std::span<const SleepingIsland> islands() const { return islands_; }  // free places among them
  // The sum of them, and of what happened since the last end_step.
  const SleepReport& total() const { return total_; }
  double penetration() const { return penetration_; }
  double violation() const { return violation_; }
  // "'box', asleep since 1.2 s": the island with the worst certificate; empty if none sleeps.
  std::string describe_worst(const Model& model) const;

  // Everyone is awake; what starts asleep is tried at once.
  void forget();
  // Who sleeps, as in another simulator of the same model; nothing is known of its scopes and kinematics.
  void take(const Sleep& other);
  void end_step() { total_.fell_asleep = total_.woken = 0; }

  // --- waking ---
  void wake(int tree, ContactCache& cache);
  void wake_all(ContactCache& cache);
  // What the user has changed; only what is named can have been.
  struct Changes {
    bool state = false, input = false, parameters = false;
    const std::vector<Transform>* mocap_before = nullptr;  // where mocap bodies were; null: nobody knows
  };
  void wake_changed(const Model& model, const State& state, const Input& input, const Parameters& parameters,
                    const Changes& possible, ContactCache& cache);
  // What touches something that moves. Returns whether there was anything.
  bool wake_touched(const Model& model, std::span<const Contact> contacts, ContactCache& cache);

  // --- falling asleep ---
  // The next step tries to put a tree to sleep, with all that it touches.
  void request(int tree) { quiet_[static_cast<std::size_t>(tree)] = time_; }
  // After a step: how long trees have been quiet, and who is due.
  void watch(const Model& model, const Data& data, const std::vector<double>& body_length,
             const Constraints& constraints, double h);
  // Trees that a step is to be tried with, ascending, and how they depend on each other as far as is known.
  std::span<const int> due() const { return due_; }
  const UnionFind& groups() const { return groups_; }
  // Whether a tree may be stopped: the user may have given it a velocity since. `dof_length`: m.
  bool is_slow(int tree, const VectorX& v, const VectorX& dof_length) const;
  // Of the trial, for each group of trees: they are tried again later, or sleep from now on. Returns the number of the
  // island, which is to be filled in.
  void refuse(std::span<const int> trees);
  int accept(std::span<const int> trees, double time);
  SleepingIsland& island(int number) { return islands_[static_cast<std::size_t>(number)]; }
  void end_trial(const State& state, const Input& input, const Parameters& parameters);

  // The mocap body that a body is, or is fixed to; -1: none.
  int carrier_of(int body) const { return carrier_[static_cast<std::size_t>(body)]; }

  // --- scopes ---
  // 1 for each tree that sleeps.
  std::span<const char> asleep() const { return asleep_; }
  // Whether the scopes of the dynamics are those of who sleeps; set_current says that they are.
  bool is_current() const { return is_current_; }
  void set_current();
  // Whether the kinematics of all bodies was computed since the last forget.
  bool is_placed = false;

 private:
  // A tree that is mounted on a mocap body, or held to it by an equality.
  struct MocapHold {
    int mocap = 0, tree = 0;
  };
  void update_total();
  void release(int tree, ContactCache& cache);
  bool is_moved(const Model& model, const State& state, int tree) const;
  bool is_pushed(const Input& input, int tree) const;
  bool is_any_moved(const State& state) const;
  bool is_any_pushed(const Input& input) const;

  // --- of the model ---
  bool enabled_ = false;
  double speed_ = 0.0, time_ = 0.0;
  std::vector<IndexRange> bodies_, q_, dofs_;  // ntree
  std::vector<int> carrier_;                   // nbody: see carrier_of
  std::vector<char> may_, starts_;             // ntree: may sleep; starts asleep
  std::vector<std::vector<int>> actuators_;    // ntree: those of the trees it is joined to are elsewhere
  std::vector<MocapHold> mocap_holds_;
  UnionFind joined_;  // trees, by elements of the model
  VectorX zero_;      // nv

  // --- of the simulation ---
  std::vector<double> quiet_;   // ntree, s
  std::vector<int> island_of_;  // ntree: in islands_, -1: awake
  std::vector<char> asleep_;    // ntree
  std::vector<SleepingIsland> islands_;
  int free_ = 0;  // no place before it is free
  SleepReport total_;
  double penetration_ = 0.0, violation_ = 0.0;
  bool is_current_ = true;
  std::vector<int> due_;
  UnionFind groups_;
  // As they were when the last island fell asleep, in what concerns those that sleep.
  VectorX seen_q_, seen_activation_;
  Input seen_input_;
  Parameters seen_parameters_;
  std::vector<unsigned char> seen_bytes_;  // of the parameters, padding included
  std::vector<IndexRange> resting_q_, resting_dofs_, resting_bodies_;
  std::vector<char> unready_;  // ntree: scratch
};

// Adds what sleeps to a report that is complete but for that.
void add_sleep(const Sleep& sleep, StepReport& report);

// Whether anything may sleep with these options.
bool may_sleep(const Model& model, const SimulatorOptions& options);

// Whether a mocap body was moved.
bool differs(const Transform& a, const Transform& b);

}  // namespace touchstone

#include "touchstone/sim/sleep.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/element_trees.hpp"
#include "touchstone/model/fields.hpp"
#include "touchstone/sim/contact_cache.hpp"

namespace touchstone {
namespace {

constexpr double kHysteresis = 2.0;  // a quiet tree may be so much faster than the threshold

double chosen_speed(const Model& model, const SimulatorOptions& options) {
  if (options.sleep.speed > 0.0) return options.sleep.speed;
  return model.options.sleep_enabled ? model.options.sleep_tolerance : kSleepSpeed;
}

bool same_entries(const VectorX& a, const VectorX& b, IndexRange range) {
  return std::equal(a.data() + range.begin, a.data() + range.end, b.data() + range.begin);
}

bool all_zero(const VectorX& v, IndexRange range) {
  return std::all_of(v.data() + range.begin, v.data() + range.end, [](double x) { return x == 0.0; });
}

// Whether all bytes are the same: a fast look, where nearly always nothing has changed. Zeros of different signs and
// padding may differ and mean nothing.
template <typename T>
bool same_bytes(const T* a, const T* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(T)) == 0;
}

bool same_bytes(const VectorX& a, const VectorX& b, IndexRange range) {
  return same_bytes(a.data() + range.begin, b.data() + range.begin, at(range.end - range.begin));
}

// Calls use(bytes, count) for each array of the parameters.
template <typename Use>
void for_bytes(const Parameters& parameters, Use use) {
  for_each_field<Parameters>([&](auto field) {
    const auto& values = parameters.*field.member;
    use(reinterpret_cast<const unsigned char*>(values.data()),
        static_cast<std::size_t>(values.size()) * sizeof *values.data());
  });
}

void copy_bytes(const Parameters& parameters, std::vector<unsigned char>& bytes) {
  bytes.clear();
  for_bytes(parameters,
            [&](const unsigned char* first, std::size_t count) { bytes.insert(bytes.end(), first, first + count); });
}

bool has_bytes(const Parameters& parameters, const std::vector<unsigned char>& bytes) {
  bool same = true;
  std::size_t next = 0;
  for_bytes(parameters, [&](const unsigned char* first, std::size_t count) {
    same = same && next + count <= bytes.size() && same_bytes(first, bytes.data() + next, count);
    next += count;
  });
  return same && next == bytes.size();
}

bool same_wrenches(const std::vector<Vector6>& a, const std::vector<Vector6>& b, IndexRange range) {
  return std::equal(a.begin() + range.begin, a.begin() + range.end, b.begin() + range.begin);
}

// See Sleep::carrier_of.
int find_carrier(const Model& model, int body) {
  for (; body > 0; body = model.bodies[at(body)].parent) {
    const int mocap = model.body_kernels[at(body)].mocap;
    if (mocap >= 0) return mocap;
    if (model.body_last_dof[at(body)] >= 0) return -1;
  }
  return -1;
}

double speed_of(const Data& data, const std::vector<double>& body_length, int body) {
  const Motion& motion = data.velocity[at(body)];
  const Vec3 v = motion.linear + cross(motion.angular, data.body_com[at(body)]);
  return std::sqrt(dot(v, v)) + body_length[at(body)] * std::sqrt(dot(motion.angular, motion.angular));
}

void extend(std::vector<IndexRange>& ranges, IndexRange next) {
  if (next.begin == next.end) return;
  if (!ranges.empty() && ranges.back().end == next.begin) {
    ranges.back().end = next.end;
  } else {
    ranges.push_back(next);
  }
}

}  // namespace

Sleep::Sleep(const Model& model, const SimulatorOptions& options)
    : speed_(chosen_speed(model, options)), time_(options.sleep.time) {
  enabled_ = may_sleep(model, options);
  if (!enabled_) return;
  const std::size_t ntree = at(model.ntree);
  bodies_.resize(ntree);
  q_.resize(ntree);
  dofs_.resize(ntree);
  may_.assign(ntree, 1);
  starts_.assign(ntree, 0);
  actuators_.resize(ntree);
  for (int b = model.nbody - 1; b > 0; --b) {
    const int tree = model.body_kernels[at(b)].tree;
    if (tree < 0) continue;
    IndexRange& range = bodies_[at(tree)];
    range = {b, range.end == 0 ? b + 1 : range.end};
    if (model.bodies[at(b)].sleep == SleepPolicy::kNever) may_[at(tree)] = 0;
    if (model.bodies[at(b)].sleep == SleepPolicy::kInit) starts_[at(tree)] = 1;
  }
  for (int j = model.njoint - 1; j >= 0; --j) {
    IndexRange& range = q_[at(model.dof_tree[at(model.joint_dof[at(j)])])];
    const int first = model.joint_q[at(j)];
    range = {first, range.end == 0 ? first + configuration_size(model.joints[at(j)].type) : range.end};
  }
  for (std::size_t t = 0; t < ntree; ++t) dofs_[t] = {model.tree_first_dof[t], model.tree_first_dof[t + 1]};
  for (int u = 0; u < model.nu; ++u) {
    const std::vector<int> trees = trees_of(model, model.actuators[at(u)]);
    if (!trees.empty()) actuators_[at(trees.front())].push_back(u);
  }
  for (int b = 0; b < model.nbody; ++b) carrier_.push_back(find_carrier(model, b));
  for (int t = 0; t < model.ntree; ++t) {
    const int mocap = carrier_of(model.bodies[at(model.tree_root[at(t)])].parent);
    if (mocap >= 0) mocap_holds_.push_back({mocap, t});
  }
  for (const Equality& equality : model.equalities) {
    if (!equality.active || sides_of(equality.type) != EqualitySides::kBodies) continue;
    for (const int body : {equality.a, equality.b}) {
      const int mocap = carrier_of(body);
      if (mocap < 0) continue;
      for (const int tree : trees_of(model, equality)) mocap_holds_.push_back({mocap, tree});
    }
  }
  for (const LoopJoint& joint : model.loop_joints) {
    for (const int body : {joint.body_a, joint.body_b}) {
      const int mocap = joint.active ? carrier_of(body) : -1;
      if (mocap < 0) continue;
      for (const int tree : trees_of(model, joint)) mocap_holds_.push_back({mocap, tree});
    }
  }
  joined_.reset(model.ntree);
  join_elements(model, joined_);
  quiet_.assign(ntree, 0.0);
  zero_ = VectorX::Zero(model.nv);
  due_.reserve(ntree);
  for (std::vector<IndexRange>* ranges : {&resting_q_, &resting_dofs_, &resting_bodies_}) ranges->reserve(ntree);
  forget();
}

void Sleep::forget() {
  if (!enabled_) return;
  const std::size_t ntree = bodies_.size();
  island_of_.assign(ntree, -1);
  asleep_.assign(ntree, 0);
  for (SleepingIsland& island : islands_) island.trees.clear();
  free_ = 0;
  for (std::size_t t = 0; t < ntree; ++t) quiet_[t] = starts_[t] != 0 ? time_ : 0.0;
  // Nobody knows yet what touches what; the trial finds out.
  groups_ = joined_;
  due_.clear();
  for (std::size_t t = 0; t < ntree; ++t) {
    if (starts_[t] != 0 && may_[t] != 0) due_.push_back(static_cast<int>(t));
  }
  is_current_ = false;
  is_placed = false;
  total_ = {};
  update_total();
}

void Sleep::take(const Sleep& other) {
  if (!enabled_) return;
  const double speed = speed_, time = time_;
  if (!other.enabled_) return forget();
  *this = other;
  speed_ = speed;
  time_ = time;
  is_current_ = is_placed = false;
}

// --- waking ---

void Sleep::release(int tree, ContactCache& cache) {
  if (!is_asleep(tree)) return;
  const int index = island_of_[at(tree)];
  SleepingIsland& island = islands_[at(index)];
  for (const int member : island.trees) {
    island_of_[at(member)] = -1;
    asleep_[at(member)] = 0;
    quiet_[at(member)] = 0.0;
  }
  island.trees.clear();
  free_ = std::min(free_, index);
  cache.release(index);
  is_current_ = false;
  ++total_.woken;
}

void Sleep::wake(int tree, ContactCache& cache) {
  if (!enabled_) return;
  release(tree, cache);
  update_total();
}

void Sleep::wake_all(ContactCache& cache) {
  for (int tree = 0; tree < static_cast<int>(island_of_.size()); ++tree) release(tree, cache);
  update_total();
}

bool Sleep::is_any_moved(const State& state) const {
  const auto same_q = [&](IndexRange range) { return same_bytes(state.q, seen_q_, range); };
  const auto at_rest = [&](IndexRange range) { return same_bytes(state.v, zero_, range); };
  return !std::all_of(resting_q_.begin(), resting_q_.end(), same_q) ||
         !std::all_of(resting_dofs_.begin(), resting_dofs_.end(), at_rest) || state.activation != seen_activation_;
}

bool Sleep::is_moved(const Model& model, const State& state, int tree) const {
  if (!same_entries(state.q, seen_q_, q_[at(tree)]) || !all_zero(state.v, dofs_[at(tree)])) return true;
  const std::vector<int>& own = actuators_[at(tree)];
  return std::any_of(own.begin(), own.end(), [&](int u) {
    const int k = model.activation_index[at(u)];
    return k >= 0 && state.activation[k] != seen_activation_[k];
  });
}

bool Sleep::is_any_pushed(const Input& input) const {
  const auto same_force = [&](IndexRange range) {
    return same_bytes(input.applied_force, seen_input_.applied_force, range);
  };
  const auto same_wrench = [&](IndexRange range) {
    return same_bytes(input.applied_wrench.data() + range.begin, seen_input_.applied_wrench.data() + range.begin,
                      at(range.end - range.begin));
  };
  return !std::all_of(resting_dofs_.begin(), resting_dofs_.end(), same_force) ||
         !std::all_of(resting_bodies_.begin(), resting_bodies_.end(), same_wrench) ||
         input.control != seen_input_.control;
}

bool Sleep::is_pushed(const Input& input, int tree) const {
  if (!same_entries(input.applied_force, seen_input_.applied_force, dofs_[at(tree)])) return true;
  if (!same_wrenches(input.applied_wrench, seen_input_.applied_wrench, bodies_[at(tree)])) return true;
  const std::vector<int>& own = actuators_[at(tree)];
  return std::any_of(own.begin(), own.end(), [&](int u) { return input.control[u] != seen_input_.control[u]; });
}

void Sleep::wake_changed(const Model& model, const State& state, const Input& input, const Parameters& parameters,
                         const Changes& possible, ContactCache& cache) {
  if (!any()) return;
  if (possible.parameters && !has_bytes(parameters, seen_bytes_) && !same_value(parameters, seen_parameters_))
    return wake_all(cache);
  const int before = total_.woken;
  const auto is_away = [&](int mocap) {
    const std::vector<Transform>* old = possible.mocap_before;
    return old == nullptr || differs(state.mocap[at(mocap)], (*old)[at(mocap)]);
  };
  for (const MocapHold& hold : mocap_holds_) {
    if (is_away(hold.mocap)) release(hold.tree, cache);
  }
  // What it lay on may be gone before a contact is found.
  for (std::size_t i = 0; model.nmocap > 0 && i < islands_.size(); ++i) {
    const SleepingIsland& island = islands_[i];
    if (!island.trees.empty() && std::any_of(island.mocaps.begin(), island.mocaps.end(), is_away))
      release(island.trees.front(), cache);
  }
  const bool is_state_new = possible.state && is_any_moved(state);
  const bool is_input_new = possible.input && is_any_pushed(input);
  for (int tree = 0; (is_state_new || is_input_new) && tree < model.ntree; ++tree) {
    if (!is_asleep(tree)) continue;
    if ((is_state_new && is_moved(model, state, tree)) || (is_input_new && is_pushed(input, tree)))
      release(tree, cache);
  }
  if (total_.woken > before) update_total();
}

bool Sleep::wake_touched(const Model& model, std::span<const Contact> contacts, ContactCache& cache) {
  const int before = total_.woken;
  for (const Contact& contact : contacts) {
    // One of the two moves, or there would be no such contact: those that sleep do not see each other.
    for (const int body : {contact.body_a, contact.body_b}) {
      const int tree = model.body_kernels[at(body)].tree;
      if (tree >= 0) release(tree, cache);
    }
  }
  if (total_.woken > before) update_total();
  return total_.woken > before;
}

// --- falling asleep ---

void Sleep::watch(const Model& model, const Data& data, const std::vector<double>& body_length, const Constraints& c,
                  double h) {
  bool any_ready = false;
  unready_.assign(quiet_.size(), 0);
  for (std::size_t t = 0; t < quiet_.size(); ++t) {
    if (asleep_[t] != 0) continue;
    const double limit = quiet_[t] > 0.0 ? kHysteresis * speed_ : speed_;
    bool is_quiet = may_[t] != 0;
    for (int b = bodies_[t].begin; is_quiet && b < bodies_[t].end; ++b)
      is_quiet = speed_of(data, body_length, b) <= limit;
    quiet_[t] = is_quiet ? quiet_[t] + h : 0.0;
    const bool is_ready = is_quiet && quiet_[t] >= time_;
    unready_[t] = is_ready ? 0 : 1;
    any_ready = any_ready || is_ready;
  }
  due_.clear();
  if (!any_ready) return;
  groups_ = joined_;
  for (const Constraint& constraint : c.list) {
    for (int i = 1; i < constraint.part_count; ++i) {
      groups_.join(c.parts[at(constraint.first_part)].tree, c.parts[at(constraint.first_part + i)].tree);
    }
  }
  for (int t = 0; t < model.ntree; ++t) {
    if (unready_[at(t)] != 0) unready_[at(groups_.root(t))] = 1;
  }
  for (int t = 0; t < model.ntree; ++t) {
    if (asleep_[at(t)] == 0 && unready_[at(groups_.root(t))] == 0) due_.push_back(t);
  }
}

bool Sleep::is_slow(int tree, const VectorX& v, const VectorX& dof_length) const {
  for (int i = dofs_[at(tree)].begin; i < dofs_[at(tree)].end; ++i) {
    if (!(std::abs(v[i]) * dof_length[i] <= kHysteresis * speed_)) return false;
  }
  return true;
}

void Sleep::refuse(std::span<const int> trees) {
  for (const int t : trees) quiet_[at(t)] = 0.0;
}

int Sleep::accept(std::span<const int> trees, double time) {
  while (at(free_) < islands_.size() && !islands_[at(free_)].trees.empty()) ++free_;
  const int number = free_;
  if (at(free_) == islands_.size()) islands_.emplace_back();
  SleepingIsland& island = islands_[at(number)];
  island.contacts.clear();
  island.forces.clear();
  island.wrenches.clear();
  island.limits.clear();
  island.mocaps.clear();
  island.since = time;
  island.residuals = {};
  island.penetration = island.violation = 0.0;
  island.trees.assign(trees.begin(), trees.end());
  for (const int t : trees) {
    island_of_[at(t)] = number;
    asleep_[at(t)] = 1;
  }
  ++total_.fell_asleep;
  is_current_ = false;
  return number;
}

void Sleep::end_trial(const State& state, const Input& input, const Parameters& parameters) {
  due_.clear();
  if (is_current_) return;
  seen_q_ = state.q;
  seen_activation_ = state.activation;
  seen_input_ = input;
  seen_parameters_ = parameters;
  copy_bytes(parameters, seen_bytes_);
  update_total();
}

void Sleep::update_total() {
  total_.bodies = total_.trees = total_.islands = total_.contacts = 0;
  total_.residuals = {};
  penetration_ = violation_ = 0.0;
  for (const SleepingIsland& island : islands_) {
    if (island.trees.empty()) continue;
    ++total_.islands;
    total_.trees += static_cast<int>(island.trees.size());
    for (const int t : island.trees) total_.bodies += bodies_[at(t)].end - bodies_[at(t)].begin;
    total_.contacts += static_cast<int>(island.contacts.size());
    keep_worst(island.residuals, total_.residuals);
    penetration_ = std::max(penetration_, island.penetration);
    violation_ = std::max(violation_, island.violation);
  }
}

std::string Sleep::describe_worst(const Model& model) const {
  const SleepingIsland* worst = nullptr;
  for (const SleepingIsland& island : islands_) {
    if (island.trees.empty()) continue;
    if (worst == nullptr || island.residuals.natv > worst->residuals.natv) worst = &island;
  }
  if (worst == nullptr) return {};
  const int body = model.tree_root[at(worst->trees.front())];
  const std::size_t others = worst->trees.size() - 1;
  return fmt::format("'{}'{}, asleep since {:.6g} s", model.bodies[at(body)].name,
                     others > 0 ? fmt::format(" and {} more", others) : "", worst->since);
}

void Sleep::set_current() {
  is_current_ = true;
  for (std::vector<IndexRange>* ranges : {&resting_q_, &resting_dofs_, &resting_bodies_}) ranges->clear();
  for (std::size_t t = 0; t < asleep_.size(); ++t) {
    if (asleep_[t] == 0) continue;
    extend(resting_q_, q_[t]);
    extend(resting_dofs_, dofs_[t]);
    extend(resting_bodies_, bodies_[t]);
  }
}

bool may_sleep(const Model& model, const SimulatorOptions& options) {
  const SleepMode mode = options.sleep.mode;
  return model.ntree > 0 && (mode == SleepMode::kOn || (mode == SleepMode::kModel && model.options.sleep_enabled));
}

bool differs(const Transform& a, const Transform& b) {
  return a.position != b.position || a.rotation.coeffs() != b.rotation.coeffs();
}

void add_sleep(const Sleep& sleep, StepReport& report) {
  report.sleep = sleep.total();
  if (!sleep.any()) return;
  report.contacts += report.sleep.contacts;
  report.penetration = std::max(report.penetration, sleep.penetration());
  report.violation = std::max(report.violation, sleep.violation());
  if (report.sleep.residuals.natv >= report.residuals.natv) report.residuals.worst_block = -1;
  keep_worst(report.sleep.residuals, report.residuals);
}

}  // namespace touchstone

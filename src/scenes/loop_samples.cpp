#include "touchstone/scenes/loop_samples.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numbers>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/scenes/maximal_scene.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/closure.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/contact_cache.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Scene load_suite_system(const std::string& name, SuiteCoordinates coordinates) {
  const SceneInfo* info = find_scene(name);
  const bool has_fixed = info != nullptr && std::any_of(info->parameters.begin(), info->parameters.end(),
                                                        [](const SceneParameter& p) { return p.name == "fixed"; });
  if (coordinates == SuiteCoordinates::kReduced) return make_scene(has_fixed ? name + ":fixed=weld" : name);
  return in_maximal_coordinates(make_scene(name));
}

void drive_scene(const Scene& scene, Simulator& simulator) {
  constexpr double kPeriod = 1.0;  // s
  const double t = simulator.state().time;
  const double share = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * t / kPeriod);
  if (scene.control.size() > 0) simulator.input().control = share * scene.control;
  std::vector<Vector6>& wrenches = simulator.input().applied_wrench;
  for (const Push& push : scene.pushes) wrenches[at(push.body)].setZero();
  for (const Push& push : scene.pushes) {
    if (t < push.start || t >= push.end) continue;
    wrenches[at(push.body)].head<3>() += push.force;
    wrenches[at(push.body)].tail<3>() += push.torque;
  }
}

namespace {

// The last step's problem with all islands together, and the impulses that it began with.
bool take_problem(const Simulator& sim, const ContactCache& cache, ContactProblem& problem, VectorX& warm) {
  const Constraints& c = sim.constraints();
  if (c.count() == 0) return false;
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  islands.find(sim.model(), c, false);
  if (islands.count() == 0) return false;
  islands.build_problem(0, sim.model(), c, sim.time_step(), scratch);
  problem = islands[0].problem;
  problem.primal = islands.build_primal(0, sim.model(), sim.data(), c, scratch);
  VectorX all = VectorX::Zero(c.rows()), velocity = all;
  ContactCache copy = cache;
  copy.recall(c, sim.detector().contacts(), all, velocity);
  warm.setZero(problem.nrow());
  for (int b = 0; b < problem.nblock(); ++b) {
    const int from = c.blocks.row[at(islands[0].blocks[at(b)])], to = problem.blocks.row[at(b)];
    for (int r = 0; r < problem.blocks.size(b); ++r) warm[to + r] = all[from + r];
  }
  return true;
}

bool same_rows(const ContactProblem& a, const ContactProblem& b) {
  return a.blocks.row == b.blocks.row && a.blocks.type == b.blocks.type;
}

}  // namespace

SampledRun take_samples(const Scene& scene, double seconds, int count) {
  Simulator sim(scene.model, scene.options);
  sim.reset(scene.start);
  SampledRun recording;
  ContactCache cache;
  const int steps = static_cast<int>(std::lround(seconds / sim.time_step()));
  std::vector<double> times;
  bool waits = false;  // the sample before wants its successor
  for (int i = 0; i < steps; ++i) {
    drive_scene(scene, sim);
    const State before = sim.state();
    const double begin = thread_seconds();
    const StepReport& report = sim.step();
    times.push_back(thread_seconds() - begin);
    ++recording.steps;
    if (report.status != StepStatus::kOk) ++recording.unsolved;
    recording.contacts = std::max(recording.contacts, report.contacts);
    recording.loop_error = std::max(recording.loop_error, report.loop_error);
    recording.worst_natv = std::max(recording.worst_natv, report.residuals.natv_relative);
    if (report.status == StepStatus::kDiverged) break;
    const bool wanted = static_cast<long long>(i) * count / steps != static_cast<long long>(i + 1) * count / steps;
    if (waits) {
      ContactProblem next;
      VectorX warm;
      LoopSample& last = recording.samples.back();
      if (take_problem(sim, cache, next, warm) && same_rows(last.problem, next)) last.next = std::move(next);
      waits = false;
    }
    if (wanted) {
      LoopSample sample;
      sample.step = i;
      sample.state = before;
      if (take_problem(sim, cache, sample.problem, sample.warm)) {
        sample.figures = describe_sample(sim);
        recording.samples.push_back(std::move(sample));
        waits = true;
      }
    }
    // Solvers of the contest get impulses alone.
    cache.store(sim.constraints(), sim.detector().contacts(), sim.impulses(), sim.impulses());
  }
  if (times.empty()) return recording;
  for (const double time : times) recording.seconds += time / static_cast<double>(times.size());
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  recording.median = times[times.size() / 2];
  return recording;
}

SuiteRun run_suite_system(Scene scene, double seconds, double step, LoopUpkeep upkeep) {
  scene.options.time_step = step;
  StabilisationOptions& stabilisation = scene.options.stabilisation;
  stabilisation.loops = upkeep == LoopUpkeep::kClosed ? LoopClosing::kClosed : LoopClosing::kPass;
  if (upkeep == LoopUpkeep::kNone) stabilisation.loop_erp = 0.0;
  Simulator sim(scene.model, scene.options);
  sim.reset(scene.start);
  const ReferenceWeights weights(*scene.model);
  LoopClosure loops(*scene.model);  // measures them where the simulator does not
  const int steps = static_cast<int>(std::lround(seconds / sim.time_step()));
  SuiteRun run;
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    drive_scene(scene, sim);
    const double begin = thread_seconds();
    const StepReport& report = sim.step();
    times.push_back(thread_seconds() - begin);
    ++run.steps;
    run.unsolved += report.status != StepStatus::kOk ? 1 : 0;
    run.contacts = std::max(run.contacts, report.contacts);
    run.natv = std::max(run.natv, report.residuals.natv_relative);
    if (report.status == StepStatus::kDiverged) {
      run.error = run.settled = std::numeric_limits<double>::infinity();
      break;
    }
    double error = report.loop_error;
    if (upkeep != LoopUpkeep::kClosed) {
      loops.measure(std::as_const(sim).parameters(), weights, std::as_const(sim).state());
      error = loops.error();
    }
    run.error = std::max(run.error, error);
    if (10 * i >= 9 * steps) run.settled = std::max(run.settled, error);
  }
  if (times.empty()) return run;
  for (const double time : times) run.seconds += time / static_cast<double>(times.size());
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  run.median = *middle;
  return run;
}

PenetrationProbe::PenetrationProbe(const Scene& scene) : simulator_(scene.model, scene.options) {}

double PenetrationProbe::operator()(const LoopSample& sample, const VectorX& v) {
  State state = sample.state;
  if (!v.allFinite()) return std::numeric_limits<double>::infinity();
  integrate(simulator_.model(), sample.state.q, v, simulator_.time_step(), state.q);
  state.v = v;
  simulator_.reset(state);
  StepContext& s = simulator_.context();
  stage::begin(s, 0.0);
  if (!stage::free_motion(s)) return std::numeric_limits<double>::infinity();
  stage::detect(s);
  stage::assemble(s);
  double worst = 0.0;
  for (int b = 0; b < s.constraints.count(); ++b) worst = std::max(worst, violation_of(s.constraints, b));
  return worst;
}

}  // namespace touchstone

// The suite `loops`: contact problems along the motion of closed chains, solved by all solvers of Tsounis et al. 2025,
// Tab. I, and by ours; errors of loops over longer runs.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "bench_loops_page.hpp"
#include "bench_suite.hpp"
#include "scene_picture.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/fclib.hpp"
#include "touchstone/scenes/loop_contest.hpp"
#include "touchstone/scenes/loop_suite.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace touchstone::cli {
namespace {

// How much is measured of a system.
struct Extent {
  double seconds = 0.0;  // of the run that samples are taken from
  int samples = 0;
  double work = 0.0;  // of a solve: multiplications and additions
  double run = 0.0;   // s: of the runs for errors of loops
};
constexpr Extent kShort{.seconds = 1.0, .samples = 4, .work = 5e6, .run = 0.5};
constexpr Extent kFull{.seconds = 10.0, .samples = 60, .work = 2e8, .run = 10.0};

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(1e300); }

Json table_row(const SuiteSystem& system) {
  return {{"name", system.name},
          {"fixed_base", system.fixed_base},
          {"bodies", system.bodies},
          {"joints", system.joints},
          {"total", system.total_dofs},
          {"passive", system.passive_dofs},
          {"actuated", system.actuated_dofs},
          {"constraints", system.constraints},
          {"mass_ratio", system.mass_ratio}};
}

Json describe_system(const std::string& name) {
  const Scene scene = make_scene(name);
  const SystemCounts counts = count_system(*scene.model);
  Json entry{{"scene", name},
             {"description", find_scene(name)->description},
             {"bodies", counts.bodies},
             {"joints", counts.joints},
             {"constraints", counts.constraints},
             {"coordinates", counts.coordinates},
             {"actuators", counts.actuators},
             {"fixed_base", counts.fixed_base},
             {"mass_ratio", counts.mass_ratio},
             {"picture", scene_picture(scene)}};
  if (has_loops(*scene.model)) {
    const Mobility mobility = Mechanism(scene.model).mobility(scene.start);
    entry["mobility"] = mobility.mobility();
    entry["redundancy"] = mobility.redundancy();
  }
  for (const SuiteSystem& system : suite_systems()) {
    if (system.scene == name) entry["table"] = table_row(system);
  }
  return entry;
}

Json sample_json(const LoopSample& sample) {
  const SampleFigures& f = sample.figures;
  Json categories = Json::array();
  for (const SampleCategory category : f.categories) categories.push_back(to_string(category));
  return {{"step", sample.step},
          {"dofs", f.dofs},
          {"joints", f.joints},
          {"joint_rows", f.joint_rows},
          {"joint_rank", f.joint_rank},
          {"limits", f.limits},
          {"contacts", f.contacts},
          {"other_rows", f.other_rows},
          {"rows", f.rows},
          {"rank", f.rank},
          {"joint_density", f.joint_density},
          {"contact_density", f.contact_density},
          {"density", f.density},
          {"condition", finite(f.condition)},
          {"categories", categories}};
}

Json outcome_json(const ContestOutcome& o) {
  Json cold = Json::array();
  for (const ToTolerance& t : o.cold) cold.push_back({t.solved ? 1 : 0, t.iterations, t.seconds});
  return {{"cold", cold},
          {"warm", {o.warm.solved ? 1 : 0, o.warm.iterations, o.warm.seconds}},
          {"natv", finite(o.residuals.natv_relative)},
          {"pen", finite(o.penetration)},
          {"dual", finite(o.residuals.dual_cone)},
          {"ncp", finite(o.residuals.complementarity)},
          {"nat", finite(o.residuals.natural_map)},
          {"norm", finite(o.norm)},
          {"jump", finite(o.jump)}};
}

// Writes the samples as FCLIB files. Returns how many, and why others were not.
Json export_samples(const std::vector<LoopSample>& samples, const std::string& name,
                    const std::filesystem::path& folder) {
  Json out{{"written", 0}, {"refused", Json::object()}};
  for (const LoopSample& sample : samples) {
    RecordedProblem recorded;
    recorded.problem = sample.problem;
    recorded.title = name;
    recorded.description = fmt::format("step {} of the scene {}, all islands together", sample.step, name);
    recorded.math_info =
        fmt::format("{} dofs, {} rows of joints, limits and contacts of rank {}, condition {:.3g}", sample.figures.dofs,
                    sample.figures.rows, sample.figures.rank, sample.figures.condition);
    try {
      write_fclib(folder / fmt::format("{}-{:06}.hdf5", name, sample.step), recorded, FclibForm::kLocal);
      out["written"] = out["written"].get<int>() + 1;
    } catch (const InputError&) {
      throw;  // the folder cannot be written
    } catch (const Error& error) {
      Json& count = out["refused"][error.message()];
      count = count.is_null() ? 1 : count.get<int>() + 1;
    }
  }
  return out;
}

// A curve for each category: of its last sample.
std::vector<const LoopSample*> shown_samples(const SampledRun& run) {
  std::vector<const LoopSample*> shown;
  std::set<SampleCategory> seen;
  for (auto sample = run.samples.rbegin(); sample != run.samples.rend(); ++sample) {
    const auto& categories = sample->figures.categories;
    if (!categories.empty() && seen.insert(categories.back()).second) shown.push_back(&*sample);
  }
  return shown;
}

void contest(const Scene& scene, const SampledRun& run, const SolveBudget& budget, Json& out) {
  const std::vector<const LoopSample*> shown = shown_samples(run);
  PenetrationProbe probe(scene);
  for (const Contestant& contestant : contestants()) {
    Entrant entrant(contestant, budget);
    Json list = Json::array();
    for (const LoopSample& sample : run.samples) list.push_back(outcome_json(entrant.run(sample, probe)));
    out["outcomes"][std::string(contestant.label)] = std::move(list);
    for (const LoopSample* sample : shown) {
      Json points = Json::array();
      for (const auto& [iteration, natv] : entrant.convergence(*sample)) points.push_back({iteration, finite(natv)});
      out["convergence"].push_back({{"solver", contestant.label},
                                    {"step", sample->step},
                                    {"category", to_string(sample->figures.categories.back())},
                                    {"points", std::move(points)}});
    }
  }
}

Json measure_samples(const std::string& name, SuiteCoordinates coordinates, const Extent& extent,
                     const std::filesystem::path& export_to) {
  const Scene scene = load_suite_system(name, coordinates);
  const SampledRun run = take_samples(scene, extent.seconds, extent.samples);
  Json out{{"steps", run.steps},
           {"unsolved", run.unsolved},
           {"contacts", run.contacts},
           {"loop_error", finite(run.loop_error)},
           {"worst_natv", finite(run.worst_natv)},
           {"seconds", run.seconds},
           {"median", run.median},
           {"samples", Json::array()},
           {"outcomes", Json::object()},
           {"convergence", Json::array()}};
  if (!export_to.empty()) {
    const bool reduced = coordinates == SuiteCoordinates::kReduced;
    const std::string title = name.substr(name.find('/') + 1) + (reduced ? "-reduced" : "-maximal");
    out["export"] = export_samples(run.samples, title, export_to);
  }
  for (const LoopSample& sample : run.samples) out["samples"].push_back(sample_json(sample));
  contest(scene, run, SolveBudget{.work = extent.work}, out);
  return out;
}

Json run_json(const SuiteRun& run) {
  return {{"steps", run.steps},
          {"unsolved", run.unsolved},
          {"contacts", run.contacts},
          {"error", finite(run.error)},
          {"settled", finite(run.settled)},
          {"natv", finite(run.natv)},
          {"seconds", run.seconds},
          {"median", run.median}};
}

Json measure_runs(const std::string& name, SuiteCoordinates coordinates, const Extent& extent) {
  const auto run = [&](double step, LoopUpkeep upkeep) {
    return run_json(run_suite_system(load_suite_system(name, coordinates), extent.run, step, upkeep));
  };
  return {{"fine", run(1e-3, LoopUpkeep::kClosed)},
          {"coarse", run(4e-3, LoopUpkeep::kClosed)},
          {"pass", run(1e-3, LoopUpkeep::kPass)},
          {"none", run(1e-3, LoopUpkeep::kNone)}};
}

std::vector<std::string> chosen_systems(const std::vector<std::string>& wanted) {
  const std::vector<std::string> all = suite_scenes();
  for (const std::string& name : wanted) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    throw InputError({.where = {},
                      .message = fmt::format("the suite 'loops' has no system '{}' (--system)", name),
                      .remedy = fmt::format("one of: {}", fmt::join(all, ", "))});
  }
  return wanted.empty() ? all : wanted;
}

Json measure_loops(const BenchRequest& request, const InterruptWatch& interrupt) {
  const Extent& extent = request.full ? kFull : kShort;
  const std::vector<std::string> names = chosen_systems(request.systems);
  if (!request.export_to.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(request.export_to, failed);
    if (failed)
      throw InputError({.where = {.file = request.export_to.string()},
                        .message = fmt::format("the folder cannot be made: {}", failed.message()),
                        .remedy = "choose another folder (--export)"});
  }
  Json figures{{"suite", "loops"},
               {"full", request.full},
               {"complete", true},
               {"extent",
                {{"seconds", extent.seconds}, {"samples", extent.samples}, {"work", extent.work}, {"run", extent.run}}},
               {"systems", Json::array()}};
  constexpr int kParts = 4;  // of a system
  const int parts = kParts * static_cast<int>(names.size());
  int done = 0;
  for (const std::string& name : names) {
    Json system = describe_system(name);
    system["measured"] = system["runs"] = Json::object();
    const auto part = [&](std::string_view what, const char* group, const char* key, auto&& measure) {
      if (interrupt.requested()) return;
      request.progress(done++, parts, fmt::format("{}, {}", name, what));
      system[group][key] = measure();
    };
    for (const auto& [label, coordinates] :
         {std::pair{"reduced", SuiteCoordinates::kReduced}, std::pair{"maximal", SuiteCoordinates::kMaximal}}) {
      part(fmt::format("{} coordinates", label), "measured", label,
           [&, kind = coordinates] { return measure_samples(name, kind, extent, request.export_to); });
      part(fmt::format("errors of loops, {}", label), "runs", label,
           [&, kind = coordinates] { return measure_runs(name, kind, extent); });
    }
    if (system["runs"].contains("maximal")) figures["systems"].push_back(std::move(system));
    if (!interrupt.requested()) continue;
    figures["complete"] = false;
    break;
  }
  request.progress(done, parts, "");
  return figures;
}

}  // namespace

const BenchSuite kLoopsBench{
    .name = "loops",
    .description = "closed chains: 25 systems in reduced and maximal coordinates, 17 solvers, errors of loops",
    .measure = measure_loops,
    .summary = loops_summary,
    .page = loops_page};

}  // namespace touchstone::cli

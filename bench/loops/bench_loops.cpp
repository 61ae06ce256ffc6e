// The program of the benchmark `loops`; run.py calls it and draws what it prints, JSON on the standard output.
//
//   bench_loops_touchstone list                                       the systems, with the counts of the table
//   bench_loops_touchstone measure SCENE COORDINATES SECONDS SAMPLES WORK [EXPORT]
//                                                                     samples, all solvers on them, convergence
//   bench_loops_touchstone run SCENE COORDINATES SECONDS STEP CLOSED  a run with `auto`: errors of loops, time of a
//   step bench_loops_touchstone mjcf SCENE HULLS                           the system in reduced coordinates for MuJoCo
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "contestants.hpp"
#include "mjcf.hpp"
#include "picture.hpp"
#include "samples.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/io/fclib.hpp"
#include "touchstone/scenes/loop_suite.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace {

using namespace bench;
using nlohmann::json;

Coordinates coordinates_of(const std::string& name) {
  if (name == "reduced") return Coordinates::kReduced;
  if (name == "maximal") return Coordinates::kMaximal;
  throw std::runtime_error("coordinates are 'reduced' or 'maximal', not '" + name + "'");
}

json list_systems() {
  json out = json::array();
  for (const std::string& name : suite_scenes()) {
    const Scene scene = make_scene(name);
    const SystemCounts counts = count_system(*scene.model);
    json entry{{"scene", name},
               {"description", find_scene(name)->description},
               {"bodies", counts.bodies},
               {"joints", counts.joints},
               {"constraints", counts.constraints},
               {"coordinates", counts.coordinates},
               {"actuators", counts.actuators},
               {"fixed_base", counts.fixed_base},
               {"mass_ratio", counts.mass_ratio},
               {"picture", picture(scene)}};
    if (has_loops(*scene.model)) {
      const Mobility mobility = Mechanism(scene.model).mobility(scene.start);
      entry["mobility"] = mobility.mobility();
      entry["redundancy"] = mobility.redundancy();
    }
    for (const SuiteSystem& system : suite_systems()) {
      if (system.scene != name) continue;
      entry["table"] = {{"name", system.name},
                        {"fixed_base", system.fixed_base},
                        {"bodies", system.bodies},
                        {"joints", system.joints},
                        {"total", system.total_dofs},
                        {"passive", system.passive_dofs},
                        {"actuated", system.actuated_dofs},
                        {"constraints", system.constraints},
                        {"mass_ratio", system.mass_ratio}};
    }
    out.push_back(std::move(entry));
  }
  return out;
}

json figures_of(const Sample& sample) {
  const SampleFigures& f = sample.figures;
  json categories = json::array();
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
          {"condition", f.condition},
          {"categories", categories}};
}

json finite(double value) { return std::isfinite(value) ? json(value) : json(1e300); }

json outcome_of(const Outcome& o) {
  json cold = json::array();
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
json export_samples(const std::vector<Sample>& samples, const std::string& name, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  json out{{"written", 0}, {"refused", json::object()}};
  for (const Sample& sample : samples) {
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
    } catch (const Error& error) {
      json& count = out["refused"][error.message()];
      count = count.is_null() ? 1 : count.get<int>() + 1;
    }
  }
  return out;
}

json measure(const std::vector<std::string>& words) {
  const Scene scene = load_system(words.at(0), coordinates_of(words.at(1)));
  Recording recording = record(scene, std::stod(words.at(2)), std::stoi(words.at(3)));
  const Budget budget{.work = std::stod(words.at(4))};
  json out{{"scene", words.at(0)},
           {"coordinates", words.at(1)},
           {"steps", recording.steps},
           {"unsolved", recording.unsolved},
           {"contacts", recording.contacts},
           {"loop_error", recording.loop_error},
           {"worst_natv", finite(recording.worst_natv)},
           {"seconds", recording.seconds},
           {"median", recording.median},
           {"samples", json::array()},
           {"outcomes", json::object()},
           {"convergence", json::array()}};
  if (words.size() > 5) {
    std::string name = words.at(0).substr(words.at(0).find('/') + 1) + "-" + words.at(1);
    out["export"] = export_samples(recording.samples, name, words.at(5));
  }
  for (const Sample& sample : recording.samples) out["samples"].push_back(figures_of(sample));
  // A curve for each category: of its last sample.
  std::vector<const Sample*> shown;
  std::set<SampleCategory> seen;
  for (auto sample = recording.samples.rbegin(); sample != recording.samples.rend(); ++sample) {
    const auto& categories = sample->figures.categories;
    if (categories.empty() || !seen.insert(categories.back()).second) continue;
    shown.push_back(&*sample);
  }
  PenetrationProbe probe(scene);
  for (const Contestant& contestant : contestants()) {
    Entrant entrant(contestant, budget);
    json list = json::array();
    for (const Sample& sample : recording.samples) list.push_back(outcome_of(entrant.run(sample, probe)));
    out["outcomes"][std::string(contestant.label)] = std::move(list);
    for (const Sample* sample : shown) {
      json points = json::array();
      for (const auto& [iteration, natv] : entrant.convergence(*sample)) points.push_back({iteration, finite(natv)});
      out["convergence"].push_back({{"solver", contestant.label},
                                    {"step", sample->step},
                                    {"category", to_string(sample->figures.categories.back())},
                                    {"points", std::move(points)}});
    }
  }
  return out;
}

json run(const std::vector<std::string>& words) {
  Scene scene = load_system(words.at(0), coordinates_of(words.at(1)));
  scene.options.time_step = std::stod(words.at(3));
  const bool closed = words.at(4) == "closed";
  scene.options.stabilisation.loops = closed ? LoopClosing::kClosed : LoopClosing::kPass;
  Simulator sim(scene.model, scene.options);
  sim.reset(scene.start);
  const int steps = static_cast<int>(std::lround(std::stod(words.at(2)) / sim.time_step()));
  int unsolved = 0, contacts = 0, made = 0;
  double error = 0.0, natv = 0.0;
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    drive(scene, sim);
    const double begin = thread_seconds();
    const StepReport& report = sim.step();
    times.push_back(thread_seconds() - begin);
    ++made;
    unsolved += report.status != StepStatus::kOk ? 1 : 0;
    contacts = std::max(contacts, report.contacts);
    natv = std::max(natv, report.residuals.natv_relative);
    error = std::max(error, closed ? report.loop_error : report.violation);
    if (report.status == StepStatus::kDiverged) break;
  }
  double mean = 0.0;
  for (const double time : times) mean += time / static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  return {{"steps", made},
          {"unsolved", unsolved},
          {"contacts", contacts},
          {"error", finite(error)},
          {"natv", finite(natv)},
          {"seconds", mean},
          {"median", times[times.size() / 2]}};
}

json answer(const std::string& command, const std::vector<std::string>& words) {
  if (command == "list") return list_systems();
  if (command == "measure") return measure(words);
  if (command == "run") return run(words);
  if (command == "mjcf") {
    const Scene scene = load_system(words.at(0), Coordinates::kReduced);
    std::vector<double> control;
    for (int u = 0; u < scene.model->nu; ++u) {
      if (!writes(scene.model->actuators[at(u)])) continue;
      control.push_back(scene.control.size() > 0 ? scene.control[u] : 0.0);
    }
    const std::vector<double> q(scene.start.q.begin(), scene.start.q.end());
    const std::vector<double> v(scene.start.v.begin(), scene.start.v.end());
    return {{"xml", to_mjcf(scene, words.at(1) == "hulls")}, {"control", control}, {"q", q}, {"v", v}};
  }
  throw std::runtime_error("unknown command '" + command + "'");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("a command is missing");
    std::cout << answer(argv[1], {argv + 2, argv + argc}).dump() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

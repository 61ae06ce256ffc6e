// All figures of the benchmark `contact` as JSON on the standard output (run.py plots them).
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "support/contact_experiments.hpp"

namespace {

using namespace touchstone;
using namespace touchstone::test;
using nlohmann::json;

const char* const kModels[] = {"lcp-pgs", "ccp-admm", "raisim", "ncp-pgs", "auto"};
const char* const kSolvers[] = {"lcp-pgs",       "ccp-pgs",  "ccp-admm", "ccp-newton", "raisim",  "nbgs", "ncp-pgs",
                                "ncp-staggered", "ncp-admm", "ncp-prox", "ncp-newton", "ncp-ipm", "auto"};
constexpr double kDegree = M_PI / 180.0;
constexpr double kReferenceStep = 1e-4;  // s, of the runs that others are compared with

json column(const CubeRun& run, double CubeSample::*member, std::size_t every) {
  json values = json::array();
  for (std::size_t i = 0; i < run.size(); i += every) values.push_back(run[i].*member);
  return values;
}

json slides() {
  json out;
  for (const char* solver : kModels) {
    for (const int angle : {0, 10, 20, 25, 30, 45}) {
      const CubeRun run = slide_cube(solver, angle * kDegree, 2.0, 1e-3, 0.5);
      out["fig9"][solver].push_back({{"angle", angle},
                                     {"along", column(run, &CubeSample::along, 5)},
                                     {"across", column(run, &CubeSample::across, 5)}});
    }
    const CubeRun run = slide_cube(solver, 25 * kDegree, 2.0, 1e-3, 0.5);
    out["fig10"][solver] = {{"time", column(run, &CubeSample::time, 5)},
                            {"height", column(run, &CubeSample::height, 5)},
                            {"energy", column(run, &CubeSample::energy, 5)}};
  }
  for (double t = 0.0; t <= 0.5; t += 0.005) out["analytic"].push_back({t, sliding_energy(2.0, t)});
  return out;
}

json drags() {
  json out;
  for (const char* solver :
       {"lcp-pgs", "ccp-pgs", "ccp-admm", "raisim", "ncp-pgs", "ncp-staggered", "ncp-admm", "auto"}) {
    const CubeRun run = drag_cube(solver, 1e-3, 0.4);
    json lateral = json::array(), time = json::array();
    for (std::size_t i = 2; i < run.size(); i += 2) {
      time.push_back(run[i].time);
      for (std::size_t k = 0; k < run[i].lateral.size() && k < 4; ++k) {
        if (lateral.size() <= k) lateral.push_back(json::array());
        lateral[k].push_back(run[i].lateral[k]);
      }
    }
    out["fig12"][solver] = {{"time", time}, {"lateral", lateral}, {"speed", column(run, &CubeSample::speed, 2)}};
  }
  for (const char* solver : kModels) {
    const CubeRun reference = drag_cube(solver, kReferenceStep, 1.0);
    for (const double h : {5e-4, 1e-3, 2e-3, 4e-3, 8e-3}) {
      const CubeRun run = drag_cube(solver, h, 1.0);
      double height = 0.0, speed = 0.0, consistency = 0.0;
      for (const CubeSample& s : run) {
        height = std::max(height, std::abs(s.height));
        speed = std::max(speed, std::abs(s.speed - drag_speed(s.time)));
        const auto i = static_cast<std::size_t>(std::lround(s.time / kReferenceStep));
        if (i < reference.size()) {
          consistency = std::max(consistency, std::hypot(s.along - reference[i].along, s.height - reference[i].height));
        }
      }
      out["fig11"][solver].push_back({{"h", h}, {"height", height}, {"speed", speed}, {"consistency", consistency}});
    }
  }
  return out;
}

json stacks() {
  json out;
  for (const char* solver : kSolvers) {
    for (const double ratio : {1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}) {
      const StackFigures f = stack_cubes(solver, std::sqrt(ratio), 1.0 / std::sqrt(ratio), 50);
      out[solver].push_back({{"ratio", ratio}, {"natv", f.natv}, {"solved", f.solved}, {"sinking", f.sinking}});
    }
  }
  return out;
}

json compliance() {
  json out = json::array();
  for (const double stiffness : {3e2, 1e3, 3e3, 1e4, 3e4, 1e5}) {
    out.push_back({{"stiffness", stiffness}, {"depth", resting_depth(stiffness)}});
  }
  return out;
}

json robots() {
  json out = json::object();
  for (const char* robot : {"solo", "talos", "allegro"}) {
    std::vector<VectorX> warm_starts;
    const auto problems = robot_problems(robot, 0.8, 10, warm_starts);
    if (!problems || problems->empty()) continue;
    json& entry = out[robot];
    entry["problems"] = problems->size();
    double rows = 0.0;
    for (const ContactProblem& p : *problems) rows += p.nrow();
    entry["rows"] = rows / static_cast<double>(problems->size());
    for (const char* solver : kSolvers) {
      for (const bool warm : {false, true}) {
        const SolverFigures f = solve_all(solver, *problems, warm_starts, warm);
        entry["solvers"][solver][warm ? "warm" : "cold"] = {{"iterations", f.iterations},
                                                            {"seconds", f.seconds},
                                                            {"solved", f.solved},
                                                            {"certified", f.certified},
                                                            {"count", f.count}};
      }
      entry["convergence"][solver] = convergence(solver, (*problems)[problems->size() / 2]);
    }
  }
  return out;
}

}  // namespace

int main() {
  try {
    json out = slides();
    out.update(drags());
    out["fig13"] = stacks();
    out["fig14"] = compliance();
    out["robots"] = robots();
    std::cout << out.dump() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

// Figures of the benchmark `convex` as JSON on the standard output (run.py plots them). Arguments: what is wanted.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "support/convex_experiments.hpp"
#include "support/convex_limit.hpp"
#include "support/solo_compliance.hpp"

namespace {

using namespace touchstone;
using namespace touchstone::test;
using nlohmann::json;

const char* const kModels[] = {"sap", "lagged", "similar"};

json column(const PlanarRun& run, double PlanarSample::*member) {
  json values = json::array();
  for (const PlanarSample& s : run) values.push_back(s.*member);
  return values;
}

json columns(const PlanarRun& run) {
  return {{"time", column(run, &PlanarSample::time)},
          {"x", column(run, &PlanarSample::x)},
          {"gap", column(run, &PlanarSample::gap)},
          {"slip", column(run, &PlanarSample::slip)},
          {"opening", column(run, &PlanarSample::opening)},
          {"normal", column(run, &PlanarSample::normal_force)},
          {"tangent", column(run, &PlanarSample::tangent_force)}};
}

// Errors against a run of the continuous model with tiny steps, whose samples lie `spacing` apart.
json convergence(PlanarOptions reference, double tiny, double spacing, const std::vector<double>& steps, bool damped) {
  PlanarOptions o = reference;
  o.h = tiny;
  const PlanarRun exact = planar_reference(o, static_cast<int>(std::lround(spacing / tiny)));
  json out;
  for (const char* model : kModels) {
    for (const double h : steps) {
      PlanarOptions own = paper_options(reference.kind, model, h);
      own.seconds = reference.seconds;
      if (!damped) own.dissipation = own.relaxation = 0.0;
      out[model].push_back({{"h", h}, {"error", position_error(run_planar(own), exact)}});
    }
  }
  return out;
}

// Fig. 3, 4.
json conveyor() {
  json out;
  for (const char* model : kModels)
    out["runs"][model] = columns(run_planar(paper_options(PlanarCase::kConveyor, model, 1e-2)));
  out["errors"] =
      convergence(paper_options(PlanarCase::kConveyor, "lagged", 0), 1e-6, 2e-3, {5e-2, 2e-2, 1e-2, 4e-3, 2e-3}, true);
  return out;
}

// Fig. 6, 7.
json sphere() {
  json out;
  for (const char* model : kModels)
    out["runs"][model] = columns(run_planar(paper_options(PlanarCase::kSphere, model, 2e-3)));
  out["errors"] = convergence(paper_options(PlanarCase::kSphere, "lagged", 0), 1e-7, 1e-4,
                              {1e-2, 5e-3, 2e-3, 1e-3, 4e-4, 2e-4, 1e-4}, true);
  return out;
}

// Fig. 9 to 13.
json rod() {
  json out;
  for (const bool damped : {false, true}) {
    json& part = out[damped ? "damped" : "undamped"];
    const auto options = [&](const char* model, double h) {
      PlanarOptions o = paper_options(PlanarCase::kRod, model, h);
      if (!damped) o.dissipation = o.relaxation = 0.0;
      return o;
    };
    PlanarOptions exact = options("lagged", 1e-7);
    exact.seconds = 0.03;
    part["runs"]["reference"] = columns(planar_reference(exact, 50));
    for (const char* model : kModels) {
      PlanarOptions fine = options(model, 1e-7);
      fine.seconds = 0.03;
      part["runs"][model] = columns(run_planar(fine, 50));
    }
    part["errors"] = convergence(exact, 1e-7, 1e-5, {6.4e-4, 3.2e-4, 1.6e-4, 8e-5, 4e-5, 2e-5, 1e-5}, damped);
  }
  for (const char* model : kModels) {
    for (const double h : {4e-3, 2e-3, 1.5e-3, 1e-3, 5e-4, 2e-4, 1e-4}) {
      double slip = 1e9;  // the least of a point that touches
      for (const PlanarSample& p : run_planar(paper_options(PlanarCase::kRod, model, h)))
        if (p.normal_force > 0.0) slip = std::min(slip, std::abs(p.slip));
      out["impact"][model].push_back({{"h", h}, {"slip", slip}});
    }
  }
  return out;
}

json figures(const ClutterRun& run) {
  return {{"time", run.time},
          {"iterations", run.iterations},
          {"sample", run.condition_time},
          {"condition", run.condition},
          {"stiction", run.stiction},
          {"mean_iterations", run.mean_iterations()},
          {"mean_condition", run.mean_condition()},
          {"penetration", run.mean_penetration},
          {"law", run.worst_law},
          {"unsolved", run.unsolved}};
}

struct Variant {
  const char* name;
  const char* solver;
  bool regularised;
};
constexpr Variant kVariants[] = {{"sap", "sap", true},
                                 {"lagged", "lagged", false},
                                 {"lagged, regularised", "lagged", true},
                                 {"similar", "similar", false}};

// Fig. 15 to 17.
json clutter() {
  json out;
  for (const Variant& variant : kVariants) {
    for (const double h : {1e-2, 5e-3, 2e-3, 1e-3}) {
      ClutterOptions o;
      o.solver = variant.solver;
      o.regularised = variant.regularised;
      o.h = h;
      o.condition_every = static_cast<int>(std::lround(0.04 / h));
      json entry = figures(run_clutter(o));
      if (h != 2e-3) {
        for (const char* key : {"time", "iterations", "sample", "condition", "stiction"}) entry.erase(key);
      }
      entry["h"] = h;
      out[variant.name].push_back(entry);
    }
  }
  return out;
}

// Fig. 18, 19.
json stiffness() {
  json out;
  for (const Variant& variant : kVariants) {
    for (const double k : {1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12}) {
      ClutterOptions o;
      o.solver = variant.solver;
      o.regularised = variant.regularised;
      o.h = 5e-3;
      o.stiffness = k;
      o.condition_every = 40;
      const ClutterRun run = run_clutter(o);
      out[variant.name].push_back({{"k", k},
                                   {"penetration", run.mean_penetration},
                                   {"iterations", run.mean_iterations()},
                                   {"condition", run.mean_condition()},
                                   {"law", run.worst_law},
                                   {"unsolved", run.unsolved}});
    }
  }
  return out;
}

// Fig. 21, 22.
json grasp() {
  json out;
  const auto add = [&](const char* solver, double h, double d, double f) {
    GraspOptions o;
    o.solver = solver;
    o.h = h;
    o.dissipation = d;
    o.frequency = f;
    out.push_back({{"solver", solver},
                   {"h", h},
                   {"d", d},
                   {"frequency", f},
                   {"limit", o.seconds},
                   {"failure", time_to_failure(o)}});
  };
  for (const double f : {1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.4, 3.0}) {
    for (const double d : {0.0, 50.0}) {
      add("lagged", 2e-4, d, f);
      add("similar", 2e-4, d, f);
      add("lagged", 1e-2, d, f);
      add("similar", 1e-2, d, f);
    }
  }
  for (const double f : {1.8, 2.4}) {
    for (const double h : {1e-4, 5e-5}) {
      add("lagged", h, 0.0, f);
      add("similar", h, 0.0, f);
      add("lagged", h, 50.0, f);
    }
  }
  return out;
}

// Ours: the limit of hard contact.
json limit() {
  json out;
  const std::vector<double> steps{8e-3, 4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4};
  for (const LimitCase kind : kLimitCases) {
    LimitOptions o;
    o.kind = kind;
    const LimitErrors e = limit_errors(o, steps);
    out[to_string(kind)] = {{"h", steps}, {"same_step", e.same_step}, {"exact", e.exact}, {"way", e.way}};
  }
  return out;
}

// Le Lidec et al. 2023, Fig. 14.
json solo() {
  json out = json::array();
  const auto figures = solo_compliance({0.0, 1e-3, 1e-2, 1e-1, 1.0});
  if (!figures) return out;
  for (const ComplianceFigures& f : *figures)
    out.push_back({{"share", f.share},
                   {"creep", f.creep},
                   {"jam", f.jam},
                   {"moved", f.moved},
                   {"natv", f.natv},
                   {"problems", f.problems}});
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<json()>> parts{
      {"conveyor", conveyor},   {"sphere", sphere}, {"rod", rod},     {"clutter", clutter},
      {"stiffness", stiffness}, {"grasp", grasp},   {"limit", limit}, {"solo", solo}};
  try {
    json out;
    for (int i = 1; i < argc; ++i) out[argv[i]] = parts.at(argv[i])();
    std::cout << out.dump() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

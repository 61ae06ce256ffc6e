// The cases of Castro et al. 2025, sections XI and XII, with our simulator: for tests, which check their figures, and
// for the benchmark `convex`, which plots them.
#pragma once

#include <string>
#include <vector>

#include "touchstone/scenes/scene.hpp"

namespace touchstone::test {

// --- XI: one body in the plane ---

enum class PlanarCase { kConveyor, kSphere, kRod };

struct PlanarOptions {
  PlanarCase kind = PlanarCase::kSphere;
  std::string solver = "lagged";
  double h = 1e-3;              // s
  double seconds = 0.2;         // s
  double stiffness = 1e7;       // N/m
  double dissipation = 0;       // s/m: lagged, similar
  double relaxation = 0;        // s: sap
  double tolerance = 1e-9;      // of the solver, relative
  double margin = 0.1;          // m: how far apart pairs take part
  bool moving_surface = false;  // the belt rests and its surface moves, in place of a slab that does
};
// With the paper's dissipations.
PlanarOptions paper_options(PlanarCase kind, const std::string& solver, double h);

struct PlanarSample {
  double time = 0.0;
  double x = 0.0, z = 0.0, angle = 0.0;            // m, rad: centre; the angle of the rod alone
  double gap = 0.0;                                // m: of the lowest point
  double slip = 0.0, opening = 0.0;                // m/s: of the point of contact against the ground or belt
  double normal_force = 0.0, tangent_force = 0.0;  // N, of the step that ends here
};
using PlanarRun = std::vector<PlanarSample>;

// A sample every so many steps, the first at the start.
PlanarRun run_planar(const PlanarOptions& options, int every = 1);

// The continuous model (11) by another method, for comparison: explicit in the normal force, implicit in the slip, tiny
// steps. It shares no code with the simulator. The belt is rigid and the box does not tip.
PlanarRun planar_reference(const PlanarOptions& options, int every = 1);

// (e_q)^2 is the mean over time of the squared distance of the centre to the reference, whose samples include the times
// of the run.
double position_error(const PlanarRun& run, const PlanarRun& reference);

// --- XII-A: clutter ---

struct ClutterOptions {
  std::string solver = "lagged";
  bool regularised = true;  // (26); without it friction_sigma is 0, not for sap
  double h = 2e-3, seconds = 3.0, stiffness = 1e7;
  int objects = 40;
  int condition_every = 0;  // steps from one condition number to the next; 0: none
};

struct ClutterRun {
  std::vector<double> time, iterations;           // each step: of the island that needs most
  std::vector<double> stiction;                   // m/s: mean over contacts, at condition_time
  std::vector<double> condition_time, condition;  // of the Hessian A + J' W J at the solution
  double mean_penetration = 0.0;                  // m: of contacts that overlap, in the last 1.25 s
  int unsolved = 0;
  double worst_law = 0.0;  // relative law_natv
  double mean_iterations() const;
  double mean_condition() const;  // geometric
};
ClutterRun run_clutter(const ClutterOptions& options);

// --- XII-B: grasp ---

struct GraspOptions {
  std::string solver = "lagged";
  double h = 2e-4, frequency = 2.0, dissipation = 50.0;
  double seconds = 10.0;  // given up after
};
// When the rod has left the fingers, s; `seconds` if it has not.
double time_to_failure(const GraspOptions& options);

}  // namespace touchstone::test

// The experiments of Le Lidec et al. 2024, section IV (Fig. 9 to 17), with our simulator: for tests, which check their
// figures, and for the benchmark `contact`, which plots them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {

// A cube of 1 kg and 0.2 m on a plane with friction 0.4.
constexpr double kCubeFriction = 0.4, kCubeMass = 1.0, kGravity = 9.81;

struct CubeSample {
  double time = 0.0;
  double along = 0.0, across = 0.0;  // m: in the direction of the motion, and to its left
  double height = 0.0;               // m: of the bottom above the plane
  double speed = 0.0;                // m/s, along
  double energy = 0.0;               // J, kinetic and potential
  std::vector<double> lateral;       // N: force across of each contact
};
using CubeRun = std::vector<CubeSample>;

// Thrown along the plane at `speed`, `angle` (rad) off the tangent axes of the contacts (Fig. 9, 10).
CubeRun slide_cube(const std::string& solver, double angle, double speed, double h, double seconds);
// Its energy if maximum dissipation holds: m (v0 - mu g t)^2 / 2.
double sliding_energy(double speed, double time);

// Dragged by a force along x that grows by 20 N/s (Fig. 11, 12, 15).
CubeRun drag_cube(const std::string& solver, double h, double seconds);
// Its speed: at rest up to the limit of friction, then the integral of what exceeds it.
double drag_speed(double time);

// A cube of `upper` kg on one of `lower` kg (Fig. 13).
struct StackFigures {
  double natv = 0.0;  // relative, median over the steps
  int solved = 0, steps = 0;
  double sinking = 0.0;  // m: how far the lower cube is below its place at the end
};
StackFigures stack_cubes(const std::string& solver, double upper, double lower, int steps);

// How deep the cube rests in a plane of the given contact stiffness (N/m; Fig. 14).
double resting_depth(double stiffness);

// Robots of Fig. 14, 16 and 17: `solo` (pushed with 10 N), `talos` (80 N), `allegro` (a ball dropped in the hand).
// Nothing if the models are absent.
std::optional<std::vector<ContactProblem>> robot_problems(const std::string& robot, double seconds, int every,
                                                          std::vector<VectorX>& warm_starts);

struct SolverFigures {
  double iterations = 0.0, seconds = 0.0;  // means
  int solved = 0, certified = 0;           // by its own word, and by natv of its own model
  int count = 0;
};
// All problems with one solver to 1e-6; `warm` from the impulses of the step before.
SolverFigures solve_all(const std::string& solver, const std::vector<ContactProblem>& problems,
                        const std::vector<VectorX>& warm_starts, bool warm);

// Natv relative to the free velocity after each iteration, of one problem from a cold start.
std::vector<double> convergence(const std::string& solver, const ContactProblem& problem);

}  // namespace touchstone::test

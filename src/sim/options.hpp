// What a user may choose about a simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/collision/detector.hpp"

namespace touchstone {

enum class Integrator : std::uint8_t {
  kSemiImplicitEuler,  // forces and constraints at the start of the step
  kMoreauMidpoint,     // at the configuration half a step ahead (Moreau's time stepping)
};

// How violated constraints are brought back, and when contacts bounce.
struct StabilisationOptions {
  double erp = 0.2;             // share of a violation that one step removes
  double slop = 2e-4;           // m or rad; contacts and limits may be violated so much without being pushed back
  double recovery_speed = 1.0;  // m/s; penetrations are left at most so fast
  double restitution_threshold = 0.1;  // m/s; slower impacts do not bounce
};

// What is watched at each step, and when it is worth a warning (StepReport::warnings).
struct WatchOptions {
  bool energy = true;         // keep an account of energy; costs the kinematics of one more state
  double energy_jump = 0.2;   // energy out of nothing in one step, as a share of the kinetic energy
  double penetration = 5e-3;  // m
};

struct SimulatorOptions {
  double time_step = 0.0;                   // s; 0: that of the model
  std::string solver = "auto";              // a name of the solver catalogue
  std::vector<std::string> solver_options;  // "name=value" each
  double tolerance = 1e-6;                  // relative natv that the solver is asked for
  int max_iterations = 0;                   // 0: the solver's own limit
  Integrator integrator = Integrator::kSemiImplicitEuler;
  StabilisationOptions stabilisation;
  CollisionOptions collision;
  WatchOptions watch;
  bool swept_margin = true;  // look for contacts as far as bodies move in a step
  bool warm_start = true;
  bool islands = true;  // groups of bodies that do not touch each other are solved one by one

  // Throws Error naming the field, its value and what is allowed.
  void validate() const;
};

}  // namespace touchstone

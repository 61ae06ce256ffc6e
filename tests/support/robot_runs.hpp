// Real robots under their own weight: finds their files, places them on the ground, runs them, and measures what a
// simulation must get right whatever the robot is.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone::test {

struct RobotFile {
  std::string name;  // path below models/, for messages and test names
  std::filesystem::path path;
  bool urdf = false;
};

// Every MJCF scene and every URDF of the folder "models" of TOUCHSTONE_DATA; empty if it is absent.
std::vector<RobotFile> robot_files();

// A model ready to run: URDFs get a floating base, stand on a ground plane and are held by servos.
struct RobotSetup {
  ModelPtr model;
  State start;
  VectorX control;
  bool can_touch = false;             // some shapes may touch each other
  std::vector<std::string> excluded;  // pairs of bodies that overlap in the start pose of a URDF: they do not collide
};
RobotSetup set_up(const RobotFile& file);

// The lowest point of all shapes that collide, but for planes. The model must stay alive.
std::function<double(const State&)> lowest_point_of(const Model& model);

struct RunFigures {
  int steps = 0;
  int diverged = 0;
  int steps_with_contacts = 0;
  int uncertified = 0;       // steps with relative natv of 1e-6 or more
  int warned = 0;            // steps with a warning of any kind
  double worst_natv = 0.0;   // relative
  double penetration = 0.0;  // m, deepest in the second half of the run
  double energy_range =
      0.0;  // J, highest minus lowest total energy, or the weight lifted by a centimetre if that is more
  double energy_growth = 0.0;  // J, the largest rise of the energy minus the work of actuators and stabilisation
  double seconds = 0.0;        // of wall time
  std::string worst;           // what the worst step was about
};
RunFigures run(const RobotSetup& setup, const SimulatorOptions& options, double seconds);

}  // namespace touchstone::test

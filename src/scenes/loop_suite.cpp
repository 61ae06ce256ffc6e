#include "touchstone/scenes/loop_suite.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone {

const std::vector<SuiteSystem>& suite_systems() {
  static const std::vector<SuiteSystem> systems{
      {"Box-on-Plane", "loops/box-on-plane", false, 1, 0, 6, 0, 0, 0, 1.00},
      {"Boxes-Fixed", "loops/boxes-fixed", false, 2, 1, 6, 0, 0, 6, 1000.00},
      {"Nunchuk", "loops/nunchuk", false, 3, 2, 12, 6, 0, 6, 1.00},
      {"Fourbar (fixed)", "loops/fourbar-fixed", true, 4, 5, 1, 0, 1, 26, 1.00},
      {"Fourbar (free)", "loops/fourbar-free", false, 4, 4, 7, 5, 1, 20, 1.00},
      {"Arm7D", "loops/arm7d", true, 8, 7, 7, 0, 7, 41, 19.54},
      {"Quadruped", "loops/quadruped", false, 13, 12, 18, 6, 12, 60, 29.07},
      {"BDX", "loops/bdx", false, 15, 14, 14, 6, 14, 70, 42.49},
      {"LIMA", "loops/lima", false, 21, 20, 26, 6, 20, 100, 321.39},
      {"Misha", "loops/misha", true, 22, 24, 23, 0, 23, 121, 90.67},
      {"Walker", "loops/walker", false, 31, 36, 42, 18, 24, 180, 99.55},
      {"Gazelle", "loops/gazelle", true, 38, 45, 60, 38, 22, 214, 1012.54},
      {"IronMan", "loops/ironman", true, 54, 67, 100, 80, 20, 304, 25544.44},
  };
  return systems;
}

SystemCounts count_system(const Model& model) {
  SystemCounts counts;
  double lightest = std::numeric_limits<double>::infinity(), heaviest = 0.0;
  bool floats = false;
  for (int b = 1; b < model.nbody; ++b) {
    const double mass = model.defaults.body_inertia[at(b)].mass;
    lightest = std::min(lightest, mass);
    heaviest = std::max(heaviest, mass);
    int dofs = 0;
    const BodyKernel& kernel = model.body_kernels[at(b)];
    for (int j = kernel.first_joint; j < kernel.first_joint + kernel.joint_count; ++j) {
      dofs += dof_count(model.joints[at(j)].type);
    }
    if (dofs == 6) {  // free: no joint
      floats = true;
      continue;
    }
    ++counts.joints;
    counts.coordinates += dofs;
    counts.constraints += 6 - dofs;
  }
  for (const LoopJoint& joint : model.loop_joints) {
    const int free = coordinate_count(joint.type);
    ++counts.joints;
    counts.coordinates += free;
    counts.constraints += 6 - free;
    if (joint.type == LoopJointType::kFixed && joint.body_a == 0) counts.fixed_base = true;
  }
  counts.bodies = model.nbody - 1;
  counts.actuators = model.nu;
  counts.fixed_base = counts.fixed_base || !floats;
  counts.mass_ratio = heaviest / lightest;
  return counts;
}

std::vector<std::string> suite_scenes() {
  std::vector<std::string> names;
  for (const SuiteSystem& system : suite_systems()) names.emplace_back(system.scene);
  for (const SceneInfo& info : scenes()) {
    if (!info.name.starts_with("loops/")) continue;
    if (std::find(names.begin(), names.end(), info.name) == names.end()) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace touchstone

#include "touchstone/scenes/scenes.hpp"

#include <algorithm>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/similar.hpp"
#include "touchstone/scenes/makers.hpp"

namespace touchstone {
namespace {

SceneParameter number(std::string_view name, double value, double minimum, double maximum, std::string_view unit,
                      std::string_view help) {
  return {name, value, minimum, maximum, unit, help, {}};
}

SceneParameter count(std::string_view name, int value, int minimum, int maximum, std::string_view help) {
  return number(name, value, minimum, maximum, "integer", help);
}

SceneParameter choice(std::string_view name, std::vector<std::string_view> choices, std::string_view help) {
  return {name, 0.0, 0.0, 0.0, "", help, std::move(choices)};
}

std::vector<SceneInfo> experiments() {
  const SceneParameter friction = number("friction", 0.5, 0.0, 10.0, "", "coefficient");
  const SceneParameter angle = number("angle", 25.0, -180.0, 180.0, "deg", "direction, from the x axis");
  return {
      {"cube-slide",
       "a cube slides over the ground and stops after v^2 / (2 mu g)",
       {number("speed", 3.0, 0.0, 100.0, "m/s", "at the start"), friction, angle},
       makers::cube_slide},
      {"cube-drag",
       "a force pulls a cube over the ground: a = F/m - mu g",
       {number("force", 8.0, 0.0, 1000.0, "N", "on 1 kg"), friction, angle},
       makers::cube_drag},
      {"cube-tilt",
       "a cube on a slope holds while tan(angle) <= mu",
       {number("angle", 25.0, 0.0, 80.0, "deg", "of the slope"), number("friction", 0.5, 0.0, 10.0, "", "coefficient")},
       makers::cube_tilt},
      {"mass-ratio",
       "a heavy cube on a light one",
       {number("ratio", 1000.0, 1e-6, 1e6, "", "of the masses; the light one has 1 kg")},
       makers::mass_ratio},
      {"stack", "boxes on boxes", {count("n", 10, 1, 1000, "boxes")}, makers::stack},
      {"sphere-roll",
       "a ball slides, then rolls at 5/7 of its speed",
       {number("speed", 2.0, 0.0, 100.0, "m/s", "at the start"), number("friction", 0.3, 0.0, 10.0, "", "coefficient")},
       makers::sphere_roll},
  };
}

std::vector<SceneInfo> structures() {
  return {
      {"domino", "the first of a row is tipped over", {count("n", 20, 2, 1000, "dominoes")}, makers::domino},
      {"card-house",
       "leaning cards, held by friction alone",
       {count("levels", 3, 1, 12, "storeys")},
       makers::card_house},
      {"arch",
       "a half circle of stones without mortar",
       {count("n", 15, 3, 199, "stones"),
        number("thickness", 0.2, 0.02, 0.8, "", "over radius; below about 0.107 it falls")},
       makers::arch},
      {"newtons-cradle",
       "elastic balls on pendulums",
       {count("n", 5, 2, 100, "balls"), count("lifted", 1, 1, 100, "balls that fall")},
       makers::newtons_cradle},
      {"pile",
       "grains fall into a tray",
       {count("n", 100, 1, 20000, "grains"), choice("shape", {"mixed", "boxes", "spheres"}, "of the grains"),
        count("seed", 1, 0, 1000000, "of places, sizes and colours")},
       makers::pile},
      {"conveyor",
       "driven rollers carry parcels to a table",
       {count("n", 5, 1, 6, "parcels"), number("speed", 0.5, -3.0, 3.0, "m/s", "of the rollers' surface")},
       makers::conveyor},
  };
}

std::vector<SceneInfo> machines() {
  const SceneParameter seed = count("seed", 1, 0, 1000000, "of the ground");
  return {
      {"quadruped",
       "our quadruped robot, 12 kg, 12 servos, drops onto rough ground and stands",
       {choice("terrain", {"rough", "flat", "none"}, "none: the robot alone in the air"),
        number("drop", 0.25, 0.0, 5.0, "m", "height above the ground"),
        number("roughness", 0.08, 0.0, 0.5, "m", "from the lowest to the highest point"),
        number("push", 0.0, -1000.0, 1000.0, "N", "to the left, from 1 s to 1.2 s"), seed},
       makers::quadruped},
      {"humanoid",
       "our humanoid robot, 1.6 m, 21 servos, stands",
       {number("push", 0.0, -1000.0, 1000.0, "N", "forward, from 1 s to 1.2 s")},
       makers::humanoid},
      {"hand",
       "a ball drops into a hand of four fingers",
       {number("radius", 0.035, 0.02, 0.06, "m", "of the ball"), number("drop", 0.1, 0.0, 2.0, "m", "height")},
       makers::hand},
      {"wheel",
       "a driven wheel on rough ground",
       {number("speed", 1.0, -5.0, 5.0, "m/s", "that its motor wants"),
        number("roughness", 0.06, 0.0, 0.3, "m", "from the lowest to the highest point"), seed},
       makers::wheel},
      {"pendulum", "a rod of 1 kg and 1 m on a hinge", {}, makers::pendulum},
      {"double-pendulum", "two point masses on massless rods", {}, makers::double_pendulum},
      {"woodpecker", "a toy bird that pecks its way down a pole, from event to event", {}, makers::woodpecker},
  };
}

std::vector<SceneInfo> loops() {
  const auto length = [](std::string_view name, double value) { return number(name, value, 1e-3, 1e3, "m", "length"); };
  const auto angle = [](double value) {
    return number("angle", value, -360.0, 360.0, "deg", "of the crank at the start");
  };
  return {
      {"loops/four-bar",
       "four bars on hinges; a pin in place of a ball makes the loop say most of it twice",
       {length("crank", 0.5), length("coupler", 1.25), length("rocker", 1.0), length("ground", 1.0), angle(60.0),
        choice("branch", {"open", "crossed"}, "which of the two ways to close it"),
        choice("joint", {"connect", "pin"}, "the last one: three rows, or six"),
        number("damping", 0.0, 0.0, 1e3, "N m s/rad", "of each hinge")},
       makers::four_bar},
      {"loops/slider-crank",
       "an engine: a motor turns a crank, a rod moves a piston",
       {length("crank", 0.2), length("rod", 0.6), angle(40.0), number("speed", 10.0, -1e3, 1e3, "rad/s", "wanted")},
       makers::slider_crank},
      {"loops/bennett",
       "Bennett's linkage: four skew hinges that should lock and do not",
       {number("twist", 40.0, 1.0, 80.0, "deg", "of the first link"),
        number("ratio", 1.3, 1.05, 1.5, "", "of the lengths of neighbouring links"), angle(70.0)},
       makers::bennett},
      {"loops/table",
       "a plate held at several points: more rows than it can tell apart",
       {count("supports", 3, 1, 100, "points")},
       makers::table},
      {"loops/ladder", "rungs and rails on hinges, a loop each", {count("n", 5, 1, 1000, "loops")}, makers::ladder},
      {"loops/scissor-lift",
       "crossed bars that a servo pulls together",
       {count("n", 4, 1, 100, "stages"), number("pull", 0.2, 0.0, 0.5, "m", "of the foot")},
       makers::scissor_lift},
      {"loops/chain-bridge",
       "planks on hinges between two banks, with a weight in the middle",
       {count("n", 12, 2, 1000, "planks"), number("ratio", 100.0, 1e-3, 1e5, "", "of the weight to a plank")},
       makers::chain_bridge},
      {"loops/stewart",
       "a platform on six legs that servos lengthen",
       {number("lift", 0.05, -0.1, 0.1, "m", "of every other leg")},
       makers::stewart},
      {"loops/delta",
       "a delta robot: three arms, six light rods, a platform that stays level",
       {number("angle", 0.3, -0.5, 0.8, "rad", "that the arms go to")},
       makers::delta},
      {"loops/jansen",
       "Theo Jansen's walker on the ground, six bodies and three loops a leg",
       {count("pairs", 4, 1, 20, "of legs"), number("speed", 2.0, -10.0, 10.0, "rad/s", "of the crank")},
       makers::jansen},
      {"loops/spring-leg",
       "a bird-like leg: springs and foot are held and driven over rods",
       {number("stiffness", 1250.0, 1.0, 1e6, "N m/rad", "of the heel spring")},
       makers::spring_leg},
  };
}

// Tsounis et al. 2025, Tab. II: the same counts of bodies, joints and constraints, the same mass ratios.
std::vector<SceneInfo> loop_suite() {
  const SceneParameter fixed =
      choice("fixed", {"joint", "weld"}, "what a fixed joint is: a loop joint, as the paper counts it, or none at all");
  const auto drop = [](double value) { return number("drop", value, 0.0, 5.0, "m", "height above the ground"); };
  const auto speed = [](double value) { return number("speed", value, -20.0, 20.0, "rad/s", "that the motor wants"); };
  return {
      {"loops/box-on-plane",
       "a box thrown along the ground",
       {number("speed", 2.0, 0.0, 100.0, "m/s", "at the start")},
       makers::box_on_plane},
      {"loops/boxes-fixed", "100 kg glued on 0.1 kg, dropped, then pushed below", {fixed}, makers::boxes_fixed},
      {"loops/nunchuk", "two rods on balls at a short link fall", {drop(0.4)}, makers::nunchuk},
      {"loops/fourbar-fixed",
       "four planks on hinges, one held, with a motor",
       {fixed, speed(3.0)},
       makers::fourbar_fixed},
      {"loops/fourbar-free", "four planks on hinges fall", {drop(0.3), speed(3.0)}, makers::fourbar_free},
      {"loops/arm7d", "an arm of seven joints reaches for a table", {fixed}, makers::arm7d},
      {"loops/quadruped", "a robot on four legs of three joints", {drop(0.0)}, makers::loop_quadruped},
      {"loops/bdx", "a small robot on two legs of five joints, with neck and head", {drop(0.0)}, makers::bdx},
      {"loops/lima", "a humanoid of 20 joints, mass ratio 321", {drop(0.0)}, makers::lima},
      {"loops/misha", "stand-in for a bust: 22 bodies, two redundant loops, layered meshes", {fixed}, makers::misha},
      {"loops/walker",
       "stand-in for a biped: 31 bodies, six redundant loops, layered meshes",
       {drop(0.0)},
       makers::walker},
      {"loops/gazelle", "stand-in for an animal: 38 bodies, seven loops, mass ratio 1,013", {fixed}, makers::gazelle},
      {"loops/ironman", "stand-in for a man: 54 bodies, 13 loops, mass ratio 25,544", {fixed}, makers::ironman},
      {"loops/digit-leg",
       "a leg whose tarsus and foot are held and driven over rods, on the ground",
       {number("bend", 0.2, -0.3, 0.5, "rad", "of the knee")},
       makers::digit_leg},
  };
}

// Castro et al. 2025, whose parameters are the defaults.
std::vector<SceneInfo> convex_cases() {
  const auto stiffness = number("stiffness", 1e7, 1.0, 1e14, "N/m", "of a contact");
  const auto dissipation = [](double value) {
    return number("dissipation", value, 0.0, 1e5, "s/m", "Hunt and Crossley's; lagged, similar");
  };
  const auto relaxation = [](double value) {
    return number("relaxation", value, 0.0, 1.0, "s", "of a linear damper; sap");
  };
  return {
      {"convex/conveyor",
       "a box slips and sticks on a belt that swings",
       {stiffness, dissipation(500.0), relaxation(1e-3)},
       makers::convex_conveyor},
      {"convex/sphere",
       "a thrown ball falls, slides and rolls",
       {stiffness, dissipation(500.0), relaxation(1e-3)},
       makers::convex_sphere},
      {"convex/rod",
       "a sliding rod jams and jumps: Painleve's paradox",
       {stiffness, dissipation(0.2), relaxation(4e-6)},
       makers::convex_rod},
      {"convex/clutter",
       "columns of balls and boxes fall into a box",
       {count("n", 40, 1, 20000, "objects"), stiffness, dissipation(10.0), relaxation(1e-4)},
       makers::convex_clutter},
      {"convex/grasp",
       "a gripper swings a bronze rod until it loses it",
       {number("frequency", 2.0, 0.0, 20.0, "Hz", "of the circle"),
        number("stiffness", 1e5, 1.0, 1e14, "N/m", "of a contact"), dissipation(50.0), relaxation(1e-3)},
       makers::convex_grasp},
  };
}

std::string_view base_name(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace

const std::vector<SceneInfo>& scenes() {
  static const std::vector<SceneInfo> all = [] {
    std::vector<SceneInfo> list;
    for (auto* const group : {machines, experiments, structures, loops, loop_suite, convex_cases}) {
      for (SceneInfo& info : group()) list.push_back(std::move(info));
    }
    return list;
  }();
  return all;
}

const SceneInfo* find_scene(std::string_view name) {
  const auto& all = scenes();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const SceneInfo& info) { return info.name == base_name(name); });
  return found != all.end() ? &*found : nullptr;
}

Scene make_scene(std::string_view name) {
  const SceneInfo* info = find_scene(name);
  if (info == nullptr) {
    std::vector<std::string> names;
    for (const SceneInfo& known : scenes()) names.emplace_back(known.name);
    throw InputError({.where = {},
                      .message = fmt::format("unknown scene '{}'", base_name(name)),
                      .remedy = did_you_mean(base_name(name), names) + " 'touchstone scenes' lists all"});
  }
  const std::string_view base = base_name(name);
  Scene scene = info->make(SceneArguments(*info, base.size() < name.size() ? name.substr(base.size() + 1) : ""));
  scene.name = name;
  scene.description = info->description;
  return scene;
}

ModelPtr load_scene(std::string_view name) { return make_scene(name).model; }

}  // namespace touchstone

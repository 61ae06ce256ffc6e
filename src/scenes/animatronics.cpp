// Stand-ins for the animatronic figures of Tsounis et al. 2025, Tab. II: their counts of bodies, joints, constraints
// and actuators, their mass ratios, links that motors move over coupled linkages, and layered meshes that collide. The
// figures themselves are not public.
#include <string>

#include "touchstone/scenes/figure.hpp"
#include "touchstone/scenes/makers.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

const Vector3 kAhead = Vector3::UnitX(), kAcross = Vector3::UnitY(), kUp = Vector3::UnitZ();

std::string side_name(double s) { return s > 0 ? "left-" : "right-"; }

// Links one after the other along a way; the axes take turns.
int add_chain(Figure& f, const std::string& name, int body, Vector3 from, const Vector3& step, int count, double mass,
              const Vector3& first, const Vector3& second) {
  for (int i = 0; i < count; ++i) {
    body = f.link(name + std::to_string(i + 1), body, from, from + step, i % 2 == 0 ? first : second, mass);
    from += step;
    mass *= 0.6;
  }
  return body;
}

// Something to touch.
void add_pedestal(Figure& f, const Vector3& center, const Vector3& half) {
  add_ground(f.assembly().builder(), 0.6);
  add_fixed(f.assembly().builder(), "pedestal", Transform{center}, box(half),
            {.friction = 0.6, .color = {0.7, 0.65, 0.6, 1}});
}

}  // namespace

// A bust: spine, neck, jaw, arms whose shoulders are lifted over four-bars. Every joint has a motor, also those of the
// four-bars.
Scene misha(const SceneArguments& arguments) {
  const double ratio = 90.67, lightest = 0.1;
  Figure f("misha", lightest, ratio * lightest, true, 23);
  add_pedestal(f, {0.35, 0, 0.2}, {0.1, 0.5, 0.2});
  int body = f.base(fixed_base(arguments.choice("fixed")), {0, 0, 0.15}, {0.12, 0.15, 0.15});
  body = add_chain(f, "spine", body, {0, 0, 0.35}, {0, 0, 0.15}, 3, 5.0, kAcross, kAhead);
  const Vector3 top(0, 0, 0.8);
  const int neck = add_chain(f, "neck", body, top + 0.02 * kUp, {0.02, 0, 0.1}, 3, 1.0, kAcross, kUp);
  f.link("jaw", neck, {0.1, 0, 1.14}, {0.25, 0, 1.12}, kAcross, 0.3);
  for (const double s : {1.0, -1.0}) {
    const std::string name = side_name(s) + "shoulder";
    const Vector3 shoulder(0, 0.12 * s, 0.75), elbow(0, 0.4 * s, 0.72);
    const int arm = f.four_bar_link(name, body, shoulder, elbow, s * kAhead, 1.5);
    add_chain(f, side_name(s) + "arm", arm, elbow, {0.08, 0.03 * s, -0.08}, 4, 0.8, kAcross, kAhead);
    for (const char* part : {"", "-coupler"}) f.idle_motor(name + part);
    f.idle_motor_at_pin(name);
  }
  return f.scene();
}

// A biped whose hips, knees and ankles are moved over four-bars.
Scene walker(const SceneArguments& arguments) {
  const double ratio = 99.55, lightest = 0.08, height = 0.83 + arguments.number("drop");
  Figure f("walker", lightest, ratio * lightest, true, 36);
  add_ground(f.assembly().builder(), 0.8);
  const int trunk = f.base(Base::kFree, {0, 0, height + 0.1}, {0.1, 0.14, 0.1});
  for (const double s : {1.0, -1.0}) {
    const std::string name = side_name(s);
    const Vector3 hip(0, 0.12 * s, height), turned(0, 0.14 * s, height - 0.08), swung(0, 0.15 * s, height - 0.16);
    const Vector3 knee(0.06, 0.15 * s, height - 0.46), ankle(-0.02, 0.15 * s, height - 0.74);
    int leg = f.link(name + "yaw", trunk, hip, turned, kUp, 0.8);
    leg = f.link(name + "roll", leg, turned, swung, kAhead, 0.8);
    leg = f.four_bar_link(name + "thigh", leg, swung, knee, kAcross, 1.5);
    leg = f.four_bar_link(name + "shank", leg, knee, ankle, kAcross, 1.0);
    leg = f.four_bar_link(name + "ankle", leg, ankle, ankle + Vector3(0.1, 0, -0.03), kAcross, 0.4);
    const Vector3 toe = ankle + Vector3(0.02, 0, -0.05);
    leg = f.link(name + "foot", leg, toe, toe + Vector3(0.06, 0, 0), kAhead, 0.5);
    f.sole(leg, toe + Vector3(0.02, 0, -0.03), {0.11, 0.05, 0.01});
    for (const char* part : {"thigh", "shank", "ankle"}) f.idle_motor(name + part);
    add_chain(f, name + "arm", trunk, {0, 0.16 * s, height + 0.15}, {0, 0.05 * s, -0.12}, 2, 0.6, kAcross, kAhead);
  }
  add_chain(f, "neck", trunk, {0, 0, height + 0.24}, {0.03, 0, 0.1}, 2, 0.8, kAcross, kUp);
  Scene scene = f.scene();
  scene.control *= 0.3;
  return scene;
}

// An animal on a stand: spine and jaw over four-bars, legs over push-rods.
Scene gazelle(const SceneArguments& arguments) {
  const double ratio = 1012.54, lightest = 0.02;
  Figure f("gazelle", lightest, ratio * lightest, true, 45);
  add_pedestal(f, {0, 0, 0.08}, {0.6, 0.3, 0.08});
  const int stand = f.base(fixed_base(arguments.choice("fixed")), {0, 0, 0.9}, {0.12, 0.08, 0.06});
  const int chest = f.four_bar_link("chest", stand, {0.15, 0, 0.9}, {0.45, 0, 0.93}, kAcross, 4.0);
  const int croup = f.four_bar_link("croup", stand, {-0.15, 0, 0.9}, {-0.45, 0, 0.9}, kAcross, 4.0);
  int head = add_chain(f, "neck", chest, {0.47, 0, 0.96}, {0.07, 0, 0.13}, 3, 1.2, kAcross, kUp);
  f.four_bar_link("jaw", head, {0.7, 0, 1.36}, {0.85, 0, 1.33}, kAcross, 0.2);
  for (const double s : {1.0, -1.0}) {
    const Vector3 root(0.62, 0.05 * s, 1.37), tip = root + Vector3(-0.02, 0.05 * s, 0.08);
    if (s > 0) {
      f.link(side_name(s) + "ear", head, root, tip, kAhead, 0.05);
    } else {
      f.passive_link(side_name(s) + "ear", head, root, tip, kAhead, 0.05);
    }
    for (const int carrier : {chest, croup}) {
      const double x = carrier == chest ? 0.4 : -0.4;
      const std::string name = side_name(s) + (carrier == chest ? "front-" : "hind-");
      const Vector3 hip(x, 0.14 * s, 0.85), knee(x + 0.03, 0.15 * s, 0.55), fetlock(x - 0.02, 0.15 * s, 0.33),
          hoof(x + 0.04, 0.15 * s, 0.17);
      int leg = f.rod_link(name + "thigh", carrier, hip, knee, kAcross, 1.5);
      leg = f.link(name + "shank", leg, knee, fetlock, kAcross, 0.6);
      f.link(name + "hoof", leg, fetlock, hoof, kAcross, 0.2);
    }
  }
  add_chain(f, "tail", croup, {-0.48, 0, 0.92}, {-0.09, 0, -0.03}, 3, 0.2, kAcross, kUp);
  return f.scene();
}

// A figure of a man: waist, hips, ankles and shoulders over push-rods, elbows and jaw over four-bars, a head on a ball.
Scene ironman(const SceneArguments& arguments) {
  const double ratio = 25544.44, lightest = 0.002;
  Figure f("ironman", lightest, ratio * lightest, true, 67);
  add_pedestal(f, {0.4, 0, 0.45}, {0.1, 0.6, 0.45});
  const int pelvis = f.base(fixed_base(arguments.choice("fixed")), {0, 0, 1.0}, {0.1, 0.14, 0.06});
  int torso = f.link("waist-yaw", pelvis, {0, 0, 1.08}, {0, 0, 1.16}, kUp, 6.0);
  torso = f.rod_link("waist-pitch", torso, {0, 0, 1.18}, {0, 0, 1.34}, kAcross, 8.0);
  torso = f.rod_link("waist-roll", torso, {0, 0, 1.36}, {0, 0, 1.58}, kAhead, 10.0);
  const int head = f.ball_link("head", torso, {0.02, 0, 1.66}, {0.02, 0, 1.86}, 2.0);
  f.four_bar_link("jaw", head, {0.1, 0, 1.7}, {0.2, 0, 1.66}, kAcross, 0.1);
  for (const double s : {1.0, -1.0}) {
    const std::string name = side_name(s);
    const Vector3 eye(0.12, 0.04 * s, 1.84);
    f.passive_link(name + "eye", head, eye, eye + Vector3(0.03, 0, 0), kUp, 0.01);
    const Vector3 shoulder(0, 0.18 * s, 1.52), outer(0, 0.36 * s, 1.52), elbow(0.02, 0.4 * s, 1.26),
        wrist(0.22, 0.4 * s, 1.14);
    int arm = f.rod_link(name + "shoulder", torso, shoulder, outer, s * kAhead, 1.5);
    arm = f.rod_link(name + "upper-arm", arm, outer, elbow, kAcross, 1.2);
    arm = f.four_bar_link(name + "forearm", arm, elbow, wrist, kAcross, 0.8);
    arm = add_chain(f, name + "wrist", arm, wrist + Vector3(0.02, 0, -0.01), {0.06, 0, -0.03}, 2, 0.2, kAhead, kAcross);
    for (const double side : {-1.0, 1.0}) {
      const Vector3 knuckle = wrist + Vector3(0.15, 0.03 * side, -0.07);
      f.passive_link(name + (side > 0 ? "finger-a" : "finger-b"), arm, knuckle, knuckle + Vector3(0.06, 0, -0.03),
                     kAcross, 0.03);
    }
    const Vector3 hip(0, 0.12 * s, 0.92), knee(0.02, 0.13 * s, 0.52), ankle(0, 0.13 * s, 0.14);
    int leg = f.rod_link(name + "thigh", pelvis, hip, knee, kAcross, 4.0);
    leg = f.link(name + "shank", leg, knee, ankle, kAcross, 2.0);
    f.rod_link(name + "foot", leg, ankle, ankle + Vector3(0.16, 0, -0.06), kAcross, 0.6);
  }
  return f.scene();
}

}  // namespace touchstone::makers

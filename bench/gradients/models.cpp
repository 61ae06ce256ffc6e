#include "models.hpp"

#include <initializer_list>
#include <utility>

#include <fmt/format.h>

namespace {

struct Link {
  const char* joint;
  const char* axis;
  double damping, stiffness;  // of the servo
  double length;              // m, to the next link, downwards; 0: in the same place
  double mass;                // kg
};

// Nested links, each with one joint; what is in `end` is inside the last one.
std::string limb(const std::string& name, const std::string& at, std::initializer_list<Link> links, double radius,
                 const std::string& end, std::string& servos) {
  std::string xml, closing, place = at;
  for (const Link& link : links) {
    xml +=
        fmt::format("<body name='{0}_{1}' pos='{2}'><joint name='{0}_{1}' axis='{3}' damping='{4}' armature='0.02'/>",
                    name, link.joint, place, link.axis, link.damping);
    if (link.length > 0.0) {
      xml += fmt::format("<geom type='capsule' fromto='0 0 0 0 0 {}' size='{}' mass='{}' contype='0' conaffinity='0'/>",
                         -link.length, radius, link.mass);
    } else {
      xml += fmt::format("<geom size='{}' mass='{}' contype='0' conaffinity='0'/>", radius, link.mass);
    }
    servos += fmt::format("<position joint='{}_{}' kp='{}'/>", name, link.joint, link.stiffness);
    place = fmt::format("0 0 {}", -link.length);
    closing += "</body>";
  }
  return xml + end + closing;
}

}  // namespace

std::string arm_xml() {
  std::string xml = "<mujoco><worldbody>", end;
  for (const char* axis : {"0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1"}) {
    xml += std::string("<body pos='0 0 0.2'><joint axis='") + axis +
           "' damping='0.1'/><geom type='capsule' fromto='0 0 0 0.05 0 0.2' size='0.05' contype='0'/>";
    end += "</body>";
  }
  return xml + end + "</worldbody></mujoco>";
}

std::string humanoid36_xml() {
  std::string servos, legs, arms;
  for (const auto& [side, y] : {std::pair{"left", 0.1}, std::pair{"right", -0.1}}) {
    legs += limb(fmt::format("{}_leg", side), fmt::format("0 {} -0.06", y),
                 {{"hip_z", "0 0 1", 60, 1500, 0.0, 1.5},
                  {"hip_x", "1 0 0", 60, 1500, 0.0, 1.5},
                  {"hip_y", "0 1 0", 60, 1500, 0.40, 7.0},
                  {"knee_y", "0 1 0", 60, 1500, 0.40, 4.0},
                  {"ankle_y", "0 1 0", 40, 1500, 0.0, 0.3},
                  {"ankle_x", "1 0 0", 40, 1500, 0.0, 0.3}},
                 0.05, "<geom type='box' pos='0.03 0 -0.06' size='0.12 0.05 0.02' mass='1.2' friction='0.9'/>", servos);
    arms += limb(fmt::format("{}_arm", side), fmt::format("0 {} 0.30", 2.2 * y),
                 {{"shoulder_z", "0 0 1", 6, 150, 0.0, 1.0},
                  {"shoulder_x", "1 0 0", 6, 150, 0.0, 1.0},
                  {"shoulder_y", "0 1 0", 6, 150, 0.28, 2.0},
                  {"elbow_y", "0 1 0", 6, 150, 0.25, 1.5},
                  {"wrist_z", "0 0 1", 2, 50, 0.0, 0.3},
                  {"wrist_x", "1 0 0", 2, 50, 0.0, 0.3},
                  {"wrist_y", "0 1 0", 2, 50, 0.10, 0.5}},
                 0.04, "", servos);
  }
  const std::string neck = limb("neck", "0 0 0.40", {{"y", "0 1 0", 6, 150, 0.0, 4.0}}, 0.1, "", servos);
  const std::string chest =
      "<geom type='box' pos='0 0 0.2' size='0.1 0.16 0.18' mass='18' contype='0' conaffinity='0'/>";
  const std::string back =
      limb("back", "0 0 0.08",
           {{"z", "0 0 1", 60, 1200, 0.0, 2.0}, {"y", "0 1 0", 60, 1200, 0.0, 2.0}, {"x", "1 0 0", 60, 1200, 0.0, 2.0}},
           0.06, chest + arms + neck, servos);
  return "<mujoco model='humanoid36'><option timestep='0.002'/><worldbody><geom type='plane' size='0 0 1' "
         "friction='0.9'/>"
         "<body name='pelvis' pos='0 0 0.9401'><freejoint/>"
         "<geom type='box' size='0.08 0.12 0.07' mass='9' contype='0' conaffinity='0'/>" +
         legs + back + "</body></worldbody><actuator>" + servos + "</actuator></mujoco>";
}

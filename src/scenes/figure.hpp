// Machines of the loop benchmark (Tsounis et al. 2025, Tab. II): links on hinges, links that a motor moves over a
// planar four-bar or over a push-rod, fixed joints, servos that know what they carry, layered meshes. Not for users of
// the library.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "touchstone/scenes/assembly.hpp"

namespace touchstone::workshop {

// How the base stands, and what a fixed joint is: a loop joint, as the paper counts it, or no joint at all.
enum class Base : std::uint8_t { kFree, kJoint, kWeld };
Base fixed_base(std::string_view choice);  // of the scenes' parameter `fixed`: joint, weld

class Figure {
 public:
  // Masses lie between these, both included. A figure with layers collides with itself by its meshes.
  Figure(const std::string& name, double lightest, double heaviest, bool layered, int seed);

  // The heaviest body: a box.
  int base(Base kind, const Vector3& center, const Vector3& half);

  // Links about a hinge at `from`; the servo's target is random. Return the link.
  int link(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
           double mass);
  int passive_link(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
                   double mass);
  int ball_link(const std::string& name, int parent, const Vector3& from, const Vector3& to, double mass);
  // The same, moved by a crank beside it: over a coupler in the plane of the hinge (three further revolute joints,
  // whose loop is redundant), or over a rod on a universal and a spherical joint, with a crank about another axis.
  int four_bar_link(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
                    double mass);
  int rod_link(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
               double mass);
  // A motor whose torque is its control, zero: at the hinge of a link, or at the pin of a four-bar.
  void idle_motor(const std::string& joint);
  void idle_motor_at_pin(const std::string& four_bar);

  // What touches the ground.
  void foot(int body, const Vector3& center, double radius);
  void sole(int body, const Vector3& center, const Vector3& half);

  Assembly& assembly() { return a_; }
  // With the servos.
  Scene scene();

 private:
  struct Servo {
    int joint = 0, load = 0;  // load: the body that it moves in the end
    double target = 0.0;      // rad
  };

  int structure(const std::string& name, int parent, const Vector3& from, const Vector3& to, double mass);
  int crank(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis, int load);
  double light_mass();
  void add_servo(int joint, int load);
  double carried_inertia(const Servo& servo) const;
  void add_layers(int body, const Vector3& along, bool shell);

  Assembly a_;
  double lightest_, heaviest_;
  bool layered_;
  std::mt19937_64 random_;
  int light_count_ = 0;
  std::vector<Servo> servos_;
};

// A prism along z with n sides, and a tube with walls: surfaces of triangles, as files of assemblies have them.
Shape prism_mesh(const std::string& name, int sides, double radius, double half_length);
Shape tube_mesh(const std::string& name, int sides, double inner, double outer, double half_length);

}  // namespace touchstone::workshop

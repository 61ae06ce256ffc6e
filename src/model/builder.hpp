// Builds models in code; the loaders use it too.
//
//   ModelBuilder b("pendulum");
//   int arm = b.add_body({.name = "arm", .parent = 0, .inertia = {1.0, {0, 0, -0.5}, inertia}});
//   b.add_joint({.name = "hinge", .body = arm, .axis = Vector3::UnitY()});
//   ModelPtr model = b.build();
//
// The `add_` functions return the index of the new element. build() validates everything, numbers bodies depth
// first and resolves references; indices given by the builder are those of the model when bodies were added depth
// first (parent, then all of its first child, ...), otherwise look elements up by name.
#pragma once

#include <string>
#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone {

class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name = "model");
  // Begins with everything in a model; building it at once gives the same model.
  explicit ModelBuilder(const Model& model);

  // Adds all elements of a model but its keyframes: its world's frame gets the pose, names get the prefix. Options and
  // gravity stay those of the builder.
  void add_model(const Model& model, const Transform& pose = {}, const std::string& prefix = "");

  int add_body(Body body);
  int add_joint(Joint joint);
  int add_shape(ShapeElement shape);
  int add_site(Site site);
  int add_tendon(Tendon tendon);
  int add_actuator(Actuator actuator);
  int add_equality(Equality equality);
  int add_loop_joint(LoopJoint joint);
  int add_sensor(Sensor sensor);
  int add_keyframe(Keyframe keyframe);
  int add_contact_pair(ContactPair pair);
  int add_contact_exclusion(ContactExclusion exclusion);
  int add_visual_material(VisualMaterial material);
  void add_warning(Warning warning);
  // Keyframes hold whole configurations: forget them before elements with joints are added to a finished model.
  void clear_keyframes() { draft_.keyframes.clear(); }

  // Joints made of simpler ones, named "<name>/1", "<name>/2", ...; return the index of the first.
  // The properties of `joint` (damping, armature, ...) go to each part.
  int add_planar_joint(
      const Joint& joint);  // slides along x and y of the joint frame, then a hinge about its z = joint.axis
  int add_universal_joint(const Joint& joint, const Vector3& second_axis);  // two hinges through the anchor
  int add_cylindrical_joint(const Joint& joint);                            // a slide and a hinge along joint.axis

  // For loaders that complete an element later.
  Body& body(int index);
  Joint& joint(int index);
  ShapeElement& shape(int index);
  const std::vector<Body>& bodies() const { return draft_.bodies; }
  const std::vector<Joint>& joints() const { return draft_.joints; }
  const std::vector<ShapeElement>& shapes() const { return draft_.shapes; }
  const std::vector<Site>& sites() const { return draft_.sites; }
  const std::vector<Tendon>& tendons() const { return draft_.tendons; }
  const std::vector<Actuator>& actuators() const { return draft_.actuators; }
  const std::vector<LoopJoint>& loop_joints() const { return draft_.loop_joints; }

  void set_gravity(const Vector3& gravity) { draft_.defaults.gravity = gravity; }
  void set_file(std::string file) { draft_.file = std::move(file); }
  void set_name(std::string name) { draft_.name = std::move(name); }
  // Joints that move no mass become warnings instead of errors: kinematics and inverse dynamics work, forward
  // dynamics does not. `option`: how the user of a loader allows it, for the error.
  void set_allow_massless(bool allow, std::string option = {}) {
    allow_massless_ = allow;
    massless_option_ = std::move(option);
  }
  SimulationOptions& options() { return draft_.options; }

  // Validates and freezes. Throws Error that names the element, the value and the remedy. The builder may be
  // changed and built again.
  ModelPtr build() const;

 private:
  Model draft_;
  bool allow_massless_ = false;
  std::string massless_option_;
};

}  // namespace touchstone

#include "touchstone/model/builder.hpp"

#include <utility>

#include "touchstone/math/so3.hpp"

namespace touchstone {

namespace {

template <typename Element>
int append(std::vector<Element>& list, Element&& element) {
  list.push_back(std::forward<Element>(element));
  return static_cast<int>(list.size()) - 1;
}

template <typename Element>
Element& at(std::vector<Element>& list, int index, const char* kind) {
  if (index < 0 || index >= static_cast<int>(list.size())) {
    throw Error("{} {} does not exist: the builder has {}", kind, index, list.size());
  }
  return list[static_cast<std::size_t>(index)];
}

}  // namespace

ModelBuilder::ModelBuilder(std::string name) {
  draft_.name = std::move(name);
  draft_.bodies.push_back(Body{.name = "world", .parent = -1});
}

int ModelBuilder::add_body(Body body) { return append(draft_.bodies, std::move(body)); }
int ModelBuilder::add_joint(Joint joint) { return append(draft_.joints, std::move(joint)); }
int ModelBuilder::add_shape(ShapeElement shape) { return append(draft_.shapes, std::move(shape)); }
int ModelBuilder::add_site(Site site) { return append(draft_.sites, std::move(site)); }
int ModelBuilder::add_tendon(Tendon tendon) { return append(draft_.tendons, std::move(tendon)); }
int ModelBuilder::add_actuator(Actuator actuator) { return append(draft_.actuators, std::move(actuator)); }
int ModelBuilder::add_equality(Equality equality) { return append(draft_.equalities, std::move(equality)); }
int ModelBuilder::add_loop_joint(LoopJoint joint) { return append(draft_.loop_joints, std::move(joint)); }
int ModelBuilder::add_sensor(Sensor sensor) { return append(draft_.sensors, std::move(sensor)); }
int ModelBuilder::add_keyframe(Keyframe keyframe) { return append(draft_.keyframes, std::move(keyframe)); }
int ModelBuilder::add_contact_pair(ContactPair pair) { return append(draft_.contact_pairs, std::move(pair)); }
int ModelBuilder::add_contact_exclusion(ContactExclusion exclusion) {
  return append(draft_.contact_exclusions, std::move(exclusion));
}
int ModelBuilder::add_visual_material(VisualMaterial material) {
  return append(draft_.visual_materials, std::move(material));
}
void ModelBuilder::add_warning(Warning warning) { draft_.warnings.push_back(std::move(warning)); }

Body& ModelBuilder::body(int index) { return at(draft_.bodies, index, "body"); }
Joint& ModelBuilder::joint(int index) { return at(draft_.joints, index, "joint"); }
ShapeElement& ModelBuilder::shape(int index) { return at(draft_.shapes, index, "shape"); }

namespace {

Joint part(const Joint& whole, int number, JointType type, const Vector3& axis) {
  Joint joint = whole;
  if (!whole.name.empty()) joint.name = fmt::format("{}/{}", whole.name, number);
  joint.type = type;
  joint.axis = axis;
  return joint;
}

}  // namespace

int ModelBuilder::add_planar_joint(const Joint& joint) {
  const Matrix3 frame = rotation_from_z(joint.axis).toRotationMatrix();
  const int first = add_joint(part(joint, 1, JointType::kSlide, frame.col(0)));
  add_joint(part(joint, 2, JointType::kSlide, frame.col(1)));
  add_joint(part(joint, 3, JointType::kHinge, frame.col(2)));
  return first;
}

int ModelBuilder::add_universal_joint(const Joint& joint, const Vector3& second_axis) {
  const int first = add_joint(part(joint, 1, JointType::kHinge, joint.axis));
  add_joint(part(joint, 2, JointType::kHinge, second_axis));
  return first;
}

int ModelBuilder::add_cylindrical_joint(const Joint& joint) {
  const int first = add_joint(part(joint, 1, JointType::kSlide, joint.axis));
  add_joint(part(joint, 2, JointType::kHinge, joint.axis));
  return first;
}

}  // namespace touchstone

#include "touchstone/io/mjcf/mjcf_compiler.hpp"

#include <utility>

#include "touchstone/io/mjcf/mjcf_principal.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

// Poses of a body's frames in the body; parents come before their children.
std::vector<Transform> frame_poses(const BodySpec& body) {
  std::vector<Transform> poses;
  poses.reserve(body.frames.size());
  for (const FrameSpec& frame : body.frames) {
    poses.push_back(frame.parent < 0 ? frame.pose : poses[static_cast<std::size_t>(frame.parent)] * frame.pose);
  }
  return poses;
}

Transform in_frame(const std::vector<Transform>& frames, int frame, const Transform& pose) {
  return frame < 0 ? pose : frames[static_cast<std::size_t>(frame)] * pose;
}

}  // namespace

ModelPtr Compiler::compile() {
  builder_.set_name(spec_.name);
  builder_.set_file(spec_.file);
  warn_of_references();
  compile_options();
  compile_materials();
  compile_tree();
  scale_to_total_mass();
  check_moving_bodies();
  compile_contacts();
  compile_tendons();
  compile_equalities();
  compile_actuators();
  for (Tendon& tendon : tendon_drafts_) builder_.add_tendon(std::move(tendon));
  compile_sensors();
  compile_keyframes();
  apply_spring_dampers(builder_, spring_dampers_);
  for (const Warning& warning : warnings_.list()) builder_.add_warning(warning);
  return builder_.build();
}

void Compiler::compile_options() {
  builder_.options() = spec_.options;
  builder_.options().mujoco_contact_frames = true;
  builder_.set_gravity(spec_.gravity);
}

void Compiler::compile_materials() {
  for (const MaterialSpec& spec : spec_.materials) {
    VisualMaterial material = spec.material;
    if (!spec.texture.empty()) material.texture_file = assets_.texture_file(spec.texture);
    builder_.add_visual_material(std::move(material));
  }
}

void Compiler::add_name(Names& names, const char* kind, const std::string& name, int index, const Origin& origin) {
  if (name.empty()) return;
  const auto [found, is_new] = origins_.emplace(fmt::format("{}/{}", kind, name), origin);
  if (!is_new) {
    fail(origin, fmt::format("the name '{}' is taken by {}", name, found->second.text()),
         fmt::format("give every {} its own name", kind));
  }
  names[name] = index;
}

// --- the tree ------------------------------------------------------------------------------------------------------

void Compiler::compile_tree() {
  struct Pending {
    int spec;
    int parent;  // in the builder
    bool parent_moves;
  };
  bodies_["world"] = 0;
  std::vector<Pending> stack{{0, -1, false}};
  std::vector<std::vector<Transform>> frames;  // by builder index
  while (!stack.empty()) {
    const Pending top = stack.back();
    stack.pop_back();
    const BodySpec& spec = spec_.bodies[static_cast<std::size_t>(top.spec)];
    const bool moves = top.parent_moves || !spec.joints.empty();
    static const std::vector<Transform> kNoFrames;
    BodyDraft draft =
        draft_body(spec, top.parent < 0 ? kNoFrames : frames[static_cast<std::size_t>(top.parent)], moves);
    draft.body.parent = top.parent;
    if (spec.children.empty()) align_free_body(spec, draft);
    add_to_builder(std::move(draft));
    const int index = static_cast<int>(builder_.bodies().size()) - 1;
    // Only bodies with children need their frames again.
    frames.push_back(spec.children.empty() ? kNoFrames : frame_poses(spec));
    for (auto child = spec.children.rbegin(); child != spec.children.rend(); ++child) {
      stack.push_back({*child, index, moves});
    }
  }
}

Compiler::BodyDraft Compiler::draft_body(const BodySpec& spec, const std::vector<Transform>& parent_frames,
                                         bool moves) {
  const std::vector<Transform> frames = frame_poses(spec);
  BodyDraft draft;
  draft.body.name = spec.name;
  draft.body.origin = spec.origin;
  draft.body.pose = in_frame(parent_frames, spec.frame, spec.pose.transform());
  draft.body.gravity_compensation = spec.gravity_compensation;
  draft.body.sleep = spec.sleep;
  draft.body.mocap = spec.mocap;
  for (const JointSpec& joint : spec.joints) {
    draft.joints.push_back(compile_joint(joint, frames));
    spring_dampers_.push_back(joint.spring_damper);
  }
  for (const GeomSpec& geom : spec.geoms) {
    draft.shapes.push_back(located(geom.element.origin, [&] { return compile_geom(geom, frames, moves); }));
  }
  for (const SiteSpec& site : spec.sites) {
    draft.sites.push_back(located(site.site.origin, [&] { return compile_site(site, frames); }));
  }
  const bool is_world = spec.id == 0 && spec.name == "world";
  if (!is_world) draft.body.inertia = located(spec.origin, [&] { return body_inertia(spec, draft, frames); });
  return draft;
}

Joint Compiler::compile_joint(const JointSpec& spec, const std::vector<Transform>& frames) const {
  Joint joint = spec.joint;
  if (spec.frame >= 0 && joint.type != JointType::kFree) {
    const Transform& X = frames[static_cast<std::size_t>(spec.frame)];
    joint.anchor = X * joint.anchor;
    joint.axis = X.rotation * joint.axis;
  }
  return joint;
}

ShapeElement Compiler::compile_geom(const GeomSpec& spec, const std::vector<Transform>& frames, bool moves) {
  ShapeElement shape = spec.element;
  const Place place = place_of(spec);
  if (moves && (place.shape.type == ShapeType::kPlane || place.shape.type == ShapeType::kHeightField)) {
    fail(shape.origin, fmt::format("a {} on a body that moves", to_string(place.shape.type)),
         "planes and height fields belong to static bodies");
  }
  shape.shape = place.shape;
  if (spec.type != GeomType::kMesh && !spec.mesh.empty()) {  // fitted: the file means the frame before
    const Transform X = spec.pose.transform().inverse() * place.pose;
    const Vector3 linear = shape.surface_velocity.head<3>(), angular = shape.surface_velocity.tail<3>();
    shape.surface_velocity << X.rotation.conjugate() * (linear + angular.cross(X.position)),
        X.rotation.conjugate() * angular;
  }
  shape.pose = in_frame(frames, spec.frame, place.pose);
  std::string material = spec.material;
  if (material.empty() && spec.type == GeomType::kMesh) material = assets_.mesh(spec.mesh, shape.origin).spec->material;
  shape.visual_material = assets_.material(material) ? material : std::string{};
  if (!material.empty() && shape.visual_material.empty()) {
    warnings_.add(shape.origin, fmt::format("there is no material '{}'", material));
  }
  shape.color = colour(spec.rgba, material);
  shape.visual_only = shape.contact_type == 0 && shape.contact_affinity == 0;
  return shape;
}

// A colour of its own wins over the material's.
Eigen::Vector4d Compiler::colour(const Eigen::Vector4d& rgba, const std::string& material) const {
  static const Eigen::Vector4d kDefault(0.5, 0.5, 0.5, 1.0);
  const MaterialSpec* spec = material.empty() ? nullptr : assets_.material(material);
  return spec && rgba == kDefault ? spec->material.color : rgba;
}

void Compiler::add_to_builder(BodyDraft draft) {
  const bool is_world = draft.body.parent < 0;
  const int body = is_world ? 0 : static_cast<int>(builder_.bodies().size());
  if (!is_world) {
    add_name(bodies_, "body", draft.body.name, body, draft.body.origin);
    builder_.add_body(std::move(draft.body));
  }
  for (Joint& joint : draft.joints) {
    joint.body = body;
    add_name(joints_, "joint", joint.name, static_cast<int>(builder_.joints().size()), joint.origin);
    builder_.add_joint(std::move(joint));
  }
  for (ShapeElement& shape : draft.shapes) {
    shape.body = body;
    add_name(shapes_, "geom", shape.name, static_cast<int>(builder_.shapes().size()), shape.origin);
    builder_.add_shape(std::move(shape));
  }
  for (Site& site : draft.sites) {
    site.body = body;
    add_name(sites_, "site", site.name, static_cast<int>(builder_.sites().size()), site.origin);
    builder_.add_site(std::move(site));
  }
}

// The axes of a body's inertia: as written, those of its only geom with mass, or principal axes.
Quaternion Compiler::inertial_axes(const BodySpec& spec, const BodyDraft& draft) const {
  const bool written = spec.inertial && !spec.inertial->full && spec.compiler->inertia_from_geom != Switch::kTrue;
  if (written) return spec.inertial->pose.transform().rotation;
  if (!spec.inertial && draft.shapes.size() == 1 && draft.shapes[0].shape.type != ShapeType::kMesh) {
    return draft.shapes[0].pose.rotation;
  }
  return principal_frame(draft.body.inertia.inertia).axes;
}

// A free body without children may ask for its frame to be moved to the inertial frame.
void Compiler::align_free_body(const BodySpec& spec, BodyDraft& draft) const {
  if (spec.joints.size() != 1 || spec.joints[0].joint.type != JointType::kFree) return;
  const Switch align = spec.joints[0].align;
  if (align == Switch::kFalse || (align == Switch::kAuto && !spec.compiler->align_free)) return;
  MassProperties& inertia = draft.body.inertia;
  Transform X{inertia.com, inertial_axes(spec, draft)};
  const Transform back = X.inverse();
  draft.body.pose = draft.body.pose * X;
  for (ShapeElement& shape : draft.shapes) shape.pose = back * shape.pose;
  for (Site& site : draft.sites) site.pose = back * site.pose;
  inertia = transformed(back, inertia);
  inertia.com.setZero();
}

}  // namespace touchstone::mjcf

// The body tree: bodies, frames, replicate, attach. Walks the XML with an explicit stack, since models may be deep.
#include "touchstone/io/mjcf/mjcf_attach.hpp"
#include "touchstone/io/mjcf/mjcf_parser.hpp"
#include "touchstone/io/mjcf/mjcf_schema.hpp"

namespace touchstone::mjcf {
namespace {

// "007" for the eighth of 200 replicas.
std::string replica_number(int index, int count) {
  const std::string number = std::to_string(index);
  return std::string(std::to_string(count).size() - number.size(), '0') + number;
}

int find_body(const ModelSpec& spec, const std::string& name) {
  for (const int body : depth_first(spec)) {
    if (spec.bodies[static_cast<std::size_t>(body)].name == name) return body;
  }
  return -1;
}

struct FramePlace {
  int body = -1, frame = -1;
};

FramePlace find_frame(const ModelSpec& spec, const std::string& name) {
  for (const int body : depth_first(spec)) {
    const std::vector<FrameSpec>& frames = spec.bodies[static_cast<std::size_t>(body)].frames;
    for (std::size_t f = 0; f < frames.size(); ++f) {
      if (frames[f].name == name) return {body, static_cast<int>(f)};
    }
  }
  return {};
}

}  // namespace

std::vector<int> depth_first(const ModelSpec& spec) {
  std::vector<int> order, stack{0};
  while (!stack.empty()) {
    const int body = stack.back();
    stack.pop_back();
    order.push_back(body);
    const std::vector<int>& children = spec.bodies[static_cast<std::size_t>(body)].children;
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return order;
}

void Parser::parse_world(const XmlElement& section) {
  if (!section.attributes.empty()) {
    warn(section, fmt::format("attribute '{}' of the world is ignored", section.attributes.front().name));
  }
  parse_tree(section, {});
}

void Parser::parse_tree(const XmlElement& section, const Place& root) {
  struct Level {
    const XmlElement* element;
    std::size_t next;
    Place place;
  };
  std::vector<Level> stack{{&section, 0, root}};
  while (!stack.empty()) {
    Level& level = stack.back();
    if (level.next == level.element->children.size()) {
      stack.pop_back();
      continue;
    }
    const XmlElement& element = *level.element->children[level.next++];
    const Place place = level.place;
    if (!is_known_element("body", element.tag)) continue;
    if (element.tag == "body")
      stack.push_back({&element, 0, add_body(element, place)});
    else if (element.tag == "frame")
      stack.push_back({&element, 0, add_frame(element, place)});
    else
      parse_leaf(element, place);
  }
}

void Parser::parse_leaf(const XmlElement& element, const Place& place) {
  const std::string& tag = element.tag;
  if (tag == "geom")
    add_geom(element, place);
  else if (tag == "joint" || tag == "freejoint")
    add_joint(element, place);
  else if (tag == "site")
    add_site(element, place);
  else if (tag == "inertial")
    parse_inertial(element, place);
  else if (tag == "replicate")
    replicate(element, place);
  else if (tag == "attach")
    attach(element, place);
  else if (tag == "plugin")
    refuse(element, "a plugin");
  else if (tag == "composite" || tag == "flexcomp")
    refuse(element, fmt::format("<{}>", tag));
  // Cameras and lights are the viewer's own.
}

int Parser::child_class(const XmlElement& element, const Place& place) const {
  const std::string* name = element.find("childclass");
  return name ? class_named(element, "childclass", *name) : place.default_class;
}

Parser::Place Parser::add_body(const XmlElement& element, const Place& place) {
  count_element(element);
  BodySpec body;
  body.id = new_id();
  body.origin = origin(element);
  body.compiler = compiler_;
  body.frame = place.frame;
  read(element, "name", body.name);
  if (body.name == "world") fail_attribute(element, "name", "the name is taken by the world");
  read_pose(element, body.pose);
  read(element, "mocap", body.mocap);
  read(element, "gravcomp", body.gravity_compensation);
  const int sleep = read_keyword(element, "sleep", {"auto", "never", "allowed", "init"});
  if (sleep >= 0) body.sleep = static_cast<SleepPolicy>(sleep);
  const int index = static_cast<int>(spec_.bodies.size());
  spec_.bodies.push_back(std::move(body));
  spec_.bodies[static_cast<std::size_t>(place.body)].children.push_back(index);
  return {index, -1, child_class(element, place), false};
}

Parser::Place Parser::add_frame(const XmlElement& element, const Place& place) {
  count_element(element);
  FrameSpec frame;
  read(element, "name", frame.name);
  frame.parent = place.frame;
  PoseSpec pose;
  read_pose(element, pose);
  frame.pose = pose.transform();
  std::vector<FrameSpec>& frames = spec_.bodies[static_cast<std::size_t>(place.body)].frames;
  frames.push_back(std::move(frame));
  return {place.body, static_cast<int>(frames.size()) - 1, child_class(element, place), place.in_replicate};
}

void Parser::add_joint(const XmlElement& element, const Place& place) {
  count_element(element);
  if (place.body == 0) fail(element, "the world has no joints", "put the joint into a body");
  if (place.in_replicate) fail(element, "a joint is directly in <replicate>", "put it into a body");
  JointSpec joint;
  if (element.tag == "freejoint") {
    // The point of <freejoint> is that default classes do not apply.
    joint.joint.type = JointType::kFree;
    read(element, "name", joint.joint.name);
    read(element, "group", joint.joint.group);
    read_switch(element, "align", joint.align);
  } else {
    joint = classes_[static_cast<std::size_t>(class_of(element, place.default_class))].joint;
    read_joint(element, joint);
    finish_joint(element, joint);
  }
  joint.id = new_id();
  joint.frame = place.frame;
  joint.joint.origin = origin(element);
  spec_.bodies[static_cast<std::size_t>(place.body)].joints.push_back(std::move(joint));
}

void Parser::add_geom(const XmlElement& element, const Place& place) {
  count_element(element);
  GeomSpec geom = classes_[static_cast<std::size_t>(class_of(element, place.default_class))].geom;
  read_geom(element, geom);
  if (geom.type == GeomType::kSdf) refuse_always(element, "type 'sdf'", "use a mesh or primitive shapes");
  geom.compiler = compiler_;
  geom.frame = place.frame;
  geom.element.origin = origin(element);
  spec_.bodies[static_cast<std::size_t>(place.body)].geoms.push_back(std::move(geom));
}

void Parser::add_site(const XmlElement& element, const Place& place) {
  count_element(element);
  SiteSpec site = classes_[static_cast<std::size_t>(class_of(element, place.default_class))].site;
  read_site(element, site);
  site.frame = place.frame;
  site.site.origin = origin(element);
  spec_.bodies[static_cast<std::size_t>(place.body)].sites.push_back(std::move(site));
}

void Parser::parse_inertial(const XmlElement& element, const Place& place) {
  if (place.body == 0) fail(element, "the world has no inertia");
  if (place.in_replicate) fail(element, "an inertial is directly in <replicate>", "put it into a body");
  InertialSpec inertial = read_inertial(element);
  inertial.frame = place.frame;
  spec_.bodies[static_cast<std::size_t>(place.body)].inertial = std::move(inertial);
}

void Parser::replicate(const XmlElement& element, const Place& place) {
  constexpr int kMostNested = 32;
  const int count = required_attribute<int>(element, "count");
  if (count < 1) fail_attribute(element, "count", "it must be positive");
  if (static_cast<std::size_t>(count) > context_.options.max_elements) {
    fail_attribute(element, "count", fmt::format("more than {} elements", context_.options.max_elements),
                   remedy_for_size(context_.options));
  }
  if (++replicate_depth_ > kMostNested)
    fail(element, fmt::format("<replicate> is nested more than {} deep", kMostNested));
  const Vector3 offset = optional_attribute<Vector3>(element, "offset", Vector3::Zero());
  const Vector3 euler = optional_attribute<Vector3>(element, "euler", Vector3::Zero());
  const std::string separator = optional_attribute<std::string>(element, "sep", "");

  // The contents are parsed once into a body that is not part of the tree.
  const int original = static_cast<int>(spec_.bodies.size());
  spec_.bodies.emplace_back().compiler = compiler_;
  parse_tree(element, {original, -1, child_class(element, place), true});

  Vector3 position = Vector3::Zero();
  Grafted first;
  for (int i = 0; i < count; ++i) {
    // The angles grow, not the rotation: the same for one axis, and what MuJoCo does.
    const Transform X{position, rotation_from_euler(i * euler)};
    position += X.rotation * offset;

    std::vector<FrameSpec>& frames = spec_.bodies[static_cast<std::size_t>(place.body)].frames;
    frames.push_back({{}, place.frame, X});
    const Graft graft{.into = spec_,
                      .body = place.body,
                      .frame = static_cast<int>(frames.size()) - 1,
                      .prefix = {},
                      .suffix = separator + replica_number(i, count),
                      .from_other_model = false,
                      .element_count = &context_.element_count,
                      .options = &context_.options,
                      .origin = origin(element)};
    Grafted grafted;
    graft_contents(graft, spec_, original, -1, context_.next_id, grafted);
    graft_relations(graft, spec_, context_.next_id, grafted);
    if (i == 0) first = std::move(grafted);
  }
  remove_relations(spec_, first);
  move_keyframe_parts(spec_, first);
  --replicate_depth_;
}

void Parser::attach(const XmlElement& element, const Place& place) {
  const std::string prefix = required_attribute<std::string>(element, "prefix");
  std::string model_name, body_name, frame_name;
  const bool other = read(element, "model", model_name);
  const bool has_body = read(element, "body", body_name);
  const bool has_frame = read(element, "frame", frame_name);
  if (has_body && has_frame) fail(element, "body and frame are both given");
  if (!other && !has_body && !has_frame) fail(element, "neither model, body nor frame is given");

  std::shared_ptr<const ModelSpec> model;
  if (other) {
    const auto found = sub_models_.find(model_name);
    if (found == sub_models_.end()) fail_attribute(element, "model", "there is no such <model> in <asset>");
    model = found->second;
  }
  const ModelSpec& source = other ? *model : spec_;
  const Graft graft{.into = spec_,
                    .body = place.body,
                    .frame = place.frame,
                    .prefix = prefix,
                    .suffix = {},
                    .from_other_model = other,
                    .element_count = &context_.element_count,
                    .options = &context_.options,
                    .origin = origin(element)};
  Grafted grafted;
  if (has_body) {
    const int body = find_body(source, body_name);
    if (body <= 0) fail_attribute(element, "body", "there is no such body");
    graft_body(graft, source, body, context_.next_id, grafted);
  } else {
    const FramePlace frame = has_frame ? find_frame(source, frame_name) : FramePlace{0, -1};
    if (frame.body < 0) fail_attribute(element, "frame", "there is no such frame");
    graft_contents(graft, source, frame.body, frame.frame, context_.next_id, grafted);
  }
  if (other) graft_assets(graft, source);
  graft_relations(graft, source, context_.next_id, grafted);
  if (!other) return;
  for (const Reference& dropped : source.dropped) spec_.dropped.push_back({dropped.kind, graft.rename(dropped.name)});
  spec_.warnings.append(source.warnings);
}

}  // namespace touchstone::mjcf

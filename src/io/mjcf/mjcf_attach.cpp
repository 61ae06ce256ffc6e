#include "touchstone/io/mjcf/mjcf_attach.hpp"

#include <algorithm>
#include <utility>

#include "touchstone/io/notes.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

void count(const Graft& graft, std::size_t added) {
  *graft.element_count += added;
  if (*graft.element_count > graft.options->max_elements) {
    fail(graft.origin, fmt::format("the model has more than {} elements", graft.options->max_elements),
         remedy_for_size(*graft.options));
  }
}

std::string asset_name(const Graft& graft, const std::string& name) {
  return graft.from_other_model ? graft.rename(name) : name;
}

void note(Grafted& grafted, Kind kind, const std::string& name) {
  if (!name.empty()) grafted.names[kind].insert(name);
}

JointSpec copy_of(const JointSpec& joint, const Graft& graft, int& next_id, Grafted& grafted) {
  JointSpec copy = joint;
  copy.id = next_id++;
  grafted.joints[joint.id] = copy.id;
  note(grafted, Kind::kJoint, joint.joint.name);
  copy.joint.name = graft.rename(joint.joint.name);
  return copy;
}

GeomSpec copy_of(const GeomSpec& geom, const Graft& graft, Grafted& grafted) {
  GeomSpec copy = geom;
  note(grafted, Kind::kGeom, geom.element.name);
  copy.element.name = graft.rename(geom.element.name);
  copy.mesh = asset_name(graft, geom.mesh);
  copy.height_field = asset_name(graft, geom.height_field);
  copy.material = asset_name(graft, geom.material);
  return copy;
}

SiteSpec copy_of(const SiteSpec& site, const Graft& graft, Grafted& grafted) {
  SiteSpec copy = site;
  note(grafted, Kind::kSite, site.site.name);
  copy.site.name = graft.rename(site.site.name);
  copy.mesh = asset_name(graft, site.mesh);
  copy.material = asset_name(graft, site.material);
  return copy;
}

// Copies one body without its children and returns the index of the copy.
int copy_body(const Graft& graft, const ModelSpec& source, int original, int parent, int frame, int& next_id,
              Grafted& grafted) {
  const BodySpec& body = source.bodies[static_cast<std::size_t>(original)];
  count(graft, 1 + body.joints.size() + body.geoms.size() + body.sites.size());
  const int index = static_cast<int>(graft.into.bodies.size());
  BodySpec copy;
  copy.id = next_id++;
  grafted.bodies[body.id] = copy.id;
  note(grafted, Kind::kBody, body.name);
  copy.name = graft.rename(body.name);
  copy.frame = frame;
  copy.pose = body.pose;
  copy.mocap = body.mocap;
  copy.gravity_compensation = body.gravity_compensation;
  copy.sleep = body.sleep;
  copy.inertial = body.inertial;
  copy.frames = body.frames;
  for (FrameSpec& f : copy.frames) f.name = graft.rename(f.name);
  for (const JointSpec& joint : body.joints) copy.joints.push_back(copy_of(joint, graft, next_id, grafted));
  for (const GeomSpec& geom : body.geoms) copy.geoms.push_back(copy_of(geom, graft, grafted));
  for (const SiteSpec& site : body.sites) copy.sites.push_back(copy_of(site, graft, grafted));
  copy.compiler = body.compiler;
  copy.origin = body.origin;
  graft.into.bodies.push_back(std::move(copy));
  graft.into.bodies[static_cast<std::size_t>(parent)].children.push_back(index);
  return index;
}

void copy_subtree(const Graft& graft, const ModelSpec& source, int root, int frame, int& next_id, Grafted& grafted) {
  // The list comes first: the copy may hang on a body of the subtree itself.
  struct Step {
    int original;
    std::size_t parent;  // step of the parent
  };
  std::vector<Step> steps, stack{{root, 0}};
  while (!stack.empty()) {
    const Step top = stack.back();
    stack.pop_back();
    const std::vector<int>& children = source.bodies[static_cast<std::size_t>(top.original)].children;
    for (auto child = children.rbegin(); child != children.rend(); ++child) stack.push_back({*child, steps.size()});
    steps.push_back(top);
  }
  std::vector<int> copies;
  for (const Step& step : steps) {
    const bool is_root = copies.empty();
    const int parent = is_root ? graft.body : copies[step.parent];
    const int frame_of_copy = is_root ? frame : source.bodies[static_cast<std::size_t>(step.original)].frame;
    copies.push_back(copy_body(graft, source, step.original, parent, frame_of_copy, next_id, grafted));
  }
}

// --- relations -----------------------------------------------------------------------------------------------------

// Calls f(reference) for each name that an element refers to and stores what comes back.
template <typename F>
void each_reference(PairSpec& pair, F&& f) {
  pair.geom1 = f(Reference{Kind::kGeom, pair.geom1});
  pair.geom2 = f(Reference{Kind::kGeom, pair.geom2});
}
template <typename F>
void each_reference(ExcludeSpec& exclude, F&& f) {
  exclude.body1 = f(Reference{Kind::kBody, exclude.body1});
  exclude.body2 = f(Reference{Kind::kBody, exclude.body2});
}
template <typename F>
void each_reference(EqualitySpec& equality, F&& f) {
  equality.first.name = f(equality.first);
  equality.second.name = f(equality.second);
}
template <typename F>
void each_reference(TendonSpec& tendon, F&& f) {
  for (std::string& joint : tendon.joints) joint = f(Reference{Kind::kJoint, joint});
}
template <typename F>
void each_reference(ActuatorSpec& actuator, F&& f) {
  actuator.target.name = f(actuator.target);
  actuator.second.name = f(actuator.second);
}
template <typename F>
void each_reference(SensorSpec& sensor, F&& f) {
  sensor.object.name = f(sensor.object);
  sensor.reference.name = f(sensor.reference);
}

std::string& name_of(PairSpec& spec) { return spec.pair.name; }
std::string& name_of(ExcludeSpec& spec) { return spec.exclusion.name; }
std::string& name_of(EqualitySpec& spec) { return spec.equality.name; }
std::string& name_of(TendonSpec& spec) { return spec.tendon.name; }
std::string& name_of(ActuatorSpec& spec) { return spec.actuator.name; }
std::string& name_of(SensorSpec& spec) { return spec.sensor.name; }

const Origin& origin_of(const PairSpec& spec) { return spec.pair.origin; }
const Origin& origin_of(const ExcludeSpec& spec) { return spec.exclusion.origin; }
const Origin& origin_of(const EqualitySpec& spec) { return spec.equality.origin; }
const Origin& origin_of(const TendonSpec& spec) { return spec.tendon.origin; }
const Origin& origin_of(const ActuatorSpec& spec) { return spec.actuator.origin; }
const Origin& origin_of(const SensorSpec& spec) { return spec.sensor.origin; }

struct References {
  int inside = 0, outside = 0;
};

template <typename Element>
References count_references(Element element, const Grafted& grafted) {
  References result;
  each_reference(element, [&](const Reference& reference) {
    const bool fixed =
        reference.name.empty() || reference.kind == Kind::kNone ||
        ((reference.kind == Kind::kBody || reference.kind == Kind::kInertialBody) && reference.name == "world");
    if (!fixed) ++(grafted.has(reference) ? result.inside : result.outside);
    return reference.name;
  });
  return result;
}

template <typename Element>
constexpr bool kMayReferOutside =
    std::is_same_v<Element, PairSpec> || std::is_same_v<Element, ExcludeSpec> || std::is_same_v<Element, SensorSpec>;

// Whether a relation of the source belongs to the copy. Within one model MuJoCo keeps pairs, exclusions and sensors
// that refer to both the copy and other elements, and rejects or silently loses the others: we reject them.
template <typename Element>
bool belongs(const Graft& graft, const Element& element, const Grafted& grafted) {
  const References references = count_references(element, grafted);
  if (graft.from_other_model) return references.outside == 0;
  if (references.inside == 0) return false;
  if (references.outside == 0 || kMayReferOutside<Element>) return true;
  fail(origin_of(element), "it refers both to copied elements and to others",
       "write it once for each copy, outside of the <replicate> or <attach>");
}

template <typename Element, typename Added>
void graft_list(const Graft& graft, const std::vector<Element>& from, std::vector<Element>& to, Grafted& grafted,
                Added&& added) {
  const std::size_t original_count = from.size();  // from and to may be the same list
  for (std::size_t i = 0; i < original_count; ++i) {
    if (!belongs(graft, from[i], grafted)) continue;
    count(graft, 1);
    Element copy = from[i];
    added(from[i], copy);
    name_of(copy) = graft.rename(name_of(copy));
    each_reference(copy, [&](const Reference& reference) {
      return grafted.has(reference) ? graft.rename(reference.name) : reference.name;
    });
    to.push_back(std::move(copy));
  }
}

template <typename Element>
void graft_list(const Graft& graft, const std::vector<Element>& from, std::vector<Element>& to, Grafted& grafted) {
  graft_list(graft, from, to, grafted, [](const Element&, Element&) {});
}

template <typename Element>
void remove_from(std::vector<Element>& list, const Grafted& names) {
  std::erase_if(list, [&](const Element& element) { return count_references(element, names).inside > 0; });
}

// Old identities to new ones; entries of what was not copied are lost.
void rename_parts(std::map<int, std::vector<double>>& parts, const std::unordered_map<int, int>& identities,
                  bool keep_others) {
  std::map<int, std::vector<double>> renamed;
  for (auto& [id, values] : parts) {
    const auto found = identities.find(id);
    if (found != identities.end())
      renamed[found->second] = std::move(values);
    else if (keep_others)
      renamed[id] = std::move(values);
  }
  parts = std::move(renamed);
}

void rename_parts(KeyframeParts& parts, const Grafted& grafted, bool keep_others) {
  rename_parts(parts.joint_q, grafted.joints, keep_others);
  rename_parts(parts.joint_v, grafted.joints, keep_others);
  rename_parts(parts.activation, grafted.actuators, keep_others);
  rename_parts(parts.control, grafted.actuators, keep_others);
  rename_parts(parts.mocap, grafted.bodies, keep_others);
}

template <typename Asset, typename Name>
void graft_asset_list(const Graft& graft, const std::vector<Asset>& from, std::vector<Asset>& to, Name&& name) {
  for (const Asset& asset : from) {
    count(graft, 1);
    to.push_back(asset);
    std::string& copy_name = name(to.back());
    copy_name = graft.rename(copy_name);
  }
}

}  // namespace

bool Grafted::has(const Reference& reference) const {
  const Kind kind = reference.kind == Kind::kInertialBody ? Kind::kBody : reference.kind;
  const auto found = names.find(kind);
  return found != names.end() && found->second.count(reference.name) > 0;
}

void graft_body(const Graft& graft, const ModelSpec& source, int body, int& next_id, Grafted& grafted) {
  copy_subtree(graft, source, body, graft.frame, next_id, grafted);
}

void graft_contents(const Graft& graft, const ModelSpec& source, int body, int frame, int& next_id, Grafted& grafted) {
  const BodySpec from = source.bodies[static_cast<std::size_t>(body)];  // a copy: `to` may be the same body
  BodySpec& to = graft.into.bodies[static_cast<std::size_t>(graft.body)];
  // -1: not part of the copy. The contents of no frame go to the graft's frame.
  std::vector<int> new_frame(from.frames.size(), -1);
  for (std::size_t f = 0; f < from.frames.size(); ++f) {
    const FrameSpec& old = from.frames[f];
    const bool is_root = static_cast<int>(f) == frame;
    const bool inside =
        frame < 0 || is_root || (old.parent >= 0 && new_frame[static_cast<std::size_t>(old.parent)] >= 0);
    if (!inside) continue;
    const bool top = is_root || old.parent < 0;
    new_frame[f] = static_cast<int>(to.frames.size());
    const int parent = top ? graft.frame : new_frame[static_cast<std::size_t>(old.parent)];
    to.frames.push_back({graft.rename(old.name), parent, old.pose});
  }
  const auto inside = [&](int f) { return f < 0 ? frame < 0 : new_frame[static_cast<std::size_t>(f)] >= 0; };
  const auto moved = [&](int f) { return f < 0 ? graft.frame : new_frame[static_cast<std::size_t>(f)]; };
  const auto copy_list = [&](const auto& list, auto& out, auto&& make) {
    for (const auto& element : list) {
      if (!inside(element.frame)) continue;
      count(graft, 1);
      out.push_back(make(element));
      out.back().frame = moved(element.frame);
    }
  };
  copy_list(from.joints, to.joints, [&](const JointSpec& joint) { return copy_of(joint, graft, next_id, grafted); });
  copy_list(from.geoms, to.geoms, [&](const GeomSpec& geom) { return copy_of(geom, graft, grafted); });
  copy_list(from.sites, to.sites, [&](const SiteSpec& site) { return copy_of(site, graft, grafted); });
  for (const int child : from.children) {
    const int child_frame = source.bodies[static_cast<std::size_t>(child)].frame;
    if (inside(child_frame)) copy_subtree(graft, source, child, moved(child_frame), next_id, grafted);
  }
}

void graft_assets(const Graft& graft, const ModelSpec& source) {
  ModelSpec& into = graft.into;
  graft_asset_list(graft, source.meshes, into.meshes, [&](MeshSpec& mesh) -> std::string& {
    mesh.material = graft.rename(mesh.material);
    return mesh.name;
  });
  graft_asset_list(graft, source.height_fields, into.height_fields,
                   [](HeightFieldSpec& field) -> std::string& { return field.name; });
  graft_asset_list(graft, source.textures, into.textures,
                   [](TextureSpec& texture) -> std::string& { return texture.name; });
  graft_asset_list(graft, source.materials, into.materials, [&](MaterialSpec& material) -> std::string& {
    material.texture = graft.rename(material.texture);
    return material.material.name;
  });
}

void graft_relations(const Graft& graft, const ModelSpec& source, int& next_id, Grafted& grafted) {
  ModelSpec& into = graft.into;
  graft_list(graft, source.pairs, into.pairs, grafted);
  graft_list(graft, source.excludes, into.excludes, grafted);
  graft_list(graft, source.tendons, into.tendons, grafted,
             [&](const TendonSpec& old, TendonSpec&) { note(grafted, Kind::kTendon, old.tendon.name); });
  graft_list(graft, source.equalities, into.equalities, grafted);
  graft_list(graft, source.actuators, into.actuators, grafted, [&](const ActuatorSpec& old, ActuatorSpec& copy) {
    copy.id = next_id++;
    grafted.actuators[old.id] = copy.id;
    note(grafted, Kind::kActuator, old.actuator.name);
  });
  graft_list(graft, source.sensors, into.sensors, grafted);
  if (!graft.from_other_model) return;
  for (const KeyframeSpec& key : source.keyframes) {
    count(graft, 1);
    KeyframeSpec copy = key;
    copy.name = graft.rename(copy.name);
    rename_parts(*copy.parts, grafted, false);
    into.keyframes.push_back(std::move(copy));
  }
}

void remove_relations(ModelSpec& spec, const Grafted& names) {
  remove_from(spec.pairs, names);
  remove_from(spec.excludes, names);
  remove_from(spec.tendons, names);
  remove_from(spec.equalities, names);
  remove_from(spec.actuators, names);
  remove_from(spec.sensors, names);
}

void move_keyframe_parts(ModelSpec& spec, const Grafted& grafted) {
  for (KeyframeSpec& key : spec.keyframes) {
    if (key.parts) rename_parts(*key.parts, grafted, true);
  }
}

}  // namespace touchstone::mjcf

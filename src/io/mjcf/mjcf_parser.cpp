#include "touchstone/io/mjcf/mjcf_parser.hpp"

#include <algorithm>

#include "touchstone/io/mjcf/mjcf_schema.hpp"

namespace touchstone::mjcf {
namespace {

bool is_actuator(std::string_view tag) { return is_known_element("actuator", tag); }

}  // namespace

ModelSpec Parser::parse(const XmlElement& root) {
  if (root.tag != "mujoco") {
    fail(root, fmt::format("the top-level element is <{}>", root.tag),
         root.tag == "mujocoinclude" ? "it is a part of a model: load the file that includes it"
                                     : "an MJCF file begins with <mujoco>");
  }
  read(root, "model", spec_.name);
  spec_.file = root.file ? *root.file : std::string{};
  check_schema(root, spec_.warnings);
  spec_.compiler = compiler_;
  each_section(root, "compiler", &Parser::parse_compiler);
  spec_.bodies.emplace_back();
  spec_.bodies[0].name = "world";
  spec_.bodies[0].compiler = compiler_;
  classes_.emplace_back();
  class_names_["main"] = 0;

  each_section(root, "option", &Parser::parse_option);
  each_section(root, "default", &Parser::parse_default);
  each_section(root, "extension", &Parser::parse_extension);
  each_section(root, "asset", &Parser::parse_asset);
  each_section(root, "contact", &Parser::parse_contact);
  each_section(root, "deformable", &Parser::parse_deformable);
  each_section(root, "equality", &Parser::parse_equality);
  each_section(root, "tendon", &Parser::parse_tendon);
  each_section(root, "actuator", &Parser::parse_actuators);
  each_section(root, "sensor", &Parser::parse_sensor);
  // After what refers to the tree, for replicate and attach copy that too; keyframes describe the result.
  const std::size_t attached_keyframes = spec_.keyframes.size();
  each_section(root, "worldbody", &Parser::parse_world);
  const auto first_attached = static_cast<std::ptrdiff_t>(spec_.keyframes.size());
  each_section(root, "keyframe", &Parser::parse_keyframe);
  std::rotate(spec_.keyframes.begin() + static_cast<std::ptrdiff_t>(attached_keyframes),
              spec_.keyframes.begin() + first_attached, spec_.keyframes.end());
  return std::move(spec_);
}

void Parser::each_section(const XmlElement& root, std::string_view tag, ElementReader reader) {
  for (const XmlElement* section : root.children) {
    if (section->tag == tag) (this->*reader)(*section);
  }
}

// --- compiler and option ----------------------------------------------------------------------------------------

void Parser::parse_compiler(const XmlElement& element) {
  CompilerOptions& c = *compiler_;
  if (read_keyword(element, "coordinate", {"local", "global"}) == 1) {
    refuse_always(element, "coordinate 'global'", "convert the model with MuJoCo 2.3.3 or older");
  }
  const int angle = read_keyword(element, "angle", {"radian", "degree"});
  if (angle >= 0) c.degree = angle == 1;
  if (read(element, "eulerseq", c.euler_sequence)) {
    const bool letters = c.euler_sequence.find_first_not_of("xyzXYZ") == std::string::npos;
    if (c.euler_sequence.size() != 3 || !letters) {
      fail_attribute(element, "eulerseq", "expected three letters of xyzXYZ");
    }
  }
  if (read(element, "assetdir", c.mesh_folder)) c.texture_folder = c.mesh_folder;
  read(element, "meshdir", c.mesh_folder);
  read(element, "texturedir", c.texture_folder);
  read(element, "strippath", c.strip_path);
  read(element, "autolimits", c.auto_limits);
  read_switch(element, "inertiafromgeom", c.inertia_from_geom);
  std::vector<int> groups;
  if (read(element, "inertiagrouprange", groups)) {
    if (groups.size() != 2) fail_attribute(element, "inertiagrouprange", "expected two integers");
    c.first_inertia_group = groups[0];
    c.last_inertia_group = groups[1];
  }
  read(element, "balanceinertia", c.balance_inertia);
  read(element, "boundmass", c.bound_mass);
  read(element, "boundinertia", c.bound_inertia);
  if (c.bound_mass < 0.0) fail_attribute(element, "boundmass", "it is negative");
  if (c.bound_inertia < 0.0) fail_attribute(element, "boundinertia", "it is negative");
  read(element, "settotalmass", c.total_mass);
  read(element, "fitaabb", c.fit_aabb);
  read(element, "alignfree", c.align_free);
  bool requested = false;
  if (read(element, "fusestatic", requested) && requested)
    warn(element, "fusestatic is ignored: static bodies are kept");
  if (read(element, "discardvisual", requested) && requested) {
    warn(element, "discardvisual is ignored: visual shapes are kept");
  }
  if (read_keyword(element, "conflict", {"warning", "merge", "error"}) > 0) {
    warn(element, "conflict is ignored: the options of the main model win");
  }
}

void Parser::parse_option(const XmlElement& element) {
  SimulationOptions& o = spec_.options;
  read(element, "timestep", o.time_step);
  if (o.time_step <= 0.0) fail_attribute(element, "timestep", "it must be positive");
  read(element, "gravity", spec_.gravity);
  read(element, "magnetic", o.magnetic_field);
  read(element, "impratio", o.friction_impedance_ratio);
  read(element, "sleep_tolerance", o.sleep_tolerance);
  static constexpr const char* kIntegrators[] = {"euler", "rk4", "implicit", "implicitfast"};
  const int integrator = read_keyword(element, "integrator", {"Euler", "RK4", "implicit", "implicitfast"});
  if (integrator >= 0) o.integrator = kIntegrators[integrator];
  static constexpr const char* kCones[] = {"pyramidal", "elliptic"};
  const int cone = read_keyword(element, "cone", {"pyramidal", "elliptic"});
  if (cone >= 0) o.cone = kCones[cone];
  double density = 0.0, viscosity = 0.0;
  read(element, "density", density);
  read(element, "viscosity", viscosity);
  if (density != 0.0 || viscosity != 0.0) {
    refuse(element, fmt::format("a fluid (density '{}', viscosity '{}')", density, viscosity));
  }
  std::vector<int> disabled_groups;
  if (read(element, "actuatorgroupdisable", disabled_groups) && !disabled_groups.empty()) {
    refuse(element, "disabled actuator groups (actuatorgroupdisable)");
  }
  for (const XmlElement* child : element.children) {
    if (child->tag == "flag") parse_option_flags(*child);
  }
}

void Parser::parse_option_flags(const XmlElement& flags) {
  SimulationOptions& o = spec_.options;
  const auto flag = [&](std::string_view attribute, bool& out) {
    const int keyword = read_keyword(flags, attribute, {"disable", "enable"});
    if (keyword >= 0) out = keyword == 1;
  };
  flag("gravity", o.gravity_enabled);
  flag("contact", o.contacts_enabled);
  flag("limit", o.limits_enabled);
  flag("equality", o.equalities_enabled);
  flag("frictionloss", o.friction_loss_enabled);
  flag("actuation", o.actuation_enabled);
  flag("clampctrl", o.clamp_controls);
  flag("eulerdamp", o.implicit_damping);
  flag("filterparent", o.filter_parent_contacts);
  flag("refsafe", o.safe_references);
  flag("sleep", o.sleep_enabled);
  bool constraints = true, passive = true, override_contacts = false;
  flag("passive", passive);  // before MuJoCo 3.3.6 one flag for springs and dampers
  if (!passive) o.springs_enabled = o.dampers_enabled = false;
  flag("constraint", constraints);
  if (!constraints) {
    o.contacts_enabled = o.limits_enabled = o.equalities_enabled = o.friction_loss_enabled = false;
  }
  flag("spring", o.springs_enabled);
  flag("damper", o.dampers_enabled);
  flag("override", override_contacts);
  if (override_contacts) refuse(flags, "overridden contact parameters (override)");
}

// --- defaults ----------------------------------------------------------------------------------------------------

void Parser::parse_default(const XmlElement& section) {
  struct Pending {
    const XmlElement* element;
    int parent;
  };
  std::vector<Pending> stack{{&section, -1}};
  while (!stack.empty()) {
    const auto [element, parent] = stack.back();
    stack.pop_back();
    const std::string name = optional_attribute<std::string>(*element, "class", parent < 0 ? "main" : "");
    int index = 0;
    if (parent < 0) {
      if (!name.empty() && name != "main") class_names_[name] = 0;  // older files name the top class as they like
    } else {
      if (name.empty()) fail_missing(*element, "class");
      if (!class_names_.emplace(name, static_cast<int>(classes_.size())).second) {
        fail_attribute(*element, "class", "the default class exists already");
      }
      count_element(*element);
      index = static_cast<int>(classes_.size());
      DefaultClass inherited = classes_[static_cast<std::size_t>(parent)];
      inherited.parent = parent;
      classes_.push_back(std::move(inherited));
    }
    for (const XmlElement* child : element->children) {
      if (child->tag != "default") parse_default_element(*child, index);
    }
    for (auto child = element->children.rbegin(); child != element->children.rend(); ++child) {
      if ((*child)->tag == "default") stack.push_back({*child, index});
    }
  }
}

void Parser::parse_default_element(const XmlElement& element, int index) {
  DefaultClass& defaults = classes_[static_cast<std::size_t>(index)];
  const std::string& tag = element.tag;
  if (tag == "mesh" || tag == "material") {
    if (tag == "mesh")
      read_mesh(element, defaults.mesh);
    else
      read_material(element, defaults.material);
  } else if (tag == "joint" || tag == "geom" || tag == "site") {
    if (tag == "joint")
      read_joint(element, defaults.joint);
    else if (tag == "geom")
      read_geom(element, defaults.geom);
    else
      read_site(element, defaults.site);
    // A name in a default class would make every element a namesake.
    defaults.joint.joint.name.clear();
    defaults.geom.element.name.clear();
    defaults.site.site.name.clear();
  } else if (tag == "pair") {
    read_pair(element, defaults.pair);
  } else if (tag == "equality") {
    read_equality_common(element, defaults.equality);
  } else if (tag == "tendon") {
    read_tendon(element, defaults.tendon);
  } else if (is_actuator(tag)) {
    read_actuator(element, defaults.actuator, index, defaults.unsupported_actuator);
    defaults.actuator.actuator.name.clear();
  }  // cameras, lights and textures are the viewer's own
}

int Parser::class_named(const XmlElement& element, std::string_view attribute, const std::string& name) const {
  const auto found = class_names_.find(name);
  if (found == class_names_.end()) {
    fail_attribute(element, attribute, "there is no such default class", "define it in <default>");
  }
  return found->second;
}

int Parser::class_of(const XmlElement& element, int inherited) const {
  const std::string* name = element.find("class");
  return name ? class_named(element, "class", *name) : inherited;
}

// --- complaints ----------------------------------------------------------------------------------------------------

void Parser::refuse(const XmlElement& element, const std::string& what) {
  if (context_.options.allow_ignored) {
    warn(element, fmt::format("{} is not supported and was ignored, which changes the physics", what));
    return;
  }
  context_.refusals.add(origin(element), fmt::format("{} is not supported", what));
}

void Parser::refuse_always(const XmlElement& element, const std::string& what, std::string remedy) {
  context_.refusals.add(origin(element), fmt::format("{} is not supported", what), std::move(remedy), false);
}

void Parser::warn(const XmlElement& element, std::string message) {
  spec_.warnings.add(origin(element), std::move(message));
}

void Parser::count_element(const XmlElement& element) {
  if (++context_.element_count > context_.options.max_elements) {
    fail(element, fmt::format("the model has more than {} elements", context_.options.max_elements),
         remedy_for_size(context_.options));
  }
}

// --- whole files ---------------------------------------------------------------------------------------------------

ModelSpec parse_text(ParseContext& context, std::string_view text, const std::string& name, const std::string& folder) {
  XmlDocument document;
  XmlElement& root = document.parse(text, name);
  expand_includes(document, root, context.files, folder);
  return Parser(context, folder).parse(root);
}

ModelSpec parse_file(ParseContext& context, const std::string& path, const XmlElement* reason) {
  const auto open = std::find(context.open_models.begin(), context.open_models.end(), path);
  if (open != context.open_models.end() && reason) fail_attribute(*reason, "file", "the model contains itself");
  context.open_models.push_back(path);
  ModelSpec spec = parse_text(context, context.files.read(path), path, folder_of(path));
  context.open_models.pop_back();
  return spec;
}

}  // namespace touchstone::mjcf

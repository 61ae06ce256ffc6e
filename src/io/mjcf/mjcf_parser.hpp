// Reads the XML of one MJCF model into a ModelSpec: sections, default classes, the body tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "touchstone/io/mjcf/mjcf_files.hpp"
#include "touchstone/io/mjcf/mjcf_spec.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {

// Shared by a model and the models it attaches.
struct ParseContext {
  const LoadOptions& options;
  const FileSource& files;
  int next_id = 1;
  std::size_t element_count = 0;
  std::vector<std::string> open_models;  // files being parsed, to find cycles
  Refusals refusals;
};

// A default class: one prototype of each element kind.
struct DefaultClass {
  int parent = -1;
  MeshSpec mesh;
  MaterialSpec material;
  JointSpec joint;
  GeomSpec geom;
  SiteSpec site;
  PairSpec pair;
  EqualitySpec equality;
  TendonSpec tendon;
  ActuatorSpec actuator;
  std::string unsupported_actuator;  // why no actuator can come from the prototype, empty if it can
};

class Parser {
 public:
  Parser(ParseContext& context, std::string folder) : context_(context), folder_(std::move(folder)) {}

  ModelSpec parse(const XmlElement& root);

 private:
  using ElementReader = void (Parser::*)(const XmlElement&);

  // mjcf_parser.cpp
  void each_section(const XmlElement& root, std::string_view tag, ElementReader reader);
  void parse_compiler(const XmlElement& element);
  void parse_option(const XmlElement& element);
  void parse_option_flags(const XmlElement& flags);
  void parse_default(const XmlElement& section);
  void parse_default_element(const XmlElement& element, int index);
  int class_named(const XmlElement& element, std::string_view attribute, const std::string& name) const;
  int class_of(const XmlElement& element, int inherited) const;  // the element's class attribute, or `inherited`

  // Something that cannot be honoured: an error once all is read, or with allow_ignored a warning. Go on without it.
  void refuse(const XmlElement& element, const std::string& what);
  // The same for what cannot be left out: an error in any case.
  void refuse_always(const XmlElement& element, const std::string& what, std::string remedy);
  void warn(const XmlElement& element, std::string message);
  void count_element(const XmlElement& element);
  int new_id() { return context_.next_id++; }

  // mjcf_parse_elements.cpp: each overwrites what the element sets
  void read_switch(const XmlElement& element, std::string_view attribute, Switch& out) const;
  void read_impedance(const XmlElement& element, std::string_view solref, std::string_view solimp,
                      Impedance& out) const;
  void read_polynomial(const XmlElement& element, std::string_view attribute, double& linear);
  void read_pose(const XmlElement& element, PoseSpec& pose) const;
  Quaternion rotation_from_euler(const Vector3& angles) const;  // in the units of the file
  void read_orientation(const XmlElement& element, PoseSpec& pose) const;
  void read_joint(const XmlElement& element, JointSpec& spec);
  void finish_joint(const XmlElement& element, JointSpec& spec) const;
  void read_geom(const XmlElement& element, GeomSpec& spec);
  void read_site(const XmlElement& element, SiteSpec& spec) const;
  void finish_limit(const XmlElement& element, std::string_view attribute, LimitSpec& limit) const;
  InertialSpec read_inertial(const XmlElement& element) const;

  // mjcf_parse_asset.cpp
  void parse_asset(const XmlElement& section);
  std::string asset_file(const XmlElement& element, const std::string& asset_folder) const;
  std::string optional_asset_file(const XmlElement& element, const std::string& asset_folder) const;
  void read_mesh(const XmlElement& element, MeshSpec& spec);
  void read_height_field(const XmlElement& element);
  void read_material(const XmlElement& element, MaterialSpec& spec) const;
  void read_texture(const XmlElement& element);
  void read_sub_model(const XmlElement& element);

  // mjcf_parse_actuator.cpp
  void parse_actuators(const XmlElement& section);
  bool read_actuator(const XmlElement& element, ActuatorSpec& spec, int class_index, std::string& unsupported);
  void read_actuator_common(const XmlElement& element, ActuatorSpec& spec);
  void read_transmission(const XmlElement& element, ActuatorSpec& spec, std::string& unsupported);
  void read_general(const XmlElement& element, ActuatorSpec& spec, std::string& unsupported) const;
  void read_shortcut(const XmlElement& element, ActuatorSpec& spec, Shortcut shortcut, int class_index) const;
  const ActuatorSpec* shortcut_source(const ActuatorSpec& spec, Shortcut shortcut, int class_index) const;
  void read_inherited_range(const XmlElement& element, ActuatorSpec& spec) const;
  void read_position_servo(const XmlElement& element, ActuatorSpec& spec, const Actuator& inherited) const;
  void read_servo_damping(const XmlElement& element, ActuatorSpec& spec) const;
  void finish_actuator(const XmlElement& element, ActuatorSpec& spec);

  // mjcf_parse_relations.cpp
  void parse_contact(const XmlElement& section);
  void parse_equality(const XmlElement& section);
  void parse_tendon(const XmlElement& section);
  void parse_sensor(const XmlElement& section);
  void parse_keyframe(const XmlElement& section);
  void parse_deformable(const XmlElement& section);
  void parse_extension(const XmlElement& section);
  void read_pair(const XmlElement& element, PairSpec& spec);
  void read_equality_common(const XmlElement& element, EqualitySpec& spec) const;
  void read_equality(const XmlElement& element, EqualitySpec& spec);
  void read_equality_of_bodies(const XmlElement& element, EqualitySpec& spec);
  void read_tendon(const XmlElement& element, TendonSpec& spec);
  bool read_sensor(const XmlElement& element, SensorSpec& spec);

  // mjcf_parse_body.cpp
  struct Place {  // where elements of the tree go
    int body = 0;
    int frame = -1;
    int default_class = 0;
    bool in_replicate = false;  // directly below <replicate>: the body is temporary
  };
  void parse_world(const XmlElement& section);
  void parse_tree(const XmlElement& section, const Place& root);
  void parse_leaf(const XmlElement& element, const Place& place);
  void add_joint(const XmlElement& element, const Place& place);
  void add_geom(const XmlElement& element, const Place& place);
  void add_site(const XmlElement& element, const Place& place);
  void parse_inertial(const XmlElement& element, const Place& place);
  Place add_body(const XmlElement& element, const Place& place);
  Place add_frame(const XmlElement& element, const Place& place);
  void replicate(const XmlElement& element, const Place& place);
  void attach(const XmlElement& element, const Place& place);
  int child_class(const XmlElement& element, const Place& place) const;

  ParseContext& context_;
  std::string folder_;  // of the main file
  ModelSpec spec_;
  std::shared_ptr<CompilerOptions> compiler_ = std::make_shared<CompilerOptions>();
  std::vector<DefaultClass> classes_;
  std::unordered_map<std::string, int> class_names_;
  std::map<std::string, std::shared_ptr<const ModelSpec>> sub_models_;
  int replicate_depth_ = 0;
};

// Parses a file of the context's file source, with its includes.
ModelSpec parse_file(ParseContext& context, const std::string& path, const XmlElement* reason);
// The same for text; `name` stands for the file, `folder` is where its files are.
ModelSpec parse_text(ParseContext& context, std::string_view text, const std::string& name, const std::string& folder);

}  // namespace touchstone::mjcf

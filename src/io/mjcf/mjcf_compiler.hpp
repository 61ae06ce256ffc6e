// Turns a ModelSpec into a model: resolves frames, names, shapes, inertias and ranges.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/io/mjcf/mjcf_assets.hpp"
#include "touchstone/io/mjcf/mjcf_spec.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone::mjcf {

class Compiler {
 public:
  Compiler(const ModelSpec& spec, const FileSource& files)
      : spec_(spec), assets_(spec, files), warnings_(spec.warnings) {}

  ModelPtr compile();

 private:
  struct Place {  // a geom or site after its notation is resolved
    Shape shape;
    Transform pose;
  };
  // What a body is, before it goes to the builder.
  struct BodyDraft {
    Body body;
    std::vector<Joint> joints;
    std::vector<ShapeElement> shapes;
    std::vector<Site> sites;
  };

  // mjcf_compiler.cpp: the tree
  void compile_options();
  void compile_materials();
  void compile_tree();
  BodyDraft draft_body(const BodySpec& body, const std::vector<Transform>& parent_frames, bool moves);
  Joint compile_joint(const JointSpec& joint, const std::vector<Transform>& frames) const;
  ShapeElement compile_geom(const GeomSpec& geom, const std::vector<Transform>& frames, bool moves);
  Site compile_site(const SiteSpec& site, const std::vector<Transform>& frames);
  Eigen::Vector4d colour(const Eigen::Vector4d& rgba, const std::string& material) const;
  void add_to_builder(BodyDraft draft);
  void align_free_body(const BodySpec& spec, BodyDraft& draft) const;
  Quaternion inertial_axes(const BodySpec& spec, const BodyDraft& draft) const;

  // mjcf_shapes.cpp
  Place place_of(const GeomSpec& geom);
  Place fitted_to_mesh(const GeomSpec& geom, const Transform& written);

  // mjcf_inertia.cpp
  MassProperties body_inertia(const BodySpec& body, const BodyDraft& draft, const std::vector<Transform>& frames);
  MassProperties explicit_inertia(const BodySpec& body, const std::vector<Transform>& frames) const;
  bool inertia_from_geoms(const BodySpec& body, const BodyDraft& draft, MassProperties& out);
  MassProperties geom_inertia(const GeomSpec& geom, const Shape& shape);
  void bound_inertia(const BodySpec& body, MassProperties& inertia) const;
  void scale_to_total_mass();
  void check_moving_bodies() const;

  // mjcf_references.cpp
  void warn_of_references();

  // mjcf_resolver.cpp: what refers to the tree
  void compile_contacts();
  void compile_tendons();
  void compile_equalities();
  void compile_actuators();
  void compile_sensors();
  void compile_keyframes();
  void compile_body_equality(const EqualitySpec& spec, Equality& equality) const;
  void inherit_range(const ActuatorSpec& spec, Actuator& actuator) const;
  void reflect_on_target(const ActuatorSpec& spec, const Actuator& actuator);
  int find(const Reference& reference, const Origin& user, bool* was_dropped = nullptr) const;
  Transform world_pose(int body) const;

  using Names = std::unordered_map<std::string, int>;
  void add_name(Names& names, const char* kind, const std::string& name, int index, const Origin& origin);

  const ModelSpec& spec_;
  Assets assets_;
  ModelBuilder builder_;
  Names bodies_, joints_, shapes_, sites_, tendons_, actuators_;
  std::unordered_map<std::string, Origin> origins_;  // "kind/name" of everything named so far
  std::vector<Vector2> spring_dampers_;              // by joint
  std::vector<Tendon> tendon_drafts_;                // given to the builder after the actuators
  bool actuators_complete_ = true;                   // none was left out here
  WarningList warnings_;
};

// Stiffness and damping that give joints the time constant and damping ratio asked for (springdamper, zero: none),
// from the inertia at the reference configuration.
void apply_spring_dampers(ModelBuilder& builder, const std::vector<Vector2>& spring_dampers);

}  // namespace touchstone::mjcf

// Adds the visual and collision geometry of URDF links to a model: unique names, colours, meshes.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "touchstone/io/urdf/urdf_document.hpp"
#include "touchstone/io/urdf/urdf_resources.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone {

class UrdfShapes {
 public:
  UrdfShapes(const UrdfRobot& robot, UrdfResources& resources, UrdfNotes& notes, ModelBuilder& builder);

  // Where the geometry of a link goes.
  struct Place {
    int body = 0;
    Transform X_BL;  // link in the body
    int fixed_base = 0;
    bool exclude_overlaps = false;
  };
  // All geometry of a link.
  void add(const UrdfLink& link, const Place& place);
  // Once all links are there: collision shapes of a rigid piece that has visuals go to a group that is not shown. Links
  // behind fixed joints are one piece, whether they are merged or not.
  void hide_hulls();

 private:
  void add_one(const UrdfLink& link, const UrdfGeometry& geometry, bool visual, const Place& place);
  bool read_mesh(const UrdfGeometry& geometry, bool visual, ShapeElement& element);
  void apply_material(const UrdfGeometry& geometry, ShapeElement& element);
  void add_visual_material(const UrdfMaterial& material, const std::string& name);
  void define(const UrdfMaterial& material, bool global);
  std::string unique_name(const std::string& wanted);

  UrdfResources& resources_;
  UrdfNotes& notes_;
  ModelBuilder& builder_;
  std::unordered_map<std::string, const UrdfMaterial*> materials_;  // the first definition of each name
  std::unordered_set<std::string> added_materials_;                 // names given to the builder
  std::vector<int> added_;                                          // shapes in the builder
  std::unordered_set<std::string> names_;                           // of shapes
  std::unordered_map<std::string, int> name_counts_;
};

}  // namespace touchstone

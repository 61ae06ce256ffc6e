// From a checked URDF tree to a model.
#pragma once

#include "touchstone/io/load_options.hpp"
#include "touchstone/io/urdf/urdf_document.hpp"
#include "touchstone/io/urdf/urdf_resources.hpp"
#include "touchstone/io/urdf/urdf_tree.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone {

// Adds the robot to the builder; meshes that are only to be seen may be missing (a warning in `notes`).
void assemble_urdf(const UrdfRobot& robot, const UrdfTree& tree, const LoadOptions& options, UrdfResources& resources,
                   UrdfNotes& notes, ModelBuilder& builder);

}  // namespace touchstone

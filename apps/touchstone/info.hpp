// Descriptions of a model, for people and for programs.
#pragma once

#include <string>

#include "touchstone/model/model.hpp"

namespace touchstone::cli {

// Name, file and sizes in a few lines.
std::string model_summary(const Model& model);

// A line for each body, drawn as a tree: mass, joints, shapes.
std::string model_tree(const Model& model);

// Actuators, tendons, equalities, sensors, keyframes, contact rules; each list only if there is something in it.
// Sensors are counted by type, or listed one by one with `verbose`.
std::string model_lists(const Model& model, bool verbose);

// Loops by count and by rank (sim/mechanism.hpp); empty without loops. Computes the rank.
std::string model_mobility(const ModelPtr& model);

std::string model_warnings(const Model& model);

// Everything in a model but vertices and triangles, as JSON text.
std::string model_json(const ModelPtr& model);

}  // namespace touchstone::cli

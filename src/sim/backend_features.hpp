// What of a model the batched backend can do: pairs of shapes that may touch, and what it does not support.
#pragma once

#include <string>
#include <vector>

#include "touchstone/model/loop_measure.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/sim/detection/material.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone {

struct BackendPair {
  int shape_a, shape_b;
  ContactMaterial material;
  double margin, gap;
};

// The most vertices of a convex hull; of one of its faces gpu::kMostLoop.
constexpr int kMostHullVertices = 4096;

// gpu::ShapeKind, or -1.
int backend_shape(ShapeType type);
// gpu::LoopMeasure of what a loop joint holds, or has as a coordinate.
int backend_measure(LoopMeasure measure);

// All pairs of shapes that may touch, in the order in which the simulator lists contacts.
std::vector<BackendPair> find_backend_pairs(const Model& model);

// One phrase for each thing that is not supported.
std::vector<std::string> complaints_of(const Model& model, const SimulatorOptions& options,
                                       const std::vector<BackendPair>& pairs);

}  // namespace touchstone

// Random shapes at chosen distances, for the collision benchmark and the study.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "engine.hpp"
#include "touchstone/collision/narrow/query.hpp"

namespace bench {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high);
touchstone::Pose random_pose(Random& random, double distance_of_origins);

PoseSpec spec(const touchstone::Pose& X);
touchstone::ConvexShape convex(const ShapeSpec& spec);

// Of sizes between a few centimetres and half a metre.
ShapeSpec random_shape(Random& random, ShapeKind kind);
// The hull of `count` points of a random ellipsoid: each of them is a vertex.
ShapeSpec random_hull(Random& random, int count);
// The convex hulls of robots' meshes below `models`, in metres; empty when there are none.
std::vector<ShapeSpec> robot_hulls(const std::filesystem::path& models);

// A random relative pose of A and B, moved along the line between their nearest points to the signed distance
// `distance`. For a negative one the depth is at most as large.
touchstone::Pose pose_at(Random& random, const touchstone::ConvexShape& A, const touchstone::ConvexShape& B,
                         double distance);

}  // namespace bench

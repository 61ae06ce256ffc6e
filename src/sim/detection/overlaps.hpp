// Which shapes of a model overlap at given poses, and how to say so.
//
// Method: boxes in a tree (aabb_tree.hpp) leave out what is apart; a capsule within each shape says at once of most
// pairs that they overlap; the narrow phase decides the rest. Cost O(n log n) for n shapes that are spread out, and a
// few comparisons a pair, without a query, where everything lies in one place.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/detection/collision_model.hpp"

namespace touchstone {

// The pairs of colliders (in CollisionModel::colliders, the smaller first, sorted) that overlap by more than
// `least_depth` (m) at the poses in `data`, among those that `asked` says yes to. Throws Error beyond kMostOverlaps.
inline constexpr std::size_t kMostOverlaps = 20'000'000;
std::vector<std::pair<int, int>> find_overlaps(const CollisionModel& shapes, const Data& data, double least_depth,
                                               const std::function<bool(int, int)>& asked,
                                               OverlapCounts* counts = nullptr);

// Names pairs of colliders with their depths, the first few: "'a' and 'b' by 0.012 m, 'c' and 'd' by 0.1 m, and 7
// more".
std::string describe_overlaps(const CollisionModel& shapes, const Data& data,
                              const std::vector<std::pair<int, int>>& pairs);

// One warning that names the shapes which may collide and overlap notably when the model starts at `start`: they will
// be pushed apart. Nothing if there are none.
std::vector<Warning> start_warnings(const CollisionModel& shapes, const State& start);

}  // namespace touchstone

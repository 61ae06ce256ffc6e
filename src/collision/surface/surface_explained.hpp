// Contacts of a convex shape with a surface that a shorter way out makes superfluous.
//
// Problem: a triangle without ridges takes the depth along its own normal, however deep (surface_contact.hpp). Such a
//   contact is doubtful: moving the shape along the normal of a shallower contact may free it from this triangle too.
//   That is so when the triangle lies wholly below the plane of the shallower contact. All pairs of contacts are too
//   many: a ball in a fine bowl touches thousands of triangles, and none explains another.
// Method: a tree over the contacts, split by their normals. A node knows the box of its normals, the greatest height of
//   its planes over the middle of its triangles, and its least depth. It explains nothing when the highest plane with
//   the best normal of the box does not pass above the doubtful triangle.
// Cost: O(n log n) to build; a search visits the few normals near the triangle's own when the surface is smooth. With
//   up to kFewContacts contacts the tree is one leaf.
#pragma once

#include "touchstone/collision/surface/surface_contact.hpp"

namespace touchstone {

inline constexpr std::size_t kFewContacts = 16;

// Marks batches from `first` on as dropped that nobody has proved when one with less depth, itself not dropped, frees
// the shape from their triangle as well.
void drop_explained(const SurfacePartner& partner, std::size_t first, SurfaceWorkspace& workspace);

}  // namespace touchstone

// Copies subtrees of a model spec, with what refers to them: the work behind <replicate> and <attach>.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "touchstone/io/mjcf/mjcf_spec.hpp"

namespace touchstone::mjcf {

// Where a copy goes and how its elements are called.
struct Graft {
  ModelSpec& into;
  int body = 0;    // that receives it
  int frame = -1;  // of that body
  std::string prefix, suffix;
  bool from_other_model = false;  // assets come along and are renamed too
  std::size_t* element_count = nullptr;
  const LoadOptions* options = nullptr;
  Origin origin;  // of the <replicate> or <attach>

  std::string rename(const std::string& name) const { return name.empty() ? name : prefix + name + suffix; }
};

// What was copied: old names by kind, and old to new identities.
struct Grafted {
  std::map<Kind, std::set<std::string>> names;
  std::unordered_map<int, int> joints, actuators, bodies;

  bool has(const Reference& reference) const;
};

// Copies a body with everything below it.
void graft_body(const Graft& graft, const ModelSpec& source, int body, int& next_id, Grafted& grafted);
// Copies what is directly in a body: everything (frame -1) or only what is in that frame and its inner ones.
void graft_contents(const Graft& graft, const ModelSpec& source, int body, int frame, int& next_id, Grafted& grafted);
// Assets of another model.
void graft_assets(const Graft& graft, const ModelSpec& source);
// Pairs, tendons, actuators, ... that refer to what was copied, and the keyframes of another model.
void graft_relations(const Graft& graft, const ModelSpec& source, int& next_id, Grafted& grafted);

// Forgets the relations that refer to these names: the original of a <replicate> is not part of the model.
void remove_relations(ModelSpec& spec, const Grafted& names);

// Gives keyframe entries to copies instead of the originals.
void move_keyframe_parts(ModelSpec& spec, const Grafted& grafted);

// Splits the vectors of the keyframes into the values of each joint, actuator and mocap body.
void split_keyframes(ModelSpec& spec);

// Bodies in depth-first order.
std::vector<int> depth_first(const ModelSpec& spec);

}  // namespace touchstone::mjcf

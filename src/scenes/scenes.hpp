// The library of named scenes: one source of models for users, tests, examples and benchmarks. All of them are made
// here, in code or from the files of models/, which are compiled into the library.
//
//   for (const SceneInfo& info : scenes()) ...
//   Scene scene = make_scene("pile:200,shape=spheres");
//
// A scene is asked for by its name, then maybe a colon and values of its parameters, apart by commas: "name=value", or
// the value alone for the first parameter.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/scenes/scene.hpp"

namespace touchstone {

class SceneArguments;

struct SceneParameter {
  std::string_view name;
  double value = 0.0;  // default; of a choice: its index
  double minimum = 0.0, maximum = 0.0;
  std::string_view unit;  // "integer" for counts, which have none
  std::string_view help;
  std::vector<std::string_view> choices{};  // not empty: one of these words

  std::string default_text() const;
  std::string range_text() const;
};

struct SceneInfo {
  std::string_view name;
  std::string_view description;  // one line
  std::vector<SceneParameter> parameters;
  Scene (*make)(const SceneArguments&);
};

// All of them, in the order in which they are best presented.
const std::vector<SceneInfo>& scenes();

// nullptr if there is no scene of that name; parameters after a colon do not matter.
const SceneInfo* find_scene(std::string_view name);

// Throws InputError with the nearest names, or with what a parameter may be.
Scene make_scene(std::string_view name);

// Its model alone.
ModelPtr load_scene(std::string_view name);

}  // namespace touchstone

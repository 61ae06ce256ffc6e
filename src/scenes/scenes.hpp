// The library of named scenes: one source of models for users, tests, examples and benchmarks. Their files live in
// models/ and are compiled into the library, so a scene loads wherever the program runs.
#pragma once

#include <span>
#include <string_view>

#include "touchstone/model/model.hpp"

namespace touchstone {

struct Scene {
  std::string_view name;
  std::string_view description;  // one line
  std::string_view file;         // relative to models/
};

// All of them, in the order in which they are best presented.
std::span<const Scene> scenes();

// nullptr if there is no scene of that name.
const Scene* find_scene(std::string_view name);

// Throws Error that lists the names if there is no such scene.
ModelPtr load_scene(std::string_view name);

}  // namespace touchstone

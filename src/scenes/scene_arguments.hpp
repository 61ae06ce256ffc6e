// The values of a scene's parameters, read from text such as "200,shape=spheres". Not for users of the library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "touchstone/scenes/scenes.hpp"

namespace touchstone {

class SceneArguments {
 public:
  // Throws InputError that names the scene, the parameter and what it may be.
  SceneArguments(const SceneInfo& info, std::string_view text);

  double number(std::string_view name) const;
  int integer(std::string_view name) const { return static_cast<int>(number(name)); }
  std::string_view choice(std::string_view name) const;

 private:
  std::size_t index(std::string_view name) const;
  void set(std::size_t parameter, std::string_view value);

  const SceneInfo& info_;
  std::vector<double> values_;
};

}  // namespace touchstone

// YAML with errors that say where. Not for users of the library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "touchstone/base/error.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone::yaml {

// A node, the file it is in and the key that led to it.
class Node {
 public:
  // Throws InputError with the line if the text is no YAML, or not a map; `first`: a line it may begin with.
  static Node parse(const std::string& text, const std::string& file, const std::string& first);

  bool exists() const { return node_.IsDefined() && !node_.IsNull(); }
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  const std::string& key() const { return key_; }

  // Throws unless all keys of this map are among these.
  void allow(const std::vector<std::string>& keys) const;
  Node operator[](const std::string& key) const;  // exists() says whether it is there
  std::vector<Node> items() const;                // of a list; the entries of a map with their keys

  std::string text() const;
  double number() const;
  bool flag() const;
  Vector3 vector3() const;
  VectorX vector() const;

  SourceLocation where() const { return {*file_, line_, key_}; }
  [[noreturn]] void fail(const std::string& message, const std::string& remedy) const;

 private:
  Node(const YAML::Node& node, std::shared_ptr<const std::string> file, std::string key, int line);

  YAML::Node node_;
  std::shared_ptr<const std::string> file_;
  std::string key_;
  int line_ = 0;
};

}  // namespace touchstone::yaml

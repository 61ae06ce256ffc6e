#include "touchstone/io/yaml.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "touchstone/base/similar.hpp"

namespace touchstone::yaml {
namespace {

int line_of(const YAML::Mark& mark) { return mark.line >= 0 ? mark.line + 1 : 0; }

}  // namespace

Node::Node(const YAML::Node& node, std::shared_ptr<const std::string> file, std::string key, int line)
    : node_(node), file_(std::move(file)), key_(std::move(key)), line_(line) {}

Node Node::parse(const std::string& text, const std::string& file, const std::string& first) {
  const auto name = std::make_shared<const std::string>(file);
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw InputError({.where = {file, line_of(error.mark), {}}, .message = error.msg, .remedy = "write YAML"});
  }
  Node node(root, name, "", root.IsDefined() ? line_of(root.Mark()) : 0);
  if (!root.IsMap()) node.fail("it is not a map", fmt::format("write 'key: value' lines, beginning with '{}'", first));
  return node;
}

void Node::fail(const std::string& message, const std::string& remedy) const {
  throw InputError({.where = {*file_, line_, key_}, .message = message, .remedy = remedy});
}

void Node::allow(const std::vector<std::string>& keys) const {
  if (!is_map()) fail("it is not a map", fmt::format("it may have {}", fmt::join(keys, ", ")));
  std::vector<std::string> seen;
  for (const auto& entry : node_) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const Node here(entry.first, file_, key, line_of(entry.first.Mark()));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      here.fail("there is no such key",
                did_you_mean(key, keys) + fmt::format(" All keys here: {}", fmt::join(keys, ", ")));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) here.fail("it is there twice", "leave one of them");
    seen.push_back(key);
  }
}

Node Node::operator[](const std::string& key) const {
  if (!is_map()) return {YAML::Node(YAML::NodeType::Undefined), file_, key, line_};
  for (const auto& entry : node_) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key)
      return {entry.second, file_, key, line_of(entry.first.Mark())};
  }
  return {YAML::Node(YAML::NodeType::Undefined), file_, key, line_};
}

std::vector<Node> Node::items() const {
  std::vector<Node> list;
  if (is_map()) {
    for (const auto& entry : node_)
      list.push_back(
          {entry.second, file_, entry.first.IsScalar() ? entry.first.Scalar() : "", line_of(entry.first.Mark())});
  } else if (is_list()) {
    for (const auto& entry : node_)
      list.push_back({entry, file_, fmt::format("{}[{}]", key_, list.size()), line_of(entry.Mark())});
  } else {
    fail("it is neither a list nor a map", "write a list: '- ...' lines, or [a, b]");
  }
  return list;
}

std::string Node::text() const {
  if (!is_scalar()) fail("it is not a text", "write one value");
  return node_.Scalar();
}

double Node::number() const {
  const std::string value = text();
  double x = 0.0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(x))
    fail(fmt::format("'{}' is not a finite number", value), "write a number such as 0.002");
  return x;
}

bool Node::flag() const {
  const std::string value = text();
  if (value == "true" || value == "yes" || value == "on") return true;
  if (value == "false" || value == "no" || value == "off") return false;
  fail(fmt::format("'{}' is not a flag", value), "write true or false");
}

VectorX Node::vector() const {
  if (!is_list()) fail("it is not a list of numbers", "write [a, b, ...]");
  const std::vector<Node> list = items();
  VectorX out(static_cast<Eigen::Index>(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i) out[static_cast<Eigen::Index>(i)] = list[i].number();
  return out;
}

Vector3 Node::vector3() const {
  const VectorX v = vector();
  if (v.size() != 3) fail(fmt::format("it has {} numbers", v.size()), "write three: [x, y, z]");
  return v;
}

}  // namespace touchstone::yaml

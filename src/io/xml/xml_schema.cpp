#include "touchstone/io/xml/xml_schema.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace touchstone {
namespace {

bool contains_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (starts && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

void add_words(std::string_view words, std::vector<std::string>& out) {
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (end > begin) out.emplace_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

const SchemaRow* XmlSchema::row(std::string_view place, std::string_view tag) const {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const SchemaRow& r) { return r.place == place && r.tag == tag; });
  return found == rows_.end() ? nullptr : &*found;
}

bool XmlSchema::knows(const SchemaRow& row, std::string_view attribute) const {
  return row.attributes == "*" || contains_word(row.attributes, attribute) ||
         contains_word(common_attributes(row), attribute);
}

std::vector<std::string> XmlSchema::tags(std::string_view place) const {
  std::vector<std::string> names;
  for (const SchemaRow& row : rows_) {
    if (row.place == place) names.emplace_back(row.tag);
  }
  return names;
}

void XmlSchema::check(const XmlElement& root, std::string_view place, WarningList& warnings) const {
  struct Pending {
    const XmlElement* element;
    std::string_view place;
    const XmlElement* owner;  // the nearest ancestor with a name, null: none below the root
  };
  // A name that occurs often is compared with the known ones once, and not at all once there are too many.
  std::map<std::pair<const void*, std::string>, std::string> messages;
  const auto warn = [&](const Pending& at, const void* where, const std::string& name, const auto& make) {
    Origin place_of = origin(*at.element);
    if (warnings.full()) return warnings.add(place_of, {});
    if (at.owner != nullptr && !at.element->has("name")) place_of.element += " of " + origin(*at.owner).element;
    const auto [message, is_new] = messages.try_emplace({where, name});
    if (is_new) message->second = make();
    // What is no misspelling is often some exporter's own, in many places: the first is enough.
    const bool guessed = message->second.ends_with('?');
    warnings.add(place_of, message->second, guessed ? WarningList::kMostAlike : 1);
  };
  std::vector<Pending> stack{{&root, place, nullptr}};
  while (!stack.empty()) {
    const Pending top = stack.back();
    stack.pop_back();
    const XmlElement& element = *top.element;
    const SchemaRow* found = find(top.place, element.tag);
    if (found == nullptr) {
      warn(top, top.place.data(), element.tag, [&] {
        std::string message = ignored(top.place, element);
        return message.empty() ? unknown_element_message(element.tag, tags(top.place)) : message;
      });
      continue;
    }
    for (const XmlAttribute& attribute : element.attributes) {
      if (knows(*found, attribute.name)) continue;
      warn(top, found, attribute.name, [&] {
        std::vector<std::string> names;
        add_words(found->attributes, names);
        add_words(common_attributes(*found), names);
        return unknown_attribute_message(attribute.name, names);
      });
    }
    if (found->children == "*") continue;
    const XmlElement* owner = &element != &root && element.has("name") ? &element : top.owner;
    for (auto child = element.children.rbegin(); child != element.children.rend(); ++child) {
      stack.push_back({*child, found->children, owner});
    }
  }
}

}  // namespace touchstone

// XML for the model loaders: a small tree whose elements know their file and line, and strict readers of typed
// attributes. Every complaint is an InputError with file, line, element, attribute and value.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/model/elements.hpp"

namespace touchstone {

struct XmlAttribute {
  std::string name;
  std::string value;
};

struct XmlElement {
  std::string tag;
  std::vector<XmlAttribute> attributes;  // names are unique
  std::vector<XmlElement*> children;     // owned by the document; text and comments are left out
  std::string text;                      // character data, the pieces joined
  std::shared_ptr<const std::string> file;
  int line = 0;

  // The value of an attribute, nullptr if it is absent.
  const std::string* find(std::string_view attribute) const;
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  // The first child with the tag, nullptr if there is none.
  const XmlElement* child(std::string_view child_tag) const;
};

// Owns elements. Several files may be parsed into one document, so that their trees can be joined.
class XmlDocument {
 public:
  // Deeper nesting is an error: the loaders walk the tree with bounded memory.
  static constexpr int kMaxDepth = 20'000;

  // Parses and returns the root element, which lives as long as the document. `file` names the source.
  XmlElement& parse(std::string_view text, const std::string& file);
  XmlElement& parse_file(const std::filesystem::path& file);

  // A copy of an element without its children.
  XmlElement& copy_without_children(const XmlElement& element);

 private:
  std::deque<XmlElement> elements_;
};

// Text from a file as a message shows it: long ones are cut off.
std::string shortened(std::string_view text);

Origin origin(const XmlElement& element);                   // element reads: joint 'knee', or: joint
SourceLocation source_location(const XmlElement& element);  // the same for errors
SourceLocation source_location(const Origin& origin);

// An InputError at the element.
[[noreturn]] void fail(const XmlElement& element, std::string message, std::string remedy = {});
// The same where the element is no longer at hand.
[[noreturn]] void fail(const Origin& where, std::string message, std::string remedy = {});
// Does something for the element at `where`; errors that do not say where they are from then do.
template <typename Action>
auto located(const Origin& where, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (!error.where().file.empty() || !error.where().element.empty()) throw;
    fail(where, error.message(), error.remedy());
  }
}
// "attribute 'mass': value 'abc': <problem>"
[[noreturn]] void fail_attribute(const XmlElement& element, std::string_view attribute, std::string_view problem,
                                 std::string remedy = {});

// --- optional attributes: leave `out` alone and return false if the attribute is absent ---------------------
// Numbers that are left empty, as in rgba="", count as absent (as in MuJoCo).

bool read(const XmlElement& element, std::string_view attribute, double& out);
bool read(const XmlElement& element, std::string_view attribute, int& out);
bool read(const XmlElement& element, std::string_view attribute, bool& out);  // true, false, 1, 0
bool read(const XmlElement& element, std::string_view attribute, std::string& out);
bool read(const XmlElement& element, std::string_view attribute, Vector2& out);
bool read(const XmlElement& element, std::string_view attribute, Vector3& out);
bool read(const XmlElement& element, std::string_view attribute, Eigen::Vector4d& out);
// Between `least` and `most` numbers into out[0...]; returns how many, 0 if the attribute is absent.
int read_numbers(const XmlElement& element, std::string_view attribute, double* out, int least, int most);
// Any number of numbers.
bool read(const XmlElement& element, std::string_view attribute, std::vector<double>& out);
bool read(const XmlElement& element, std::string_view attribute, std::vector<int>& out);

template <std::size_t N>
bool read(const XmlElement& element, std::string_view attribute, std::array<double, N>& out) {
  return read_numbers(element, attribute, out.data(), static_cast<int>(N), static_cast<int>(N)) > 0;
}

// --- the same, by value -------------------------------------------------------------------------------------

template <typename T>
T optional_attribute(const XmlElement& element, std::string_view attribute, T fallback) {
  read(element, attribute, fallback);
  return fallback;
}

// "attribute 'x' is missing", or: is empty
[[noreturn]] void fail_missing(const XmlElement& element, std::string_view attribute);

template <typename T>
T required_attribute(const XmlElement& element, std::string_view attribute) {
  T value{};
  if (!read(element, attribute, value)) fail_missing(element, attribute);
  return value;
}

// The position of the attribute's value in the list of keywords; -1 if the attribute is absent.
int read_keyword(const XmlElement& element, std::string_view attribute, const std::vector<std::string_view>& keywords);

// --- numbers in text ----------------------------------------------------------------------------------------

// All numbers of a text separated by white space; false if a word is not a finite number (`bad` names it).
bool parse_numbers(std::string_view text, std::vector<double>& out, std::string& bad);

}  // namespace touchstone

#include "touchstone/io/xml/xml.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "touchstone/base/input_file.hpp"

namespace touchstone {
namespace {

// Offsets of the first character of each line.
std::vector<std::size_t> line_starts(std::string_view text) {
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(i + 1);
  }
  return starts;
}

int line_at(const std::vector<std::size_t>& starts, std::ptrdiff_t offset) {
  if (offset < 0) return 0;
  const auto after = std::upper_bound(starts.begin(), starts.end(), static_cast<std::size_t>(offset));
  return static_cast<int>(after - starts.begin());
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && is_space(text[i])) ++i;
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) words.push_back(text.substr(begin, i - begin));
  }
  return words;
}

bool parse_number(std::string_view word, double& out) {
  if (word.size() > 1 && word.front() == '+' && word[1] != '-') word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const auto [stop, status] = std::from_chars(word.data(), end, out);
  if (stop != end) return false;
  if (status == std::errc::result_out_of_range) {
    // Too small is zero or denormal, too large is refused; from_chars does not say which.
    out = std::strtod(std::string(word).c_str(), nullptr);
    return std::abs(out) < 1.0;
  }
  return status == std::errc{} && std::isfinite(out);
}

bool parse_number(std::string_view word, int& out) {
  if (word.size() > 1 && word.front() == '+' && word[1] != '-') word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const auto [stop, status] = std::from_chars(word.data(), end, out);
  return stop == end && status == std::errc{};
}

const char* kind_name(double) { return "a finite number"; }
const char* kind_name(int) { return "an integer"; }

template <typename T>
bool read_scalar(const XmlElement& element, std::string_view attribute, T& out) {
  const std::string* value = element.find(attribute);
  if (!value) return false;
  const std::vector<std::string_view> words = words_of(*value);
  if (words.empty()) return false;
  if (words.size() != 1 || !parse_number(words.front(), out)) {
    fail_attribute(element, attribute, std::string("not ") + kind_name(T{}));
  }
  return true;
}

template <typename T>
bool read_list(const XmlElement& element, std::string_view attribute, std::vector<T>& out) {
  const std::string* value = element.find(attribute);
  if (!value) return false;
  const std::vector<std::string_view> words = words_of(*value);
  if (words.empty()) return false;
  out.clear();
  for (const std::string_view word : words) {
    T number{};
    if (!parse_number(word, number)) {
      fail_attribute(element, attribute, fmt::format("'{}' is not {}", shortened(word), kind_name(T{})));
    }
    out.push_back(number);
  }
  return true;
}

void copy_attributes(const pugi::xml_node& node, XmlElement& element) {
  for (const pugi::xml_attribute attribute : node.attributes()) {
    if (element.has(attribute.name())) {
      fail(element, fmt::format("attribute '{}' is given twice", shortened(attribute.name())));
    }
    element.attributes.push_back({attribute.name(), attribute.value()});
  }
}

void check_parsed(const pugi::xml_parse_result& result, const pugi::xml_document& document, const std::string& file,
                  const std::vector<std::size_t>& starts) {
  if (!result) {
    throw InputError(ErrorDetail{.where = {file, line_at(starts, result.offset), {}},
                                 .message = fmt::format("not well-formed XML: {}", result.description()),
                                 .remedy = {}});
  }
  int roots = 0;
  for (const pugi::xml_node node : document.children()) {
    if (node.type() != pugi::node_element) continue;
    if (++roots > 1) {
      throw InputError(ErrorDetail{.where = {file, line_at(starts, node.offset_debug()), node.name()},
                                   .message = "not well-formed XML: a second top-level element",
                                   .remedy = {}});
    }
  }
}

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const XmlAttribute& a : attributes) {
    if (a.name == attribute) return &a.value;
  }
  return nullptr;
}

const XmlElement* XmlElement::child(std::string_view child_tag) const {
  for (const XmlElement* element : children) {
    if (element->tag == child_tag) return element;
  }
  return nullptr;
}

XmlElement& XmlDocument::parse(std::string_view text, const std::string& file) {
  const std::vector<std::size_t> starts = line_starts(text);
  // The parser below takes a zero byte for the end of the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw InputError(ErrorDetail{.where = {file, line_at(starts, static_cast<std::ptrdiff_t>(zero)), {}},
                                 .message = "not well-formed XML: a zero byte",
                                 .remedy = {}});
  }
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  check_parsed(result, document, file, starts);

  // pugixml parses without recursion; so do we copy.
  struct Pending {
    pugi::xml_node node;
    XmlElement* parent;
    int depth;
  };
  const auto shared_file = std::make_shared<const std::string>(file);
  XmlElement* root = nullptr;
  std::vector<Pending> stack{{document.document_element(), nullptr, 1}};
  while (!stack.empty()) {
    const Pending top = stack.back();
    stack.pop_back();
    XmlElement& element = elements_.emplace_back();
    element.tag = top.node.name();
    element.file = shared_file;
    element.line = line_at(starts, top.node.offset_debug());
    if (top.depth > kMaxDepth) fail(element, fmt::format("elements are nested more than {} deep", kMaxDepth));
    copy_attributes(top.node, element);
    if (top.parent)
      top.parent->children.push_back(&element);
    else
      root = &element;
    // Backwards onto the stack, so that siblings come off it in order.
    for (pugi::xml_node child = top.node.last_child(); child; child = child.previous_sibling()) {
      if (child.type() == pugi::node_element) stack.push_back({child, &element, top.depth + 1});
    }
    for (const pugi::xml_node child : top.node.children()) {
      if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) element.text += child.value();
    }
  }
  return *root;
}

XmlElement& XmlDocument::parse_file(const std::filesystem::path& file) {
  return parse(read_file(file, file_kind::kModel), file.string());
}

XmlElement& XmlDocument::copy_without_children(const XmlElement& element) {
  XmlElement& copy = elements_.emplace_back(element);
  copy.children.clear();
  return copy;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "...";
}

Origin origin(const XmlElement& element) {
  const std::string* name = element.find("name");
  const std::string tag = shortened(element.tag);
  return {element.file ? *element.file : std::string{}, element.line,
          name ? fmt::format("{} '{}'", tag, shortened(*name)) : tag};
}

SourceLocation source_location(const Origin& origin) { return {origin.file, origin.line, origin.element}; }

SourceLocation source_location(const XmlElement& element) { return source_location(origin(element)); }

void fail(const Origin& where, std::string message, std::string remedy) {
  throw InputError(ErrorDetail{.where = where, .message = std::move(message), .remedy = std::move(remedy)});
}

void fail(const XmlElement& element, std::string message, std::string remedy) {
  fail(origin(element), std::move(message), std::move(remedy));
}

void fail_attribute(const XmlElement& element, std::string_view attribute, std::string_view problem,
                    std::string remedy) {
  const std::string* value = element.find(attribute);
  fail(element,
       fmt::format("attribute '{}': value '{}': {}", attribute, shortened(value ? *value : std::string{}), problem),
       std::move(remedy));
}

void fail_missing(const XmlElement& element, std::string_view attribute) {
  fail(element, fmt::format("attribute '{}' is {}", attribute, element.has(attribute) ? "empty" : "missing"));
}

bool read(const XmlElement& element, std::string_view attribute, double& out) {
  return read_scalar(element, attribute, out);
}

bool read(const XmlElement& element, std::string_view attribute, int& out) {
  return read_scalar(element, attribute, out);
}

bool read(const XmlElement& element, std::string_view attribute, bool& out) {
  const int keyword = read_keyword(element, attribute, {"false", "true", "0", "1"});
  if (keyword < 0) return false;
  out = keyword % 2 == 1;
  return true;
}

bool read(const XmlElement& element, std::string_view attribute, std::string& out) {
  const std::string* value = element.find(attribute);
  if (!value) return false;
  out = *value;
  return true;
}

bool read(const XmlElement& element, std::string_view attribute, Vector2& out) {
  return read_numbers(element, attribute, out.data(), 2, 2) > 0;
}

bool read(const XmlElement& element, std::string_view attribute, Vector3& out) {
  return read_numbers(element, attribute, out.data(), 3, 3) > 0;
}

bool read(const XmlElement& element, std::string_view attribute, Eigen::Vector4d& out) {
  return read_numbers(element, attribute, out.data(), 4, 4) > 0;
}

int read_numbers(const XmlElement& element, std::string_view attribute, double* out, int least, int most) {
  std::vector<double> numbers;
  if (!read_list(element, attribute, numbers)) return 0;
  const int count = static_cast<int>(numbers.size());
  if (count < least || count > most) {
    const std::string expected = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
    fail_attribute(element, attribute, fmt::format("expected {} numbers, found {}", expected, count));
  }
  std::copy(numbers.begin(), numbers.end(), out);
  return count;
}

bool read(const XmlElement& element, std::string_view attribute, std::vector<double>& out) {
  return read_list(element, attribute, out);
}

bool read(const XmlElement& element, std::string_view attribute, std::vector<int>& out) {
  return read_list(element, attribute, out);
}

int read_keyword(const XmlElement& element, std::string_view attribute, const std::vector<std::string_view>& keywords) {
  const std::string* value = element.find(attribute);
  if (!value) return -1;
  const auto found = std::find(keywords.begin(), keywords.end(), *value);
  if (found == keywords.end()) {
    fail_attribute(element, attribute, fmt::format("expected one of: {}", fmt::join(keywords, ", ")));
  }
  return static_cast<int>(found - keywords.begin());
}

bool parse_numbers(std::string_view text, std::vector<double>& out, std::string& bad) {
  out.clear();
  for (const std::string_view word : words_of(text)) {
    double number = 0.0;
    if (!parse_number(word, number)) {
      bad = word;
      return false;
    }
    out.push_back(number);
  }
  return true;
}

}  // namespace touchstone

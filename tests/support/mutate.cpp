#include "support/mutate.hpp"

#include <cctype>
#include <random>
#include <string_view>
#include <vector>

namespace touchstone::test {
namespace {

// Character ranges [begin, end).
struct Range {
  std::size_t begin = 0, end = 0;
};
struct Attribute {
  Range whole, name, value;
};
struct Element {
  Range whole, tag;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' || c == '-'; }

std::vector<Attribute> attributes_of(const std::string& xml) {
  std::vector<Attribute> found;
  for (std::size_t equal = xml.find('='); equal != std::string::npos; equal = xml.find('=', equal + 1)) {
    if (equal == 0 || equal + 1 >= xml.size()) continue;
    const char quote = xml[equal + 1];
    if (quote != '"' && quote != '\'') continue;
    const std::size_t close = xml.find(quote, equal + 2);
    if (close == std::string::npos) break;
    std::size_t name = equal;
    while (name > 0 && is_name(xml[name - 1])) --name;
    if (name == equal) continue;
    found.push_back({{name, close + 1}, {name, equal}, {equal + 2, close}});
  }
  return found;
}

// Elements without children, and those that end with the next closing tag of their name.
std::vector<Element> elements_of(const std::string& xml) {
  std::vector<Element> found;
  for (std::size_t open = xml.find('<'); open != std::string::npos; open = xml.find('<', open + 1)) {
    std::size_t end = open + 1;
    while (end < xml.size() && is_name(xml[end])) ++end;
    const std::size_t close = xml.find('>', end);
    if (end == open + 1 || close == std::string::npos) continue;
    std::size_t last = close + 1;
    if (xml[close - 1] != '/') {
      const std::string closing = "</" + xml.substr(open + 1, end - open - 1) + ">";
      const std::size_t at = xml.find(closing, close);
      if (at == std::string::npos) continue;
      last = at + closing.size();
    }
    found.push_back({{open, last}, {open + 1, end}});
  }
  return found;
}

constexpr std::string_view kNumbers[] = {"nan",  "inf",    "-inf", "1e308", "-1e308", "1e-308", "0",     "-1",
                                         "1e15", "-1e-12", "1e9",  "3",     "1e999",  "0x10",   "1,5",   "--1",
                                         "",     "1e",     "abc",  "1e40",  "-1e40",  "0.0",    "1e-30", "2147483648"};

class Mutator {
 public:
  Mutator(std::string xml, std::uint64_t seed) : xml_(std::move(xml)), random_(seed) {}

  std::string run() {
    const std::size_t changes = 1 + pick(3);
    for (std::size_t i = 0; i < changes && !xml_.empty(); ++i) change();
    return xml_;
  }

 private:
  std::size_t pick(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random_() % count); }
  std::string text(Range range) const { return xml_.substr(range.begin, range.end - range.begin); }
  void replace(Range range, const std::string& by) { xml_.replace(range.begin, range.end - range.begin, by); }

  void change() {
    switch (pick(12)) {
      case 0:
        return change_bytes();
      case 1:
        return change_element();
      case 2:
      case 3:
        return change_attribute();
      case 4:
      case 5:
        return change_value();
      default:
        return change_number();
    }
  }

  void change_bytes() {
    const std::size_t at = pick(xml_.size());
    switch (pick(4)) {
      case 0:
        xml_[at] = static_cast<char>(random_() & 0xFF);
        return;
      case 1:
        xml_[at] = static_cast<char>(static_cast<unsigned char>(xml_[at]) ^ (1U << pick(8)));
        return;
      case 2:
        xml_.erase(at, 1 + pick(20));
        return;
      default:
        xml_.insert(at, xml_.substr(pick(xml_.size()), 1 + pick(20)));
    }
  }

  void change_element() {
    const std::vector<Element> elements = elements_of(xml_);
    if (elements.empty()) return;
    const Element chosen = elements[pick(elements.size())], other = elements[pick(elements.size())];
    switch (pick(4)) {
      case 0:
        return replace(chosen.whole, "");
      case 1:
        return replace(chosen.whole, text(chosen.whole) + text(chosen.whole));
      case 2:
        return replace(chosen.tag, text(other.tag));
      default:
        return replace(chosen.whole, text(other.whole));
    }
  }

  void change_attribute() {
    const std::vector<Attribute> attributes = attributes_of(xml_);
    if (attributes.empty()) return;
    const Attribute chosen = attributes[pick(attributes.size())], other = attributes[pick(attributes.size())];
    switch (pick(4)) {
      case 0:
        return replace(chosen.whole, "");
      case 1:
        return replace(chosen.whole, text(chosen.whole) + " " + text(chosen.whole));
      case 2:
        return replace(chosen.name, text(other.name));
      default:
        return replace(chosen.whole, text(chosen.whole) + " " + text(other.whole));
    }
  }

  void change_value() {
    const std::vector<Attribute> attributes = attributes_of(xml_);
    if (attributes.empty()) return;
    const Attribute chosen = attributes[pick(attributes.size())], other = attributes[pick(attributes.size())];
    switch (pick(4)) {
      case 0:
        return replace(chosen.value, "");
      case 1:
        return replace(chosen.value, text(other.value));
      case 2:
        return replace(chosen.value, text(chosen.value) + " " + text(other.value));
      default:
        return replace(chosen.value, "no_such_name");
    }
  }

  // One number of a value, or all of them.
  void change_number() {
    std::vector<Range> numbers;
    for (const Attribute& attribute : attributes_of(xml_)) {
      std::size_t begin = attribute.value.begin;
      while (begin < attribute.value.end) {
        std::size_t end = begin;
        while (end < attribute.value.end && xml_[end] != ' ') ++end;
        const char first = begin < end ? xml_[begin] : ' ';
        if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-' || first == '.') {
          numbers.push_back({begin, end});
        }
        begin = end + 1;
      }
    }
    if (numbers.empty()) return;
    replace(numbers[pick(numbers.size())], std::string(kNumbers[pick(std::size(kNumbers))]));
  }

  std::string xml_;
  std::mt19937_64 random_;
};

}  // namespace

std::string mutate(const std::string& xml, std::uint64_t seed) { return Mutator(xml, seed).run(); }

}  // namespace touchstone::test

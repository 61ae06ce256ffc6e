// What loaders have to say: warnings, of which a hostile file cannot cause any number, and parts that cannot be
// honoured, which are named together.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/io/load_options.hpp"
#include "touchstone/model/elements.hpp"

namespace touchstone {

// Warnings in the order they came. Of equal messages the first few are kept, and of all messages the first hundred; the
// rest is counted.
class WarningList {
 public:
  static constexpr int kMostAlike = 5;
  static constexpr std::size_t kMost = 100;

  void add(const Origin& where, std::string message, int most_alike = kMostAlike);
  void append(const WarningList& other);
  // Messages that are new will only be counted.
  bool full() const { return kept_.size() >= kMost; }
  // With a line that says how many there are more.
  std::vector<Warning> list() const;

 private:
  struct Kind {
    int kept = 0;
    long long more = 0;    // that were not
    std::size_t last = 0;  // of the kept ones
  };
  std::vector<Warning> kept_;
  std::unordered_map<std::string, Kind> kinds_;  // by message
  long long left_out_ = 0;                       // of messages beyond kMost
};

// Parts of a file that change the physics and cannot be honoured.
class Refusals {
 public:
  // `remedy` says what to do instead of removing the part; may be empty. What cannot be ignored stays an error whatever
  // the user allows.
  void add(const Origin& where, std::string message, std::string remedy = {}, bool ignorable = true);
  bool empty() const { return parts_.empty(); }

  // One InputError at the first of them that names them all, with the option that ignores them as the interface
  // spells it. `besides`: another error that ended the reading, may be null.
  [[noreturn]] void fail(const LoadOptions& options, const Error* besides = nullptr) const;

 private:
  struct Part {
    Origin where;
    std::string message, remedy;
    int more = 0;  // places with the same message
  };
  std::vector<Part> parts_;
  std::unordered_map<std::string, std::size_t> by_message_;
  bool ignorable_ = true;
};

// "unknown attribute 'mas' is ignored; did you mean 'mass'?"
std::string unknown_attribute_message(const std::string& name, const std::vector<std::string>& known);
// The same for an element.
std::string unknown_element_message(const std::string& tag, const std::vector<std::string>& known);

// What to do about a model that has too many elements.
std::string remedy_for_size(const LoadOptions& options);

}  // namespace touchstone

#include "touchstone/io/notes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/base/similar.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone {
namespace {

// Where a part is, for someone who knows that `first` is in the same file.
std::string place_beside(const Origin& first, Origin where) {
  if (where.file != first.file) return where.text();
  where.file.clear();
  if (where.line <= 0) return where.text();
  return fmt::format("line {}{}{}", where.line, where.element.empty() ? "" : ", ", where.element);
}

// What a name is likely to be a misspelling of: at most a third of it is wrong. Empty if nothing is.
std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 40;
  if (name.size() > kLongest) return {};
  const std::vector<std::string> near = nearest_names(name, known, 1);
  const bool likely = !near.empty() && edit_distance(name, near.front()) <= std::max<std::size_t>(1, name.size() / 3);
  return likely ? near.front() : std::string{};
}

}  // namespace

void WarningList::add(const Origin& where, std::string message, int most_alike) {
  const auto found = kinds_.find(message);
  if (found != kinds_.end() && found->second.kept >= most_alike) {
    ++found->second.more;
    return;
  }
  if (full()) {
    ++left_out_;
    return;
  }
  Kind& kind = kinds_[message];
  ++kind.kept;
  kind.last = kept_.size();
  kept_.push_back({where, std::move(message)});
}

void WarningList::append(const WarningList& other) {
  for (const Warning& warning : other.kept_) add(warning.origin, warning.message);
  for (const auto& [message, kind] : other.kinds_) {
    const auto own = kinds_.find(message);
    (own == kinds_.end() ? left_out_ : own->second.more) += kind.more;
  }
  left_out_ += other.left_out_;
}

std::vector<Warning> WarningList::list() const {
  std::vector<Warning> result = kept_;
  for (const auto& [message, kind] : kinds_) {
    if (kind.more > 0) result[kind.last].message += fmt::format(" (and {} more like it)", kind.more);
  }
  if (left_out_ > 0) result.push_back({{}, fmt::format("{} more warnings are left out", left_out_)});
  return result;
}

void Refusals::add(const Origin& where, std::string message, std::string remedy, bool ignorable) {
  ignorable_ = ignorable_ && ignorable;
  const auto [found, is_new] = by_message_.try_emplace(message, parts_.size());
  if (is_new)
    parts_.push_back({where, std::move(message), std::move(remedy), 0});
  else
    ++parts_[found->second].more;
}

void Refusals::fail(const LoadOptions& options, const Error* besides) const {
  constexpr std::size_t kNamed = 12;
  const Part& first = parts_.front();
  std::string message, remedy = first.remedy;
  int places = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    places += 1 + part.more;
    if (i >= kNamed) continue;
    message += i == 0 ? std::string{} : fmt::format("; {}: ", place_beside(first.where, part.where));
    message += part.message;
    if (part.more > 0) message += fmt::format(" (and at {} more place{})", part.more, part.more == 1 ? "" : "s");
    // Advice of its own is given where it fits all.
    if (part.remedy != remedy) remedy.clear();
  }
  if (parts_.size() > kNamed) message += fmt::format("; and {} more", parts_.size() - kNamed);
  if (besides != nullptr) {
    message += fmt::format("; besides, {}: {}", place_beside(first.where, besides->where()), besides->message());
  }
  if (remedy.empty()) remedy = places == 1 ? "remove it" : "remove them";
  if (ignorable_) {
    remedy +=
        fmt::format(", or load with {} to go on without {}", options.names.allow_ignored, places == 1 ? "it" : "them");
  }
  throw InputError(ErrorDetail{.where = first.where, .message = std::move(message), .remedy = std::move(remedy)});
}

std::string unknown_attribute_message(const std::string& name, const std::vector<std::string>& known) {
  const std::string guess = nearest(name, known);
  return fmt::format("unknown attribute '{}' is ignored{}", shortened(name),
                     guess.empty() ? guess : fmt::format("; did you mean '{}'?", guess));
}

std::string unknown_element_message(const std::string& tag, const std::vector<std::string>& known) {
  const std::string guess = nearest(tag, known);
  return fmt::format("unknown element <{}> is ignored{}", shortened(tag),
                     guess.empty() ? guess : fmt::format("; did you mean <{}>?", guess));
}

std::string remedy_for_size(const LoadOptions& options) {
  const std::string& name = options.names.max_elements;
  return name.empty() ? "make it smaller" : fmt::format("raise {} if that is meant", name);
}

}  // namespace touchstone

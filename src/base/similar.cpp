#include "touchstone/base/similar.hpp"

#include <algorithm>
#include <numeric>

namespace touchstone {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates,
                                       std::size_t most) {
  std::vector<std::string> names = candidates;
  std::stable_sort(names.begin(), names.end(), [name](const std::string& a, const std::string& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  names.resize(std::min(names.size(), most));
  return names;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates, std::size_t most) {
  const std::vector<std::string> names = nearest_names(name, candidates, most);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "did you mean '" : (i + 1 == names.size() ? " or '" : ", '");
    text += names[i] + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace touchstone

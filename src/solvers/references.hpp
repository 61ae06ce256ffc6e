// The publications that solvers follow, with authors, year and title. The catalogue and comments in the code cite them
// by key; docs/references.md is the list for readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

struct Publication {
  std::string_view key;  // "Le Lidec et al. 2024"
  std::string_view authors;
  int year = 0;
  std::string_view title;
  std::string_view where;  // journal, conference or kind of report
};

// Sorted by key.
const std::vector<Publication>& publications();

// The publications that a reference of the catalogue names: parts "KEY, PLACE" apart by "; ".
std::vector<const Publication*> cited_publications(std::string_view reference);

// "Authors (year): Title. Where."
std::string citation(const Publication& publication);

// A reference of the catalogue with every key written out as a citation.
std::string full_reference(std::string_view reference);

}  // namespace touchstone

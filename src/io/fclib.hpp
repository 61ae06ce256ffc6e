// Contact problems in other people's files: FCLIB (HDF5; local and global problems) and Siconos' text files.
//
// The files put the normal first, (n, t1, t2); here it is last, so rows are exchanged on reading and back on writing.
//   local   u = W r + q (and, with equalities, u = W r + V l + q, 0 = V' r + R l + s)  ->  the dual view
//   global  M v = H r + G l + f, u = H' v + w, 0 = G' v + b                            ->  the primal view; an equality
//   block
//                                                                                          for each column of G
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/contact/problem.hpp"

namespace touchstone {

struct RecordedProblem {
  ContactProblem problem;
  std::string title, description, math_info;  // what the file says about itself; may be empty
  std::vector<int> dof;  // global problems: where the file has each dof of the problem (cliques need not be contiguous)
};

// Reads either format; an HDF5 file is known by its content. Throws InputError that names the file, what is wrong and
// where. Nothing is allocated that the file could not hold.
RecordedProblem load_problem(const std::filesystem::path& file);

// The same from memory; `name` is for messages.
RecordedProblem parse_fclib(std::string_view bytes, const std::string& name);
RecordedProblem parse_siconos_text(std::string_view text, const std::string& name);

enum class FclibForm : std::uint8_t { kLocal, kGlobal };

// Writes an FCLIB file. Contacts must have three rows and isotropic friction, other blocks must be equalities. A local
// problem needs G (given, or formed here from the primal), a global one the primal without compliance. Throws Error
// that says what cannot be written.
void write_fclib(const std::filesystem::path& file, const RecordedProblem& recorded, FclibForm form);

}  // namespace touchstone

// What kind of problem a step has: Tsounis et al. 2025, VII-B and VII-C.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

enum class SampleCategory : std::uint8_t {
  kIndependentJoints,
  kRedundantJoints,
  kDenseJoints,
  kSingleContact,
  kSparseContacts,
  kDenseContacts,
  kDenseConstraints,
};
constexpr int kSampleCategories = 7;
std::string_view to_string(SampleCategory category);

// Counts of a step's problem. Joints are those that are rows: all in maximal coordinates, those that close loops in
// reduced ones. Densities are rows over dofs of the coordinates, which in maximal coordinates are six for each body, as
// in the paper. Rows of servos, springs and dry friction are not joints, limits or contacts: `other_rows` counts them.
struct SampleFigures {
  int dofs = 0;
  int joints = 0, joint_rows = 0, joint_rank = 0;
  int limits = 0, contacts = 0, contact_rows = 0, other_rows = 0;
  int rows = 0, rank = 0;  // of joints, limits and contacts together
  double joint_density = 0.0, contact_density = 0.0, density = 0.0;
  // Largest over smallest eigenvalue of J M^-1 J' of these rows, turns by their lengths, eigenvalues below
  // kRankTolerance of the largest left out. 1 if there are none.
  double condition = 1.0;
  // A contact problem may be dense in two ways. Empty: neither joints nor contacts.
  std::vector<SampleCategory> categories;
};

constexpr double kRankTolerance = 1e-9;  // relative

// From the counts alone.
std::vector<SampleCategory> categories_of(const SampleFigures& figures);

// `jacobian`: all rows of the constraints; `delassus`: J M^-1 J' of them. Both dense, in the units of the problem.
SampleFigures describe_sample(const Constraints& constraints, const MatrixX& jacobian, const MatrixX& delassus);

// Of a step that has been made.
class Simulator;
SampleFigures describe_sample(const Simulator& simulator);

}  // namespace touchstone

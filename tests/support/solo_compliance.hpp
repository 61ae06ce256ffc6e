// Solo-12 on its feet, joints locked, pushed: what compliance does to hard contact (Le Lidec et al. 2023, Fig. 14,
// centre and right). For a test, and for a plot of the benchmark `convex`.
#pragma once

#include <optional>
#include <vector>

namespace touchstone::test {

struct ComplianceFigures {
  double share = 0.0;  // compliance R of contacts as a share of the diagonal of G
  double creep = 0.0;  // m/s: largest tangential velocity of contacts that stick
  double jam = 0.0;    // largest change of a tangential impulse by another start, as a share of the robot's weight
  double moved = 0.0;  // m/s: largest change of a contact's velocity by another start
  double natv = 0.0;   // m/s: largest, of both answers
  int problems = 0;
};

// One for each share, over steps of the pushed robot; nothing where the robot's file is not there. Each step is solved
// by Gauss-Seidel twice: from zero, and from tangential impulses that stretch the robot between its contacts.
std::optional<std::vector<ComplianceFigures>> solo_compliance(const std::vector<double>& shares);

}  // namespace touchstone::test

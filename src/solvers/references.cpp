#include "touchstone/solvers/references.hpp"

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr std::string_view kSeparator = "; ";

const Publication* find_publication(std::string_view part) {
  for (const Publication& publication : publications()) {
    if (part.starts_with(publication.key)) return &publication;
  }
  return nullptr;
}

template <typename Visit>
void for_each_part(std::string_view reference, Visit&& visit) {
  while (!reference.empty()) {
    const std::size_t end = reference.find(kSeparator);
    visit(reference.substr(0, end));
    if (end == std::string_view::npos) return;
    reference.remove_prefix(end + kSeparator.size());
  }
}

}  // namespace

const std::vector<Publication>& publications() {
  static const std::vector<Publication> list = {
      {"Anitescu and Tasora 2010", "M. Anitescu, A. Tasora", 2010,
       "An iterative approach for cone complementarity problems for nonsmooth dynamics",
       "Computational Optimization and Applications 47(2)"},
      {"Carpentier et al. 2024", "J. Carpentier, Q. Le Lidec, L. Montaut", 2024,
       "From Compliant to Rigid Contact Simulation: a Unified and Efficient Approach", "Robotics: Science and Systems"},
      {"Castro et al. 2022", "A. M. Castro, F. N. Permenter, X. Han", 2022,
       "An Unconstrained Convex Formulation of Compliant Contact", "IEEE Transactions on Robotics 39(2)"},
      {"Castro et al. 2025", "A. M. Castro, X. Han, J. Masterjohn", 2025, "Irrotational Contact Fields",
       "IEEE Transactions on Robotics"},
      {"Dantzig and Cottle 1963", "G. B. Dantzig, R. W. Cottle", 1963,
       "Positive (Semi-)Definite Matrices and Mathematical Programming", "Report ORC 63-18"},
      {"Erleben 2017", "K. Erleben", 2017, "Rigid Body Contact Problems using Proximal Operators",
       "ACM SIGGRAPH / Eurographics Symposium on Computer Animation"},
      {"Hwangbo et al. 2018", "J. Hwangbo, J. Lee, M. Hutter", 2018,
       "Per-Contact Iteration Method for Solving Contact Dynamics", "IEEE Robotics and Automation Letters 3(2)"},
      {"Jourdan et al. 1998", "F. Jourdan, P. Alart, M. Jean", 1998,
       "A Gauss-Seidel like algorithm to solve frictional contact problems",
       "Computer Methods in Applied Mechanics and Engineering 155"},
      {"Kaufman et al. 2008", "D. M. Kaufman, S. Sueda, D. L. James, D. K. Pai", 2008,
       "Staggered Projections for Frictional Contact in Multibody Systems", "ACM SIGGRAPH Asia"},
      {"Le Lidec et al. 2024", "Q. Le Lidec, W. Jallet, L. Montaut, I. Laptev, C. Schmid, J. Carpentier", 2024,
       "Contact Models in Robotics: a Comparative Analysis", "IEEE Transactions on Robotics"},
      {"Lemke 1965", "C. E. Lemke", 1965, "Bimatrix Equilibrium Points and Mathematical Programming",
       "Management Science 11(7)"},
      {"Mehrotra 1992", "S. Mehrotra", 1992, "On the Implementation of a Primal-Dual Interior Point Method",
       "SIAM Journal on Optimization 2(4)"},
      {"Tsounis et al. 2025", "V. Tsounis, R. Grandia, M. Baecher", 2025,
       "On Solving the Dynamics of Constrained Rigid Multi-Body Systems with Kinematic Loops", "technical report"},
  };
  return list;
}

std::vector<const Publication*> cited_publications(std::string_view reference) {
  std::vector<const Publication*> cited;
  for_each_part(reference, [&](std::string_view part) {
    if (const Publication* publication = find_publication(part); publication != nullptr) cited.push_back(publication);
  });
  return cited;
}

std::string citation(const Publication& publication) {
  return fmt::format("{} ({}): {}. {}.", publication.authors, publication.year, publication.title, publication.where);
}

std::string full_reference(std::string_view reference) {
  std::string text;
  for_each_part(reference, [&](std::string_view part) {
    if (!text.empty()) text += ' ';
    const Publication* publication = find_publication(part);
    if (publication == nullptr) {
      text += part;
      return;
    }
    text += citation(*publication);
    part.remove_prefix(publication->key.size());
    if (part.starts_with(", ")) text += fmt::format(" {}.", part.substr(2));
  });
  return text;
}

}  // namespace touchstone

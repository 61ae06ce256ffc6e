#include "touchstone/solvers/catalogue.hpp"

#include <string>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/similar.hpp"
#include "touchstone/solvers/admm/ccp_admm.hpp"
#include "touchstone/solvers/admm/ncp_admm.hpp"
#include "touchstone/solvers/auto/auto.hpp"
#include "touchstone/solvers/compliant/compliant_newton.hpp"
#include "touchstone/solvers/gauss_seidel/ccp_pgs.hpp"
#include "touchstone/solvers/gauss_seidel/nbgs.hpp"
#include "touchstone/solvers/gauss_seidel/ncp_pgs.hpp"
#include "touchstone/solvers/gauss_seidel/ncp_prox.hpp"
#include "touchstone/solvers/gauss_seidel/raisim.hpp"
#include "touchstone/solvers/lcp/lcp_dantzig.hpp"
#include "touchstone/solvers/lcp/lcp_lemke.hpp"
#include "touchstone/solvers/lcp/lcp_pgs.hpp"
#include "touchstone/solvers/newton/ccp_newton.hpp"
#include "touchstone/solvers/newton/ncp_ipm.hpp"
#include "touchstone/solvers/newton/ncp_newton.hpp"
#include "touchstone/solvers/staggered/lcp_staggered.hpp"
#include "touchstone/solvers/staggered/ncp_staggered.hpp"

namespace touchstone {
namespace {

template <typename Solver>
std::unique_ptr<ContactSolver> make() {
  return std::make_unique<Solver>();
}

template <CompliantModel model>
std::unique_ptr<ContactSolver> make_compliant() {
  return std::make_unique<CompliantSolver>(model);
}

constexpr std::string_view kAll = "all";
constexpr std::string_view kPrimal = "all; needs A, J and v_free";

// One line each: name, model, algorithm, blocks, reference, own residual, factory.
std::vector<CatalogueEntry> make_catalogue() {
  return {
      {"lcp-pgs", "LCP", "projected Gauss-Seidel on a friction pyramid", kAll, "Le Lidec et al. 2024, Alg. 1",
       ContactModel::kLcp, make<LcpPgsSolver>},
      {"lcp-lemke", "LCP", "Lemke's pivoting, exact", "all, up to 1,000 LCP variables",
       "Lemke 1965; Le Lidec et al. 2024, III-A", ContactModel::kLcp, make<LcpLemkeSolver>},
      {"lcp-dantzig", "LCP", "Dantzig's principal pivoting, friction bounds repeated", "all, up to 1,000 LCP variables",
       "Dantzig and Cottle 1963; Le Lidec et al. 2024, III-A", ContactModel::kLcp, make<LcpDantzigSolver>},
      {"lcp-staggered", "LCP", "staggered projections on a friction pyramid", kAll,
       "Kaufman et al. 2008; Le Lidec et al. 2024, III-A", ContactModel::kLcp, make<LcpStaggeredSolver>},
      {"ccp-pgs", "CCP", "block projected Gauss-Seidel", kAll,
       "Anitescu and Tasora 2010; Le Lidec et al. 2024, Alg. 2; Tsounis et al. 2025, Alg. 2 and 5", ContactModel::kCcp,
       make<CcpPgsSolver>},
      {"ccp-admm", "CCP", "ADMM, one factorisation for each penalty", kAll,
       "Le Lidec et al. 2024, Alg. 3; Tsounis et al. 2025, Alg. 6", ContactModel::kCcp, make<CcpAdmmSolver>},
      {"ccp-newton", "CCP, regularised", "Newton with exact line search", kAll,
       "Castro et al. 2022; Le Lidec et al. 2024, Alg. 4", ContactModel::kCcp, make<CcpNewtonSolver>},
      {"raisim", "RaiSim", "Gauss-Seidel, bisection for each contact", kAll,
       "Hwangbo et al. 2018; Le Lidec et al. 2024, Alg. 5", ContactModel::kNcp, make<RaisimSolver>},
      {"raisim-ds", "NCP", "raisim with De Saxce's correction", kAll,
       "Hwangbo et al. 2018; Tsounis et al. 2025, VI-C and Tab. I", ContactModel::kNcp, make<RaisimDsSolver>},
      {"raisim-ds-es", "NCP", "raisim-ds, stopped early by the objective", kAll,
       "Hwangbo et al. 2018; Tsounis et al. 2025, Tab. I", ContactModel::kNcp, make<RaisimDsEsSolver>},
      {"nbgs", "NCP", "nonlinear block Gauss-Seidel, contacts solved exactly", kAll,
       "Jourdan et al. 1998; Tsounis et al. 2025, Alg. 4 and 5", ContactModel::kNcp, make<NbgsSolver>},
      {"ncp-pgs", "NCP", "projected Gauss-Seidel", kAll,
       "Le Lidec et al. 2024, Alg. 6; Tsounis et al. 2025, Alg. 3 and 5", ContactModel::kNcp, make<NcpPgsSolver>},
      {"ncp-staggered", "NCP", "staggered projections, ADMM inside", kAll,
       "Kaufman et al. 2008; Le Lidec et al. 2024, Alg. 7", ContactModel::kNcp, make<NcpStaggeredSolver>},
      {"ncp-admm", "NCP", "proximal ADMM, one factorisation for each penalty", kAll,
       "Carpentier et al. 2024; Tsounis et al. 2025, Alg. 6", ContactModel::kNcp, make<NcpAdmmSolver>},
      {"ncp-prox", "NCP", "proximal fixed point with adaptive step", kAll, "Erleben 2017; Tsounis et al. 2025, VI-E",
       ContactModel::kNcp, make<NcpProxSolver>},
      {"ncp-newton", "NCP", "smoothing Newton on the smooth Coulomb path", kAll, "Touchstone", ContactModel::kNcp,
       make<NcpNewtonSolver>},
      {"ncp-ipm", "NCP", "interior point on the smooth Coulomb path", kAll, "Touchstone; Mehrotra 1992",
       ContactModel::kNcp, make<NcpIpmSolver>},
      {"sap", "compliant, SAP", "Newton in velocities with exact line search", kPrimal, "Castro et al. 2022",
       ContactModel::kCcp, make_compliant<CompliantModel::kSap>, CompliantModel::kSap},
      {"lagged", "compliant, Hunt-Crossley", "Newton in velocities with exact line search",
       "all; needs A, J, v_free and the physics of contacts", "Castro et al. 2025, V-B", ContactModel::kNcp,
       make_compliant<CompliantModel::kLagged>, CompliantModel::kLagged},
      {"similar", "compliant, Hunt-Crossley", "Newton in velocities with exact line search", kPrimal,
       "Castro et al. 2025, V-C", ContactModel::kCcp, make_compliant<CompliantModel::kSimilar>,
       CompliantModel::kSimilar},
      {"auto",
       "NCP",
       "sweeps, modes, interior point, smoothing Newton, by island: the default",
       kAll,
       "Touchstone",
       ContactModel::kNcp,
       make<AutoSolver>,
       {},
       true},
  };
}

}  // namespace

const std::vector<CatalogueEntry>& solver_catalogue() {
  static const std::vector<CatalogueEntry> catalogue = make_catalogue();
  return catalogue;
}

const CatalogueEntry& find_solver(std::string_view name) {
  for (const CatalogueEntry& entry : solver_catalogue()) {
    if (entry.name == name) return entry;
  }
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : solver_catalogue()) names.emplace_back(entry.name);
  names = nearest_names(name, names, names.size());
  throw Error({.message = fmt::format("there is no solver '{}'", name),
               .remedy = fmt::format("choose one of {}", fmt::join(names, ", "))});
}

std::unique_ptr<ContactSolver> make_solver(std::string_view name) { return find_solver(name).make(); }

}  // namespace touchstone

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "commands.hpp"
#include "console.hpp"
#include "html_page.hpp"
#include "solve_impulses.hpp"
#include "solve_report.hpp"
#include "solve_run.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/solvers/references.hpp"

namespace touchstone::cli {
namespace {

// Every publication that the catalogue cites, once.
std::string references_text() {
  std::set<std::string_view> cited;
  for (const CatalogueEntry& entry : solver_catalogue()) {
    for (const Publication* publication : cited_publications(entry.reference)) cited.insert(publication->key);
  }
  Table table(0);
  for (const Publication& publication : publications()) {
    if (cited.contains(publication.key)) table.add_row({styled(publication.key, Style::kBold), citation(publication)});
  }
  table.add_row({styled("Touchstone", Style::kBold), "This library: src/solvers/README.md derives it."});
  return table.text();
}

}  // namespace

void add_solve_command(Command app, Context& context) {
  struct Options {
    SolveRequest request;
    bool json = false, csv = false;
    std::string html, impulses;
  };
  const auto options = std::make_shared<Options>();
  options->request.solvers = {"auto"};

  Command command = app.add_subcommand("solve", "Solve recorded contact problems and certify the answers");
  command.add_option("path", options->request.path, "A problem (FCLIB .hdf5, Siconos .dat) or a folder of them")
      .required()
      .check(existing_path())
      .type_name("FILE|DIR");
  command.add_option("--solver", options->request.solvers, "Solvers by name, apart by commas; see 'touchstone solvers'")
      .delimiter(',')
      .type_name("NAME,..")
      .capture_default_str();
  command.add_option("--tol", options->request.tolerance, "natv relative to the free velocity that counts as solved")
      .check(number_between(1e-15, 1.0))
      .type_name("FLOAT")
      .capture_default_str();
  command.add_option("--max-iterations", options->request.max_iterations, "Iterations before a solver gives up")
      .check(at_least_zero())
      .type_name("INT");
  command
      .add_option("--time-limit", options->request.time_limit,
                  "Seconds for each problem and solver; looked at between iterations")
      .check(at_least_zero())
      .type_name("SECONDS");
  command.add_option("--option", options->request.options, "Any option of the solvers; may be repeated")
      .type_name("KEY=VALUE")
      .take_all();
  command.add_flag("--history", options->request.history, "Also the residual after each iteration");
  const Option json = command.add_flag("--json", options->json, "The results, for programs");
  command.add_flag("--csv", options->csv, "The results, for spreadsheets").excludes(json);
  command.add_option("--html", options->html, "Also write a report with convergence curves").type_name("FILE");
  command
      .add_option("--impulses", options->impulses,
                  "Also write impulses and velocities, a row for each component; .json or .csv")
      .type_name("FILE");
  command.footer(R"(Examples:
  touchstone solve problem.hdf5
  touchstone solve problems/ --solver nbgs,ncp-pgs --tol 1e-6 --max-iterations 10000
  touchstone solve problems/ --history --html report.html
  touchstone solve problem.dat --option relaxation=0.8 --json | jq '.results[].natv_relative'

natv is the natural map in consistent units, a velocity: 0 exactly at solutions. "own model" is the same for solvers of
a simpler model (LCP, CCP), which decides whether they solved it. A problem that is not valid has no natv. The time is
the best of up to five solves, or that of one solve with --time-limit. "infeasible": no impulses satisfy all laws.
The exit code is 0 only if every problem was solved by every solver, 1 if one was not, and 2 if a file of the folder
could not be read; the others are solved all the same.)");
  command.callback([options, &context] {
    SolveRequest& request = options->request;
    if (!options->html.empty()) request.history = true;
    require_distinct({{"--html", options->html}, {"--impulses", options->impulses}}, {{"the problem", request.path}});
    if (!options->html.empty()) require_writable(options->html);
    if (!options->impulses.empty()) require_writable(options->impulses);
    if (!options->impulses.empty()) check_impulses_file(options->impulses);
    request.impulses = !options->impulses.empty();
    const SolveResults results = run_solvers(request);
    for (const std::string& line : problem_warnings(results))
      print_note(fmt::format("touchstone: warning: {}\n", line));
    if (options->json) {
      print(results_json(request, results));
    } else if (options->csv) {
      print(results_csv(results));
    } else {
      print(results_table(results, request.history && options->html.empty()));
    }
    if (!options->html.empty()) write_page(options->html, results_html(request, results), "--html");
    if (request.impulses) write_page(options->impulses, impulses_text(options->impulses, results), "--impulses");
    const auto solved = [](const SolveResult& r) { return r.solved; };
    if (!std::all_of(results.solved.begin(), results.solved.end(), solved)) context.exit_code = kCheckFailed;
    if (!results.unreadable.empty()) context.exit_code = kBadInput;
  });
}

void add_solvers_command(Command app, Context& context) {
  Command command = app.add_subcommand("solvers", "List the contact solvers: model, algorithm, blocks, reference");
  command.footer("Examples:\n  touchstone solvers\n  touchstone solvers -v       with their options");
  command.callback([&context] {
    Table table(0);
    std::vector<std::string> header;
    for (const char* title : {"name", "model", "algorithm", "blocks", "reference"})
      header.push_back(styled(title, Style::kDim));
    table.add_row(header);
    for (const CatalogueEntry& entry : solver_catalogue()) {
      table.add_row({styled(entry.name, Style::kBold), std::string(entry.model), std::string(entry.algorithm),
                     std::string(entry.blocks), std::string(entry.reference)});
    }
    print(table.text());
    print(fmt::format("\n{}\n{}", styled("references", Style::kDim), references_text()));
    if (!context.verbose) return;
    for (const CatalogueEntry& entry : solver_catalogue()) {
      Table options(2);
      const auto defaults = entry.make()->make_options();
      for (const OptionField& field : list_options(*defaults))
        options.add_row({field.name, field.get(), field.range, field.help});
      print(fmt::format("\n{}\n{}", styled(entry.name, Style::kBold), options.text()));
    }
  });
}

}  // namespace touchstone::cli

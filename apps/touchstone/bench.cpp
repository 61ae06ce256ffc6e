// touchstone bench: the benchmark suites that need nothing but the library.
#include <unistd.h>

#include <array>
#include <memory>

#include <fmt/core.h>

#include "bench_suite.hpp"
#include "commands.hpp"
#include "console.hpp"
#include "html_page.hpp"
#include "options.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/output_file.hpp"

namespace touchstone::cli {
namespace {

// A new suite is a row here.
constexpr std::array kBenchSuites{&kLoopsBench, &kGpuBench};

struct BenchOptions {
  std::string suite, html, from, export_to;
  std::vector<std::string> systems;
  bool json = false, full = false, quiet = false;
};

const BenchSuite& find_suite(const std::string& name) {
  std::string names;
  for (const BenchSuite* suite : kBenchSuites) {
    if (suite->name == name) return *suite;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", suite->name);
  }
  throw InputError({.where = {}, .message = fmt::format("there is no suite '{}'", name), .remedy = "one of: " + names});
}

std::string suite_list() {
  Table table(2);
  for (const BenchSuite* suite : kBenchSuites)
    table.add_row({styled(suite->name, Style::kBold), std::string(suite->description)});
  return "Suites ('touchstone bench NAME'):\n" + table.text();
}

// What an earlier run has printed with --json.
Json read_figures(const std::string& file, const BenchSuite& suite) {
  const auto refuse = [&](const std::string& why) {
    throw InputError({.where = {.file = file},
                      .message = why,
                      .remedy = fmt::format("give what 'touchstone bench {} --json' has printed", suite.name)});
  };
  const Json figures = Json::parse(read_file(file, FileKind{"benchmark", 1024 * file_kind::kMiB}), nullptr, false);
  if (figures.is_discarded()) refuse("this is not JSON");
  if (!figures.is_object() || figures.value("suite", "") != suite.name) refuse("these are no figures of this suite");
  return figures;
}

// Lines that are written over on a terminal, and stay elsewhere.
void show_progress(int done, int parts, std::string_view name) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  fmt::print(stderr, "{}{} of {}{}{}", terminal ? "\r\x1b[K" : "", done, parts, name.empty() ? "" : ": ", name);
  if (!terminal || name.empty()) fmt::print(stderr, "\n");
  std::fflush(stderr);
}

int run_bench(const BenchOptions& options) {
  const BenchSuite& suite = find_suite(options.suite);
  require_distinct({{"--html", options.html}}, {{"--from", options.from}});
  if (!options.html.empty()) require_writable(options.html);
  const InterruptWatch interrupt;
  BenchRequest request{
      .systems = options.systems, .full = options.full, .export_to = options.export_to, .progress = show_progress};
  if (options.quiet) request.progress = [](int, int, std::string_view) {};
  const Json figures = options.from.empty() ? suite.measure(request, interrupt) : read_figures(options.from, suite);
  try {
    print(options.json ? json_text(figures) + '\n' : suite.summary(figures));
    if (!options.html.empty()) {
      write_page(options.html, suite.page(figures), "--html");
      if (!options.json) print(written_text("report", options.html));
    }
  } catch (const Json::exception& error) {  // a figure of a file is missing, or of another kind
    throw InputError({.where = {.file = options.from},
                      .message = fmt::format("a figure cannot be used ({})", error.what()),
                      .remedy = fmt::format("measure again: touchstone bench {} --json", suite.name)});
  }
  return interrupt.requested() ? kInterrupted : kSuccess;
}

}  // namespace

void add_bench_command(Command app, Context& context) {
  const auto options = std::make_shared<BenchOptions>();
  Command command = app.add_subcommand("bench", "Benchmark suites; without a name, a list of them");
  command.add_option("SUITE", options->suite, "Which one");
  command
      .add_option("--system", options->systems,
                  "Only this system of the suite (gpu: any scene or robot file); may be repeated")
      .option_text("NAME")
      .take_all();
  command.add_option("--html", options->html, "Write tables, plots and pictures").option_text("FILE");
  command.add_flag("--json", options->json, "All figures, for programs");
  command.add_option("--export", options->export_to, "Write the suite's contact problems into this folder (FCLIB)")
      .option_text("FOLDER");
  command.add_option("--from", options->from, "Measure nothing: take what --json has printed before")
      .option_text("FILE")
      .check(existing_file());
  command.add_flag("--full", options->full, "The whole suite, for hours: long runs, many samples, much work a solve");
  command.add_flag("-q,--quiet", options->quiet, "No line of progress");
  command.footer(R"(Examples:
  touchstone bench                                       the suites
  touchstone bench loops --html loops.html               closed chains: all systems, all solvers, in short
  touchstone bench loops --system loops/walker --json    one system
  touchstone bench loops --export problems               its contact problems as FCLIB files
  touchstone bench loops --from loops.json --html a.html a page of figures that were measured before
  touchstone bench gpu --system robot.xml                many worlds: on a GPU with TOUCHSTONE_CUDA_LIBRARY, else lanes

Every run and solve is bounded by counted work. './run bench NAME' in a clone of the repository measures other engines
beside it.

Exit codes:
  0    all parts were measured
  2    wrong usage, or input that cannot be used
  130  interrupted (Ctrl-C, SIGTERM): table and report hold what was done; a second Ctrl-C ends at once)");
  command.callback([options, &context] {
    if (options->suite.empty()) {
      print(suite_list());
    } else {
      context.exit_code = run_bench(*options);
    }
  });
}

}  // namespace touchstone::cli

// touchstone: the command line.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "touchstone/base/check.hpp"
#include "touchstone/base/cpu.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/base/version.hpp"

namespace touchstone::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  touchstone demo                            a robot drops onto rough ground, with its certificate
  touchstone scenes                          the scenes that come with Touchstone
  touchstone run pile:200 --html pile.html   one of them from start to end, with a replay
  touchstone view hand                       one of them in the browser, live
  touchstone compare cube-slide --solvers auto,ccp-admm,lcp-pgs --html compare.html
  touchstone info quadruped                  one of them: tree, joints, masses, actuators
  touchstone info robot.urdf --floating-base the same for a file (MJCF or URDF)
  touchstone info robot.xml --json | jq .nv  the same for programs
  touchstone bench loops --html loops.html   solvers on closed chains, compared
  touchstone solvers                         the contact solvers
  touchstone solve problem.hdf5              a recorded contact problem, with its certificate

Exit codes:
  0  all is well
  1  the job ran, but a check failed
  2  wrong usage, or input that cannot be used
  3  an internal error: please report it
  130  'run', 'compare' or 'demo' was interrupted (Ctrl-C, SIGTERM); what was done until then is written

'touchstone COMMAND --help' explains a command. Colours are off when the output is not a terminal or
NO_COLOR is set.)";

// One line, whatever the message contains.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

void print_error(const std::string& message) { print_note(fmt::format("touchstone: error: {}\n", one_line(message))); }

void print_details(const Error& error) {
  const SourceLocation& where = error.where();
  if (!where.file.empty()) print_note(fmt::format("  file:    {}\n", printable(where.file)));
  if (where.line > 0) print_note(fmt::format("  line:    {}\n", where.line));
  if (!where.element.empty()) print_note(fmt::format("  element: {}\n", printable(where.element)));
  print_note(fmt::format("  problem: {}\n", error.message()));
  if (!error.remedy().empty()) print_note(fmt::format("  remedy:  {}\n", error.remedy()));
}

int run(int argc, char** argv, Context& context) {
  require_supported_cpu();

  Arguments arguments(
      "touchstone", "Touchstone: simulation of robots in contact, with a certificate for what it computes.", kVersion);
  const Command app = arguments.root();
  app.footer(kFooter);
  app.add_flag("-v,--verbose", context.verbose, "Say more, also about errors");
  add_run_command(app, context);
  add_view_command(app, context);
  add_compare_command(app, context);
  add_export_command(app, context);
  add_info_command(app, context);
  add_ik_command(app, context);
  add_scenes_command(app, context);
  add_bench_command(app, context);
  add_decompose_command(app, context);
  add_demo_command(app, context);
  add_solve_command(app, context);
  add_solvers_command(app, context);

  try {
    switch (arguments.parse(argc, argv)) {
      case Arguments::Outcome::kRan:
        break;
      case Arguments::Outcome::kShown:
        return kSuccess;
      case Arguments::Outcome::kNone:
        fmt::print(stderr, "{}", arguments.help());
        return kBadInput;
    }
  } catch (const UsageError& error) {
    print_error(error.what());
    return kBadInput;
  }
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write the output");
  return context.exit_code;
}

}  // namespace
}  // namespace touchstone::cli

int main(int argc, char** argv) {
  using namespace touchstone;
  using namespace touchstone::cli;
  Context context;
  try {
    return run(argc, argv, context);
  } catch (const Error& error) {
    print_error(error.what());
    if (context.verbose) print_details(error);
    return kBadInput;
  } catch (const std::system_error& error) {
    print_error(error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return kInternalError;
  } catch (const std::exception& error) {
    print_error(fmt::format("internal error, please report it: {}", error.what()));
    return kInternalError;
  }
}

// touchstone: the command line.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "commands.hpp"
#include "touchstone/base/check.hpp"
#include "touchstone/base/cpu.hpp"
#include "touchstone/base/error.hpp"
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

void print_error(const std::string& message) { fmt::print(stderr, "touchstone: error: {}\n", one_line(message)); }

void print_details(const Error& error) {
  const SourceLocation& where = error.where();
  if (!where.file.empty()) fmt::print(stderr, "  file:    {}\n", where.file);
  if (where.line > 0) fmt::print(stderr, "  line:    {}\n", where.line);
  if (!where.element.empty()) fmt::print(stderr, "  element: {}\n", where.element);
  fmt::print(stderr, "  problem: {}\n", error.message());
  if (!error.remedy().empty()) fmt::print(stderr, "  remedy:  {}\n", error.remedy());
}

// What is wrong with the command line, and where to read on.
int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "touchstone";
  for (const CLI::App* subcommand : app.get_subcommands()) command += " " + subcommand->get_name();
  print_error(fmt::format("{} (try '{} --help')", error.what(), command));
  return kBadInput;
}

int run(int argc, char** argv, Context& context) {
  require_supported_cpu();

  CLI::App app("Touchstone: simulation of robots in contact, with a certificate for what it computes.", "touchstone");
  app.footer(kFooter);
  app.get_formatter()->column_width(36);
  app.set_version_flag("--version", std::string("touchstone ") + kVersion, "Print the version");
  app.add_flag("-v,--verbose", context.verbose, "Say more, also about errors");
  app.fallthrough();
  app.require_subcommand(0, 1);
  add_run_command(app, context);
  add_view_command(app, context);
  add_compare_command(app, context);
  add_export_command(app, context);
  add_info_command(app, context);
  add_scenes_command(app, context);
  add_decompose_command(app, context);
  add_demo_command(app, context);
  add_solve_command(app, context);
  add_solvers_command(app, context);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);  // help, version
    return report_usage(app, error);
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
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

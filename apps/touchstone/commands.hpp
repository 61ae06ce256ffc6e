// The subcommands. Each function adds one to the command line; the callback it installs does the work and leaves
// the exit code in the context.
#pragma once

#include "arguments.hpp"

namespace touchstone::cli {

enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,    // the job ran, but a check failed
  kBadInput = 2,       // usage, missing files, models that cannot be used
  kInternalError = 3,  // a mistake in Touchstone
  kInterrupted = 130,  // Ctrl-C or SIGTERM; what was done until then is written
};

struct Context {
  bool verbose = false;
  int exit_code = kSuccess;
};

void add_bench_command(Command app, Context& context);
void add_ik_command(Command app, Context& context);
void add_info_command(Command app, Context& context);
void add_run_command(Command app, Context& context);
void add_compare_command(Command app, Context& context);
void add_export_command(Command app, Context& context);
void add_scenes_command(Command app, Context& context);
void add_decompose_command(Command app, Context& context);
void add_demo_command(Command app, Context& context);
void add_solve_command(Command app, Context& context);
void add_solvers_command(Command app, Context& context);
void add_view_command(Command app, Context& context);

}  // namespace touchstone::cli

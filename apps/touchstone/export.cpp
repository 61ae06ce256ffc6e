// touchstone export: a recording as tables.
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "recording_state.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/record/recording.hpp"

namespace touchstone::cli {

void add_export_command(Command app, Context& context) {
  struct Options {
    std::string recording, csv;
  };
  const auto options = std::make_shared<Options>();
  Command command = app.add_subcommand("export", "Write a recording as tables");
  command.add_option("RECORDING", options->recording, "A file of 'touchstone run --record'")
      .required()
      .check(existing_file());
  command.add_option("--csv", options->csv, "Folder for steps.csv and contacts.csv; made if it is not there")
      .required()
      .option_text("DIR");
  command.footer(R"(Examples:
  touchstone run arch --record arch.h5
  touchstone export arch.h5 --csv tables

A damaged recording gives the rows before the damage; what is wrong is said, and the exit code is 1.

steps.csv has a line for each recorded moment, contacts.csv for each contact point; numbers are written in full, so that
reading them gives the same bits.)");
  command.callback([options, &context] {
    const std::filesystem::path folder = options->csv;
    require_distinct({{"--csv (steps)", folder / "steps.csv"}, {"--csv (contacts)", folder / "contacts.csv"}},
                     {{"the recording", options->recording}});
    const Recording recording(options->recording);
    write_csv(recording, folder);
    print(fmt::format("{} moments, {} contacts: {}/steps.csv, {}/contacts.csv\n", recording.rows(),
                      recording.contacts().rows(), options->csv, options->csv));
    report_state(recording, options->recording);
    if (!recording.damage().empty()) context.exit_code = kCheckFailed;
  });
}

}  // namespace touchstone::cli

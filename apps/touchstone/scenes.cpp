#include <string>

#include "commands.hpp"
#include "console.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::cli {

void add_scenes_command(CLI::App& app, Context& /*context*/) {
  CLI::App* command = app.add_subcommand("scenes", "List the models that are built into Touchstone");
  command->footer("Examples:\n  touchstone scenes\n  touchstone info pendulum");
  command->callback([] {
    Table table(0);
    for (const Scene& scene : scenes()) {
      table.add_row({styled(scene.name, Style::kBold), std::string(scene.description)});
    }
    print(table.text());
  });
}

}  // namespace touchstone::cli

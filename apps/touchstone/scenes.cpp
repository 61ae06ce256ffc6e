#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::cli {
namespace {

std::string parameter_names(const SceneInfo& info) {
  std::string text;
  for (const SceneParameter& parameter : info.parameters)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", parameter.name, parameter.default_text());
  return text;
}

void print_parameters(const SceneInfo& info) {
  if (info.parameters.empty()) return;
  Table table(2);
  for (const SceneParameter& parameter : info.parameters) {
    table.add_row(
        {std::string(parameter.name), parameter.default_text(), parameter.range_text(), std::string(parameter.help)});
  }
  print(fmt::format("\n{}\n{}", styled(info.name, Style::kBold), table.text()));
}

}  // namespace

void add_scenes_command(Command app, Context& context) {
  Command command = app.add_subcommand("scenes", "List the scenes that are built into Touchstone");
  command.footer(R"(Examples:
  touchstone scenes
  touchstone scenes -v                 what their parameters may be
  touchstone run pile:200              the first parameter needs no name
  touchstone run cube-slide:angle=30,friction=0.3)");
  command.callback([&context] {
    Table table(0);
    for (const SceneInfo& info : scenes()) {
      table.add_row(
          {styled(info.name, Style::kBold), std::string(info.description), styled(parameter_names(info), Style::kDim)});
    }
    print(table.text());
    if (!context.verbose) return;
    for (const SceneInfo& info : scenes()) print_parameters(info);
  });
}

}  // namespace touchstone::cli

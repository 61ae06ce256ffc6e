#include "arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace touchstone::cli {
namespace {

constexpr std::size_t kColumnWidth = 36;

Check path_check(bool (*good)(const std::filesystem::path&, std::error_code&), const char* what) {
  return [good, what](const std::string& text) {
    std::error_code ignored;
    return good(text, ignored) ? std::string() : fmt::format("there is no {} '{}'", what, text);
  };
}

}  // namespace

Check number_between(double low, double high) {
  return [low, high](const std::string& text) {
    double value = 0.0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return good ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, low, high);
  };
}

Check at_least_zero() { return number_between(0.0, std::numeric_limits<double>::max()); }

Check one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    const bool good = std::find(words.begin(), words.end(), text) != words.end();
    return good ? std::string() : fmt::format("'{}' is none of {}", text, fmt::join(words, ", "));
  };
}

Check existing_file() {
  return path_check(
      [](const auto& path, auto& error) {
        return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
      },
      "file");
}

Check existing_directory() {
  return path_check([](const auto& path, auto& error) { return std::filesystem::is_directory(path, error); }, "folder");
}

Check existing_path() {
  return path_check([](const auto& path, auto& error) { return std::filesystem::exists(path, error); },
                    "file or folder");
}

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::option_text(const std::string& text) {
  option_->option_text(text);
  return *this;
}

Option Option::check(Check check) {
  option_->check(CLI::Validator(std::move(check), ""));
  return *this;
}

Option Option::delimiter(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option Option::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return *this;
}

Option Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::take_all() {
  option_->take_all();
  return *this;
}

Option Option::capture_default_str() {
  option_->capture_default_str();
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

Option Command::add_option(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Command::add_option(const std::string& names, double& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Command::add_option(const std::string& names, int& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}

Option Command::add_option(const std::string& names, std::vector<double>& values, const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::callback(std::function<void()> action) const { app_->callback(std::move(action)); }

Arguments::Arguments(const std::string& name, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->get_formatter()->column_width(kColumnWidth);
  app_->set_version_flag("--version", name + ' ' + version, "Print the version");
  app_->fallthrough();
  app_->require_subcommand(0, 1);
}

Arguments::~Arguments() = default;

Command Arguments::root() { return Command(app_.get()); }

std::string Arguments::help() const { return app_->help(); }

Arguments::Outcome Arguments::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app_->exit(error);
      return Outcome::kShown;
    }
    std::string command = app_->get_name();
    for (const CLI::App* subcommand : app_->get_subcommands()) command += " " + subcommand->get_name();
    throw UsageError(fmt::format("{} (try '{} --help')", error.what(), command));
  }
  return app_->get_subcommands().empty() ? Outcome::kNone : Outcome::kRan;
}

}  // namespace touchstone::cli

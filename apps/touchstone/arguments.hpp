// The command line as the commands see it. CLI11 stays behind arguments.cpp: every file that includes it compiles its
// validators and patterns once more, seven seconds each.
//
// Names are CLI11's. Handles are small and live as long as the Arguments they come from.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace touchstone::cli {

// Says what is wrong with a value; nothing if all is well.
using Check = std::function<std::string(const std::string& text)>;

Check number_between(double low, double high);  // NaN is not
Check at_least_zero();
Check one_of(std::vector<std::string> words);
Check existing_file();
Check existing_directory();
Check existing_path();

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option option_text(const std::string& text);  // what stands for the value in the help
  Option check(Check check);                    // applied to each value
  Option delimiter(char separator);             // several values in one argument
  Option allow_extra_args(bool allow);          // whether one occurrence may take several arguments
  Option type_name(const std::string& name);    // the same as option_text, with the default after it
  Option take_all();                            // may be repeated
  Option capture_default_str();                 // shows the present value as the default
  Option excludes(Option other);

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_subcommand(const std::string& name, const std::string& help) const;
  Option add_option(const std::string& names, std::string& value, const std::string& help) const;
  Option add_option(const std::string& names, double& value, const std::string& help) const;
  Option add_option(const std::string& names, int& value, const std::string& help) const;
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  Option add_option(const std::string& names, std::vector<double>& values, const std::string& help) const;
  Option add_flag(const std::string& names, bool& value, const std::string& help) const;
  void footer(const std::string& text) const;
  void callback(std::function<void()> action) const;

 private:
  CLI::App* app_;
};

// A command line that cannot be used; what() says why and where to read on.
class UsageError : public std::exception {
 public:
  explicit UsageError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// The whole: main fills it with commands and parses.
class Arguments {
 public:
  Arguments(const std::string& name, const std::string& description, const std::string& version);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments();

  Command root();
  std::string help() const;

  enum class Outcome {
    kRan,    // the callback of the command that is named
    kShown,  // help or version
    kNone,   // no command is named
  };
  Outcome parse(int argc, char** argv);  // throws UsageError

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace touchstone::cli

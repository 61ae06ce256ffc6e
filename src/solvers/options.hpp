// Options of solvers: typed structs with documented defaults, which can also be listed and set by name (command line,
// Python). A solver derives its own struct and describes its fields once:
//
//   struct NbgsOptions : SolverOptions {
//     double relaxation = 1.0;
//     void describe(OptionList& list) override {
//       SolverOptions::describe(list);
//       list.add("relaxation", relaxation, 0.0, 2.0, "share of the local solution that is taken");
//     }
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

// One field of an options struct, bound to the struct it was described from.
struct OptionField {
  std::string name;
  std::string kind;   // "a number", "an integer", "a flag" or "a choice"
  std::string range;  // "[0, 2]", "true or false", the choices "a|b|c"
  std::string help;   // one line, with the unit
  std::function<std::string()> get;
  std::function<bool(std::string_view)> set;  // false if the text is no value of this kind or out of range
};

class OptionList {
 public:
  void add(std::string_view name, double& value, double low, double high, std::string_view help);
  void add(std::string_view name, int& value, int low, int high, std::string_view help);
  void add(std::string_view name, bool& value, std::string_view help);

  // A choice: an enum whose values count from 0 in the order of `names`.
  template <typename Enum>
  void add(std::string_view name, Enum& value, const std::vector<std::string_view>& names, std::string_view help) {
    add_choice(
        name, names, help, [&value] { return static_cast<int>(value); },
        [&value](int chosen) { value = static_cast<Enum>(chosen); });
  }

  const std::vector<OptionField>& fields() const { return fields_; }

 private:
  void add_choice(std::string_view name, const std::vector<std::string_view>& names, std::string_view help,
                  std::function<int()> get, std::function<void(int)> set);

  std::vector<OptionField> fields_;
};

enum class Validation : std::uint8_t {
  kData,  // sizes, finite numbers, signs: one pass over the data
  kFull,  // also the symmetry and definiteness of a given G: see contact/definiteness.hpp
};

// What every solver understands.
struct SolverOptions {
  int max_iterations = 1000;
  // A solver is done when natv (m/s, of the model it solves) is at most
  // max(absolute_tolerance, relative_tolerance * velocity scale); see contact/certify.hpp.
  double absolute_tolerance = 0.0;  // m/s
  double relative_tolerance = 1e-8;
  // Wall time of one solve, s; infinite: none. Looked at between iterations, so that a solve ends at most one iteration
  // (a factorisation of a large problem) later, with kTimeLimit and its best or last iterate. With a limit the answer
  // may depend on the machine.
  double time_limit = std::numeric_limits<double>::infinity();
  bool warm_start = false;      // begin from Solution::lambda if it has the right size
  bool record_history = false;  // fill Solution::history; may cost a product with G for each iteration
  Validation validation = Validation::kFull;

  virtual ~SolverOptions() = default;
  // Lists the fields, those of the base first. The list refers to this struct.
  virtual void describe(OptionList& list);

 protected:
  SolverOptions() = default;
  SolverOptions(const SolverOptions&) = default;
  SolverOptions& operator=(const SolverOptions&) = default;
};

// Throws Error that names the known options, or the range, if there is no such option or the value does not fit.
void set_option(SolverOptions& options, std::string_view name, std::string_view value);

// "key=value".
void set_option(SolverOptions& options, std::string_view assignment);

std::vector<OptionField> list_options(SolverOptions& options);

}  // namespace touchstone

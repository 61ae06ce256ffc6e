// touchstone ik: a configuration in which bodies are where they are wanted.
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "json_text.hpp"
#include "options.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/diff/inverse_kinematics.hpp"

namespace touchstone::cli {
namespace {

struct IkArguments {
  ModelOptions model;
  std::string body, keyframe;
  std::vector<double> position, rotation, point, centre_of_mass;
  bool no_limits = false, json = false;
  double tolerance = IkOptions().tolerance;
  int restarts = IkOptions().restarts;
};

int find(const Model& model, ElementKind kind, const std::string& name) {
  const int index = model.find(kind, name);
  if (index < 0) throw Error("there is no {} '{}'; 'touchstone info' lists all", to_string(kind), name);
  return index;
}

IkProblem problem_of(const Model& model, const IkArguments& arguments) {
  IkProblem problem;
  const auto require_count = [](const char* name, const std::vector<double>& values, std::size_t count) {
    if (!values.empty() && values.size() != count) {
      throw Error("--{} wants {} numbers, not {}", name, count, values.size());
    }
  };
  require_count("position", arguments.position, 3);
  require_count("rotation", arguments.rotation, 4);
  require_count("point", arguments.point, 3);
  const bool has_target = !arguments.position.empty() || !arguments.rotation.empty();
  if (has_target != !arguments.body.empty()) throw Error("--body and --position or --rotation belong together");
  const int body = has_target ? find(model, ElementKind::kBody, arguments.body) : 0;
  const auto vector = [](const std::vector<double>& v) { return Vector3(v[0], v[1], v[2]); };
  if (!arguments.position.empty()) {
    const Vector3 point = arguments.point.empty() ? Vector3(Vector3::Zero()) : vector(arguments.point);
    problem.points.push_back({body, point, vector(arguments.position)});
  }
  if (!arguments.rotation.empty()) {
    const std::vector<double>& r = arguments.rotation;
    problem.turns.push_back({body, Quaternion(r[0], r[1], r[2], r[3])});
  }
  const std::vector<double>& com = arguments.centre_of_mass;
  if (!com.empty()) {
    if (com.size() != 2 && com.size() != 3) throw Error("--com wants two or three numbers, not {}", com.size());
    problem.centre_of_mass = {
        Vector3(com[0], com[1], com.size() == 3 ? com[2] : 0.0), 1.0, {true, true, com.size() == 3}};
  }
  return problem;
}

VectorX start_of(const Model& model, const std::string& keyframe) {
  if (keyframe.empty()) return model.reference_q;
  return model.keyframes[static_cast<std::size_t>(find(model, ElementKind::kKeyframe, keyframe))].q;
}

std::string table_of(const Model& model, const VectorX& q) {
  Table table;
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[static_cast<std::size_t>(j)];
    const int first = model.joint_q[static_cast<std::size_t>(j)];
    std::string values;
    for (int k = 0; k < configuration_size(joint.type); ++k)
      values += fmt::format("{}{:.9g}", k > 0 ? " " : "", q[first + k]);
    const bool limited = joint.limited && is_scalar(joint);
    table.add_row({joint.name, values, limited ? fmt::format("[{:.4g}, {:.4g}]", joint.range[0], joint.range[1]) : ""});
  }
  return table.text();
}

}  // namespace

void add_ik_command(Command app, Context& context) {
  const auto arguments = std::make_shared<IkArguments>();
  Command command =
      app.add_subcommand("ik", "Inverse kinematics: a configuration in which a body is where it is wanted");
  add_model_options(command, arguments->model);
  command.add_option("--body", arguments->body, "The body that shall move").option_text("NAME");
  command.add_option("--position", arguments->position, "Where its point shall be, m").option_text("X Y Z");
  command.add_option("--rotation", arguments->rotation, "How it shall be turned").option_text("W X Y Z");
  command.add_option("--point", arguments->point, "The point, in its own frame; its origin if not given")
      .option_text("X Y Z");
  command.add_option("--com", arguments->centre_of_mass, "Where the centre of mass of all that moves shall be")
      .option_text("X Y [Z]");
  command.add_option("--keyframe", arguments->keyframe, "Where to start; the reference configuration if not given")
      .option_text("NAME");
  command.add_flag("--no-limits", arguments->no_limits, "Leave the limits of joints out");
  command.add_option("--tolerance", arguments->tolerance, "m and rad: the largest error of a target that is reached")
      .check(at_least_zero())
      .capture_default_str();
  command.add_option("--restarts", arguments->restarts, "Attempts from random configurations if the first one fails")
      .check(number_between(0, 1000000))
      .capture_default_str();
  command.add_flag("--json", arguments->json, "For programs");
  command.footer(R"(Examples:
  touchstone ik quadruped --body FL_shank --position 0.3 0.2 0.1 --com 0 0
  touchstone ik robot.urdf --body tool --position 0.4 0 0.5 --rotation 0 1 0 0 --json

The exit code is 1 if the targets are not reached; then the nearest configuration is shown.)");
  command.callback([arguments, &context] {
    const ModelPtr model = load(arguments->model);
    const IkProblem problem = problem_of(*model, *arguments);
    IkOptions options;
    options.tolerance = arguments->tolerance;
    options.restarts = arguments->restarts;
    options.limits = !arguments->no_limits;
    InverseKinematics ik(*model);
    const IkResult result = ik.solve(problem, start_of(*model, arguments->keyframe), options);
    if (!result.reached) context.exit_code = kCheckFailed;
    if (arguments->json) {
      print(json_text({{"reached", result.reached},
                       {"q", numbers(result.q)},
                       {"position_error", result.position_error},
                       {"angle_error", result.angle_error},
                       {"iterations", result.iterations},
                       {"attempts", result.attempts}}) +
            '\n');
      return;
    }
    print(table_of(*model, result.q));
    print(fmt::format("{}: error {:.3g} m, {:.3g} rad; {} iterations, {} attempt{}\n",
                      result.reached ? "reached" : "not reached", result.position_error, result.angle_error,
                      result.iterations, result.attempts, result.attempts == 1 ? "" : "s"));
  });
}

}  // namespace touchstone::cli

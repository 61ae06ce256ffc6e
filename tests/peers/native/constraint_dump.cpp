// The softened constraints of a model at given states with given contacts, for the comparison with MuJoCo.
//
//   constraint_dump MODEL INPUT
//
// INPUT is JSON: {"h": step, "cone": name, "states": [{"q", "v", "activation", "control", "contacts": [...]}]}, a
// contact as MuJoCo has it ("shapes" ours, "frame" with the normal first). Standard output: JSON, for each state the
// blocks with their rows, impulses divided by the step, and accelerations.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/island_solver.hpp"

namespace touchstone::peers {
namespace {

using Json = nlohmann::json;

VectorX vector_of(const Json& numbers) {
  const auto list = numbers.get<std::vector<double>>();
  return Eigen::Map<const VectorX>(list.data(), static_cast<Eigen::Index>(list.size()));
}

std::vector<double> list_of(const ConstVectorRef& v) { return {v.data(), v.data() + v.size()}; }

Vec3 vec_of(const Json& numbers, std::size_t first = 0) {
  return {numbers.at(first).get<double>(), numbers.at(first + 1).get<double>(), numbers.at(first + 2).get<double>()};
}

Contact contact_of(const Model& model, const Json& given) {
  Contact c;
  c.shape_a = given["shapes"][0].get<int>();
  c.shape_b = given["shapes"][1].get<int>();
  c.body_a = model.shapes[static_cast<std::size_t>(c.shape_a)].body;
  c.body_b = model.shapes[static_cast<std::size_t>(c.shape_b)].body;
  c.position = vec_of(given["position"]);
  c.frame = Mat3(vec_of(given["frame"], 3), vec_of(given["frame"], 6), vec_of(given["frame"], 0));
  c.distance = given["distance"].get<double>();
  c.margin = given["margin"].get<double>();
  c.material.dimension = given["dimension"].get<int>();
  c.material.friction = given["friction"].get<std::array<double, 5>>();
  c.material.impedance.solref = given["solref"].get<std::array<double, 2>>();
  c.material.impedance.solimp = given["solimp"].get<std::array<double, 5>>();
  return c;
}

MatrixX jacobian(const Model& model, const Constraints& c) {
  MatrixX J(c.rows(), model.nv);
  VectorX column(c.rows());
  for (int k = 0; k < model.nv; ++k) {
    constraint_velocity(model, c, VectorX::Unit(model.nv, k), column);
    J.col(k) = column;
  }
  return J;
}

class Dump {
 public:
  Dump(const Model& model, const Json& input)
      : model_(model), weights_(model), data_(model), state_(model), input_(model), h_(input["h"].get<double>()) {
    options_.constraints = ConstraintModel::kMujoco;
    options_.solver = "ccp-newton";
    options_.solver_options = {"cone=" + model.options.cone};
    options_.tolerance = 1e-13;
    options_.max_iterations = 500;
    options_.warm_start = false;
    solver_ = std::make_unique<IslandSolver>(options_);
  }

  Json compute(const Json& given) {
    state_.q = vector_of(given["q"]);
    state_.v = vector_of(given["v"]);
    state_.activation = vector_of(given["activation"]);
    input_.control = vector_of(given["control"]);
    std::vector<Contact> contacts;
    for (const Json& contact : given["contacts"]) contacts.push_back(contact_of(model_, contact));
    if (!compute_explicit_motion(model_, model_.defaults, state_, input_, h_, data_)) throw Error("M is singular");
    const ConstraintStep step{{model_, data_, contacts, rules_of(options_.constraints)},
                              model_.defaults,
                              state_,
                              weights_,
                              h_,
                              h_,
                              options_.stabilisation};
    assemble_constraints(step, constraints_);
    solve_constraint_rows(model_, data_.scope, data_.L, data_.D_inverse, constraints_);
    VectorX lambda = VectorX::Zero(constraints_.rows());
    StepReport report;
    if (constraints_.count() > 0) {
      const IslandSolver::Step problems{model_, data_, constraints_, h_, lambda};
      const int islands = solver_->begin(problems, report);
      for (int island = 0; island < islands; ++island) solver_->solve_island(island, 0, problems);
      solver_->finish(0.0, report);
    }
    VectorX force = VectorX::Zero(model_.nv);
    add_constraint_force(model_, constraints_, lambda, force);
    force /= h_;
    VectorX acceleration = data_.smooth_force + force;
    solve(model_, data_, acceleration);
    Json result = {{"blocks", blocks(lambda)},
                   {"constraint_force", list_of(force)},
                   {"acceleration", list_of(acceleration)},
                   {"status", to_string(report.status)},
                   {"natv", report.residuals.model_natv_relative}};
    return result;
  }

  Json weights() const {
    Json bodies = Json::array();
    for (const Vector2& w : weights_.body) bodies.push_back({w[0], w[1]});
    return {{"body", bodies}, {"dof", list_of(weights_.dof)}, {"tendon", list_of(weights_.tendon)}};
  }

 private:
  Json blocks(const VectorX& lambda) {
    const MatrixX J = jacobian(model_, constraints_);
    Json list = Json::array();
    for (int b = 0; b < constraints_.count(); ++b) {
      const Constraint& constraint = constraints_.list[static_cast<std::size_t>(b)];
      Json rows = Json::array();
      for (int r = constraints_.blocks.row[b]; r < constraints_.blocks.row[b + 1]; ++r) {
        rows.push_back({{"J", list_of(J.row(r).transpose())},
                        {"R", constraints_.compliance[r]},
                        {"aref", -(constraints_.bias[r] + constraints_.velocity[r]) / h_},
                        {"force", lambda[r] / h_}});
      }
      list.push_back({{"kind", to_string(constraint.kind)}, {"index", constraint.index}, {"rows", rows}});
    }
    return list;
  }

  const Model& model_;
  ReferenceWeights weights_;
  Data data_;
  State state_;
  Input input_;
  double h_;
  SimulatorOptions options_;
  std::unique_ptr<IslandSolver> solver_;
  Constraints constraints_;
};

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) {
    std::cerr << "usage: constraint_dump MODEL INPUT\n";
    return 2;
  }
  Model model = *load_model(arguments[1]);
  const Json input = Json::parse(std::ifstream(arguments[2]));
  model.options.cone = input["cone"].get<std::string>();
  Dump dump(model, input);
  Json results = Json::array();
  for (const Json& state : input["states"]) results.push_back(dump.compute(state));
  std::cout << Json{{"weights", dump.weights()}, {"states", results}}.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace touchstone::peers

int main(int argc, char** argv) { return touchstone::peers::run_program(touchstone::peers::run, argc, argv); }

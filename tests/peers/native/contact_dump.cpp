// The contacts of a model at given configurations, for the comparison with MuJoCo.
//
//   contact_dump MODEL CONFIGURATIONS [--distance D]
//
// CONFIGURATIONS is a file of doubles, nq for each state. Standard output: a JSON list with an entry a state, each a
// list of contacts. Contacts are reported up to the model's margin plus D (default 0).
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/detection/detector.hpp"

namespace touchstone::peers {
namespace {

nlohmann::json to_json(const Contact& c) {
  const auto numbers = [](Vec3 v) { return std::vector<double>{v.x(), v.y(), v.z()}; };
  return {{"shapes", {c.shape_a, c.shape_b}},
          {"distance", c.distance},
          {"position", numbers(c.position)},
          {"normal", numbers(c.normal())},
          {"tangents", {numbers(c.frame.c0), numbers(c.frame.c1)}},
          {"margin", c.margin},
          {"dimension", c.material.dimension},
          {"friction", c.material.friction},
          {"solref", c.material.impedance.solref},
          {"solimp", c.material.impedance.solimp}};
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3 && arguments.size() != 5) {
    std::cerr << "usage: contact_dump MODEL CONFIGURATIONS [--distance D]\n";
    return 2;
  }
  const ModelPtr model = load_model(arguments[1]);
  CollisionOptions options;
  options.margin = arguments.size() == 5 ? std::stod(arguments[4]) : 0.0;
  const auto shapes = std::make_shared<const CollisionModel>(*model);
  State state(*model);
  Data data(*model);
  nlohmann::json result = nlohmann::json::array();
  std::ifstream file(arguments[2], std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(sizeof(double)) * model->nq;
  CollisionDetector detector(shapes, options);
  while (file.read(reinterpret_cast<char*>(state.q.data()), bytes)) {
    forward_kinematics(*model, model->defaults, state, data);
    nlohmann::json contacts = nlohmann::json::array();
    for (const Contact& contact : detector.detect(model->defaults, data)) contacts.push_back(to_json(contact));
    result.push_back({{"contacts", contacts}, {"invalid", detector.counts().invalid}});
  }
  std::cout << result.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace touchstone::peers

int main(int argc, char** argv) { return touchstone::peers::run_program(touchstone::peers::run, argc, argv); }

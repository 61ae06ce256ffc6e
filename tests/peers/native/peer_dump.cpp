// Computes everything the comparisons with other engines (pytest) look at, for a model file and given states.
//
//   peer_dump MODEL [--search FOLDER]... [--floating] [--keep-fixed] [--allow-ignored] [--states IN --out OUT]
//
// Standard output: the model as JSON, with "fields", the names and sizes of the results of one state. IN and OUT are
// doubles. IN begins with the number of states and the number of points; then, for each state, what StateReader
// reads. OUT has the fields of one state after the other; matrices are row-major.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "describe.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone::peers {
namespace {

struct Point {
  int body = 0;
  Vector3 position;  // world
};

// One state of the input file.
struct Sample {
  State state;
  Input input;
  VectorX a, tau, q_other;
  double h = 0.0;
  std::vector<Point> points;
};

class StateReader {
 public:
  StateReader(const Model& model, const std::string& path) : model_(model), file_(path, std::ios::binary) {
    count_ = static_cast<int>(number());
    points_ = static_cast<int>(number());
  }
  int count() const { return count_; }

  Sample read() {
    Sample s;
    s.state = State(model_);
    s.input = Input(model_);
    s.state.q = vector(model_.nq);
    s.state.v = vector(model_.nv);
    s.state.activation = vector(model_.na);
    s.a = vector(model_.nv);
    s.tau = vector(model_.nv);
    s.q_other = vector(model_.nq);
    s.h = number();
    s.input.control = vector(model_.nu);
    s.input.applied_force = vector(model_.nv);
    for (Vector6& wrench : s.input.applied_wrench) wrench = vector(6);
    for (Transform& pose : s.state.mocap) pose = transform();
    for (int i = 0; i < points_; ++i) {
      const int body = static_cast<int>(number());
      s.points.push_back({body, vector(3)});
    }
    return s;
  }

 private:
  double number() { return vector(1)[0]; }
  VectorX vector(int size) {
    VectorX result(size);
    file_.read(reinterpret_cast<char*>(result.data()), static_cast<std::streamsize>(sizeof(double)) * size);
    if (!file_) throw std::runtime_error("the file of states is too short");
    return result;
  }
  Transform transform() {
    const VectorX x = vector(7);
    return {x.head<3>(), Quaternion(x[3], x[4], x[5], x[6])};
  }

  const Model& model_;
  std::ifstream file_;
  int count_ = 0, points_ = 0;
};

// Appends named results; the names of the first state become the description of the file.
class Results {
 public:
  void add(const char* name, const MatrixX& matrix) {
    if (!described_) fields_.push_back({name, {matrix.rows(), matrix.cols()}});
    for (Eigen::Index i = 0; i < matrix.rows(); ++i)
      for (Eigen::Index j = 0; j < matrix.cols(); ++j) values_.push_back(matrix(i, j));
  }
  void add(const char* name, double value) { add(name, MatrixX::Constant(1, 1, value)); }
  void write(std::ostream& out) {
    out.write(reinterpret_cast<const char*>(values_.data()),
              static_cast<std::streamsize>(values_.size() * sizeof(double)));
    values_.clear();
    described_ = true;
  }
  const Json& fields() const { return fields_; }

 private:
  std::vector<double> values_;
  Json fields_ = Json::array();
  bool described_ = false;
};

// One row a pose: position, then the rotation matrix by rows.
template <typename PoseOf>
MatrixX poses(int count, PoseOf pose_of) {
  MatrixX result(count, 12);
  for (int i = 0; i < count; ++i) {
    const Transform X = pose_of(i);
    result.row(i).head<3>() = X.position.transpose();
    const Matrix3 R = X.rotation.toRotationMatrix();
    for (int k = 0; k < 9; ++k) result(i, 3 + k) = R(k / 3, k % 3);
  }
  return result;
}

class Dump {
 public:
  explicit Dump(const Model& model)
      : model_(model), parameters_(model.defaults), data_(model), derivatives_(model), forward_(model), x_(model.nv) {}

  void add_all(const Sample& s, Results& out) {
    add_motion_on_manifold(s, out);
    add_forces(s, out);
    add_recursions(s, out);  // these may use the workspace as they like
    forward_kinematics(model_, parameters_, s.state, data_);
    forward_velocity(model_, s.state.v, data_);
    add_poses(out);
    add_whole_model(s, out);
    add_points(s, out);
  }

 private:
  void add_motion_on_manifold(const Sample& s, Results& out) {
    VectorX q(model_.nq);
    integrate(model_, s.state.q, s.state.v, s.h, q);
    out.add("integrate", q);
    difference(model_, s.state.q, s.q_other, x_);
    out.add("difference", x_);
  }

  void add_forces(const Sample& s, Results& out) {
    if (!forward_dynamics(model_, parameters_, s.state, s.input, data_, x_)) throw Error("M is not positive definite");
    out.add("acceleration", x_);
    out.add("M", data_.M);
    out.add("bias", data_.bias);
    out.add("passive", data_.passive);
    out.add("actuation", data_.actuation);
    out.add("actuator_force", data_.actuator_force);
    out.add("actuator_length", data_.actuator_length);
    out.add("actuator_velocity", data_.actuator_velocity);
    out.add("activation_rate", data_.activation_rate);
    out.add("tendon_length", data_.tendon_length);
    out.add("tendon_velocity", data_.tendon_velocity);
    out.add("smooth_force", data_.smooth_force);
    multiply_mass(model_, data_, s.a, x_);
    out.add("mass_times_a", x_);
    if (!factorize(model_, data_)) throw std::runtime_error("M is not positive definite");
    x_ = s.tau;
    solve(model_, data_, x_);
    out.add("solved_tau", x_);
  }

  void add_recursions(const Sample& s, Results& out) {
    rnea(model_, parameters_, s.state.q, s.state.v, s.a, data_, x_);
    out.add("rnea", x_);
    if (parameters_.tendon_armature.isZero(0.0)) {  // aba refuses it
      aba(model_, parameters_, s.state.q, s.state.v, s.tau, data_, x_);
      out.add("aba", x_);
      add_forward_derivatives(s, out);
    }
    rnea_derivatives(model_, parameters_, s.state.q, s.state.v, s.a, data_, derivatives_);
    out.add("dtau_dq", MatrixX(derivatives_.dtau_dq));
    out.add("dtau_dv", MatrixX(derivatives_.dtau_dv));
    forward_kinematics(model_, parameters_, s.state, data_);
    gravity_force(model_, parameters_, data_, x_);
    out.add("gravity_force", x_);
  }

  void add_forward_derivatives(const Sample& s, Results& out) {
    const bool is_known = forward_.compute(model_, parameters_, s.state.q, s.state.v, s.tau, data_);
    const MatrixX unknown = MatrixX::Constant(model_.nv, model_.nv, std::numeric_limits<double>::quiet_NaN());
    out.add("da_dq", is_known ? MatrixX(forward_.da_dq()) : unknown);
    out.add("da_dv", is_known ? MatrixX(forward_.da_dv()) : unknown);
    out.add("da_dtau", is_known ? MatrixX(forward_.da_dtau()) : unknown);
  }

  void add_poses(Results& out) {
    out.add("body_poses", poses(model_.nbody, [&](int i) { return body_pose(data_, i); }));
    out.add("site_poses", poses(model_.nsite, [&](int i) { return site_pose(model_, data_, i); }));
    out.add("shape_poses", poses(model_.nshape, [&](int i) { return shape_pose(model_, data_, i); }));
  }

  void add_whole_model(const Sample& s, Results& out) {
    crba(model_, parameters_, data_);
    const Vector3 com = center_of_mass(model_, parameters_, data_);
    out.add("com", com);
    Eigen::Matrix3Xd J = Eigen::Matrix3Xd::Zero(3, model_.nv);
    center_of_mass_jacobian(model_, parameters_, data_, J);
    out.add("com_jacobian", J);
    out.add("potential_energy", potential_energy(model_, parameters_, s.state.q, data_));
    out.add("kinetic_energy", kinetic_energy(model_, parameters_, s.state.v, data_));
    const Momentum p = momentum(model_, parameters_, data_, com);
    out.add("linear_momentum", p.linear);
    out.add("angular_momentum", p.angular);
  }

  void add_points(const Sample& s, Results& out) {
    const auto count = static_cast<Eigen::Index>(s.points.size());
    MatrixX J(6 * count, model_.nv), J_dot(6 * count, model_.nv), J_local(6 * count, model_.nv);
    MatrixX velocity(6, count), acceleration(6, count);
    Matrix6X block(6, model_.nv);
    forward_acceleration(model_, s.state.v, s.a, data_);
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto& [body, position] = s.points[static_cast<std::size_t>(i)];
      point_jacobian(model_, data_, body, position, block);
      J.middleRows(6 * i, 6) = block;
      point_jacobian_dot(model_, data_, s.state.v, body, position, block);
      J_dot.middleRows(6 * i, 6) = block;
      body_jacobian_local(model_, data_, body, block);
      J_local.middleRows(6 * i, 6) = block;
      velocity.col(i) = point_velocity(model_, data_, body, position);
      acceleration.col(i) = point_acceleration(model_, data_, body, position);
    }
    out.add("jacobian", J);
    out.add("jacobian_dot", J_dot);
    out.add("jacobian_local", J_local);
    out.add("point_velocity", velocity);
    out.add("point_acceleration", acceleration);
  }

  const Model& model_;
  const Parameters& parameters_;
  Data data_;
  InverseDynamicsDerivatives derivatives_;
  ForwardDynamicsDerivatives forward_;
  VectorX x_;
};

struct Arguments {
  std::string model, states, out;
  LoadOptions options;
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = word == "--search" || word == "--states" || word == "--out";
    if (has_value && i + 1 == argc) throw std::runtime_error(word + " needs a value");
    if (word == "--search")
      result.options.search_paths.emplace_back(argv[++i]);
    else if (word == "--states")
      result.states = argv[++i];
    else if (word == "--out")
      result.out = argv[++i];
    else if (word == "--floating")
      result.options.floating_base = true;
    else if (word == "--keep-fixed")
      result.options.merge_fixed = false;
    else if (word == "--allow-ignored")
      result.options.allow_ignored = true;
    else
      result.model = word;
  }
  if (result.model.empty()) throw std::runtime_error("no model file given");
  return result;
}

void run(const Arguments& arguments) {
  const ModelPtr model = load_model(arguments.model, arguments.options);
  Json description = describe(*model);
  if (!arguments.states.empty()) {
    StateReader reader(*model, arguments.states);
    std::ofstream out(arguments.out, std::ios::binary);
    Dump dump(*model);
    Results results;
    for (int i = 0; i < reader.count(); ++i) {
      dump.add_all(reader.read(), results);
      results.write(out);
    }
    if (!out) throw std::runtime_error("cannot write " + arguments.out);
    description["fields"] = results.fields();
  }
  std::cout << description.dump() << '\n';
}

}  // namespace
}  // namespace touchstone::peers

int main(int argc, char** argv) {
  try {
    touchstone::peers::run(touchstone::peers::parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

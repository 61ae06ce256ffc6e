// Our side of the dynamics benchmark.
//
//   bench_dynamics_touchstone                       serves run.py, see harness.hpp
//   bench_dynamics_touchstone --joints BASE MODEL   prints name and type of the joints in our order
#include "harness.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"

namespace {

using namespace touchstone;

ModelPtr load_robot(const std::string& base, const std::string& path) {
  LoadOptions options;
  options.floating_base = base == "floating";
  return load_model(path, options);
}

VectorX vector(const double* first, int size) { return Eigen::Map<const VectorX>(first, size); }

struct Robot {
  Robot(const bench::States& s, const std::string& base, const std::string& path)
      : pointer(load_robot(base, path)), model(*pointer), parameters(model.defaults), data(model), x(model.nv) {
    if (model.nq != s.nq || model.nv != s.nv) throw std::runtime_error("states do not fit " + path);
    for (int i = 0; i < s.count; ++i) {
      q.push_back(vector(s.q_of(i), s.nq));
      v.push_back(vector(s.v_of(i), s.nv));
      a.push_back(vector(s.a_of(i), s.nv));
      tau.push_back(vector(s.tau_of(i), s.nv));
    }
  }

  void run_rnea(std::size_t i) { rnea(model, parameters, q[i], v[i], a[i], data, x); }
  void run_aba(std::size_t i) { aba(model, parameters, q[i], v[i], tau[i], data, x); }
  void run_kinematics(std::size_t i) { forward_kinematics(model, parameters, q[i], data); }
  void run_crba(std::size_t i) {
    run_kinematics(i);
    crba(model, parameters, data);
  }
  void factor() {
    if (!factorize(model, data)) throw std::runtime_error("M is not positive definite");
  }
  void factor_and_solve(std::size_t i) {
    factor();
    x = tau[i];
    solve(model, data, x);
  }
  void run_crba_factor(std::size_t i) {
    run_crba(i);
    factor();
  }
  void run_all(std::size_t i) {
    run_crba_factor(i);
    compute_bias(model, parameters, v[i], data);
  }

  ModelPtr pointer;
  const Model& model;
  const Parameters& parameters;
  Data data;
  std::vector<VectorX> q, v, a, tau;
  VectorX x;
};

void append(std::vector<double>& results, const MatrixX& values) {
  results.insert(results.end(), values.data(), values.data() + values.size());
}

// For a URDF what bench_pinocchio.cpp gives, for an MJCF what bench_mujoco.cpp gives.
void check(Robot& r, bool urdf, std::size_t i, std::vector<double>& results) {
  if (urdf) {
    r.run_rnea(i);
    append(results, r.x);
    r.run_crba(i);
    append(results, dense_mass_matrix(r.model, r.data));
    r.run_aba(i);
    append(results, r.x);
    r.run_crba(i);
  } else {
    r.run_all(i);
    append(results, dense_mass_matrix(r.model, r.data));
    append(results, r.data.bias);
  }
  r.factor_and_solve(i);
  append(results, r.x);
}

bench::Case load(const bench::States& states, const std::string& base, const std::string& path) {
  auto robot = std::make_shared<Robot>(states, base, path);
  Robot& r = *robot;
  bench::Case result;
  result.owner = robot;
  const bool urdf = base != "as_is";
  result.check = [&r, urdf](int i, std::vector<double>& out) { check(r, urdf, static_cast<std::size_t>(i), out); };
  const auto row = [&](const std::string& name, auto call) {
    result.rows[name] = bench::over_states(states.count, [call](int i) { call(static_cast<std::size_t>(i)); });
  };
  if (urdf) {
    row("rnea", [&r](std::size_t i) { r.run_rnea(i); });
    row("crba", [&r](std::size_t i) { r.run_crba(i); });
    row("aba", [&r](std::size_t i) { r.run_aba(i); });
    row("factor_solve", [&r](std::size_t i) { r.factor_and_solve(i); });
    row("crba_factor_solve", [&r](std::size_t i) {
      r.run_crba(i);
      r.factor_and_solve(i);
    });
  } else {
    row("kinematics_crba", [&r](std::size_t i) { r.run_crba(i); });
    row("kinematics_crba_factor", [&r](std::size_t i) { r.run_crba_factor(i); });
    row("kinematics_crba_factor_bias", [&r](std::size_t i) { r.run_all(i); });
  }
  r.run_crba(0);  // factor_solve needs some M
  return result;
}

int print_joints(const std::string& base, const std::string& path) {
  const ModelPtr model = load_robot(base, path);
  for (const Joint& joint : model->joints) std::cout << joint.name << ' ' << to_string(joint.type) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string(argv[1]) == "--joints") return print_joints(argv[2], argv[3]);
    return bench::serve(load);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

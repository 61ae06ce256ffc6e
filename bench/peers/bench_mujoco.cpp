// MuJoCo's side of the dynamics benchmark: the wheel's library, as its users get it.
#include <mujoco/mujoco.h>

#include "harness.hpp"

namespace {

struct Robot {
  Robot(const bench::States& s, const std::string& path) : states(s) {
    char error[1000] = "";
    model = mj_loadXML(path.c_str(), nullptr, error, sizeof(error));
    if (!model) throw std::runtime_error(error);
    if (model->nq != s.nq || model->nv != s.nv) throw std::runtime_error("states do not fit " + path);
    data = mj_makeData(model);
    // mj_kinematics would also pose geoms and sites, which is not a part of what is compared.
    model->ngeom = 0;
    model->nsite = 0;
  }
  ~Robot() {
    mj_deleteData(data);
    mj_deleteModel(model);
  }
  Robot(const Robot&) = delete;
  Robot& operator=(const Robot&) = delete;

  void set_state(int i) {
    std::copy_n(states.q_of(i), states.nq, data->qpos);
    std::copy_n(states.v_of(i), states.nv, data->qvel);
  }
  void kinematics(int i) {
    set_state(i);
    mj_kinematics(model, data);
    mj_comPos(model, data);
  }
  void mass_matrix(int i) {
    kinematics(i);
    mj_makeM(model, data);
  }
  void mass_matrix_factor(int i) {
    mass_matrix(i);
    mj_factorM(model, data);
  }
  void all(int i) {
    mass_matrix_factor(i);
    mj_comVel(model, data);
    mj_rne(model, data, 0, data->qfrc_bias);
  }

  bench::States states;
  mjModel* model = nullptr;
  mjData* data = nullptr;
};

// M, bias, M^-1 tau.
void check(Robot& r, int i, std::vector<double>& results) {
  r.all(i);
  const auto nv = static_cast<std::size_t>(r.states.nv);
  std::vector<double> M(nv * nv), x(nv);
  mj_fullM(r.model, r.data, M.data());
  mj_solveM(r.model, r.data, x.data(), r.states.tau_of(i), 1);
  results.insert(results.end(), M.begin(), M.end());
  results.insert(results.end(), r.data->qfrc_bias, r.data->qfrc_bias + nv);
  results.insert(results.end(), x.begin(), x.end());
}

bench::Case load(const bench::States& states, const std::string&, const std::string& path) {
  auto robot = std::make_shared<Robot>(states, path);
  Robot& r = *robot;
  bench::Case result;
  result.owner = robot;
  result.check = [&r](int i, std::vector<double>& results) { check(r, i, results); };
  result.rows["kinematics_crba"] = bench::over_states(states.count, [&r](int i) { r.mass_matrix(i); });
  result.rows["kinematics_crba_factor"] = bench::over_states(states.count, [&r](int i) { r.mass_matrix_factor(i); });
  result.rows["kinematics_crba_factor_bias"] = bench::over_states(states.count, [&r](int i) { r.all(i); });
  return result;
}

}  // namespace

int main() { return bench::serve(load); }

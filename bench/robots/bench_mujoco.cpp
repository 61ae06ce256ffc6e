// MuJoCo's side of the benchmark of robots: the library of the wheel, as its users get it.
//
// Variants: `default` is what the model file asks for; `tight` has elliptic cones and lets Newton's method go on until
// rounding stops it.
#include <mujoco/mjbatch.h>
#include <mujoco/mujoco.h>

#include "harness.hpp"
#include "score_mujoco.hpp"

namespace {

using nlohmann::json;

struct Delete {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
  void operator()(mjData* data) const { mj_deleteData(data); }
};
using Model = std::unique_ptr<mjModel, Delete>;
using Data = std::unique_ptr<mjData, Delete>;

mjtNum milliseconds() { return 1e3 * bench::wall_seconds(); }

class MujocoCase final : public bench::Case {
 public:
  MujocoCase(const std::string& path, double step, bench::Control control) : control_(control) {
    char error[1000] = "";
    Model model(mj_loadXML(path.c_str(), nullptr, error, sizeof(error)));
    if (!model) throw std::runtime_error(error);
    model->opt.timestep = step;
    Model tight(mj_copyModel(nullptr, model.get()));
    tight->opt.cone = mjCONE_ELLIPTIC;
    tight->opt.solver = mjSOL_NEWTON;
    tight->opt.iterations = 1000;
    tight->opt.ls_iterations = 500;
    tight->opt.tolerance = 1e-15;
    tight->opt.ls_tolerance = 1e-6;
    data_["default"].reset(mj_makeData(model.get()));
    data_["tight"].reset(mj_makeData(tight.get()));
    model_["default"] = std::move(model);
    model_["tight"] = std::move(tight);
  }

  json describe() const override {
    const mjModel* m = model_.at("default").get();
    return {{"nq", m->nq}, {"nv", m->nv}, {"nu", m->nu}, {"na", m->na}, {"version", mj_versionString()}};
  }

  bench::States record(double from, double to, int count) override {
    mjModel* m = model_["default"].get();
    mjData* d = data_["default"].get();
    mj_resetData(m, d);
    if (m->nkey > 0) mj_resetDataKeyframe(m, d, 0);
    const double h = m->opt.timestep;
    const int steps = static_cast<int>(to / h);
    bench::States states{0, m->nq, m->nv, m->na, {}};
    for (int i = 0; i < steps; ++i) {
      set_control(m, d);
      mj_step(m, d);
      if (bench::is_recorded(i, h, from, to, count)) {
        states.append(d->time, d->qpos, d->qvel, d->act);
      }
    }
    return states;
  }

  json time(const bench::States& states, const std::string& variant) override {
    mjModel* m = model_.at(variant).get();
    mjData* d = data_.at(variant).get();
    double seconds = 0.0, contacts = 0.0, active = 0.0, iterations = 0.0, rows = 0.0;
    std::vector<double> step_seconds, active_of;
    int steps = 0;
    for (std::int64_t i = 0; i < states.count; ++i) {
      start(m, d, states.of(i));
      const double begin = bench::thread_seconds();
      for (int k = 0; k < bench::kTimedSteps; ++k) {
        set_control(m, d);
        const double step_begin = bench::wall_seconds();
        mj_step(m, d);
        step_seconds.push_back(bench::wall_seconds() - step_begin);
        contacts += d->ncon;
        rows += d->nefc;
        for (int island = 0; island < std::max(1, std::min(d->nisland, mjNISLAND)); ++island) {
          iterations += d->solver_niter[island];
        }
        ++steps;
      }
      seconds += bench::thread_seconds() - begin;
      active_of.push_back(active_contacts(m, d));
      active += bench::kTimedSteps * active_of.back();
    }
    return {{"seconds", seconds / steps}, {"contacts", contacts / steps},
            {"active", active / steps},   {"iterations", iterations / steps},
            {"rows", rows / steps},       {"stages", stages(m, d, states)},
            {"steps", step_seconds},      {"active_of", active_of}};
  }

  json score(const bench::States& states, const std::string& variant) override {
    mjModel* m = model_.at(variant).get();
    mjData* d = data_.at(variant).get();
    std::vector<double> hard, soft, penetration;
    for (std::int64_t i = 0; i < states.count; ++i) {
      start(m, d, states.of(i));
      set_control(m, d);
      mj_forward(m, d);
      if (d->nefc == 0) continue;
      hard.push_back(bench::score_hard(m, d).natv_relative);
      soft.push_back(bench::score_soft(m, d).model_natv_relative);
      double deepest = 0.0;
      for (int c = 0; c < d->ncon; ++c) deepest = std::max(deepest, -d->contact[c].dist);
      penetration.push_back(deepest);
    }
    return {{"hard", hard}, {"soft", soft}, {"penetration", penetration}};
  }

  json batch(int threads, int worlds, int steps) override {
    const mjModel* m = model_.at("default").get();
    mjBatchConfig config;
    mjb_defaultConfig(&config);
    config.nthread = threads;
    config.persistent = 1;
    char error[1000] = "";
    const std::unique_ptr<mjBatch, void (*)(mjBatch*)> batch(mjb_makeBatch(m, worlds, &config, error, sizeof(error)),
                                                             mjb_deleteBatch);
    if (!batch) throw std::runtime_error(error);
    const std::vector<int> keys(static_cast<std::size_t>(worlds), m->nkey > 0 ? 0 : -1);
    mjb_reset(batch.get(), nullptr, worlds, keys.data(), mjSTAGE_NONE);
    mjtNum* controls = mjb_stateComponent(batch.get(), mjSTATE_CTRL, nullptr);
    for (int w = 0; w < worlds; ++w) {
      for (int u = 0; u < m->nu; ++u) controls[w * mjb_nstate(batch.get()) + u] = control(m, u, 0.01 * w);
    }
    mjb_rollout(batch.get(), nullptr, worlds, steps / 4, nullptr, 0, nullptr, 0);
    const double begin = bench::wall_seconds();
    const int failed = mjb_rollout(batch.get(), nullptr, worlds, steps, nullptr, 0, nullptr, 0);
    const double taken = bench::wall_seconds() - begin;
    return {{"steps_per_second", worlds * static_cast<double>(steps) / taken}, {"failed", failed}};
  }

 private:
  double control(const mjModel* m, int u, double time) const {
    return bench::control(control_, u, time, m->nkey > 0 ? m->key_ctrl[u] : 0.0, m->actuator_ctrllimited[u] != 0,
                          m->actuator_ctrlrange[2 * u], m->actuator_ctrlrange[2 * u + 1]);
  }

  void set_control(const mjModel* m, mjData* d) const {
    for (int u = 0; u < m->nu; ++u) d->ctrl[u] = control(m, u, d->time);
  }

  void start(const mjModel* m, mjData* d, const double* state) const {
    mj_resetData(m, d);
    d->time = state[0];
    std::copy_n(state + 1, m->nq, d->qpos);
    std::copy_n(state + 1 + m->nq, m->nv, d->qvel);
    std::copy_n(state + 1 + m->nq + m->nv, m->na, d->act);
    for (int k = 0; k < bench::kWarmSteps; ++k) {
      set_control(m, d);
      mj_step(m, d);
    }
  }

  static int active_contacts(const mjModel* m, const mjData* d) {
    int active = 0;
    for (int c = 0; c < d->ncon; ++c) {
      mjtNum force[6];
      mj_contactForce(m, d, c, force);
      active += force[0] > 0.0 ? 1 : 0;
    }
    return active;
  }

  // By MuJoCo's own timers, in a pass of its own, since they cost time too.
  json stages(const mjModel* m, mjData* d, const bench::States& states) const {
    double sums[mjNTIMER] = {}, disturbed[mjNTIMER] = {};
    for (std::int64_t i = 0; i < states.count; ++i) {
      start(m, d, states.of(i));
      mjcb_time = milliseconds;
      for (mjTimerStat& timer : d->timer) timer.duration = 0.0;
      const double begin = bench::thread_seconds();
      for (int k = 0; k < bench::kTimedSteps; ++k) {
        set_control(m, d);
        mj_step(m, d);
      }
      const double taken = bench::thread_seconds() - begin;
      mjcb_time = nullptr;
      double* target = bench::undisturbed(1e-3 * d->timer[mjTIMER_STEP].duration, taken) ? sums : disturbed;
      for (int k = 0; k < mjNTIMER; ++k) target[k] += d->timer[k].duration;
    }
    if (!(sums[mjTIMER_STEP] > 0.0)) std::copy_n(disturbed, static_cast<int>(mjNTIMER), sums);
    const auto of = [&](int timer) { return 1e-3 * sums[timer]; };
    const double solve = of(mjTIMER_CONSTRAINT), collision = of(mjTIMER_POS_COLLISION);
    const double assembly = of(mjTIMER_POS_MAKE) + of(mjTIMER_POS_PROJECT), all = of(mjTIMER_STEP);
    return {{"collision", collision},
            {"assembly", assembly},
            {"solve", solve},
            {"rest", all - solve - collision - assembly}};
  }

  bench::Control control_;
  std::map<std::string, Model> model_;
  std::map<std::string, Data> data_;
};

}  // namespace

int main() {
  return bench::serve([](const std::string& model, double step, bench::Control control) {
    return std::make_unique<MujocoCase>(model, step, control);
  });
}

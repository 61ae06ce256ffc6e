// Our side of the benchmark of robots. Variants are names of solvers.
#include "harness.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/batch.hpp"

namespace {

using namespace touchstone;
using nlohmann::json;

class OurCase final : public bench::Case {
 public:
  OurCase(const std::string& path, double step, bench::Control control) : model_(load_model(path)), control_(control) {
    options_.time_step = step;
  }

  json describe() const override {
    return {{"nq", model_->nq}, {"nv", model_->nv}, {"nu", model_->nu}, {"na", model_->na}};
  }

  bench::States record(double from, double to, int count) override {
    Simulator sim(model_, options_);
    if (!model_->keyframes.empty()) sim.reset(0);
    const double h = sim.time_step();
    const int steps = static_cast<int>(to / h);
    bench::States states{0, model_->nq, model_->nv, model_->na, {}};
    for (int i = 0; i < steps; ++i) {
      set_control(sim);
      if (sim.step().status == StepStatus::kDiverged) throw std::runtime_error("the run to record states diverged");
      if (bench::is_recorded(i, h, from, to, count)) {
        const State& s = sim.state();
        states.append(s.time, s.q.data(), s.v.data(), s.activation.data());
      }
    }
    return states;
  }

  json time(const bench::States& states, const std::string& variant) override {
    Simulator& sim = simulator(variant);
    StageTimes stages, disturbed;
    double seconds = 0.0, contacts = 0.0, active = 0.0, iterations = 0.0, islands = 0.0, rows = 0.0;
    std::vector<double> natv, step_seconds, active_of;
    double penetration = 0.0;
    int steps = 0;
    for (std::int64_t i = 0; i < states.count; ++i) {
      start(sim, states, i);
      StageTimes window;
      const double begin = bench::thread_seconds();
      for (int k = 0; k < bench::kTimedSteps; ++k) {
        set_control(sim);
        const double step_begin = bench::wall_seconds();
        const StepReport& r = sim.step();
        step_seconds.push_back(bench::wall_seconds() - step_begin);
        penetration = std::max(penetration, r.penetration);
        window.dynamics += r.times.dynamics;
        window.collision += r.times.collision;
        window.assembly += r.times.assembly;
        window.solve += r.times.solve;
        window.integrate += r.times.integrate;
        window.certify += r.times.certify;
        natv.push_back(r.residuals.natv_relative);
        contacts += r.contacts;
        iterations += r.iterations;
        islands += r.islands;
        rows += r.rows;
        ++steps;
      }
      const double taken = bench::thread_seconds() - begin;
      seconds += taken;
      add(window, bench::undisturbed(window.total(), taken) ? stages : disturbed);
      active_of.push_back(0.0);
      for (const ContactForce& c : sim.contacts()) active_of.back() += c.local_force.z() > 0.0 ? 1.0 : 0.0;
      active += bench::kTimedSteps * active_of.back();
    }
    if (!(stages.total() > 0.0)) stages = disturbed;  // a busy machine: shares are still about right
    const double scale = 1.0 / steps;
    return {{"seconds", seconds * scale},
            {"contacts", contacts * scale},
            {"active", active * scale},
            {"iterations", iterations * scale},
            {"islands", islands * scale},
            {"rows", rows * scale},
            {"natv", natv},
            {"steps", step_seconds},
            {"active_of", active_of},
            {"penetration", penetration},
            {"stages",
             {{"dynamics", stages.dynamics * scale},
              {"collision", stages.collision * scale},
              {"assembly", stages.assembly * scale},
              {"solve", stages.solve * scale},
              {"integrate", stages.integrate * scale},
              {"certify", stages.certify * scale}}}};
  }

  // The step's own certificate is the score; `time` has it.
  json score(const bench::States&, const std::string&) override { return json::object(); }

  // Wall time of STEPS steps of all worlds, each with its own constant controls.
  json batch(int threads, int worlds, int steps) override {
    Batch batch(model_, worlds, options_, threads);
    for (int w = 0; w < worlds; ++w) {
      if (!model_->keyframes.empty()) batch.reset(w, 0);
      for (int u = 0; u < model_->nu; ++u) batch.control(w)[static_cast<std::size_t>(u)] = control(u, 0.01 * w);
    }
    batch.step(steps / 4);
    const double begin = bench::wall_seconds();
    batch.step(steps);
    const double taken = bench::wall_seconds() - begin;
    int diverged = 0;
    for (const StepStatus status : batch.statuses()) diverged += status == StepStatus::kDiverged ? 1 : 0;
    return {{"steps_per_second", worlds * static_cast<double>(steps) / taken}, {"failed", diverged}};
  }

 private:
  static void add(const StageTimes& x, StageTimes& sum) {
    sum.dynamics += x.dynamics;
    sum.collision += x.collision;
    sum.assembly += x.assembly;
    sum.solve += x.solve;
    sum.integrate += x.integrate;
    sum.certify += x.certify;
  }

  Simulator& simulator(const std::string& solver) {
    std::unique_ptr<Simulator>& sim = simulators_[solver];
    if (!sim) {
      SimulatorOptions options = options_;
      options.solver = solver;
      sim = std::make_unique<Simulator>(model_, options);
    }
    return *sim;
  }

  double control(int u, double time) const {
    const Actuator& a = model_->actuators[static_cast<std::size_t>(u)];
    const double rest = model_->keyframes.empty() ? 0.0 : model_->keyframes[0].control[u];
    return bench::control(control_, u, time, rest, a.control_limited, a.control_range[0], a.control_range[1]);
  }

  void set_control(Simulator& sim) const {
    for (int u = 0; u < model_->nu; ++u) sim.input().control[u] = control(u, sim.state().time);
  }

  void start(Simulator& sim, const bench::States& states, std::int64_t i) const {
    const double* values = states.of(i);
    State state(*model_);
    state.time = values[0];
    state.q = Eigen::Map<const VectorX>(values + 1, model_->nq);
    state.v = Eigen::Map<const VectorX>(values + 1 + model_->nq, model_->nv);
    state.activation = Eigen::Map<const VectorX>(values + 1 + model_->nq + model_->nv, model_->na);
    sim.reset(state);
    for (int k = 0; k < bench::kWarmSteps; ++k) {
      set_control(sim);
      sim.step();
    }
  }

  ModelPtr model_;
  bench::Control control_;
  SimulatorOptions options_;
  std::map<std::string, std::unique_ptr<Simulator>> simulators_;
};

}  // namespace

int main() {
  return bench::serve([](const std::string& model, double step, bench::Control control) {
    return std::make_unique<OurCase>(model, step, control);
  });
}

// Whether worlds on a GPU do what physics says, on a machine that has nothing but a C++ compiler and CUDA. One line of
// JSON; the exit status is 1 if "passed" is false.
//
// clang-format off
//   gpu_physics rest   robot.arrays robot.states --seconds 60 --limit 1e-5   controls held: do bodies stay, in the last half
//   gpu_physics follow robot.arrays robot.states --steps 100 --limit 1e-5    the same motion as lanes of the processor
//   gpu_physics soak   robot.arrays robot.states --seconds 60                random controls for that time: nothing unreported
// clang-format on
//
// Also --worlds N, --tolerance T, --most-sweeps N, --device cuda|cpu, --within M (m that bodies may be in each other).
// Files as those of gpu_bench. Depths and errors of loops are computed from downloaded states by the processor, in
// double. --limit is of p90 of the ways (rest, m) or p99 of the differences of positions (follow).
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>

#include "runs.hpp"
#include "touchstone/gpu/batch_store.hpp"

namespace gpu = touchstone::gpu;

namespace {

struct Arguments {
  std::string what, arrays, states, device = "cuda";
  int worlds = 256, steps = 100;
  double seconds = 10.0, limit = 1e300, within = 1e300;
  gpu::BatchOptions options;
};

Arguments parse(int argc, char** argv) {
  if (argc < 4) throw std::runtime_error("give rest, follow or soak, a file of arrays and one of states");
  Arguments a;
  a.what = argv[1], a.arrays = argv[2], a.states = argv[3];
  const std::map<std::string, int*> counts{
      {"--worlds", &a.worlds}, {"--steps", &a.steps}, {"--most-sweeps", &a.options.most_sweeps}};
  const std::map<std::string, double*> numbers{
      {"--seconds", &a.seconds}, {"--limit", &a.limit}, {"--within", &a.within}, {"--tolerance", &a.options.tolerance}};
  for (int i = 4; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::runtime_error("'" + name + "' needs a value");
    if (counts.count(name) > 0) {
      *counts.at(name) = std::stoi(argv[i + 1]);
    } else if (numbers.count(name) > 0) {
      *numbers.at(name) = std::stod(argv[i + 1]);
    } else if (name == "--device") {
      a.device = argv[i + 1];
    } else {
      throw std::runtime_error("unknown option '" + name + "'");
    }
  }
  return a;
}

std::unique_ptr<gpu::WorldBatch> make_batch(const Arguments& a, const gpu::ModelArrays& arrays, bool on_lanes) {
  if (on_lanes || a.device == "cpu") return gpu::make_cpu_batch(arrays, a.worlds, a.options);
  return gpu::make_cuda_batch(arrays, a.worlds, a.options);
}

std::vector<double> read(const gpu::WorldBatch& batch, gpu::BatchField field, int width) {
  std::vector<double> all(gpu::at(batch.worlds()) * gpu::at(width));
  batch.read(field, all.data());
  return all;
}

// How deep shapes are in each other and how far loops are open, over the first worlds: m, by the processor.
struct Geometry {
  double deepest = 0.0, open = 0.0;

  template <typename Team>
  void look(const Team& team, const gpu::ModelArrays& arrays, const gpu::WorldBatch& batch) {
    constexpr int kWorlds = 256, kContacts = 512;
    const gpu::ModelSizes& n = arrays.sizes;
    const gpu::ModelView model = gpu::view_of(arrays);
    const gpu::Pool pool = gpu::full_pool(n, kContacts);
    std::vector<double> memory(gpu::scratch_bytes<double>(n, pool) / sizeof(double) + 1);
    std::vector<double> q = read(batch, gpu::BatchField::kPosition, n.nq), v(gpu::at(n.nv));
    std::vector<double> loop_q = read(batch, gpu::BatchField::kLoopCoordinates, n.loop_numbers);
    std::vector<double> control(gpu::at(n.nu)), force(gpu::at(n.nv)), activation(gpu::at(n.na));
    for (int w = 0; w < std::min(kWorlds, batch.worlds()); ++w) {
      gpu::Scratch<double> s;
      gpu::carve(n, pool, reinterpret_cast<char*>(memory.data()), s);
      double reach = 0.0;
      gpu::WorldState world;
      world.q = q.data() + gpu::at(w) * gpu::at(n.nq), world.v = v.data(), world.activation = activation.data();
      world.control = control.data(), world.applied_force = force.data(), world.reach = &reach;
      world.loop_q = loop_q.data() + gpu::at(w) * gpu::at(n.loop_numbers);
      if (!gpu::begin_step(team, model, world, s) || !gpu::find_contacts(team, model, s)) continue;
      gpu::begin_loops(team, model, world, s);
      for (int i = 0; i < s.contact_count; ++i) deepest = std::max(deepest, -s.contacts[i].gap);
      for (int r = 0; r < n.equality_rows; ++r)
        open = std::max(open, std::abs(arrays.equality_length[gpu::at(r)] * gpu::equality_error<Team>(model, s, r)));
    }
  }
  void look(const gpu::ModelArrays& arrays, const gpu::WorldBatch& batch) {
    gpu::with_serial_team(arrays.sizes, [&](const auto& team) { look(team, arrays, batch); });
  }
};

struct Health {
  int uncertified = 0, lost = 0, unreported = 0;

  void look(const gpu::WorldBatch& batch) {
    std::vector<int> status(gpu::at(batch.worlds()));
    batch.read(gpu::BatchField::kStatus, status.data());
    uncertified = lost = 0;
    for (const int one : status) {
      uncertified += one == 1 ? 1 : 0;
      lost += one > 1 ? 1 : 0;
    }
    unreported += gpu::not_finite(batch, gpu::BatchField::kPosition, batch.sizes().nq, status) +
                  gpu::not_finite(batch, gpu::BatchField::kVelocity, batch.sizes().nv, status);
  }
};

std::string words(const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// How far the free bodies of each world are from where they were; without any, the largest change of a coordinate.
std::vector<double> ways(const gpu::ModelArrays& arrays, const std::vector<double>& a, const std::vector<double>& b) {
  const std::size_t nq = gpu::at(arrays.sizes.nq);
  std::vector<double> all;
  for (std::size_t first = 0; first < a.size(); first += nq) {
    double longest = 0.0;
    bool any = false;
    for (std::size_t j = 0; j < arrays.joint_type.size(); ++j) {
      if (arrays.joint_type[j] != gpu::kFreeJoint) continue;
      const std::size_t i = first + gpu::at(arrays.joint_q[j]);
      longest = std::max(longest, std::hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]));
      any = true;
    }
    for (std::size_t i = first; !any && i < first + nq; ++i) longest = std::max(longest, std::abs(a[i] - b[i]));
    all.push_back(longest);
  }
  return all;
}

bool rest(const Arguments& a, const gpu::States& states) {
  const gpu::ModelArrays arrays = gpu::read_model_arrays(a.arrays);
  const auto batch = make_batch(a, arrays, false);
  const int half = std::max(1, static_cast<int>(0.5 * a.seconds / arrays.settings.time_step));
  gpu::reset(*batch, states);
  batch->step(half);
  const std::vector<double> before = read(*batch, gpu::BatchField::kPosition, states.nq);
  batch->step(half);
  std::vector<double> moved = ways(arrays, before, read(*batch, gpu::BatchField::kPosition, states.nq));
  Health health;
  health.look(*batch);
  Geometry geometry;
  geometry.look(arrays, *batch);
  const double worst = gpu::quantile(moved, 1.0), most = gpu::quantile(moved, 0.9);
  const bool passed = most <= a.limit && geometry.deepest <= a.within && health.unreported == 0 && health.lost == 0;
  std::printf("%s\n", words("{\"check\": \"rest\", \"model\": \"%s\", \"worlds\": %d, \"seconds\": %g, \"tolerance\": "
                            "%g, \"moved_p50\": %.2e, \"moved_p90\": %.2e, \"moved_worst\": %.2e, \"deepest\": %.2e, "
                            "\"loops_open\": %.2e, \"uncertified\": %d, \"lost\": %d, \"unreported\": %d, "
                            "\"passed\": %s}",
                            a.arrays.c_str(), a.worlds, a.seconds, a.options.tolerance, gpu::quantile(moved, 0.5), most,
                            worst, geometry.deepest, geometry.open, health.uncertified, health.lost, health.unreported,
                            passed ? "true" : "false")
                          .c_str());
  return passed;
}

bool follow(const Arguments& a, const gpu::States& states) {
  const gpu::ModelArrays arrays = gpu::read_model_arrays(a.arrays);
  std::vector<double> q[2], v[2];
  Health health;
  for (int k = 0; k < 2; ++k) {
    const auto batch = make_batch(a, arrays, k == 1);
    gpu::reset(*batch, states);
    batch->step(a.steps);
    q[k] = read(*batch, gpu::BatchField::kPosition, states.nq);
    v[k] = read(*batch, gpu::BatchField::kVelocity, states.nv);
    if (k == 0) health.look(*batch);
  }
  const auto apart = [](const std::vector<double>& x, const std::vector<double>& y, int width) {
    std::vector<double> all(x.size() / gpu::at(width));
    for (std::size_t i = 0; i < x.size(); ++i)
      all[i / gpu::at(width)] = std::max(all[i / gpu::at(width)], std::abs(x[i] - y[i]));
    return all;
  };
  std::vector<double> of_q = apart(q[0], q[1], states.nq), of_v = apart(v[0], v[1], states.nv);
  const double most = gpu::quantile(of_q, 0.99);
  const bool passed = most <= a.limit && health.unreported == 0 && health.lost == 0;
  std::printf("%s\n", words("{\"check\": \"follow\", \"model\": \"%s\", \"worlds\": %d, \"steps\": %d, \"tolerance\": "
                            "%g, \"q_p50\": %.2e, \"q_p99\": %.2e, \"q_worst\": %.2e, \"v_p50\": %.2e, \"v_p99\": "
                            "%.2e, \"uncertified\": %d, \"lost\": %d, \"unreported\": %d, \"passed\": %s}",
                            a.arrays.c_str(), a.worlds, a.steps, a.options.tolerance, gpu::quantile(of_q, 0.5), most,
                            gpu::quantile(of_q, 1.0), gpu::quantile(of_v, 0.5), gpu::quantile(of_v, 0.99),
                            health.uncertified, health.lost, health.unreported, passed ? "true" : "false")
                          .c_str());
  return passed;
}

bool soak(const Arguments& a, const gpu::States& states) {
  constexpr int kHold = 25;
  const gpu::ModelArrays arrays = gpu::read_model_arrays(a.arrays);
  const auto batch = make_batch(a, arrays, false);
  gpu::reset(*batch, states);
  batch->step(1);
  Health health;
  std::mt19937 random(1);
  std::vector<double> natv;
  long long steps = 0, uncertified = 0, looked = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (spent() < a.seconds) {
    gpu::write_controls(*batch, states, static_cast<int>(random() % 100000u));
    batch->step(kHold);
    health.look(*batch);
    natv = gpu::certificates(*batch);
    steps += static_cast<long long>(kHold) * a.worlds;
    uncertified += health.uncertified;
    looked += a.worlds;
  }
  Geometry geometry;
  geometry.look(arrays, *batch);
  const bool passed = health.unreported == 0 && geometry.deepest <= a.within;
  std::printf("%s\n", words("{\"check\": \"soak\", \"model\": \"%s\", \"worlds\": %d, \"world_steps\": %lld, "
                            "\"tolerance\": %g, \"last_natv_p99\": %s, \"uncertified\": %.2e, \"lost\": %d, "
                            "\"deepest\": %.2e, \"loops_open\": %.2e, \"unreported\": %d, \"passed\": %s}",
                            a.arrays.c_str(), a.worlds, steps, a.options.tolerance,
                            gpu::json_number(gpu::quantile(natv, 0.99)).c_str(),
                            static_cast<double>(uncertified) / static_cast<double>(std::max(looked, 1LL)), health.lost,
                            geometry.deepest, geometry.open, health.unreported, passed ? "true" : "false")
                          .c_str());
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    const gpu::States states = gpu::read_states(arguments.states);
    if (arguments.what == "rest") return rest(arguments, states) ? 0 : 1;
    if (arguments.what == "follow") return follow(arguments, states) ? 0 : 1;
    if (arguments.what == "soak") return soak(arguments, states) ? 0 : 1;
    throw std::runtime_error("'" + arguments.what + "' is none of rest, follow, soak");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_physics: %s\n", error.what());
    return 2;
  }
}

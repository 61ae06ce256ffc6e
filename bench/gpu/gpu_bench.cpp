// Measures the batched backend on a machine that has nothing but a C++ compiler and CUDA (bench/gpu/CMakeLists.txt).
//
//   gpu_bench robot.arrays robot.states --worlds 8192 --steps 1000 [--device cuda] [--json FILE] ...
//
// --device: cuda, cpu, or the path of a backend's shared library.
//
// The first file is that of write_model_arrays. The second holds states with controls that a simulation has come
// through: four int32 (count, nq, nv, nu), then q, v, control of each as doubles. World w starts in state w mod count;
// controls change every --hold steps.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "runs.hpp"

namespace gpu = touchstone::gpu;

namespace {

using gpu::not_finite;
using gpu::quantile;
using gpu::read_states;
using gpu::reset;
using gpu::States;
using gpu::write_controls;

struct Arguments {
  std::string arrays, states, device = "cuda", json, dump;
  int worlds = 1024, steps = 200, hold = 25, warm_up = 50;
  double rest = 0.0;  // s
  bool compare = false, own = false;
  gpu::BatchOptions options;
};

Arguments parse(int argc, char** argv) {
  if (argc < 3) throw std::runtime_error("usage: gpu_bench MODEL.arrays MODEL.states [--worlds N] [--steps N] ...");
  Arguments a;
  a.arrays = argv[1];
  a.states = argv[2];
  std::map<std::string, int*> numbers{{"--worlds", &a.worlds},
                                      {"--steps", &a.steps},
                                      {"--hold", &a.hold},
                                      {"--warm-up", &a.warm_up},
                                      {"--sweeps", &a.options.sweeps},
                                      {"--more-sweeps", &a.options.more_sweeps},
                                      {"--most-sweeps", &a.options.most_sweeps},
                                      {"--pool", &a.options.small_pool},
                                      {"--parts", &a.options.parts},
                                      {"--middle-pool", &a.options.middle_pool},
                                      {"--tree-lanes", &a.options.lanes.tree},
                                      {"--collide-lanes", &a.options.lanes.collide},
                                      {"--loops-lanes", &a.options.lanes.loops},
                                      {"--solve-lanes", &a.options.lanes.solve},
                                      {"--finish-lanes", &a.options.lanes.finish},
                                      {"--large-pool", &a.options.large_pool}};
  for (int i = 3; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--compare") {
      a.compare = true;
      continue;
    }
    if (name == "--own") {
      a.own = true;
      continue;
    }
    if (name == "--no-graph") {
      a.options.graph = false;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error("'" + name + "' needs a value");
    const std::string value = argv[++i];
    if (numbers.count(name) > 0) {
      *numbers[name] = std::stoi(value);
    } else if (name == "--tolerance") {
      a.options.tolerance = std::stod(value);
    } else if (name == "--specialise") {
      if (value != "auto" && value != "off") throw std::runtime_error("--specialise is auto or off");
      a.options.specialise = value == "off" ? gpu::Specialise::kOff : gpu::Specialise::kAuto;
    } else if (name == "--rest") {
      a.rest = std::stod(value);
    } else if (name == "--device") {
      a.device = value;
    } else if (name == "--json") {
      a.json = value;
    } else if (name == "--dump") {
      a.dump = value;
    } else {
      throw std::runtime_error("unknown option '" + name + "'");
    }
  }
  return a;
}

// --own: every world with masses and gravity of its own.
void set_parameters(gpu::WorldBatch& batch) {
  const int bodies = gpu::parameter_width(batch.sizes(), gpu::WorldParameter::kBodyMass);
  std::vector<double> mass(static_cast<std::size_t>(batch.worlds()) * static_cast<std::size_t>(bodies));
  std::vector<double> gravity(3 * static_cast<std::size_t>(batch.worlds()));
  batch.parameter(gpu::WorldParameter::kBodyMass, mass.data());
  batch.parameter(gpu::WorldParameter::kGravityVector, gravity.data());
  for (int w = 0; w < batch.worlds(); ++w) {
    const double factor = 1.0 + 0.05 * (w % 5);
    for (int b = 0; b < bodies; ++b) mass[static_cast<std::size_t>(w * bodies + b)] *= factor;
    gravity[3 * static_cast<std::size_t>(w) + 2] *= factor;
  }
  batch.set_parameter(gpu::WorldParameter::kBodyMass, mass.data());
  batch.set_parameter(gpu::WorldParameter::kGravityVector, gravity.data());
}

std::unique_ptr<gpu::WorldBatch> make_batch(const Arguments& a, const std::string& device, int worlds) {
  gpu::ModelArrays arrays = gpu::read_model_arrays(a.arrays);
  if (device.find('.') != std::string::npos)
    return gpu::make_backend_batch(gpu::load_backend(device), arrays, worlds, a.options);
  if (device == "cuda") return gpu::make_cuda_batch(arrays, worlds, a.options);
  return gpu::make_cpu_batch(std::move(arrays), worlds, a.options);
}

// What all worlds have seen in the steps that were looked at.
struct Figures {
  std::vector<double> natv;  // of worlds that are not lost
  double contacts = 0.0, sweeps = 0.0, second_tier = 0.0, third_tier = 0.0;
  int looks = 0, uncertified = 0, lost = 0;
  int unreported = 0;  // worlds with numbers that are not finite, and a status that does not say so

  void look(const gpu::WorldBatch& batch) {
    std::vector<int> counts(static_cast<std::size_t>(batch.worlds()));
    batch.read(gpu::BatchField::kStatus, counts.data());
    unreported += not_finite(batch, gpu::BatchField::kPosition, batch.sizes().nq, counts) +
                  not_finite(batch, gpu::BatchField::kVelocity, batch.sizes().nv, counts);
    const std::vector<double> made = gpu::certificates(batch);
    natv.insert(natv.end(), made.begin(), made.end());
    batch.read(gpu::BatchField::kStatus, counts.data());
    for (const int status : counts) {
      uncertified += status == 1 ? 1 : 0;
      lost += status > 1 ? 1 : 0;
    }
    batch.read(gpu::BatchField::kContacts, counts.data());
    for (const int count : counts) contacts += count;
    batch.read(gpu::BatchField::kSweeps, counts.data());
    for (const int count : counts) sweeps += count;
    const gpu::TierCounts tiers = batch.tiers();
    second_tier += tiers.second;
    third_tier += tiers.third;
    ++looks;
  }
};

std::string measure(const Arguments& a, const States& states) {
  const auto batch = make_batch(a, a.device, a.worlds);
  if (a.own) set_parameters(*batch);
  reset(*batch, states);
  batch->step(a.warm_up);
  std::fprintf(stderr, "kernels %s\n", batch->kernels().c_str());
  Figures figures;
  figures.look(*batch);
  figures = {};
  double seconds = 0.0;
  for (int done = 0; done < a.steps; done += a.hold) {
    write_controls(*batch, states, done + 1);
    batch->tiers();  // waits
    const auto start = std::chrono::steady_clock::now();
    batch->step(a.hold);
    batch->tiers();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    figures.look(*batch);
  }
  const auto natv = [&](double share) { return gpu::json_number(quantile(figures.natv, share)); };
  const double total = static_cast<double>(a.worlds) * a.steps, looked = static_cast<double>(a.worlds) * figures.looks;
  char text[1024];
  std::snprintf(text, sizeof text,
                "{\"model\": \"%s\", \"device\": \"%s\", \"worlds\": %d, \"steps\": %d, \"sweeps\": %d, "
                "\"more_sweeps\": %d, \"most_sweeps\": %d, \"tolerance\": %g, \"pool\": %d, \"steps_per_second\": "
                "%.4g, \"natv_p50\": %s, "
                "\"natv_p90\": %s, \"natv_p99\": %s, \"natv_worst\": %s, \"contacts\": %.2f, \"mean_sweeps\": "
                "%.1f, \"second_tier\": %.4f, \"third_tier\": %.4f, \"uncertified\": %.2e, \"lost\": %.2e, "
                "\"unreported\": %d, \"special\": %s}",
                a.arrays.c_str(), a.device.c_str(), a.worlds, a.steps, a.options.sweeps, a.options.more_sweeps,
                a.options.most_sweeps, a.options.tolerance, a.options.small_pool, total / seconds, natv(0.5).c_str(),
                natv(0.9).c_str(), natv(0.99).c_str(), natv(1.0).c_str(), figures.contacts / looked,
                figures.sweeps / looked, figures.second_tier / looked, figures.third_tier / looked,
                figures.uncertified / looked, figures.lost / looked, figures.unreported,
                batch->kernels().starts_with("compiled") ? "true" : "false");
  return text;
}

// --rest SECONDS: the controls that the states come with are held; how far the first three coordinates of each world
// (the place of a floating base) move in the second half, and how fast anything is at the end.
void rest(const Arguments& a, const States& states) {
  const auto batch = make_batch(a, a.device, a.worlds);
  const double step = gpu::read_model_arrays(a.arrays).settings.time_step;
  const int half = static_cast<int>(0.5 * a.rest / step);
  const auto read = [&](gpu::BatchField field, int width) {
    std::vector<double> all(static_cast<std::size_t>(a.worlds) * static_cast<std::size_t>(width));
    batch->read(field, all.data());
    return all;
  };
  reset(*batch, states);
  batch->step(half);
  const std::vector<double> before = read(gpu::BatchField::kPosition, states.nq);
  batch->step(half);
  const std::vector<double> after = read(gpu::BatchField::kPosition, states.nq);
  const std::vector<double> v = read(gpu::BatchField::kVelocity, states.nv);
  std::vector<double> moved, speed, lowest;
  Figures figures;
  figures.look(*batch);
  for (std::size_t w = 0; w < static_cast<std::size_t>(a.worlds); ++w) {
    double sum = 0.0, fastest = 0.0;
    for (std::size_t i = w * static_cast<std::size_t>(states.nq), end = i + 3; i < end; ++i)
      sum += (after[i] - before[i]) * (after[i] - before[i]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(states.nv); ++i)
      fastest = std::max(fastest, std::abs(v[w * static_cast<std::size_t>(states.nv) + i]));
    moved.push_back(std::sqrt(sum));
    speed.push_back(fastest);
    lowest.push_back(after[w * static_cast<std::size_t>(states.nq) + 2]);
  }
  const double worst = quantile(moved, 1.0), fastest = quantile(speed, 1.0);
  std::printf(
      "{\"rest\": \"%s\", \"worlds\": %d, \"seconds\": %g, \"moved_p50\": %.2e, \"moved_p90\": %.2e, "
      "\"moved_worst\": %.2e, \"speed_p50\": %.2e, \"speed_p90\": %.2e, \"speed_worst\": %.2e, \"lowest_base\": "
      "%.3f, \"contacts\": %.2f, \"uncertified\": %.2e, \"lost\": %.2e, \"unreported\": %d}\n",
      a.arrays.c_str(), a.worlds, 2 * half * step, quantile(moved, 0.5), quantile(moved, 0.9), worst,
      quantile(speed, 0.5), quantile(speed, 0.9), fastest, quantile(lowest, 0.0), figures.contacts / a.worlds,
      1.0 * figures.uncertified / a.worlds, 1.0 * figures.lost / a.worlds, figures.unreported);
}

// One step of the same states on the GPU, again on the GPU, and on the processor: differences of their velocities.
void compare(const Arguments& a, const States& states) {
  std::vector<std::vector<double>> v, natv;
  for (const char* device : {"cuda", "cuda", "cpu"}) {
    const auto batch = make_batch(a, device, a.worlds);
    if (a.own) set_parameters(*batch);
    reset(*batch, states);
    batch->step(1);
    v.emplace_back(static_cast<std::size_t>(a.worlds) * static_cast<std::size_t>(states.nv));
    natv.push_back(gpu::certificates(*batch));
    batch->read(gpu::BatchField::kVelocity, v.back().data());
  }
  std::vector<double> difference;
  for (int w = 0; w < a.worlds; ++w) {
    double worst = 0.0;
    for (int i = 0; i < states.nv; ++i) {
      const std::size_t k =
          static_cast<std::size_t>(w) * static_cast<std::size_t>(states.nv) + static_cast<std::size_t>(i);
      worst = std::max(worst, std::abs(v[0][k] - v[2][k]));
    }
    difference.push_back(worst);
  }
  const double worst_difference = quantile(difference, 1.0);
  const bool same = std::memcmp(v[0].data(), v[1].data(), v[0].size() * sizeof(double)) == 0;
  std::printf(
      "{\"compare\": \"%s\", \"worlds\": %d, \"same_bits\": %s, \"v_p50\": %.1e, \"v_p90\": %.1e, \"v_p99\": %.1e, "
      "\"v_worst\": %.1e, \"natv_p99\": %s, \"natv_p99_cpu\": %s}\n",
      a.arrays.c_str(), a.worlds, same ? "true" : "false", quantile(difference, 0.5), quantile(difference, 0.9),
      quantile(difference, 0.99), worst_difference, gpu::json_number(quantile(natv[0], 0.99)).c_str(),
      gpu::json_number(quantile(natv[2], 0.99)).c_str());
}

// Steps that the simulator's own certificate can judge: for each of the first worlds nq + nv + nu numbers of the state
// before its last step, the natv that the batch says, the number of impulses, then key and impulse of each.
void dump(const Arguments& a, const States& states) {
  const auto batch = make_batch(a, a.device, a.worlds);
  reset(*batch, states);
  batch->step(a.warm_up);
  const std::size_t worlds = static_cast<std::size_t>(a.worlds);
  std::vector<double> q(worlds * static_cast<std::size_t>(states.nq)), v(worlds * static_cast<std::size_t>(states.nv));
  std::vector<double> control(worlds * static_cast<std::size_t>(states.nu)), natv(worlds);
  batch->read(gpu::BatchField::kPosition, q.data());
  batch->read(gpu::BatchField::kVelocity, v.data());
  batch->read(gpu::BatchField::kControl, control.data());
  batch->step(1);
  batch->read(gpu::BatchField::kNatv, natv.data());
  std::ofstream file(a.dump, std::ios::binary);
  const auto put = [&](const void* data, std::size_t bytes) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  const int count = std::min(a.worlds, 512);
  put(&count, sizeof count);
  for (int w = 0; w < count; ++w) {
    const gpu::WorldImpulses impulses = batch->impulses(w);
    const auto row = [&](const std::vector<double>& all, int width) {
      put(all.data() + static_cast<std::size_t>(w) * static_cast<std::size_t>(width),
          static_cast<std::size_t>(width) * sizeof(double));
    };
    row(q, states.nq);
    row(v, states.nv);
    row(control, states.nu);
    row(natv, 1);
    const std::int64_t known = static_cast<std::int64_t>(impulses.key.size());
    put(&known, sizeof known);
    put(impulses.key.data(), impulses.key.size() * sizeof(std::int64_t));
    put(impulses.impulse.data(), impulses.impulse.size() * sizeof(double));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    const States states = read_states(arguments.states);
    if (arguments.compare) {
      compare(arguments, states);
      return 0;
    }
    if (arguments.rest > 0.0) {
      rest(arguments, states);
      return 0;
    }
    if (!arguments.dump.empty()) {
      dump(arguments, states);
      return 0;
    }
    const std::string line = measure(arguments, states);
    std::printf("%s\n", line.c_str());
    if (!arguments.json.empty()) std::ofstream(arguments.json, std::ios::app) << line << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 2;
  }
}

// touchstone bench gpu: steps a second and certificates of many worlds by the backend of gpu/batch.hpp: on a GPU where
// TOUCHSTONE_CUDA_LIBRARY names its library, else by one lane of the processor.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>

#include <fmt/core.h>

#include "bench_suite.hpp"
#include "console.hpp"
#include "html_page.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/gpu/backend.hpp"
#include "touchstone/gpu/world.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/model_arrays.hpp"

namespace touchstone::cli {
namespace {

constexpr int kControlSteps = 25;  // between changes of the controls
constexpr const char* kHowToGetCuda =
    "for a GPU: cmake -S bench/gpu -B build/gpu && cmake --build build/gpu where nvcc is, then set "
    "TOUCHSTONE_CUDA_LIBRARY to build/gpu/libtouchstone_cuda.so";

struct BatchExtent {
  int worlds = 0, steps = 0;
};

std::string gpu_library() {
  const char* path = std::getenv("TOUCHSTONE_CUDA_LIBRARY");
  return path != nullptr ? path : "";
}

BatchExtent extent_of(bool on_gpu, bool full) {
  if (on_gpu) return {8192, full ? 1000 : 250};
  return full ? BatchExtent{256, 1000} : BatchExtent{16, 100};
}

Scene bench_scene(const std::string& name) {
  return std::filesystem::exists(name) ? scene_of(load_model(name)) : make_scene(name);
}

// Controls of all worlds anywhere in their ranges.
void randomize_batch(const Model& model, gpu::WorldBatch& batch, std::mt19937_64& random) {
  if (model.nu == 0) return;
  std::vector<double> all;
  all.reserve(at(batch.worlds()) * at(model.nu));
  for (int w = 0; w < batch.worlds(); ++w) {
    for (const Actuator& actuator : model.actuators) {
      const Vector2 range = actuator.control_limited ? actuator.control_range : Vector2(-1.0, 1.0);
      all.push_back(std::uniform_real_distribution<double>(range[0], range[1])(random));
    }
  }
  batch.write(gpu::BatchField::kControl, all.data());
}

// Null where there is nothing to take it of.
Json share_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return nullptr;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

// Figures of natv are of worlds that made their step; those that did not are counted in "lost".
Json measure_batch(const Model& model, gpu::WorldBatch& batch, int steps) {
  std::mt19937_64 random(1);
  std::vector<double> natv, values(at(batch.worlds()));
  std::vector<int> status(at(batch.worlds())), contacts(at(batch.worlds()));
  double seconds = 0.0, touching = 0.0;
  int second = 0, above = 0, lost = 0, looks = 0;
  for (int done = 0; done < steps; done += kControlSteps) {
    randomize_batch(model, batch, random);
    const auto start = std::chrono::steady_clock::now();
    batch.step(kControlSteps);
    second += batch.tiers().second;  // waits
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    batch.read(gpu::BatchField::kNatv, values.data());
    batch.read(gpu::BatchField::kStatus, status.data());
    batch.read(gpu::BatchField::kContacts, contacts.data());
    for (std::size_t w = 0; w < values.size(); ++w) {
      above += status[w] == 1 ? 1 : 0;
      lost += status[w] > 1 ? 1 : 0;
      if (status[w] < 2) natv.push_back(std::isnan(values[w]) ? gpu::kLostNatv : values[w]);  // sorted below
    }
    for (const int count : contacts) touching += count;
    ++looks;
  }
  std::sort(natv.begin(), natv.end());
  const double looked = static_cast<double>(looks) * batch.worlds();
  return Json{{"steps_per_second", batch.worlds() * static_cast<double>(steps) / seconds},
              {"natv_p50", share_of(natv, 0.5)},
              {"natv_p99", share_of(natv, 0.99)},
              {"natv_worst", share_of(natv, 1.0)},
              {"contacts", touching / looked},
              {"second_tier", second / looked},
              {"above_tolerance", above / looked},
              {"lost", lost / looked}};
}

Json measure_system(const std::string& name, const Scene& scene, const std::string& library,
                    const BatchExtent& extent) {
  SimulatorOptions options = scene.options;
  options.stabilisation = {};
  options.stabilisation.method = Stabilisation::kBaumgarte;  // the default of batches on a device (docs/gpu.md)
  Json out{{"name", name}, {"dofs", scene.model->nv}, {"refused", unsupported_features(*scene.model, options)}};
  if (!out.at("refused").empty()) return out;
  const gpu::ModelArrays arrays = make_model_arrays(*scene.model, options);
  try {
    const auto batch = library.empty() ? gpu::make_cpu_batch(arrays, extent.worlds)
                                       : gpu::make_backend_batch(gpu::load_backend(library), arrays, extent.worlds);
    std::vector<double> q;
    for (int w = 0; w < extent.worlds; ++w) q.insert(q.end(), scene.start.q.begin(), scene.start.q.end());
    batch->reset({.q = q.data(), .noise_v = 0.1, .seed = 1});
    out.update(measure_batch(*scene.model, *batch, extent.steps));
  } catch (const std::runtime_error& error) {  // the backend knows no Error of ours
    throw Error("bench gpu: {}: {}", name, error.what());
  }
  return out;
}

Json measure_gpu(const BenchRequest& request, const InterruptWatch& interrupt) {
  std::vector<std::string> systems = request.systems;
  if (systems.empty()) systems = {"humanoid", "stack:4", "loops/box-on-plane", "loops/four-bar"};
  const std::string library = gpu_library();
  const BatchExtent extent = extent_of(!library.empty(), request.full);
  Json figures{{"suite", "gpu"},          {"device", library.empty() ? "lanes" : "cuda"},
               {"worlds", extent.worlds}, {"steps", extent.steps},
               {"full", request.full},    {"systems", Json::array()}};
  const int count = static_cast<int>(systems.size());
  std::vector<Scene> scenes;
  scenes.reserve(systems.size());
  for (const std::string& name : systems) scenes.push_back(bench_scene(name));  // refused before anything is measured
  for (int k = 0; k < count && !interrupt.requested(); ++k) {
    request.progress(k, count, systems[at(k)]);
    figures["systems"].push_back(measure_system(systems[at(k)], scenes[at(k)], library, extent));
  }
  request.progress(count, count, "");
  return figures;
}

std::string refusal_of(const Json& system) {
  std::string text = "not supported: ";
  for (const Json& feature : system.at("refused"))
    text += (text.back() == ' ' ? "" : "; ") + feature.get<std::string>();
  return text;
}

std::vector<std::string> cells_of(const Json& s) {
  const auto number = [&](const char* key) { return s.at(key).get<double>(); };
  const auto certificate = [&](const char* key) {
    return s.at(key).is_null() ? "-" : fmt::format("{:.0e}", number(key));
  };
  return {s.at("name").get<std::string>(),
          fmt::format("{}", s.at("dofs").get<int>()),
          fmt::format("{:.3g}", number("steps_per_second")),
          fmt::format("{:.1f}", number("contacts")),
          certificate("natv_p50"),
          certificate("natv_p99"),
          certificate("natv_worst"),
          fmt::format("{:.2g} %", 100.0 * number("above_tolerance")),
          fmt::format("{:.2g} %", 100.0 * number("lost"))};
}

const std::vector<std::string> kGpuColumns{"system",   "dofs",  "steps/s",         "contacts", "natv p50",
                                           "natv p99", "worst", "above tolerance", "lost"};

std::string gpu_heading(const Json& figures) {
  const bool lanes = figures.at("device").get<std::string>() == "lanes";
  return fmt::format("{} worlds, {} steps, {}", figures.at("worlds").get<int>(), figures.at("steps").get<int>(),
                     lanes ? std::string("one lane of the processor; ") + kHowToGetCuda : std::string("CUDA"));
}

std::string gpu_summary(const Json& figures) {
  Table table(2);
  table.add_row(kGpuColumns);
  for (const Json& system : figures.at("systems")) {
    table.add_row(system.at("refused").empty()
                      ? cells_of(system)
                      : std::vector<std::string>{system.at("name").get<std::string>(), refusal_of(system)});
  }
  return gpu_heading(figures) + "\n" + table.text();
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string gpu_page(const Json& figures) {
  const auto row = [](const std::vector<std::string>& cells, const char* tag) {
    std::string out = "<tr>";
    for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    return out + "</tr>";
  };
  std::string rows = row(kGpuColumns, "th");
  for (const Json& system : figures.at("systems"))
    rows += system.at("refused").empty() ? row(cells_of(system), "td")
                                         : row({system.at("name").get<std::string>(), refusal_of(system)}, "td");
  return page_begin("Touchstone: many worlds") + "<h1>Many worlds</h1><p class='lead'>" +
         escaped(gpu_heading(figures)) + "</p><table>" + rows + "</table>" + page_end("touchstone bench gpu");
}

}  // namespace

const BenchSuite kGpuBench{"gpu", "many worlds by the code of a GPU: steps a second, certificates (docs/gpu.md)",
                           measure_gpu, gpu_summary, gpu_page};

}  // namespace touchstone::cli

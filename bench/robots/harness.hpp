// What the two programs of the benchmark of robots share. Each serves run.py on its standard input, one line a command,
// one line of JSON an answer, so that the driver can let the engines take turns:
//
//   load NAME MODEL STEP CONTROL     a model, stepped by STEP seconds; CONTROL: wave, idle or grasp
//   record NAME FROM TO COUNT FILE   runs from the first keyframe and writes COUNT states between these times
//   states NAME FILE                 the states from which `time` starts
//   time NAME VARIANT                from each state kWarmSteps steps and then kTimedSteps that count
//   score NAME VARIANT               certificates of the solutions at these states
//   batch NAME THREADS WORLDS STEPS  steps a second of many worlds
#pragma once

#include <cmath>
#include <cstdint>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace bench {

constexpr int kWarmSteps = 3;   // so that both engines start warm
constexpr int kTimedSteps = 8;  // few, so that both engines still are near the state they began with

// Processor time of this thread: what other processes take on a shared machine does not count.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double wall_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Stages are measured by the wall clock. What was interrupted by other processes does not count for them.
inline bool undisturbed(double wall, double processor) { return wall <= 1.1 * processor; }

// What actuators are told.
enum class Control : std::uint8_t { kWave, kIdle, kGrasp };

inline Control control_of(const std::string& name) {
  if (name == "wave") return Control::kWave;
  if (name == "idle") return Control::kIdle;
  if (name == "grasp") return Control::kGrasp;
  throw std::runtime_error("unknown control " + name);
}

// The command of actuator u at time t. Wave: that of the keyframe and a tenth of the range as a slow wave around it.
// Idle: zero. Grasp: most of the way to the upper end of the range.
inline double control(Control kind, int u, double t, double rest, bool limited, double low, double high) {
  if (kind == Control::kIdle) return 0.0;
  if (kind == Control::kGrasp) return limited ? low + 0.8 * (high - low) : 0.0;
  const double amplitude = limited ? 0.05 * (high - low) : 0.0;
  const double frequency = 0.5 + 0.25 * (u % 7), phase = 1.7 * u;
  const double value = rest + amplitude * std::sin(2.0 * M_PI * frequency * t + phase);
  return limited ? std::min(std::max(value, low), high) : value;
}

// Which of the steps of a run are recorded.
inline bool is_recorded(int step, double h, double from, double to, int count) {
  const int first = static_cast<int>(from / h), steps = static_cast<int>(to / h) - first;
  const auto number = [&](int k) { return static_cast<std::int64_t>(k - first) * count / steps; };
  return step >= first && number(step) != number(step + 1);
}

// File: int64 count, nq, nv, na; then [time, q, v, activation] state by state.
struct States {
  std::int64_t count = 0, nq = 0, nv = 0, na = 0;
  std::vector<double> values;

  std::size_t width() const { return static_cast<std::size_t>(1 + nq + nv + na); }
  const double* of(std::int64_t state) const { return values.data() + static_cast<std::size_t>(state) * width(); }
  void append(double time, const double* q, const double* v, const double* activation) {
    values.push_back(time);
    values.insert(values.end(), q, q + nq);
    values.insert(values.end(), v, v + nv);
    values.insert(values.end(), activation, activation + na);
    ++count;
  }
};

inline void write_states(const States& states, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const std::int64_t sizes[4] = {states.count, states.nq, states.nv, states.na};
  file.write(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  file.write(reinterpret_cast<const char*>(states.values.data()),
             static_cast<std::streamsize>(states.values.size() * sizeof(double)));
  if (!file) throw std::runtime_error("cannot write " + path);
}

inline States read_states(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::int64_t sizes[4] = {};
  file.read(reinterpret_cast<char*>(sizes), sizeof(sizes));
  States states{sizes[0], sizes[1], sizes[2], sizes[3], {}};
  states.values.resize(static_cast<std::size_t>(states.count) * states.width());
  file.read(reinterpret_cast<char*>(states.values.data()),
            static_cast<std::streamsize>(states.values.size() * sizeof(double)));
  if (!file) throw std::runtime_error("cannot read " + path);
  return states;
}

// One engine with one model.
class Case {
 public:
  virtual ~Case() = default;
  virtual nlohmann::json describe() const = 0;
  virtual States record(double from, double to, int count) = 0;
  virtual nlohmann::json time(const States& states, const std::string& variant) = 0;
  virtual nlohmann::json score(const States& states, const std::string& variant) = 0;
  virtual nlohmann::json batch(int threads, int worlds, int steps) = 0;
};

using Loader = std::function<std::unique_ptr<Case>(const std::string& model, double step, Control control)>;

inline nlohmann::json answer(const std::string& line, const Loader& load,
                             std::map<std::string, std::unique_ptr<Case>>& cases,
                             std::map<std::string, States>& states) {
  std::istringstream words(line);
  std::string command, name, text;
  words >> command >> name;
  if (command == "load") {
    double step = 0.0;
    std::string control;
    words >> text >> step >> control;
    cases[name] = load(text, step, control_of(control));
    return cases[name]->describe();
  }
  Case& target = *cases.at(name);
  if (command == "record") {
    double from = 0.0, to = 0.0;
    int count = 0;
    words >> from >> to >> count >> text;
    write_states(target.record(from, to, count), text);
    return "ok";
  }
  if (command == "states") {
    words >> text;
    states[name] = read_states(text);
    return "ok";
  }
  if (command == "batch") {
    int threads = 1, worlds = 1, steps = 1;
    words >> threads >> worlds >> steps;
    return target.batch(threads, worlds, steps);
  }
  words >> text;
  if (command == "time") return target.time(states.at(name), text);
  if (command == "score") return target.score(states.at(name), text);
  throw std::runtime_error("unknown command " + command);
}

inline int serve(const Loader& load) {
  std::map<std::string, std::unique_ptr<Case>> cases;
  std::map<std::string, States> states;
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json result;
    try {
      result["result"] = answer(line, load, cases, states);
    } catch (const std::exception& error) {
      result["error"] = error.what();
    }
    std::cout << result.dump() << std::endl;
  }
  return 0;
}

}  // namespace bench

// What the three programs of the dynamics benchmark share: each loads models and random states, and then measures
// what run.py asks for on its standard input, so that the driver can interleave the engines.
//
//   load NAME STATES KEY MODEL   a case: states (see States), how the model is meant ("fixed", "floating"), a file
//   check NAME FILE              writes numbers that must agree between the engines
//   time NAME ROW SECONDS        answers the seconds of processor time of one call, measured for about SECONDS
//   rows NAME                    answers the names of the case's rows
//
// Answers are one line each, "error: ..." when something failed.
#pragma once

#include <sched.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// Random states, one engine's layout. File: int64 count, nq, nv; then q, v, a, tau as doubles, state by state.
struct States {
  int count = 0, nq = 0, nv = 0;
  std::vector<double> q, v, a, tau;

  const double* q_of(int state) const { return q.data() + static_cast<std::ptrdiff_t>(state) * nq; }
  const double* v_of(int state) const { return v.data() + static_cast<std::ptrdiff_t>(state) * nv; }
  const double* a_of(int state) const { return a.data() + static_cast<std::ptrdiff_t>(state) * nv; }
  const double* tau_of(int state) const { return tau.data() + static_cast<std::ptrdiff_t>(state) * nv; }
};

inline States read_states(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::int64_t sizes[3] = {0, 0, 0};
  if (!file.read(reinterpret_cast<char*>(sizes), sizeof(sizes))) throw std::runtime_error("cannot read " + path);
  States states{static_cast<int>(sizes[0]), static_cast<int>(sizes[1]), static_cast<int>(sizes[2]), {}, {}, {}, {}};
  const auto read = [&](std::vector<double>& values, std::int64_t width) {
    values.resize(static_cast<std::size_t>(sizes[0] * width));
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(double)));
  };
  read(states.q, sizes[1]);
  read(states.v, sizes[2]);
  read(states.a, sizes[2]);
  read(states.tau, sizes[2]);
  if (!file) throw std::runtime_error(path + " is too short");
  return states;
}

struct Case {
  std::map<std::string, std::function<void()>> rows;     // each runs once over all states
  std::function<void(int, std::vector<double>&)> check;  // appends the results of one state
  int count = 0;                                         // states
  std::shared_ptr<void> owner;                           // keeps model and workspace alive
};

// Keeps the compiler from dropping or merging the calls of a measured loop.
inline void barrier() { asm volatile("" ::: "memory"); }

// A row: `call(state)` for every state.
template <typename Call>
std::function<void()> over_states(int count, Call call) {
  return [count, call]() mutable {
    for (int state = 0; state < count; ++state) {
      call(state);
      barrier();
    }
  };
}

// Processor time of this thread: what other processes take on a shared machine does not count.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double time_row(const Case& bench_case, const std::string& row, double seconds) {
  const auto& run = bench_case.rows.at(row);
  const double warm_start = thread_seconds();
  run();  // warms the caches
  const double once = thread_seconds() - warm_start;
  const int passes = 1 + static_cast<int>(seconds / (once + 1e-9));
  const double start = thread_seconds();
  for (int pass = 0; pass < passes; ++pass) run();
  return (thread_seconds() - start) / (static_cast<double>(passes) * bench_case.count);
}

inline void write_check(const Case& bench_case, const std::string& path) {
  std::vector<double> results;
  for (int state = 0; state < bench_case.count; ++state) bench_case.check(state, results);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(results.data()),
             static_cast<std::streamsize>(results.size() * sizeof(double)));
  if (!file) throw std::runtime_error("cannot write " + path);
}

using Loader = std::function<Case(const States& states, const std::string& key, const std::string& model)>;

inline std::string answer(const std::string& line, std::map<std::string, Case>& cases, const Loader& load) {
  std::istringstream words(line);
  std::string command, name, first, second, third;
  words >> command >> name >> first >> second >> third;
  std::ostringstream out;
  out.precision(9);
  if (command == "load") {
    const States states = read_states(first);
    cases[name] = load(states, second, third);
    cases[name].count = states.count;
    out << "ok";
  } else if (command == "check") {
    write_check(cases.at(name), first);
    out << "ok";
  } else if (command == "time") {
    out << time_row(cases.at(name), first, std::stod(second));
  } else if (command == "rows") {
    for (const auto& [row, run] : cases.at(name).rows) out << row << ' ';
  } else {
    throw std::runtime_error("unknown command " + command);
  }
  return out.str();
}

inline int serve(const Loader& load) {
  std::map<std::string, Case> cases;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(line, cases, load) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace bench

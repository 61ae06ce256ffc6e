// What the programs of this folder share: files of states, worlds that start from them, figures of many worlds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "touchstone/gpu/backend.hpp"
#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

// States with controls, one after another: q, v, control.
struct States {
  int count = 0, nq = 0, nv = 0, nu = 0;
  std::vector<double> values;

  const double* state(int k) const {
    return values.data() + static_cast<std::size_t>(k % count) * static_cast<std::size_t>(nq + nv + nu);
  }
};

inline States read_states(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::int32_t header[4] = {};
  file.read(reinterpret_cast<char*>(header), sizeof header);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  States states{header[0], header[1], header[2], header[3], {}};
  states.values.resize(static_cast<std::size_t>(states.count) *
                       static_cast<std::size_t>(states.nq + states.nv + states.nu));
  file.read(reinterpret_cast<char*>(states.values.data()),
            static_cast<std::streamsize>(states.values.size() * sizeof(double)));
  if (!file || states.count < 1) throw std::runtime_error("'" + path + "' ends too early");
  return states;
}

// Part of a state of every world, those of `shift` worlds further on.
inline std::vector<double> part_of(const WorldBatch& batch, const States& states, int first, int size, int shift) {
  std::vector<double> all;
  for (int w = 0; w < batch.worlds(); ++w) {
    const double* state = states.state(w + shift) + first;
    all.insert(all.end(), state, state + size);
  }
  return all;
}

inline void write_controls(WorldBatch& batch, const States& s, int shift) {
  batch.write(BatchField::kControl, part_of(batch, s, s.nq + s.nv, s.nu, shift).data());
}

inline void reset(WorldBatch& batch, const States& s) {
  const std::vector<double> q = part_of(batch, s, 0, s.nq, 0), v = part_of(batch, s, s.nq, s.nv, 0);
  ResetRequest request;
  request.q = q.data();
  request.v = v.data();
  batch.reset(request);
  write_controls(batch, s, 0);
}

// Not a number where there are no values.
inline double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

// A number of JSON, which has none that are not finite.
inline std::string json_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return std::isfinite(value) ? text : "null";
}

// Certificates of the worlds that made their last step; the others have none, and are counted as lost.
inline std::vector<double> certificates(const WorldBatch& batch) {
  std::vector<double> natv(static_cast<std::size_t>(batch.worlds())), made;
  std::vector<int> status(natv.size());
  batch.read(BatchField::kNatv, natv.data());
  batch.read(BatchField::kStatus, status.data());
  for (std::size_t w = 0; w < natv.size(); ++w) {
    if (status[w] < 2) made.push_back(std::isnan(natv[w]) ? kLostNatv : natv[w]);  // they are sorted
  }
  return made;
}

// Worlds whose status says that all is well, and of which a field is not finite.
inline int not_finite(const WorldBatch& batch, BatchField field, int width, const std::vector<int>& status) {
  std::vector<double> values(status.size() * static_cast<std::size_t>(width));
  batch.read(field, values.data());
  int count = 0;
  for (std::size_t w = 0; w < status.size(); ++w) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(w) * width;
    if (status[w] < 2 && !std::all_of(first, first + width, [](double x) { return std::isfinite(x); })) ++count;
  }
  return count;
}

}  // namespace touchstone::gpu

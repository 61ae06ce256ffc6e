// The scene of the broad phase benchmark, the same for every engine: boxes that drift in a cube.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

namespace drift {

struct Box {
  double centre[3], half[3];
};

inline bool overlap(const Box& a, const Box& b) {
  for (int k = 0; k < 3; ++k) {
    if (std::abs(a.centre[k] - b.centre[k]) > a.half[k] + b.half[k]) return false;
  }
  return true;
}

// Boxes of 0.5 to 1 m that drift at up to 1 m/s, 2 ms a step, in a cube where each has 8 m^3.
class Scene {
 public:
  std::vector<Box> boxes;

  explicit Scene(int count) : half_side_(std::cbrt(static_cast<double>(count))) {
    std::mt19937_64 random(1);
    const auto unit = [&] { return 2.0 * static_cast<double>(random() >> 11) * 0x1p-53 - 1.0; };
    for (int i = 0; i < count; ++i) {
      Box box;
      for (int k = 0; k < 3; ++k) {
        box.centre[k] = half_side_ * unit();
        box.half[k] = 0.375 + 0.125 * unit();
        steps_.push_back(0.002 * unit());
      }
      boxes.push_back(box);
    }
  }

  void step() {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        double &x = boxes[i].centre[k], &dx = steps_[3 * i + k];
        if (std::abs(x) > half_side_ && x * dx > 0.0) dx = -dx;
        x += dx;
      }
    }
  }
  const double* displacement(std::size_t box) const { return &steps_[3 * box]; }

  // The number of pairs that overlap, by sorting along x: an oracle that is no tree.
  std::size_t overlapping() const {
    std::vector<Box> sorted = boxes;
    const auto lower = [](const Box& box) { return box.centre[0] - box.half[0]; };
    std::sort(sorted.begin(), sorted.end(), [&](const Box& a, const Box& b) { return lower(a) < lower(b); });
    std::size_t count = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const double end = sorted[i].centre[0] + sorted[i].half[0];
      for (std::size_t j = i + 1; j < sorted.size() && lower(sorted[j]) <= end; ++j) {
        count += overlap(sorted[i], sorted[j]) ? 1u : 0u;
      }
    }
    return count;
  }

 private:
  double half_side_;
  std::vector<double> steps_;
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs the scene: `step(scene)` gives the seconds it took and the pairs it found. Prints a JSON object. The first steps
// are for warming up.
template <class Step>
int run(int count, int steps, Step&& step) {
  Scene scene(count);
  std::vector<double> seconds;
  bool complete = true;
  std::size_t pairs = 0;
  constexpr int kWarmUp = 5;
  for (int i = -kWarmUp; i < steps; ++i) {
    scene.step();
    const auto [time, found] = step(scene);
    if (i < 0) continue;
    pairs = scene.overlapping();
    complete = complete && found == pairs;
    seconds.push_back(time);
  }
  double mean = 0.0;
  for (const double s : seconds) mean += s / static_cast<double>(seconds.size());
  std::sort(seconds.begin(), seconds.end());
  std::printf("{\"boxes\": %d, \"pairs\": %zu, \"complete\": %s, \"mean\": %.9g, \"median\": %.9g}\n", count, pairs,
              complete ? "true" : "false", mean, seconds[seconds.size() / 2]);
  return 0;
}

}  // namespace drift

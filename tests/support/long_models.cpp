#include "support/long_models.hpp"

#include <cmath>

#include "touchstone/model/builder.hpp"

namespace touchstone::test {

ModelPtr chain(int links) {
  ModelBuilder b("chain");
  const MassProperties rod{0.1, {0.05, 0, 0}, Vector3(1e-4, 2e-4, 2e-4).asDiagonal()};
  for (int i = 0; i < links; ++i) {
    const int link = b.add_body({.parent = i, .pose = Transform{{i == 0 ? 0.0 : 0.1, 0, 0}}, .inertia = rod});
    b.add_joint({.body = link, .axis = Vector3::Unit(1 + i % 2)});
  }
  return b.build();
}

ModelPtr ladder(int rungs, bool with_loops) {
  ModelBuilder b("ladder");
  const Vector3 axis = Vector3::UnitY(), down(0, 0, -0.1);
  int rail = 0, rung = 0;
  for (int i = 1; i <= rungs; ++i) {
    const int above = rung;
    const auto bar = [&](int parent, const Vector3& at_parent, const Vector3& to) {
      const int body = b.add_body(
          {.parent = parent, .pose = Transform{at_parent}, .inertia = {0.3, 0.5 * to, 1e-3 * Matrix3::Identity()}});
      b.add_joint({.body = body, .axis = axis, .damping = 0.01});
      return body;
    };
    rail = bar(rail, i == 1 ? Vector3(0, 0, 0) : down, down);
    rung = bar(rail, down, {0.2, 0, 0});
    const int other = bar(rung, {0.2, 0, 0}, -down);
    if (!with_loops) continue;
    const Vector3 top(0.2, 0, 0);
    b.add_equality({.type = EqualityType::kConnect, .a = other, .b = above, .anchor_a = -down, .anchor_b = top});
  }
  return b.build();
}

double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]), v = std::log(y[i]);
    sx += u, sy += v, sxx += u * u, sxy += u * v;
  }
  const auto count = static_cast<double>(x.size());
  return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

}  // namespace touchstone::test

#include "touchstone/sim/unused_damping.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "touchstone/model/validate.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

using Predicate = std::function<bool(const Material&)>;

std::optional<Warning> warning_where(const Model& m, const Predicate& is_unused, std::string_view what,
                                     const std::string& why) {
  const auto is_one = [&](const ShapeElement& shape) { return !shape.visual_only && is_unused(shape.material); };
  const auto first = std::find_if(m.shapes.begin(), m.shapes.end(), is_one);
  if (first == m.shapes.end()) return std::nullopt;
  const auto count = std::count_if(m.shapes.begin(), m.shapes.end(), is_one);
  return Warning{origin_of(m, ElementKind::kShape, static_cast<int>(first - m.shapes.begin())),
                 fmt::format("{} ({} {}) {}", what, count, count == 1 ? "shape" : "shapes", why)};
}

}  // namespace

std::optional<Warning> unused_damping(const Model& model, const SimulatorOptions& options) {
  const auto law = find_solver(options.solver).law;
  if (!law) {
    return warning_where(
        model, [](const Material& m) { return m.dissipation > 0.0 || m.relaxation_time > 0.0; },
        "dissipation and relaxation time", "have an effect with the solvers sap, lagged and similar only");
  }
  if (*law == CompliantModel::kSap || options.laws.linear_damping) {
    return warning_where(
        model, [](const Material& m) { return m.dissipation > 0.0 && m.relaxation_time <= 0.0; }, "dissipation",
        fmt::format("has no effect with {}, which damps by relaxation times",
                    *law == CompliantModel::kSap ? "sap" : "linear_damping=true"));
  }
  return warning_where(
      model, [](const Material& m) { return m.relaxation_time > 0.0 && m.dissipation <= 0.0; }, "relaxation time",
      fmt::format("has no effect with {}, which damps by dissipation, unless linear_damping=true", options.solver));
}

}  // namespace touchstone

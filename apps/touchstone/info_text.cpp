#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "console.hpp"
#include "info.hpp"
#include "names.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace touchstone::cli {
namespace {

// Deeper bodies are not indented further, but say how deep they are.
constexpr int kDeepestIndent = 16;

std::string count(std::size_t number, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", number, number == 1 ? singular : plural);
}

std::string mass_text(double mass) {
  if (mass == 0.0) return {};
  if (mass >= 0.1) return fmt::format("{:.3f} kg", mass);
  if (mass >= 1e-3) return fmt::format("{:.2f} g", 1e3 * mass);
  return fmt::format("{:.3g} kg", mass);
}

std::string axis_text(const Vector3& axis) {
  const std::string names = "xyz";
  for (int i = 0; i < 3; ++i) {
    if (std::abs(axis[i]) > 1.0 - 1e-12) {
      return fmt::format("{}{}", axis[i] < 0.0 ? "-" : "", names[static_cast<std::size_t>(i)]);
    }
  }
  return fmt::format("({:.3g} {:.3g} {:.3g})", axis.x(), axis.y(), axis.z());
}

std::string range_text(const Vector2& range) { return fmt::format("[{:.4g}, {:.4g}]", range[0], range[1]); }

std::string joint_text(const Model& model, int index) {
  const auto i = static_cast<std::size_t>(index);
  const Joint& joint = model.joints[i];
  const int first = model.joint_dof[i];
  const int dofs = dof_count(joint.type);
  std::string text = fmt::format("{} {}", styled(to_string(joint.type), Style::kAccent), joint.name);
  text += dofs == 1 ? fmt::format(" (dof {}", first) : fmt::format(" (dofs {}-{}", first, first + dofs - 1);
  if (dofs == 1) text += fmt::format(", {}", axis_text(joint.axis));
  text += ')';
  if (joint.limited) text += fmt::format(" {}", range_text(joint.range));
  return text;
}

// Shapes of a body: "box, 2 capsule, 3 visual".
std::string shapes_text(const std::vector<const ShapeElement*>& shapes) {
  std::vector<std::pair<std::string_view, int>> kinds;
  int visual = 0;
  for (const ShapeElement* shape : shapes) {
    if (shape->visual_only || (shape->contact_type == 0 && shape->contact_affinity == 0)) {
      ++visual;
      continue;
    }
    const std::string_view kind = to_string(shape->shape.type);
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; });
    if (known != kinds.end()) {
      ++known->second;
    } else {
      kinds.emplace_back(kind, 1);
    }
  }
  std::string text;
  for (const auto& [kind, number] : kinds) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", number == 1 ? "" : fmt::format("{} ", number), kind);
  }
  if (visual > 0) text += fmt::format("{}{} visual", text.empty() ? "" : ", ", visual);
  return text;
}

// The branches in front of each body's name. Bodies are numbered depth first, so one pass suffices.
std::vector<std::string> branches(const Model& model) {
  const auto n = static_cast<std::size_t>(model.nbody);
  std::vector<std::size_t> last_child(n, 0);
  for (std::size_t i = 1; i < n; ++i) last_child[static_cast<std::size_t>(model.bodies[i].parent)] = i;

  std::vector<std::string> lead(n);    // what the children of a body start with
  std::vector<std::string> branch(n);  // what the body itself starts with
  std::vector<int> depth(n, 0);
  for (std::size_t i = 1; i < n; ++i) {
    const auto parent = static_cast<std::size_t>(model.bodies[i].parent);
    depth[i] = depth[parent] + 1;
    const bool last = last_child[parent] == i;
    if (depth[i] <= kDeepestIndent) {
      branch[i] = lead[parent] + (last ? "└─ " : "├─ ");
      lead[i] = lead[parent] + (last ? "   " : "│  ");
    } else {
      lead[i] = lead[parent];
      branch[i] = lead[parent] + fmt::format("·{} ", depth[i]);
    }
  }
  return branch;
}

std::string heading(std::string_view text) { return fmt::format("\n{}\n", styled(text, Style::kBold)); }

std::string control_text(const Actuator& actuator) {
  std::string text;
  if (actuator.control_limited) text += "control " + range_text(actuator.control_range);
  if (actuator.force_limited) text += (text.empty() ? "force " : ", force ") + range_text(actuator.force_range);
  return text;
}

std::string actuators_text(const Model& model) {
  if (model.actuators.empty()) return {};
  Table table;
  for (const Actuator& actuator : model.actuators) {
    table.add_row({actuator.name, styled(actuator_kind(actuator), Style::kAccent), transmission_text(model, actuator),
                   control_text(actuator)});
  }
  return heading(count(model.actuators.size(), "actuator", "actuators")) + table.text();
}

std::string tendons_text(const Model& model) {
  if (model.tendons.empty()) return {};
  Table table;
  for (const Tendon& tendon : model.tendons) {
    std::string sum;
    for (const Tendon::Term& term : tendon.terms) {
      sum += fmt::format("{}{:.4g} {}", sum.empty() ? "" : " + ", term.coefficient,
                         model.joints[static_cast<std::size_t>(term.joint)].name);
    }
    table.add_row({tendon.name, sum, tendon.limited ? range_text(tendon.range) : ""});
  }
  return heading(count(model.tendons.size(), "fixed tendon", "fixed tendons")) + table.text();
}

std::string equalities_text(const Model& model) {
  if (model.equalities.empty()) return {};
  Table table;
  for (const Equality& equality : model.equalities) {
    table.add_row({equality.name, styled(to_string(equality.type), Style::kAccent), equality_text(model, equality),
                   equality.active ? "" : "inactive"});
  }
  return heading(count(model.equalities.size(), "equality", "equalities")) + table.text();
}

// "rad [-1, 1], m": the coordinates, and the ranges of those that have one.
std::string coordinates_text(const LoopJoint& joint) {
  std::string text;
  for (std::size_t k = 0; k < joint.coordinates.size(); ++k) {
    const LoopCoordinate& c = joint.coordinates[k];
    text += fmt::format("{}{}", text.empty() ? "" : ", ", is_rotation(joint.type, static_cast<int>(k)) ? "rad" : "m");
    if (c.limited) text += " " + range_text(c.range);
  }
  if (joint.type == LoopJointType::kDistance) text = fmt::format("{:.4g} m", joint.length);
  if (joint.type == LoopJointType::kScrew) text += fmt::format(", {:.4g} m/rad", joint.pitch);
  return text;
}

std::string loop_joints_text(const Model& model) {
  if (model.loop_joints.empty()) return {};
  Table table;
  for (const LoopJoint& joint : model.loop_joints) {
    const auto name = [&](int body) { return model.bodies[static_cast<std::size_t>(body)].name; };
    table.add_row({joint.name, styled(to_string(joint.type), Style::kAccent),
                   fmt::format("{}, {}", name(joint.body_a), name(joint.body_b)), coordinates_text(joint),
                   joint.active ? "" : "inactive"});
  }
  return heading(count(model.loop_joints.size(), "loop joint", "loop joints")) + table.text();
}

std::string sensors_text(const Model& model, bool verbose) {
  if (model.sensors.empty()) return {};
  Table table;
  if (verbose) {
    for (const Sensor& sensor : model.sensors) {
      table.add_row({sensor.name, styled(to_string(sensor.type), Style::kAccent),
                     std::string(frame_name(model, sensor.object_type, sensor.object))});
    }
  } else {
    std::map<std::string, int> kinds;
    for (const Sensor& sensor : model.sensors) ++kinds[std::string(to_string(sensor.type))];
    for (const auto& [kind, number] : kinds) table.add_row({fmt::format("{:>3}", number), kind});
  }
  return heading(count(model.sensors.size(), "sensor", "sensors")) + table.text();
}

std::string keyframes_text(const Model& model) {
  if (model.keyframes.empty()) return {};
  std::string names;
  for (const Keyframe& keyframe : model.keyframes) {
    names += (names.empty() ? "" : ", ") + (keyframe.name.empty() ? std::string("(no name)") : keyframe.name);
  }
  return heading(count(model.keyframes.size(), "keyframe", "keyframes")) + "  " + names + "\n";
}

std::string contact_rules_text(const Model& model) {
  if (model.contact_pairs.empty() && model.contact_exclusions.empty()) return {};
  return heading("contact rules") + fmt::format("  {}, {}\n",
                                                count(model.contact_pairs.size(), "explicit pair", "explicit pairs"),
                                                count(model.contact_exclusions.size(), "exclusion", "exclusions"));
}

}  // namespace

std::string model_summary(const Model& model) {
  const Vector3& gravity = model.defaults.gravity;
  std::string text = styled(model.name, Style::kBold);
  if (!model.file.empty()) text += "  " + styled(model.file, Style::kDim);
  text += fmt::format("\n  {}, {}, {}\n", count(model.bodies.size() - 1, "body", "bodies"),
                      count(static_cast<std::size_t>(model.ntree), "moving tree", "moving trees"),
                      count(model.joints.size(), "joint", "joints"));
  text += fmt::format("  {}, nq {}, total mass {:.4f} kg\n",
                      count(static_cast<std::size_t>(model.nv), "degree of freedom", "degrees of freedom"), model.nq,
                      model.total_mass());
  text += fmt::format("  {}, {}, {}, {}\n", count(model.shapes.size(), "shape", "shapes"),
                      count(model.actuators.size(), "actuator", "actuators"),
                      count(model.sensors.size(), "sensor", "sensors"), count(model.sites.size(), "site", "sites"));
  text += fmt::format("  gravity ({:.4g}, {:.4g}, {:.4g}) m/s², time step {:.4g} s\n", gravity.x(), gravity.y(),
                      gravity.z(), model.options.time_step);
  return text;
}

std::string model_tree(const Model& model) {
  const std::vector<std::string> branch = branches(model);
  std::vector<std::vector<const ShapeElement*>> body_shapes(model.bodies.size());
  for (const ShapeElement& shape : model.shapes) body_shapes[static_cast<std::size_t>(shape.body)].push_back(&shape);

  Table table;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const BodyKernel& kernel = model.body_kernels[i];
    std::string joints;
    for (int j = 0; j < kernel.joint_count; ++j) {
      joints += (j == 0 ? "" : ", ") + joint_text(model, kernel.first_joint + j);
    }
    if (i > 0 && kernel.joint_count == 0) joints = styled(model.bodies[i].mocap ? "mocap" : "fixed", Style::kDim);
    table.add_row({styled(branch[i], Style::kDim) + model.bodies[i].name,
                   mass_text(model.defaults.mass(static_cast<int>(i))), joints,
                   styled(shapes_text(body_shapes[i]), Style::kDim)});
  }
  return table.text();
}

std::string model_lists(const Model& model, bool verbose) {
  return actuators_text(model) + tendons_text(model) + equalities_text(model) + loop_joints_text(model) +
         sensors_text(model, verbose) + keyframes_text(model) + contact_rules_text(model);
}

std::string model_mobility(const ModelPtr& model) {
  if (!has_loops(*model)) return {};
  const Mobility m = Mechanism(model).mobility(scene_of(model).start);
  if (m.rows == 0) return {};
  Table table;
  const auto row = [&](const std::string& name, const std::string& value, const std::string& note) {
    table.add_row({name, value, styled(note, Style::kDim)});
  };
  row("rows of loops", std::to_string(m.rows), fmt::format("largest error at the start {:.2g} m", m.error));
  row("dofs by counting", std::to_string(m.gruebler()), fmt::format("Gruebler: {} - {}", m.dofs, m.rows));
  if (!m.known) {
    row("dofs left", "unknown", "too many rows to compute their rank");
  } else {
    row("dofs left", std::to_string(m.mobility()),
        fmt::format("rank {}{}", m.generic_rank,
                    m.samples > 0 ? fmt::format(", also in {} configurations nearby", m.samples) : ""));
    row("redundant rows", std::to_string(m.redundancy()),
        m.redundancy() > 0 ? "reactions are those of least norm" : "");
    if (m.is_singular()) row("rank at the start", std::to_string(m.rank), "singular: smaller than nearby");
  }
  return heading("mobility") + table.text();
}

std::string model_warnings(const Model& model) {
  if (model.warnings.empty()) return {};
  std::string text =
      fmt::format("\n{}\n", styled(count(model.warnings.size(), "warning", "warnings"), Style::kWarning));
  for (const Warning& warning : model.warnings) {
    const SourceLocation where{warning.origin.file, warning.origin.line, warning.origin.element};
    const std::string place = where.text();
    text += fmt::format("  {}{}{}\n", place, place.empty() ? "" : ": ", warning.message);
  }
  return text;
}

}  // namespace touchstone::cli

#include "touchstone/scenes/scene_file.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/io/yaml.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/validate.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/option_fields.hpp"

namespace touchstone {
namespace {

using yaml::Node;

const std::vector<std::string> kTopKeys{"model",     "models",   "floating",   "description", "duration",
                                        "time_step", "solver",   "integrator", "options",     "stabilisation",
                                        "gravity",   "friction", "ground",     "keyframe",    "start",
                                        "controls",  "hold",     "pushes",     "materials"};

// What a name in the file stands for: a file beside it, or a scene.
Scene load_part(const Node& node, bool floating, const std::filesystem::path& folder, const LoadOptions& options) {
  const std::string name = node.text();
  const std::filesystem::path path =
      std::filesystem::path(name).is_absolute() ? std::filesystem::path(name) : folder / name;
  std::error_code ignored;
  try {
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored)) {
      if (is_scene_file(path)) node.fail("a scene file inside a scene file", "name the model itself");
      LoadOptions own = options;
      own.floating_base = own.floating_base || floating;
      return scene_of(load_model(path, own));
    }
    if (find_scene(name) != nullptr) return make_scene(name);
  } catch (const Error& error) {
    if (!error.where().file.empty()) throw;  // it says where already
    node.fail(error.message(), error.remedy());
  }
  node.fail(fmt::format("'{}' is neither a file nor a scene", name),
            "paths are relative to the scene file; 'touchstone scenes' lists the scenes");
}

Transform pose_of(const Node& node) {
  Transform X;
  if (node["position"].exists()) X.position = node["position"].vector3();
  if (const Node rotation = node["rotation"]; rotation.exists()) {
    const VectorX q = rotation.vector();
    if (q.size() != 4 || !(q.norm() > 0.0)) rotation.fail("it is not a quaternion", "write [w, x, y, z]");
    X.rotation = Quaternion(q[0], q[1], q[2], q[3]).normalized();
  }
  if (const Node turn = node["euler"]; turn.exists()) {  // degrees about the fixed axes x, y, z
    if (node["rotation"].exists()) turn.fail("both rotation and euler are given", "leave one of them");
    const Vector3 angles = turn.vector3() * (3.14159265358979323846 / 180.0);
    X.rotation = so3_exp({0, 0, angles.z()}) * so3_exp({0, angles.y(), 0}) * so3_exp({angles.x(), 0, 0});
  }
  return X;
}

VectorX joined(const VectorX& a, const VectorX& b) {
  VectorX c(a.size() + b.size());
  c << a, b;
  return c;
}

// The start of a model that was put elsewhere: free joints of the world's children move along.
State moved(const Model& model, const Transform& pose, State state) {
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[at(j)];
    if (joint.type != JointType::kFree) continue;
    const int q = model.joint_q[at(j)], v = model.joint_dof[at(j)];
    const Transform X = pose * Transform{state.q.segment<3>(q), quaternion_at(state.q, q + 3)};
    state.q.segment<3>(q) = X.position;
    state.q.segment<4>(q + 3) << X.rotation.w(), X.rotation.vec();
    state.v.segment<3>(v) = pose.rotation * Vector3(state.v.segment<3>(v));
  }
  for (Transform& X : state.mocap) X = pose * X;
  return state;
}

// Several models in one world. Elements of each get its name as a prefix: "left/knee".
Scene load_models(const Node& list, const std::filesystem::path& folder, const LoadOptions& options) {
  Scene whole;
  ModelBuilder builder("scene");
  whole.start.q = whole.start.v = whole.start.activation = whole.start.loop_q = VectorX(0);
  whole.control = VectorX(0);
  bool first = true;
  if (list.items().empty()) list.fail("it is empty", "name at least one model");
  for (const Node& item : list.items()) {
    item.allow({"model", "name", "position", "rotation", "euler", "floating", "keyframe"});
    if (!item["model"].exists()) item.fail("it has no model", "write 'model: FILE or SCENE'");
    Scene part = load_part(item["model"], item["floating"].exists() && item["floating"].flag(), folder, options);
    if (item["keyframe"].exists()) start_at_keyframe(part, item["keyframe"].text());
    const std::string prefix = item["name"].exists() ? item["name"].text() + "/" : "";
    const Transform pose = pose_of(item);
    const int offset = static_cast<int>(builder.bodies().size()) - 1;
    if (first) {
      builder.options() = part.model->options;
      builder.set_gravity(part.model->defaults.gravity);
      whole.options = part.options;
      whole.duration = part.duration;
    }
    first = false;
    builder.add_model(*part.model, pose, prefix);
    const State start = moved(*part.model, pose, part.start);
    whole.start.q = joined(whole.start.q, start.q);
    whole.start.v = joined(whole.start.v, start.v);
    whole.start.activation = joined(whole.start.activation, start.activation);
    whole.start.loop_q = joined(whole.start.loop_q, start.loop_q);
    whole.start.mocap.insert(whole.start.mocap.end(), start.mocap.begin(), start.mocap.end());
    whole.control = joined(whole.control, part.control);
    for (Push push : part.pushes) {
      push.body += offset;
      whole.pushes.push_back(push);
    }
  }
  try {
    whole.model = builder.build();
  } catch (const Error& error) {
    list.fail(error.message(), error.remedy().empty() ? "give each model a name of its own" : error.remedy());
  }
  return whole;
}

void read_options(const Node& root, Scene& scene) {
  const auto set = [&scene](const std::string& name, const Node& node) {
    try {
      set_option(scene.options, name, node.text());
    } catch (const InputError&) {
      throw;
    } catch (const Error& error) {
      node.fail(error.message(), error.remedy());
    }
  };
  if (const Node step = root["time_step"]; step.exists()) {
    if (!(step.number() > 0.0)) step.fail(fmt::format("it is {}", step.text()), "give a positive number of seconds");
    set("time_step", step);
  }
  for (const char* key : {"solver", "integrator"}) {
    if (root[key].exists()) set(key, root[key]);
  }
  if (const Node group = root["stabilisation"]; group.exists()) {
    group.allow({"method", "recovery_time", "erp", "loop_erp", "limit_erp", "contact_erp", "slop", "recovery_speed",
                 "restitution_threshold", "loops", "loop_tolerance", "loop_softening"});
    for (const Node& item : group.items()) set(item.key() == "method" ? "stabilisation" : item.key(), item);
  }
  if (const Node group = root["options"]; group.exists()) {
    if (!group.is_map()) group.fail("it is not a map", "write {name: value, ...}");
    for (const Node& item : group.items()) set(item.key(), item);
  }
}

// What a surface is made of, in physical units (docs/compliant.md): the numbers that are given.
void read_material(const Node& node, Material& material) {
  const std::pair<const char*, double*> numbers[] = {{"friction", &material.friction.x()},
                                                     {"restitution", &material.restitution},
                                                     {"stiffness", &material.stiffness},
                                                     {"youngs_modulus", &material.youngs_modulus},
                                                     {"poisson_ratio", &material.poisson_ratio},
                                                     {"dissipation", &material.dissipation},
                                                     {"relaxation_time", &material.relaxation_time}};
  for (const auto& [key, value] : numbers) {
    if (node[key].exists()) *value = node[key].number();
  }
  if (node["hertz"].exists()) material.hertz = node["hertz"].flag();
}

// The shapes that an entry of `materials` is about: those that it names, or all.
std::vector<int> shapes_of(const Node& item, const Model& model) {
  const Node names = item["shapes"];
  std::vector<int> shapes;
  const auto add = [&](const Node& name) {
    try {
      shapes.push_back(model.shape(name.text()));
    } catch (const Error& error) {
      name.fail(error.message(), error.remedy());
    }
  };
  if (!names.exists()) {
    for (int i = 0; i < model.nshape; ++i) shapes.push_back(i);
  } else if (names.is_list()) {
    for (const Node& name : names.items()) add(name);
  } else {
    add(names);
  }
  return shapes;
}

// Later entries change what earlier ones have said.
void read_materials(const Node& list, Scene& scene) {
  if (!list.exists()) return;
  auto model = std::make_shared<Model>(*scene.model);
  for (const Node& item : list.items()) {
    item.allow({"shapes", "friction", "restitution", "stiffness", "hertz", "youngs_modulus", "poisson_ratio",
                "dissipation", "relaxation_time", "surface_velocity"});
    for (const int i : shapes_of(item, *model)) {
      ShapeElement& shape = model->shapes[at(i)];
      read_material(item, shape.material);
      if (const Node velocity = item["surface_velocity"]; velocity.exists()) {
        const VectorX given = velocity.vector();
        if (given.size() != 3 && given.size() != 6)
          velocity.fail(fmt::format("it has {} numbers", given.size()), "give 3, or 6 with the spin");
        shape.surface_velocity.setZero();
        shape.surface_velocity.head(given.size()) = given;
      }
      model->defaults.shape_material[at(i)] = shape.material;
      model->defaults.shape_surface_velocity[at(i)] = shape.surface_velocity;
    }
  }
  try {
    validate_elements(*model);
  } catch (const Error& error) {
    const std::string& element = error.where().element;
    list.fail(element.empty() ? error.message() : fmt::format("{}: {}", element, error.message()), error.remedy());
  }
  scene.model = std::move(model);
}

// Ground and parameters; the model is copied for those.
void read_parameters(const Node& root, Scene& scene) {
  if (root["ground"].exists() && root["ground"].flag()) scene.model = with_ground(*scene.model, scene.start.q);
  if (!root["gravity"].exists() && !root["friction"].exists()) return;
  auto model = std::make_shared<Model>(*scene.model);
  if (root["gravity"].exists()) model->defaults.gravity = root["gravity"].vector3();
  if (root["friction"].exists()) {
    const double friction = root["friction"].number();
    if (friction < 0.0) root["friction"].fail(fmt::format("it is {}", friction), "give 0 or more");
    for (Material& material : model->defaults.shape_material) material.friction.x() = friction;
  }
  scene.model = std::move(model);
}

void read_vector(const Node& node, VectorX& values) {
  if (!node.exists()) return;
  const VectorX given = node.vector();
  if (given.size() != values.size())
    node.fail(fmt::format("it has {} numbers", given.size()), fmt::format("the model needs {}", values.size()));
  values = given;
}

// The index of an element that a key names; near misses come from the model.
template <typename Find>
int find_named(const Node& node, Find find) {
  try {
    return find(node.key());
  } catch (const Error& error) {
    node.fail(error.message(), error.remedy());
  }
}

void read_start(const Node& root, Scene& scene) {
  const Model& model = *scene.model;
  if (const Node key = root["keyframe"]; key.exists()) {
    if (model.keyframes.empty()) key.fail("the model has no keyframes", "leave it out");
    try {
      start_at_keyframe(scene, key.text());
    } catch (const Error& error) {
      key.fail(error.message(), error.remedy());
    }
  }
  const Node start = root["start"];
  if (!start.exists()) return;
  start.allow({"q", "v", "activation", "loop_q", "joints", "velocities"});
  read_vector(start["q"], scene.start.q);
  read_vector(start["v"], scene.start.v);
  read_vector(start["activation"], scene.start.activation);
  read_vector(start["loop_q"], scene.start.loop_q);
  for (const char* key : {"joints", "velocities"}) {
    if (!start[key].exists()) continue;
    const bool positions = std::string_view(key) == "joints";
    for (const Node& item : start[key].items()) {
      const int joint = find_named(item, [&](const std::string& name) { return model.joint(name); });
      const JointType type = model.joints[at(joint)].type;
      const int size = positions ? configuration_size(type) : dof_count(type);
      VectorX values(1);
      if (item.is_list()) {
        values = item.vector();
      } else {
        values[0] = item.number();
      }
      if (values.size() != size)
        item.fail(fmt::format("it has {} numbers", values.size()),
                  fmt::format("a {} joint needs {}", to_string(type), size));
      (positions ? scene.start.q : scene.start.v)
          .segment(positions ? model.joint_q[at(joint)] : model.joint_dof[at(joint)], size) = values;
    }
  }
  try {
    scene.start.validate(model);
  } catch (const Error& error) {
    start.fail(error.message(), error.remedy());
  }
}

void read_inputs(const Node& root, Scene& scene) {
  const Model& model = *scene.model;
  if (const Node controls = root["controls"]; controls.exists()) {
    if (controls.is_list()) {
      read_vector(controls, scene.control);
    } else {
      for (const Node& item : controls.items())
        scene.control[find_named(item, [&](const std::string& name) { return model.actuator(name); })] = item.number();
    }
  }
  if (const Node hold = root["hold"]; hold.exists()) {
    if (hold.is_map()) {
      hold.allow({"rate", "damping_ratio"});
      scene.hold = Hold();
      if (hold["rate"].exists()) scene.hold->rate = hold["rate"].number();
      if (hold["damping_ratio"].exists()) scene.hold->damping_ratio = hold["damping_ratio"].number();
    } else if (hold.flag()) {
      scene.hold = Hold();
    }
  }
  if (!root["pushes"].exists()) return;
  for (const Node& item : root["pushes"].items()) {
    item.allow({"body", "force", "torque", "from", "until"});
    if (!item["body"].exists()) item.fail("it has no body", "write 'body: NAME'");
    Push push;
    try {
      push.body = model.body(item["body"].text());
    } catch (const Error& error) {
      item["body"].fail(error.message(), error.remedy());
    }
    if (item["force"].exists()) push.force = item["force"].vector3();
    if (item["torque"].exists()) push.torque = item["torque"].vector3();
    if (item["from"].exists()) push.start = item["from"].number();
    if (item["until"].exists()) push.end = item["until"].number();
    scene.pushes.push_back(push);
  }
}

}  // namespace

bool is_scene_file(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".yaml" || extension == ".yml";
}

Scene load_scene_text(const std::string& text, const std::string& name, const LoadOptions& options) {
  const Node root = Node::parse(text, name, "model: ...");
  root.allow(kTopKeys);
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  if (root["model"].exists() == root["models"].exists())
    root.fail("it names no model, or both 'model' and 'models'", "write 'model: FILE or SCENE'");
  Scene scene = root["model"].exists()
                    ? load_part(root["model"], root["floating"].exists() && root["floating"].flag(), folder, options)
                    : load_models(root["models"], folder, options);
  scene.name = std::filesystem::path(name).stem().string();
  if (root["description"].exists()) scene.description = root["description"].text();
  if (const Node duration = root["duration"]; duration.exists()) {
    scene.duration = duration.number();
    if (!(scene.duration > 0.0))
      duration.fail(fmt::format("it is {}", scene.duration), "give a positive number of seconds");
  }
  read_options(root, scene);
  read_start(root, scene);
  read_parameters(root, scene);
  read_materials(root["materials"], scene);
  read_inputs(root, scene);
  return scene;
}

Scene load_scene_file(const std::filesystem::path& file, const LoadOptions& options) {
  return load_scene_text(read_file(file, file_kind::kScene), file.string(), options);
}

}  // namespace touchstone

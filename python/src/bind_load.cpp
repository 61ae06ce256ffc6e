// Loading models and scenes. The package's `load` adds names of scenes and Python warnings.
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "simulator.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/scenes/scene_file.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::python {
namespace {

LoadOptions load_options(bool allow_ignored, const std::vector<std::filesystem::path>& search_paths, bool floating_base,
                         bool merge_fixed, const std::string& mesh_collision, const std::filesystem::path& loops) {
  LoadOptions o;
  o.names = {.allow_ignored = "allow_ignored=True", .search_paths = "search_paths=[...]", .max_elements = ""};
  o.allow_ignored = allow_ignored;
  o.search_paths = search_paths;
  o.floating_base = floating_base;
  o.merge_fixed = merge_fixed;
  o.loops = loops;
  if (mesh_collision == "triangles") {
    o.mesh_collision = MeshCollision::kTriangles;
  } else if (mesh_collision == "pieces") {
    o.mesh_collision = MeshCollision::kPieces;
  } else if (mesh_collision != "hull") {
    throw Error("mesh_collision '{}'; give hull, triangles or pieces", mesh_collision);
  }
  return o;
}

// Named at load: shapes that overlap at the start, and pairs that never collide for that reason.
PyModel with_collision_warnings(ModelPtr model) {
  Scene scene = scene_of(std::move(model));
  add_collision_warnings(scene);
  return {scene.model};
}

PyModel load_file(const std::filesystem::path& file, bool allow_ignored,
                  const std::vector<std::filesystem::path>& search_paths, bool floating_base, bool merge_fixed,
                  const std::string& mesh_collision, const std::filesystem::path& loops) {
  const LoadOptions o = load_options(allow_ignored, search_paths, floating_base, merge_fixed, mesh_collision, loops);
  const nb::gil_scoped_release release;
  return with_collision_warnings(load_model(file, o));
}

PyModel load_text(const std::string& text, bool allow_ignored, bool floating_base, const std::filesystem::path& loops) {
  const LoadOptions o = load_options(allow_ignored, {}, floating_base, true, "hull", loops);
  if (text.find("<robot") != std::string::npos && text.find("<mujoco") == std::string::npos) {
    return with_collision_warnings(load_urdf_string(text, std::filesystem::current_path(), o));
  }
  return with_collision_warnings(load_mjcf_string(text, o));
}

std::string parameter_help(const SceneInfo& info) {
  std::string text;
  for (const SceneParameter& p : info.parameters) {
    text += fmt::format("{} = {}  {}: {}\n", p.name, p.default_text(), p.range_text(), p.help);
  }
  return text;
}

void bind_scenes(nb::module_& m) {
  nb::class_<SceneInfo>(m, "SceneInfo", "A scene that comes with Touchstone.")
      .def_prop_ro("name", [](const SceneInfo& s) { return std::string(s.name); })
      .def_prop_ro("description", [](const SceneInfo& s) { return std::string(s.description); })
      .def_prop_ro("parameters", &parameter_help, "Its parameters with defaults, ranges and meaning, one a line.")
      .def("__repr__", [](const SceneInfo& s) { return fmt::format("<SceneInfo {}: {}>", s.name, s.description); });
  nb::class_<Scene>(m, "Scene", "A model with everything that is needed to run it: start, controls, pushes, options.")
      .def_prop_ro("name", [](const Scene& s) { return s.name; })
      .def_prop_ro("description", [](const Scene& s) { return s.description; })
      .def_prop_ro("model", [](const Scene& s) { return PyModel{s.model}; })
      .def_prop_ro(
          "start", [](const Scene& s) { return State(s.start); }, nb::rv_policy::move, "A copy of the start.")
      .def_prop_ro("control", [](const Scene& s) { return copy(s.control); })
      .def_ro("duration", &Scene::duration, "s: long enough to see what there is to see.")
      .def(
          "simulator",
          [](const Scene& scene, const nb::kwargs& options) {
            SimulatorOptions o = scene.options;
            if (options.contains("dt")) o.time_step = nb::cast<double>(options["dt"]);
            nb::kwargs rest;
            for (const auto& [key, value] : options) {
              const auto name = nb::cast<std::string>(key);
              if (name == "solver") {
                o.solver_options.clear();
                o.solver = nb::cast<std::string>(value);
              } else if (name != "dt") {
                rest[key] = value;
              }
            }
            set_options(o, rest);
            return std::make_unique<PySimulator>(scene, o);
          },
          nb::arg("options"), nb::sig("def simulator(self, **options: bool | int | float | str) -> Simulator"),
          "A simulator at the start of the scene, with its options but for those given (dt, solver, ...).")
      .def("__repr__", [](const Scene& s) { return fmt::format("<Scene {}: {}>", s.name, s.description); });
  m.def(
      "scenes", [] { return std::vector<SceneInfo>(scenes()); }, "The scenes that come with Touchstone.");
  m.def(
      "load_scene_model", [](const std::string& name) { return PyModel{load_scene(name)}; }, nb::arg("name"));
  m.def(
      "scene",
      [](const std::string& source) {
        return is_scene_file(source) ? load_scene_file(source, load_options(false, {}, false, true, "hull", {}))
                                     : make_scene(source);
      },
      nb::arg("source"),
      "A scene by name with parameters after a colon (\"pile:200,shape=spheres\"), or a scene file (.yaml).");
}

}  // namespace

void bind_load(nb::module_& m) {
  bind_scenes(m);
  m.def("load_file", &load_file, nb::arg("file"), nb::kw_only(), nb::arg("allow_ignored") = false,
        nb::arg("search_paths") = std::vector<std::filesystem::path>(), nb::arg("floating_base") = false,
        nb::arg("merge_fixed") = true, nb::arg("mesh_collision") = "hull", nb::arg("loops") = std::filesystem::path());
  m.def("load_text", &load_text, nb::arg("text"), nb::kw_only(), nb::arg("allow_ignored") = false,
        nb::arg("floating_base") = false, nb::arg("loops") = std::filesystem::path());
}

}  // namespace touchstone::python

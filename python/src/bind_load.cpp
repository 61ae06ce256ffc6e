// Loading models and scenes. The package's `load` adds names of scenes and Python warnings.
#include <filesystem>

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::python {
namespace {

LoadOptions load_options(bool allow_ignored, const std::vector<std::filesystem::path>& search_paths, bool floating_base,
                         bool merge_fixed, const std::string& mesh_collision) {
  LoadOptions o;
  o.allow_ignored = allow_ignored;
  o.search_paths = search_paths;
  o.floating_base = floating_base;
  o.merge_fixed = merge_fixed;
  if (mesh_collision == "triangles") {
    o.mesh_collision = MeshCollision::kTriangles;
  } else if (mesh_collision == "pieces") {
    o.mesh_collision = MeshCollision::kPieces;
  } else if (mesh_collision != "hull") {
    throw Error("mesh_collision '{}'; give hull, triangles or pieces", mesh_collision);
  }
  return o;
}

PyModel load_file(const std::filesystem::path& file, bool allow_ignored,
                  const std::vector<std::filesystem::path>& search_paths, bool floating_base, bool merge_fixed,
                  const std::string& mesh_collision) {
  const LoadOptions o = load_options(allow_ignored, search_paths, floating_base, merge_fixed, mesh_collision);
  const nb::gil_scoped_release release;
  return {load_model(file, o)};
}

PyModel load_text(const std::string& text, bool allow_ignored, const std::vector<std::filesystem::path>& search_paths,
                  bool floating_base, bool merge_fixed, const std::string& mesh_collision) {
  const LoadOptions o = load_options(allow_ignored, search_paths, floating_base, merge_fixed, mesh_collision);
  if (text.find("<robot") != std::string::npos && text.find("<mujoco") == std::string::npos) {
    return {load_urdf_string(text, std::filesystem::current_path(), o)};
  }
  return {load_mjcf_string(text, o)};
}

}  // namespace

void bind_load(nb::module_& m) {
  nb::class_<Scene>(m, "Scene", "A model that comes with Touchstone.")
      .def_prop_ro("name", [](const Scene& s) { return std::string(s.name); })
      .def_prop_ro("description", [](const Scene& s) { return std::string(s.description); })
      .def("__repr__", [](const Scene& s) { return fmt::format("<Scene {}: {}>", s.name, s.description); });
  m.def(
      "scenes", [] { return std::vector<Scene>(scenes().begin(), scenes().end()); },
      "The models that come with Touchstone.");
  m.def(
      "load_scene", [](const std::string& name) { return PyModel{load_scene(name)}; }, nb::arg("name"),
      "A model that comes with Touchstone, by name.");
  m.def("load_file", &load_file, nb::arg("file"), nb::kw_only(), nb::arg("allow_ignored") = false,
        nb::arg("search_paths") = std::vector<std::filesystem::path>(), nb::arg("floating_base") = false,
        nb::arg("merge_fixed") = true, nb::arg("mesh_collision") = "hull");
  m.def("load_text", &load_text, nb::arg("text"), nb::kw_only(), nb::arg("allow_ignored") = false,
        nb::arg("search_paths") = std::vector<std::filesystem::path>(), nb::arg("floating_base") = false,
        nb::arg("merge_fixed") = true, nb::arg("mesh_collision") = "hull");
}

}  // namespace touchstone::python

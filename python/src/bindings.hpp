// What the files of the extension share: the classes behind Python's objects, and the functions that bind them.
//
// Lifetimes. Models are shared pointers, so that everything made from one keeps it. Arrays that look into a state keep
// the Python object of that state, which keeps its simulator.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <nanobind/nanobind.h>

#include "arrays.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone::python {

// Python's Model. nanobind does not hold pointers to const objects, hence the wrapper.
struct PyModel {
  ModelPtr ptr;
  const Model& operator*() const { return *ptr; }
  const Model* operator->() const { return ptr.get(); }
};

// An element of a model, by index; keeps the model.
template <typename Element>
struct ElementView {
  ModelPtr model;
  int index = 0;
};

// An element named or numbered by the caller.
using Reference = std::variant<int, std::string>;

int find_index(const Model& model, ElementKind kind, const Reference& reference);

// Marks an object as in use by a native call without the GIL; a second thread gets an Error instead of a data race.
class Guard {
 public:
  Guard(std::atomic<bool>& busy, const char* what);
  ~Guard() { busy_.store(false, std::memory_order_release); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  std::atomic<bool>& busy_;
};

// A table for notebooks; its texts are escaped.
std::string html_table(const std::string& title, const std::vector<std::pair<std::string, std::string>>& rows);

Quaternion quaternion_argument(const Numbers& wxyz, const char* name);
Transform pose_argument(const std::optional<Numbers>& position, const std::optional<Numbers>& quaternion);

void bind_errors(nb::module_& m);
void bind_viewer(nb::module_& m);
void bind_transform(nb::module_& m);
void bind_shapes(nb::module_& m);
void bind_queries(nb::module_& m);
void bind_elements(nb::module_& m);
void bind_model(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_state(nb::module_& m);
void bind_parameters(nb::module_& m);
void bind_report(nb::module_& m);
void bind_problem(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_contacts(nb::module_& m);
void bind_simulator(nb::module_& m);
void bind_stages(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_world_batch(nb::module_& m);
void bind_recording(nb::module_& m);
void bind_dynamics(nb::module_& m);
void bind_dynamics_derivatives(nb::module_& m);
void bind_derivatives(nb::module_& m);
void bind_mechanism(nb::module_& m);
void bind_maximal(nb::module_& m);
void bind_layout(nb::module_& m);
void bind_load(nb::module_& m);

}  // namespace touchstone::python

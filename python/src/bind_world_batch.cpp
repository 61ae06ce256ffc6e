// Many worlds of one model by the code that also runs on a GPU: what touchstone.DeviceBatch is made of.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "simulator.hpp"
#include "touchstone/gpu/backend.hpp"
#include "touchstone/sim/model_arrays.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/sensor_arrays.hpp"
#include "world_batch.hpp"

namespace touchstone::python {
namespace {

using Handle = nb::handle_t<PyWorldBatch>;
using DoubleTensor = nb::ndarray<double>;
using IntTensor = nb::ndarray<int>;

struct Field {
  const char* name;
  gpu::BatchField field;
};
constexpr Field kFields[] = {
    {"q", gpu::BatchField::kPosition},
    {"v", gpu::BatchField::kVelocity},
    {"activation", gpu::BatchField::kActivation},
    {"control", gpu::BatchField::kControl},
    {"applied_force", gpu::BatchField::kAppliedForce},
    {"natv", gpu::BatchField::kNatv},
    {"time", gpu::BatchField::kTime},
    {"sensors", gpu::BatchField::kSensors},
    {"loop_q", gpu::BatchField::kLoopCoordinates},
    {"status", gpu::BatchField::kStatus},
    {"contact_count", gpu::BatchField::kContacts},
    {"sweeps", gpu::BatchField::kSweeps},
};

struct Parameter {
  const char* name;
  gpu::WorldParameter parameter;
  int each;  // numbers for an element
};
constexpr Parameter kParameters[] = {
    {"body_mass", gpu::WorldParameter::kBodyMass, 1},
    {"body_com", gpu::WorldParameter::kBodyCom, 3},
    {"body_inertia", gpu::WorldParameter::kBodyInertia, 9},
    {"joint_stiffness", gpu::WorldParameter::kJointStiffness, 1},
    {"dof_damping", gpu::WorldParameter::kDofDamping, 1},
    {"dof_armature", gpu::WorldParameter::kDofArmature, 1},
    {"dof_friction", gpu::WorldParameter::kDofFriction, 1},
    {"actuator_gain", gpu::WorldParameter::kActuatorGain, 3},
    {"actuator_bias", gpu::WorldParameter::kActuatorBias, 3},
    {"actuator_force_range", gpu::WorldParameter::kActuatorForceRange, 2},
    {"friction", gpu::WorldParameter::kPairFriction, 1},
    {"restitution", gpu::WorldParameter::kPairRestitution, 1},
    {"shape_size", gpu::WorldParameter::kShapeSize, 3},
    {"mocap", gpu::WorldParameter::kMocapPose, 7},
    {"gravity", gpu::WorldParameter::kGravityVector, 1},
    {"applied_wrench", gpu::WorldParameter::kAppliedWrench, 6},
};

template <typename Entry, std::size_t kCount>
const Entry& find(const Entry (&list)[kCount], const std::string& name, const char* what) {
  const auto* found = std::find_if(std::begin(list), std::end(list), [&](const Entry& e) { return name == e.name; });
  if (found != std::end(list)) return *found;
  std::string names;
  for (const Entry& entry : list) names += std::string(names.empty() ? "" : ", ") + entry.name;
  throw Error("a batch has no {} '{}'; there are {}", what, name, names);
}

int width_of(const gpu::ModelSizes& n, gpu::BatchField field) {
  switch (field) {
    case gpu::BatchField::kPosition:
      return n.nq;
    case gpu::BatchField::kVelocity:
    case gpu::BatchField::kAppliedForce:
      return n.nv;
    case gpu::BatchField::kActivation:
      return n.na;
    case gpu::BatchField::kControl:
      return n.nu;
    case gpu::BatchField::kSensors:
      return n.sensor_numbers;
    case gpu::BatchField::kLoopCoordinates:
      return n.loop_numbers;
    default:
      return 0;  // one number a world
  }
}

// Whether a world has a row of the field, be it empty.
bool is_matrix(gpu::BatchField field) {
  return field <= gpu::BatchField::kAppliedForce || field == gpu::BatchField::kSensors ||
         field == gpu::BatchField::kLoopCoordinates;
}

struct Settings {
  SimulatorOptions simulator;
  gpu::BatchOptions batch;
};

// Options of the batch are taken from `named`; what is left goes to the model's settings.
Settings settings_of(double dt, const nb::kwargs& named) {
  Settings settings;
  settings.simulator.time_step = dt;
  gpu::BatchOptions& options = settings.batch;
  nb::kwargs rest;
  for (const auto& [key, value] : named) {
    const std::string name = nb::cast<std::string>(key);
    int* number = name == "sweeps"        ? &options.sweeps
                  : name == "more_sweeps" ? &options.more_sweeps
                  : name == "most_sweeps" ? &options.most_sweeps
                  : name == "small_pool"  ? &options.small_pool
                  : name == "middle_pool" ? &options.middle_pool
                  : name == "large_pool"  ? &options.large_pool
                                          : nullptr;
    if (number != nullptr) {
      *number = nb::cast<int>(value);
    } else if (name == "tolerance") {
      options.tolerance = nb::cast<double>(value);
    } else if (name == "specialise") {
      const std::string wanted = nb::cast<std::string>(value);
      if (wanted != "auto" && wanted != "off") throw Error("specialise is '{}'; there are 'auto' and 'off'", wanted);
      options.specialise = wanted == "off" ? gpu::Specialise::kOff : gpu::Specialise::kAuto;
    } else {
      rest[key] = value;
    }
  }
  set_options(settings.simulator, rest);
  return settings;
}

std::vector<std::string> complaints_of(const PyModel& model, double dt, const nb::kwargs& named) {
  return unsupported_features(*model.ptr, settings_of(dt, named).simulator);
}

void construct(PyWorldBatch* self, const PyModel& model, int worlds, const std::string& library, double dt,
               const nb::kwargs& named) {
  const auto [simulator, options] = settings_of(dt, named);
  new (self) PyWorldBatch();
  try {
    self->model = model.ptr;
    self->arrays = make_model_arrays(*model.ptr, simulator);
    self->unread_sensors = unsupported_sensors(*model.ptr, simulator);
    self->on_gpu = !library.empty();
    run([&] {
      self->batch = library.empty()
                        ? gpu::make_cpu_batch(self->arrays, worlds, options)
                        : gpu::make_backend_batch(gpu::load_backend(library), self->arrays, worlds, options);
    });
  } catch (...) {
    self->~PyWorldBatch();
    throw;
  }
}

// A field or a parameter, which share no names.
struct Numbered {
  std::optional<gpu::BatchField> field;
  gpu::WorldParameter parameter{};

  explicit Numbered(const std::string& name) {
    const auto* known =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return name == f.name; });
    if (known != std::end(kFields)) {
      field = known->field;
    } else {
      parameter = find(kParameters, name, "parameter").parameter;
    }
  }
  bool counts() const { return field && *field >= gpu::BatchField::kStatus; }
  // worlds x numbers, or worlds.
  std::vector<std::size_t> shape(const gpu::WorldBatch& batch) const {
    const auto worlds = static_cast<std::size_t>(batch.worlds());
    if (field && !is_matrix(*field)) return {worlds};
    const int width = field ? width_of(batch.sizes(), *field) : gpu::parameter_width(batch.sizes(), parameter);
    return {worlds, static_cast<std::size_t>(width)};
  }
  void* data(PyWorldBatch& self) const {
    if (field) return run([&] { return self.batch->data(*field); });
    const Guard guard(self.busy, "batch");  // it may be made now
    return run([&] { return self.batch->parameter_data(parameter); });
  }
};

nb::tuple shape(const PyWorldBatch& self, const std::string& name) {
  const std::vector<std::size_t> shape = Numbered(name).shape(*self.batch);
  return shape.size() == 1 ? nb::make_tuple(shape[0]) : nb::make_tuple(shape[0], shape[1]);
}

// Numbers where they lie: numpy's array on the processor, a DLPack capsule on a GPU.
nb::object tensor(Handle handle, const std::string& name) {
  auto& self = nb::cast<PyWorldBatch&>(handle);
  const Numbered which(name);
  const std::vector<std::size_t> shape = which.shape(*self.batch);
  const nb::dlpack::dtype type = which.counts() ? nb::dtype<int>() : nb::dtype<double>();
  void* data = which.data(self);
  if (self.on_gpu)
    return nb::cast(nb::ndarray<>(data, shape.size(), shape.data(), handle, nullptr, type, nb::device::cuda::value,
                                  self.batch->device()));
  return nb::cast(
      nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), handle, nullptr, type, nb::device::cpu::value));
}

std::size_t address(PyWorldBatch& self, const std::string& name) {
  return reinterpret_cast<std::size_t>(Numbered(name).data(self));
}

void step(PyWorldBatch& self, int count) {
  if (count < 0) throw Error("step({}); give the number of steps", count);
  const Guard guard(self.busy, "batch");
  constexpr int kBetweenSignals = 32;
  for (int done = 0; done < count;) {
    const int now = std::min(count - done, self.on_gpu ? count : kBetweenSignals);
    {
      const nb::gil_scoped_release release;
      run([&] { self.batch->step(now); });
    }
    done += now;
    if (done < count && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void write(PyWorldBatch& self, const std::string& name, const Numbers& source) {
  const Guard guard(self.busy, "batch");
  const gpu::BatchField field = find(kFields, name, "field").field;
  if (field > gpu::BatchField::kAppliedForce && field != gpu::BatchField::kLoopCoordinates)
    throw Error("{} of a batch cannot be written", name);
  const auto columns = static_cast<std::size_t>(width_of(self.batch->sizes(), field));
  const auto worlds = static_cast<std::size_t>(self.batch->worlds());
  const std::vector<double>& values = source.values();
  if (values.size() != 1 && values.size() != columns && values.size() != worlds * columns)
    throw Error("{} has shape {}; give one number, {} for all worlds, or {} x {}", name, source.shape_text(), columns,
                worlds, columns);
  std::vector<double> all(worlds * columns);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = values.size() == 1 ? values[0] : values[values.size() == columns ? i % columns : i];
  run([&] { self.batch->write(field, all.data()); });
}

nb::object copy_of(PyWorldBatch& self, const std::string& name) {
  const Guard guard(self.busy, "batch");
  const Numbered which(name);
  const std::vector<std::size_t> shape = which.shape(*self.batch);
  const std::size_t size = shape.size() == 2 ? shape[0] * shape[1] : shape[0];
  const auto make = [&]<typename T>(T, const auto& read) {
    auto* memory = new T[std::max<std::size_t>(size, 1)];
    const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    run([&] { read(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, shape.size(), shape.data(), owner));
  };
  if (!which.field) return make(double(), [&](double* x) { self.batch->parameter(which.parameter, x); });
  if (which.counts()) return make(int(), [&](int* x) { self.batch->read(*which.field, x); });
  return make(double(), [&](double* x) { self.batch->read(*which.field, x); });
}

int parameter_width(const PyWorldBatch& self, const std::string& name) {
  return gpu::parameter_width(self.batch->sizes(), find(kParameters, name, "parameter").parameter);
}

void set_parameter(PyWorldBatch& self, const std::string& name, const std::optional<Numbers>& source) {
  const Guard guard(self.busy, "batch");
  const gpu::WorldParameter parameter = find(kParameters, name, "parameter").parameter;
  if (!source) return run([&] { self.batch->set_parameter(parameter, nullptr); });
  const auto width = static_cast<std::size_t>(gpu::parameter_width(self.batch->sizes(), parameter));
  const auto worlds = static_cast<std::size_t>(self.batch->worlds());
  const std::vector<double>& values = source->values();
  if (values.size() != width && values.size() != worlds * width)
    throw Error("{} has shape {}; give {} numbers for all worlds, or {} x {}", name, source->shape_text(), width,
                worlds, width);
  std::vector<double> all(worlds * width);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = values[values.size() == width ? i % width : i];
  run([&] { self.batch->set_parameter(parameter, all.data()); });
}

const std::string& shape_name(const PyWorldBatch& self, int shape) {
  return self.model->shapes[static_cast<std::size_t>(self.arrays.shape_element[static_cast<std::size_t>(shape)])].name;
}

// Which shapes the columns of friction and restitution are of, by their names.
nb::list pairs(const PyWorldBatch& self) {
  nb::list names;
  for (std::size_t k = 0; k < self.arrays.pair_a.size(); ++k)
    names.append(nb::make_tuple(shape_name(self, self.arrays.pair_a[k]), shape_name(self, self.arrays.pair_b[k])));
  return names;
}

// Those of the columns of shape_size.
nb::list shapes(const PyWorldBatch& self) {
  nb::list names;
  for (int k = 0; k < self.arrays.sizes.shapes; ++k) names.append(shape_name(self, k));
  return names;
}

// Name, first column and number of columns of each sensor.
nb::list sensor_columns(const PyWorldBatch& self) {
  nb::list columns;
  for (std::size_t k = 0; k < static_cast<std::size_t>(self.arrays.sizes.sensors); ++k) {
    const int first = self.arrays.sensor_start[k];
    columns.append(nb::make_tuple(self.model->sensors[k].name, first, self.arrays.sensor_start[k + 1] - first));
  }
  return columns;
}

}  // namespace

void bind_world_batch(nb::module_& m) {
  m.def("batch_complaints", &complaints_of, nb::arg("model"), nb::kw_only(), nb::arg("dt") = 0.0, nb::arg("options"),
        nb::sig(
            "def batch_complaints(model: Model, *, dt: float = 0.0, **options: bool | int | float | str) -> list[str]"),
        "What of a model with these options of a batch a device cannot do yet, one phrase each; empty: it will do.");
  nb::class_<PyWorldBatch> batch(m, "WorldBatch",
                                 "Worlds by the code of a GPU; use touchstone.Batch(..., device=...).");
  bind_world_resets(batch);
  batch
      .def("__init__", &construct, nb::arg("model"), nb::arg("worlds"), nb::kw_only(), nb::arg("library") = "",
           nb::arg("dt") = 0.0, nb::arg("options"),
           nb::sig("def __init__(self, model: Model, worlds: int, *, library: str = '', dt: float = 0.0, **options: "
                   "bool | int | float | str) -> None"))
      .def_prop_ro("worlds", [](const PyWorldBatch& self) { return self.batch->worlds(); })
      .def_prop_ro(
          "device", [](const PyWorldBatch& self) { return self.batch->device(); },
          "Number of the GPU; -1: the processor.")
      .def_prop_ro("loop_numbers", [](const PyWorldBatch& self) { return self.batch->sizes().loop_numbers; })
      .def_prop_ro("model", [](const PyWorldBatch& self) { return PyModel{self.model}; })
      .def_prop_ro("kernels", [](const PyWorldBatch& self) { return self.batch->kernels(); })
      .def("step", &step, nb::arg("count"))
      .def("shape", &shape, nb::arg("name"), "Of a field or a parameter, by name, as in tensor, address and copy.")
      .def("tensor", &tensor, nb::arg("name"))
      .def("address", &address, nb::arg("name"))
      .def("write", &write, nb::arg("field"), nb::arg("values"))
      .def("copy", &copy_of, nb::arg("name"))
      .def("set_parameter", &set_parameter, nb::arg("name"), nb::arg("values").none())
      .def("parameter_width", &parameter_width, nb::arg("name"), "Numbers of a world; no other names than parameters'.")
      .def("forget",
           [](PyWorldBatch& self) {
             const Guard guard(self.busy, "batch");
             run([&] { self.batch->forget(); });
           })
      .def(
          "use_stream",
          [](PyWorldBatch& self, std::uintptr_t stream) {
            const Guard guard(self.busy, "batch");
            run([&] { self.batch->use_stream(reinterpret_cast<void*>(stream)); });
          },
          nb::arg("stream"))
      .def("synchronize", [](PyWorldBatch& self) { run([&] { self.batch->synchronize(); }); })
      .def("tiers",
           [](PyWorldBatch& self) {
             const Guard guard(self.busy, "batch");
             const gpu::TierCounts tiers = run([&] { return self.batch->tiers(); });
             return std::pair(tiers.second, tiers.third);
           })
      .def("observe",
           [](PyWorldBatch& self) {
             const Guard guard(self.busy, "batch");
             run([&] { self.batch->observe(); });
           })
      .def("sensor_complaints", [](const PyWorldBatch& self) { return self.unread_sensors; })
      .def("sensor_columns", &sensor_columns)
      .def("shapes", &shapes)
      .def("pairs", &pairs);
}

}  // namespace touchstone::python

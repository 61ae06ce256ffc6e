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
#include "touchstone/base/error.hpp"
#include "touchstone/gpu/backend.hpp"
#include "touchstone/sim/model_arrays.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/sensor_arrays.hpp"

namespace touchstone::python {
namespace {

struct PyWorldBatch {
  ModelPtr model;
  gpu::ModelArrays arrays;
  std::unique_ptr<gpu::WorldBatch> batch;
  std::vector<std::string> unread_sensors;  // why there are none
  bool on_gpu = false;
  std::atomic<bool> busy{false};
};

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

// Runs native code of the batch; its errors name the batch's methods.
template <typename Work>
auto run(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::runtime_error& error) {
    throw Error("{}", error.what());
  }
}

// Options of the batch are taken from `named`; what is left goes to the model's settings.
void construct(PyWorldBatch* self, const PyModel& model, int worlds, const std::string& library, double dt,
               const nb::kwargs& named) {
  SimulatorOptions o;
  o.time_step = dt;
  gpu::BatchOptions options;
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
  set_options(o, rest);
  new (self) PyWorldBatch();
  try {
    self->model = model.ptr;
    self->arrays = make_model_arrays(*model.ptr, o);
    self->unread_sensors = unsupported_sensors(*model.ptr, o);
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

// A field where it lies: numpy's array on the processor, a DLPack capsule on a GPU.
nb::object tensor(Handle handle, const std::string& name) {
  auto& self = nb::cast<PyWorldBatch&>(handle);
  const gpu::BatchField field = find(kFields, name, "field").field;
  const int width = width_of(self.batch->sizes(), field);
  const std::size_t shape[2] = {static_cast<std::size_t>(self.batch->worlds()), static_cast<std::size_t>(width)};
  const std::size_t dimensions = is_matrix(field) ? 2 : 1;
  void* data = run([&] { return self.batch->data(field); });
  const int device = self.on_gpu ? nb::device::cuda::value : nb::device::cpu::value;
  const bool counts = field >= gpu::BatchField::kStatus;
  const nb::dlpack::dtype type = counts ? nb::dtype<int>() : nb::dtype<double>();
  if (self.on_gpu) return nb::cast(nb::ndarray<>(data, dimensions, shape, handle, nullptr, type, device));
  return nb::cast(nb::ndarray<nb::numpy>(data, dimensions, shape, handle, nullptr, type, device));
}

std::size_t address(PyWorldBatch& self, const std::string& name) {
  return reinterpret_cast<std::size_t>(run([&] { return self.batch->data(find(kFields, name, "field").field); }));
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

nb::object copy_of(Handle handle, const std::string& name) {
  auto& self = nb::cast<PyWorldBatch&>(handle);
  const gpu::BatchField field = find(kFields, name, "field").field;
  const auto worlds = static_cast<std::size_t>(self.batch->worlds());
  const auto columns = static_cast<std::size_t>(width_of(self.batch->sizes(), field));
  const bool matrix = is_matrix(field);
  const std::size_t shape[2] = {worlds, columns}, size = matrix ? worlds * columns : worlds;
  const auto make = [&]<typename T>(T) {
    auto* memory = new T[std::max<std::size_t>(size, 1)];
    const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    run([&] { self.batch->read(field, memory); });
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, matrix ? 2 : 1, shape, owner));
  };
  return field >= gpu::BatchField::kStatus ? make(int()) : make(double());
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

Copy2 parameter(const PyWorldBatch& self, const std::string& name) {
  const gpu::WorldParameter which = find(kParameters, name, "parameter").parameter;
  const int width = gpu::parameter_width(self.batch->sizes(), which);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows(self.batch->worlds(), width);
  run([&] { self.batch->parameter(which, rows.data()); });
  return copy_matrix(rows);
}

using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void reset(PyWorldBatch& self, const std::optional<Mask>& mask, const std::optional<Numbers>& q,
           const std::optional<Numbers>& v, double noise_q, double noise_v, std::uint64_t seed) {
  const Guard guard(self.busy, "batch");
  const gpu::ModelSizes& n = self.batch->sizes();
  const auto worlds = static_cast<std::size_t>(self.batch->worlds());
  if (mask && mask->shape(0) != worlds)
    throw Error("mask has {} entries; give one for each of the {} worlds", mask->shape(0), worlds);
  if (!(noise_q >= 0.0) || !(noise_v >= 0.0)) throw Error("noise {} and {}; give numbers from 0", noise_q, noise_v);
  std::vector<double> rows_q, rows_v;
  const auto spread = [&](const std::optional<Numbers>& given, int width, const char* name, std::vector<double>& all) {
    if (!given) return static_cast<const double*>(nullptr);
    const std::vector<double>& values = given->values();
    const auto columns = static_cast<std::size_t>(width);
    if (values.size() != columns && values.size() != worlds * columns)
      throw Error("{} has shape {}; give {} numbers for all worlds, or {} x {}", name, given->shape_text(), width,
                  worlds, width);
    all.resize(worlds * columns);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = values[values.size() == columns ? i % columns : i];
    return static_cast<const double*>(all.data());
  };
  gpu::ResetRequest request;
  request.mask = mask ? reinterpret_cast<const unsigned char*>(mask->data()) : nullptr;
  request.q = spread(q, n.nq, "q", rows_q);
  request.v = spread(v, n.nv, "v", rows_v);
  request.noise_q = noise_q;
  request.noise_v = noise_v;
  request.seed = seed;
  run([&] { self.batch->reset(request); });
}

// Addresses in the memory of a GPU; 0: none.
void reset_on_device(PyWorldBatch& self, std::uintptr_t mask, std::uintptr_t q, std::uintptr_t v, double noise_q,
                     double noise_v, std::uint64_t seed) {
  const Guard guard(self.busy, "batch");
  gpu::ResetRequest request;
  request.mask = reinterpret_cast<const unsigned char*>(mask);
  request.q = reinterpret_cast<const double*>(q);
  request.v = reinterpret_cast<const double*>(v);
  request.noise_q = noise_q;
  request.noise_v = noise_v;
  request.seed = seed;
  request.in_batch_memory = true;
  run([&] { self.batch->reset(request); });
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
  m.def(
      "batch_complaints", [](const PyModel& model) { return unsupported_features(*model.ptr); }, nb::arg("model"),
      "What of a model a batch on a device cannot do yet, one phrase each; empty: it will do.");
  nb::class_<PyWorldBatch>(m, "WorldBatch", "Worlds by the code of a GPU; use touchstone.Batch(..., device=...).")
      .def("__init__", &construct, nb::arg("model"), nb::arg("worlds"), nb::kw_only(), nb::arg("library") = "",
           nb::arg("dt") = 0.0, nb::arg("options"),
           nb::sig("def __init__(self, model: Model, worlds: int, *, library: str = '', dt: float = 0.0, **options: "
                   "bool | int | float | str) -> None"))
      .def_prop_ro("worlds", [](const PyWorldBatch& self) { return self.batch->worlds(); })
      .def_prop_ro("loop_numbers", [](const PyWorldBatch& self) { return self.batch->sizes().loop_numbers; })
      .def_prop_ro("model", [](const PyWorldBatch& self) { return PyModel{self.model}; })
      .def_prop_ro("kernels", [](const PyWorldBatch& self) { return self.batch->kernels(); })
      .def("step", &step, nb::arg("count"))
      .def("tensor", &tensor, nb::arg("field"))
      .def("address", &address, nb::arg("field"))
      .def("write", &write, nb::arg("field"), nb::arg("values"))
      .def("copy", &copy_of, nb::arg("field"))
      .def("set_parameter", &set_parameter, nb::arg("name"), nb::arg("values").none())
      .def("parameter", &parameter, nb::arg("name"))
      .def("reset", &reset, nb::arg("mask").none(), nb::arg("q").none(), nb::arg("v").none(), nb::arg("noise_q"),
           nb::arg("noise_v"), nb::arg("seed"))
      .def("reset_on_device", &reset_on_device, nb::arg("mask"), nb::arg("q"), nb::arg("v"), nb::arg("noise_q"),
           nb::arg("noise_v"), nb::arg("seed"))
      .def("forget", [](PyWorldBatch& self) { run([&] { self.batch->forget(); }); })
      .def(
          "use_stream",
          [](PyWorldBatch& self, std::uintptr_t stream) {
            run([&] { self.batch->use_stream(reinterpret_cast<void*>(stream)); });
          },
          nb::arg("stream"))
      .def("synchronize", [](PyWorldBatch& self) { run([&] { self.batch->synchronize(); }); })
      .def("tiers",
           [](const PyWorldBatch& self) {
             const gpu::TierCounts tiers = run([&] { return self.batch->tiers(); });
             return std::pair(tiers.second, tiers.third);
           })
      .def("observe", [](PyWorldBatch& self) { run([&] { self.batch->observe(); }); })
      .def("sensor_complaints", [](const PyWorldBatch& self) { return self.unread_sensors; })
      .def("sensor_columns", &sensor_columns)
      .def("shapes", &shapes)
      .def("pairs", &pairs);
}

}  // namespace touchstone::python

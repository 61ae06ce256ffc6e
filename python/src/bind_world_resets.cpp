// Resets of touchstone.DeviceBatch: to states of the processor or of a GPU, and to keyframes.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "world_batch.hpp"

namespace touchstone::python {
namespace {

using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Noise {
  double q = 0.0, v = 0.0;
  std::uint64_t seed = 0;

  gpu::ResetRequest request() const {
    if (!(q >= 0.0) || !(v >= 0.0)) throw Error("noise {} and {}; give numbers from 0", q, v);
    return {.noise_q = q, .noise_v = v, .seed = seed};
  }
};

// Null: all worlds.
const unsigned char* flags_of(const PyWorldBatch& self, const std::optional<Mask>& mask) {
  const auto worlds = static_cast<std::size_t>(self.batch->worlds());
  if (mask && mask->shape(0) != worlds)
    throw Error("mask has {} entries; give one for each of the {} worlds", mask->shape(0), worlds);
  return mask ? reinterpret_cast<const unsigned char*>(mask->data()) : nullptr;
}

void reset(PyWorldBatch& self, const std::optional<Mask>& mask, const std::optional<Numbers>& q,
           const std::optional<Numbers>& v, double noise_q, double noise_v, std::uint64_t seed) {
  const Guard guard(self.busy, "batch");
  const gpu::ModelSizes& n = self.batch->sizes();
  const auto worlds = static_cast<std::size_t>(self.batch->worlds());
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
  gpu::ResetRequest request = Noise{noise_q, noise_v, seed}.request();
  request.mask = flags_of(self, mask);
  request.q = spread(q, n.nq, "q", rows_q);
  request.v = spread(v, n.nv, "v", rows_v);
  run([&] { self.batch->reset(request); });
}

std::vector<double> repeated(const VectorX& row, int worlds) {
  std::vector<double> all;
  for (int w = 0; w < worlds; ++w) all.insert(all.end(), row.begin(), row.end());
  return all;
}

// Position and quaternion (w first) of each.
VectorX poses_of(const std::vector<Transform>& mocap) {
  VectorX poses(7 * std::ssize(mocap));
  for (Eigen::Index k = 0; k < std::ssize(mocap); ++k) {
    const Transform& X = mocap[static_cast<std::size_t>(k)];
    poses.segment<7>(7 * k) << X.position, X.rotation.w(), X.rotation.vec();
  }
  return poses;
}

// As Simulator::reset: all that a keyframe says, after what else a reset forgets.
void reset_to_keyframe(PyWorldBatch& self, const std::optional<Mask>& mask, const Reference& keyframe, double noise_q,
                       double noise_v, std::uint64_t seed) {
  const Guard guard(self.busy, "batch");
  const int index = find_index(*self.model, ElementKind::kKeyframe, keyframe);
  const Keyframe& key = self.model->keyframes[static_cast<std::size_t>(index)];
  const int worlds = self.batch->worlds();
  const unsigned char* flags = flags_of(self, mask);
  const std::vector<double> q = repeated(key.q, worlds), v = repeated(key.v, worlds);
  gpu::ResetRequest request = Noise{noise_q, noise_v, seed}.request();
  request.mask = flags;
  request.q = q.data();
  request.v = v.data();
  std::vector<double> all;
  // The row in the worlds that are reset, others as they are. Where nothing changes nothing is written: parameters of
  // their own make worlds slower.
  const auto put = [&](const VectorX& row, const auto& read, const auto& write) {
    const auto width = static_cast<std::size_t>(row.size());
    if (width == 0) return;
    all.resize(static_cast<std::size_t>(worlds) * width);
    read(all.data());
    bool changes = false;
    for (std::size_t w = 0; w < static_cast<std::size_t>(worlds); ++w) {
      double* own = all.data() + w * width;
      if ((flags != nullptr && flags[w] == 0) || std::equal(row.begin(), row.end(), own)) continue;
      std::copy(row.begin(), row.end(), own);
      changes = true;
    }
    if (changes) write(all.data());
  };
  const auto put_field = [&](gpu::BatchField field, const VectorX& row) {
    put(
        row, [&](double* x) { self.batch->read(field, x); }, [&](const double* x) { self.batch->write(field, x); });
  };
  run([&] {
    self.batch->reset(request);
    put_field(gpu::BatchField::kControl, key.control);
    put_field(gpu::BatchField::kActivation, key.activation);
    put_field(gpu::BatchField::kTime, VectorX::Constant(1, key.time));
    put_field(gpu::BatchField::kLoopCoordinates, key.loop_q);
    constexpr gpu::WorldParameter kPose = gpu::WorldParameter::kMocapPose;
    put(
        poses_of(key.mocap), [&](double* x) { self.batch->parameter(kPose, x); },
        [&](const double* x) { self.batch->set_parameter(kPose, x); });
  });
}

// Addresses in the memory of a GPU; 0: none.
void reset_on_device(PyWorldBatch& self, std::uintptr_t mask, std::uintptr_t q, std::uintptr_t v, double noise_q,
                     double noise_v, std::uint64_t seed) {
  const Guard guard(self.busy, "batch");
  if (!self.on_gpu) throw Error("this batch is on the processor and cannot look into the memory of a GPU");
  gpu::ResetRequest request = Noise{noise_q, noise_v, seed}.request();
  request.mask = reinterpret_cast<const unsigned char*>(mask);
  request.q = reinterpret_cast<const double*>(q);
  request.v = reinterpret_cast<const double*>(v);
  request.in_batch_memory = true;
  run([&] { self.batch->reset(request); });
}

}  // namespace

void bind_world_resets(nb::class_<PyWorldBatch>& batch) {
  batch
      .def("reset", &reset, nb::arg("mask").none(), nb::arg("q").none(), nb::arg("v").none(), nb::arg("noise_q"),
           nb::arg("noise_v"), nb::arg("seed"))
      .def("reset_to_keyframe", &reset_to_keyframe, nb::arg("mask").none(), nb::arg("keyframe"), nb::arg("noise_q"),
           nb::arg("noise_v"), nb::arg("seed"))
      .def("reset_on_device", &reset_on_device, nb::arg("mask"), nb::arg("q"), nb::arg("v"), nb::arg("noise_q"),
           nb::arg("noise_v"), nb::arg("seed"));
}

}  // namespace touchstone::python

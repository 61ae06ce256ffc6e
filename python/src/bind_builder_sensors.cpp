// ModelBuilder: sensors and keyframes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "builder.hpp"

namespace touchstone::python {
namespace {

// Frames that sensors may be attached to and measured against.
FrameType frame_argument(const std::string& name) {
  for (const FrameType type : {FrameType::kBody, FrameType::kBodyInertial, FrameType::kShape, FrameType::kSite}) {
    if (to_string(type) == name) return type;
  }
  throw Error("frame '{}'; give body, inertial frame, shape or site", name);
}

int find_frame(const ModelBuilder& b, FrameType type, const Reference& reference) {
  switch (type) {
    case FrameType::kNone:
      break;
    case FrameType::kBody:
    case FrameType::kBodyInertial:
      return resolve(b.bodies(), reference, "body");
    case FrameType::kShape:
      return resolve(b.shapes(), reference, "shape");
    case FrameType::kSite:
      return resolve(b.sites(), reference, "site");
    case FrameType::kJoint:
      return resolve(b.joints(), reference, "joint");
    case FrameType::kTendon:
      return resolve(b.tendons(), reference, "tendon");
    case FrameType::kActuator:
      return resolve(b.actuators(), reference, "actuator");
  }
  return -1;
}

SensorType sensor_type(const std::string& name) {
  if (const std::optional<SensorType> type = find_sensor_type(name)) return *type;
  std::string names;
  for (int i = 0; i <= static_cast<int>(SensorType::kKineticEnergy); ++i) {
    names += (i == 0 ? "" : ", ") + std::string(to_string(static_cast<SensorType>(i)));
  }
  throw Error("sensor type '{}'; there are: {}", name, names);
}

int add_sensor(ModelBuilder& b, const std::string& name, const std::string& type, const MaybeReference& object,
               const std::string& frame, const MaybeReference& reference, const std::string& reference_frame,
               double noise, double cutoff) {
  Sensor sensor;
  sensor.name = name;
  sensor.type = sensor_type(type);
  const std::optional<FrameType> kind = sensor_object(sensor.type);
  sensor.object_type = kind ? *kind : frame_argument(frame);
  const bool has_object = sensor.object_type != FrameType::kNone;
  if (has_object && !object) throw Error("sensor '{}': a {} needs a {}", name, type, to_string(sensor.object_type));
  if (!has_object && object) throw Error("sensor '{}': a {} is attached to nothing", name, type);
  if (object) sensor.object = find_frame(b, sensor.object_type, *object);
  if (reference) {
    if (kind) throw Error("sensor '{}': only sensors of frames have a reference", name);
    sensor.reference_type = frame_argument(reference_frame);
    sensor.reference = find_frame(b, sensor.reference_type, *reference);
  }
  sensor.noise = noise;
  sensor.cutoff = cutoff;
  return b.add_sensor(std::move(sensor));
}

int add_keyframe(ModelBuilder& b, const std::string& name, const MaybeNumbers& q, const MaybeNumbers& v,
                 const MaybeNumbers& control, const MaybeNumbers& activation, const MaybeNumbers& mocap,
                 const MaybeNumbers& loop_q, double time) {
  Keyframe keyframe;
  keyframe.name = name;
  keyframe.time = time;
  if (q) keyframe.q = q->vector("q");
  if (v) keyframe.v = v->vector("v");
  if (control) keyframe.control = control->vector("control");
  if (activation) keyframe.activation = activation->vector("activation");
  if (loop_q) keyframe.loop_q = loop_q->vector("loop_q");
  if (mocap) {
    const MatrixX poses = mocap->matrix("mocap");
    if (poses.cols() != 7) throw Error("mocap has shape {}, expected n x 7", mocap->shape_text());
    for (Eigen::Index i = 0; i < poses.rows(); ++i) {
      const Quaternion rotation(poses(i, 3), poses(i, 4), poses(i, 5), poses(i, 6));
      if (!(rotation.norm() > 0.0)) throw Error("mocap: the quaternion of row {} has no length", i);
      keyframe.mocap.push_back({poses.row(i).head<3>().transpose(), rotation.normalized()});
    }
  }
  return b.add_keyframe(std::move(keyframe));
}

}  // namespace

void bind_builder_sensors(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_sensor", &add_sensor, nb::arg("name"), nb::arg("type"), nb::arg("object") = nb::none(), nb::kw_only(),
           nb::arg("frame") = "body", nb::arg("reference") = nb::none(), nb::arg("reference_frame") = "body",
           nb::arg("noise") = 0.0, nb::arg("cutoff") = 0.0,
           "A sensor by MJCF's name of its type: 'jointpos', 'tendonvel', 'actuatorfrc', 'gyro', 'touch', 'framepos', "
           "'subtreecom', 'clock', ... object: the joint, tendon, actuator, site or body that the type asks for. "
           "Sensors of frames ('framepos', 'framelinvel', ...) take the kind of object in frame ('body', 'inertial "
           "frame', 'shape' or 'site') and may be measured in a reference of the kind reference_frame. cutoff: larger "
           "readings are cut (0: none). SI units; Simulator.sensor reads it.")
      .def("add_keyframe", &add_keyframe, nb::arg("name"), nb::kw_only(), nb::arg("q") = nb::none(),
           nb::arg("v") = nb::none(), nb::arg("control") = nb::none(), nb::arg("activation") = nb::none(),
           nb::arg("mocap") = nb::none(), nb::arg("loop_q") = nb::none(), nb::arg("time") = 0.0,
           "A named state; see Simulator.reset. mocap: a row [x y z (m), qw qx qy qz] for each mocap body; loop_q: "
           "coordinates of loop joints, with the turns of angles (State.loop_q); time: s. "
           "What is not given has its default.");
}

}  // namespace touchstone::python

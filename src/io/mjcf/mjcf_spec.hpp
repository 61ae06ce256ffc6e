// An MJCF model between parsing and compiling: default classes are already applied and angles are radians, but
// frames are not yet resolved and elements still refer to each other by name, so that subtrees can be copied
// (replicate, attach).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/io/load_options.hpp"
#include "touchstone/io/notes.hpp"
#include "touchstone/model/elements.hpp"

namespace touchstone::mjcf {

enum class Switch { kFalse, kTrue, kAuto };

// The settings of <compiler> that matter after parsing. Elements of an attached model keep those of their file.
struct CompilerOptions {
  bool degree = true;
  std::string euler_sequence = "xyz";
  std::string mesh_folder, texture_folder;
  bool strip_path = false;
  bool auto_limits = true;
  Switch inertia_from_geom = Switch::kAuto;
  int first_inertia_group = 0, last_inertia_group = 5;
  bool balance_inertia = false;
  double bound_mass = 0.0, bound_inertia = 0.0;
  double total_mass = -1.0;
  bool fit_aabb = false;
  bool align_free = false;
};
using CompilerPtr = std::shared_ptr<const CompilerOptions>;

// A pose as written: an alternative notation (euler, axisangle, ...) wins over quat, also when inherited.
struct PoseSpec {
  Vector3 position = Vector3::Zero();
  Quaternion quaternion = Quaternion::Identity();
  std::optional<Quaternion> alternative;

  Transform transform() const { return {position, (alternative ? *alternative : quaternion).normalized()}; }
};

struct LimitSpec {
  Switch limited = Switch::kAuto;
  Vector2 range = Vector2::Zero();
};

struct FrameSpec {
  std::string name;
  int parent = -1;  // frame of the same body
  Transform pose;
};

struct JointSpec {
  int id = 0;  // identity for keyframes, since names are optional
  int frame = -1;
  Joint joint;
  LimitSpec limit, actuator_force_limit;
  Vector2 spring_damper = Vector2::Zero();
  Switch align = Switch::kAuto;
};

enum class GeomType { kPlane, kHeightField, kSphere, kCapsule, kEllipsoid, kCylinder, kBox, kMesh, kSdf };

struct GeomSpec {
  int frame = -1;
  ShapeElement element;  // without pose, shape and color
  CompilerPtr compiler;
  GeomType type = GeomType::kSphere;
  Vector3 size = Vector3::Zero();
  PoseSpec pose;
  std::optional<std::array<double, 6>> fromto;
  std::optional<double> mass;
  double density = 1000.0;
  bool shell_inertia = false;
  double fit_scale = 1.0;
  std::string mesh, height_field, material;
  Eigen::Vector4d rgba{0.5, 0.5, 0.5, 1.0};
};

struct SiteSpec {
  int frame = -1;
  Site site;  // without pose, shape and color
  GeomType type = GeomType::kSphere;
  Vector3 size = Vector3::Constant(0.005);
  PoseSpec pose;
  std::optional<std::array<double, 6>> fromto;
  std::string material;
  std::string mesh;
  Eigen::Vector4d rgba{0.5, 0.5, 0.5, 1.0};
};

struct InertialSpec {
  int frame = -1;
  PoseSpec pose;
  double mass = 0.0;
  Vector3 diagonal = Vector3::Zero();
  std::optional<std::array<double, 6>> full;
  Origin origin;
};

struct BodySpec {
  int id = 0;  // identity for keyframes
  std::string name;
  int frame = -1;  // of the parent body
  PoseSpec pose;
  bool mocap = false;
  double gravity_compensation = 0.0;
  SleepPolicy sleep = SleepPolicy::kAuto;
  std::optional<InertialSpec> inertial;
  std::vector<FrameSpec> frames;
  std::vector<JointSpec> joints;
  std::vector<GeomSpec> geoms;
  std::vector<SiteSpec> sites;
  std::vector<int> children;  // into ModelSpec::bodies
  CompilerPtr compiler;
  Origin origin;
};

// --- assets -------------------------------------------------------------------------------------------------

struct MeshSpec {
  std::string name;
  std::string file;  // resolved, empty for inline vertices
  std::string content_type;
  std::vector<double> vertices;
  std::vector<int> faces;
  Vector3 scale = Vector3::Ones();
  Vector3 reference_position = Vector3::Zero();
  Quaternion reference_rotation = Quaternion::Identity();
  MeshInertia inertia = MeshInertia::kLegacy;
  std::string material;
  bool refused = false;  // of a kind that is not supported
  Origin origin;
};

struct HeightFieldSpec {
  std::string name;
  std::string file;  // resolved, empty for inline data
  std::string content_type;
  int rows = 0, columns = 0;
  std::array<double, 4> size{};
  std::vector<double> elevation;  // in file order: the first row is the one of largest y
  Origin origin;
};

struct TextureSpec {
  std::string name;
  std::string file;
  Origin origin;
};

struct MaterialSpec {
  VisualMaterial material;  // texture_file is filled by the compiler
  std::string texture;
  Origin origin;
};

// --- what refers to the tree ----------------------------------------------------------------------------------

enum class Kind { kNone, kBody, kInertialBody, kJoint, kGeom, kSite, kTendon, kActuator };

struct Reference {
  Kind kind = Kind::kNone;
  std::string name;
};

struct PairSpec {
  ContactPair pair;
  std::string geom1, geom2;
};

struct ExcludeSpec {
  ContactExclusion exclusion;
  std::string body1, body2;
};

struct EqualitySpec {
  Equality equality;
  Reference first, second;  // bodies, sites, joints or tendons
  Vector3 anchor = Vector3::Zero();
  std::optional<std::array<double, 7>> relative_pose;
};

struct TendonSpec {
  Tendon tendon;
  std::vector<std::string> joints;  // one for each term
  std::vector<double> coefficients;
  LimitSpec limit, actuator_force_limit;
  CompilerPtr compiler;
};

enum class Shortcut { kNone, kGeneral, kMotor, kPosition, kVelocity, kIntVelocity, kDamper, kCylinder };

// Pulls its target to the position that the control gives.
inline bool is_position_servo(const Actuator& actuator) {
  return actuator.gain_type == ActuatorGain::kFixed && actuator.bias_type == ActuatorBias::kAffine &&
         actuator.gain[0] == -actuator.bias[1];
}

struct ActuatorSpec {
  int id = 0;
  Actuator actuator;
  Shortcut shortcut = Shortcut::kNone;  // how it was written
  Reference target, second;             // second: reference site or slider site
  LimitSpec control, force, activation;
  double inherit_range = 0.0;
  std::array<double, 3> damping{};
  double armature = 0.0;
  CompilerPtr compiler;
};

struct SensorSpec {
  Sensor sensor;
  Reference object, reference;
};

// Values of single joints, actuators and mocap bodies, by identity: what is left of an attached model's keyframe.
struct KeyframeParts {
  std::map<int, std::vector<double>> joint_q, joint_v, activation, control, mocap;
};

struct KeyframeSpec {
  std::string name;
  double time = 0.0;
  std::vector<double> q, v, activation, control, mocap_position, mocap_rotation;  // as written
  std::optional<KeyframeParts> parts;                                             // instead of the above
  Origin origin;
};

struct ModelSpec {
  std::string name = "MuJoCo Model";
  std::string file;
  CompilerPtr compiler;
  SimulationOptions options;
  Vector3 gravity{0.0, 0.0, -9.81};

  std::deque<BodySpec> bodies;  // [0] is the world; not all others are reachable from it
  std::vector<MeshSpec> meshes;
  std::vector<HeightFieldSpec> height_fields;
  std::vector<TextureSpec> textures;
  std::vector<MaterialSpec> materials;
  std::vector<PairSpec> pairs;
  std::vector<ExcludeSpec> excludes;
  std::vector<EqualitySpec> equalities;
  std::vector<TendonSpec> tendons;
  std::vector<ActuatorSpec> actuators;
  std::vector<SensorSpec> sensors;
  std::vector<KeyframeSpec> keyframes;
  WarningList warnings;
  // Names of things that were dropped because of LoadOptions::allow_ignored; what refers to them goes too.
  std::vector<Reference> dropped;
};

}  // namespace touchstone::mjcf

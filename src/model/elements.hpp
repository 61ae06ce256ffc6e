// The elements a model is made of, as the builder takes them and the model keeps them.
//
// References between elements are indices: `int body` is an index into the bodies of the builder or model,
// and so on; -1 means "none". SI units and radians throughout.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/geometry/shape.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

// --- where an element came from -------------------------------------------------------------------------

using Origin = SourceLocation;  // file, line, element; empty for elements made in code

// Something a loader or the builder wants the user to know; the model keeps the list.
struct Warning {
  Origin origin;
  std::string message;
};

// --- bodies and joints -----------------------------------------------------------------------------------

// Whether a body may fall asleep with what it touches (docs/simulator.md).
enum class SleepPolicy {
  kAuto,     // yes
  kNever,    // nor does anything that it touches
  kAllowed,  // yes
  kInit,     // and it is asleep at the start, if it stays where it is
};
std::string_view to_string(SleepPolicy policy);  // MJCF's name of it

struct Body {
  std::string name;                   // unique; empty: the builder makes one
  int parent = 0;                     // 0 is the world
  Transform pose;                     // X_PB at the reference configuration
  MassProperties inertia;             // in the body frame
  double gravity_compensation = 0.0;  // 1 cancels gravity
  bool mocap = false;                 // moved by the user through State::mocap; child of the world without joints
  // The fixed base that the body is mounted on by its joints (see ShapeElement::fixed_base), 0 for none. The rule that
  // parent and child do not collide then holds although the parent does not move.
  int fixed_base = 0;
  SleepPolicy sleep = SleepPolicy::kAuto;
  Origin origin;
};

enum class JointType { kFree, kBall, kHinge, kSlide, kScrew };

std::string_view to_string(JointType type);
int configuration_size(JointType type);  // entries of q: 7, 4, 1, 1, 1
int dof_count(JointType type);           // entries of v: 6, 3, 1, 1, 1

// MuJoCo's softness of a constraint (solref, solimp), kept for the constraint solvers.
struct Impedance {
  std::array<double, 2> solref{0.02, 1.0};
  std::array<double, 5> solimp{0.9, 0.95, 0.001, 0.5, 2.0};
};

// One joint between a body and its parent. A body may have several; they act in the order they were added.
struct Joint {
  std::string name;
  int body = -1;
  JointType type = JointType::kHinge;
  Vector3 axis = Vector3::UnitZ();   // body frame; hinge, slide, screw
  Vector3 anchor = Vector3::Zero();  // a point of the axis, body frame
  double pitch = 0.0;                // screw: metres of travel per radian
  double reference = 0.0;            // q at which the body has its reference pose; hinge, slide, screw
  bool limited = false;
  Vector2 range = Vector2::Zero();  // rad or m; ball: [0, largest angle]
  double limit_margin = 0.0;
  Impedance limit_impedance;
  double stiffness = 0.0;         // N m/rad or N/m
  double spring_reference = 0.0;  // rest position of the spring
  double damping = 0.0;           // N m s/rad or N s/m, for each dof
  double armature = 0.0;          // kg m^2 or kg, reflected rotor inertia, for each dof
  double friction = 0.0;          // dry friction, N m or N, for each dof
  Impedance friction_impedance;
  bool actuator_force_limited = false;
  Vector2 actuator_force_range = Vector2::Zero();  // of all actuators together
  bool actuator_gravity_compensation = false;      // gravity compensation counts as actuator force
  double velocity_limit = 0.0;                     // URDF; 0 = none
  double effort_limit = 0.0;                       // URDF; 0 = none
  int group = 0;
  Origin origin;
};

// One coordinate and one rate: a hinge, a slide, a screw.
inline bool is_scalar(const Joint& joint) { return dof_count(joint.type) == 1; }

// --- shapes, sites ----------------------------------------------------------------------------------------

// What a surface is made of, for contact.
struct Material {
  Vector3 friction{1.0, 0.005, 0.0001};  // sliding (-), torsional (m), rolling (m)
  double restitution = 0.0;
  double stiffness = 0.0;        // N/m, of Hertz N/m^1.5; 0 = rigid, or as the modulus says
  bool hertz = false;            // the force grows with the power 3/2 of the deformation, not with the deformation
  double youngs_modulus = 0.0;   // Pa; > 0: Hertz, stiffness from it and the curvature of the shapes
  double poisson_ratio = 0.3;    // with the modulus
  double dissipation = 0.0;      // s/m, Hunt-Crossley; solvers lagged and similar
  double relaxation_time = 0.0;  // s, linear damper; solver sap, or linear_damping=true
  Impedance impedance;
  double mixing = 1.0;  // weight of the impedance when two shapes meet (solmix)
  int priority = 0;     // the shape of higher priority decides alone
};

struct ShapeElement {
  std::string name;
  int body = 0;
  Transform pose;  // X_BS
  Shape shape;
  // Two shapes may collide when (type & other.affinity) or (other.type & affinity).
  unsigned contact_type = 1;
  unsigned contact_affinity = 1;
  int contact_dimension = 3;  // 1 frictionless, 3 sliding, 4 torsional, 6 rolling
  double margin = 0.0;
  double gap = 0.0;
  Material material;
  // How the surface moves relative to the body, as that of a conveyor belt or a turntable: the velocity (m/s) where the
  // origin of the shape is, then the angular velocity about it (rad/s), in the shape frame. Friction feels the part of
  // it that is in the plane of a contact, and the spin about its normal.
  Vector6 surface_velocity = Vector6::Zero();
  Eigen::Vector4d color{0.5, 0.5, 0.5, 1.0};
  std::string visual_material;  // name in VisualMaterial, may be empty
  int group = 0;
  bool visual_only = false;  // never collides; for the viewer
  // Of a shape that does not move: the number (1, 2, ...) of the robot's base that it is part of, 0 for one of the
  // surroundings, which collides with everything that moves.
  int fixed_base = 0;
  // Does not collide with shapes that have this flag too and overlap it in the reference configuration: robots whose
  // files were made for drawing have such shapes at their joints (URDF). Surroundings never lose a contact by it.
  bool exclude_overlaps = false;
  Origin origin;
};

struct VisualMaterial {
  std::string name;
  Eigen::Vector4d color{1.0, 1.0, 1.0, 1.0};
  std::string texture_file;
  double specular = 0.5, shininess = 0.5, reflectance = 0.0, emission = 0.0;
};

// A named frame on a body.
struct Site {
  std::string name;
  int body = 0;
  Transform pose;  // X_BF
  Shape shape;     // for display and for touch sensors
  Eigen::Vector4d color{0.5, 0.5, 0.5, 1.0};
  int group = 0;
  Origin origin;
};

// --- contact rules ---------------------------------------------------------------------------------------

struct ContactPair {  // two shapes that collide whatever their filter bits, with their own parameters
  std::string name;
  int shape_a = -1, shape_b = -1;
  int contact_dimension = 3;
  std::array<double, 5> friction{1.0, 1.0, 0.005, 0.0001, 0.0001};
  Impedance impedance;
  double margin = 0.0, gap = 0.0;
  Origin origin;
};

struct ContactExclusion {  // two bodies that never collide
  std::string name;
  int body_a = -1, body_b = -1;
  Origin origin;
};

// --- tendons, equalities ---------------------------------------------------------------------------------

// A fixed tendon: its length is a linear combination of joint positions.
struct Tendon {
  struct Term {
    int joint = -1;  // hinge, slide or screw
    double coefficient = 0.0;
  };
  std::string name;
  std::vector<Term> terms;
  bool limited = false;
  Vector2 range = Vector2::Zero();
  double limit_margin = 0.0;
  Impedance limit_impedance;
  double stiffness = 0.0;
  Vector2 spring_length{-1.0, -1.0};  // dead band of the spring; negative: length at the reference configuration
  double damping = 0.0;
  double armature = 0.0;
  double friction = 0.0;
  Impedance friction_impedance;
  bool actuator_force_limited = false;
  Vector2 actuator_force_range = Vector2::Zero();
  Origin origin;
};

enum class EqualityType { kConnect, kWeld, kJoint, kTendon };
enum class EqualitySides { kBodies, kJoints, kTendons };  // what a type joins

std::string_view to_string(EqualityType type);
EqualitySides sides_of(EqualityType type);

struct Equality {
  std::string name;
  EqualityType type = EqualityType::kConnect;
  bool active = true;
  int a = -1, b = -1;                  // bodies, joints or tendons; b may be -1 (joint: the constant) or 0 (the world)
  Vector3 anchor_a = Vector3::Zero();  // connect: in body a; weld: point in body b at which the pose is measured
  Vector3 anchor_b = Vector3::Zero();  // connect: in body b
  Transform relative_pose;             // weld: X_AB that is held
  double torque_scale = 1.0;           // weld
  std::array<double, 5> polynomial{0, 1, 0, 0, 0};  // joint, tendon: y - y0 = sum c_k (x - x0)^k
  // joint: -1: the side is a joint of a tree; else it is a loop joint, and this is which of its coordinates.
  int coordinate_a = -1, coordinate_b = -1;
  Impedance impedance;
  Origin origin;
};

// --- loop joints -----------------------------------------------------------------------------------------

// What a joint leaves free between two bodies that need not be neighbours in a tree; docs/loops.md says what each type
// constrains and which coordinates it has (model/loop_joint.hpp is the table).
enum class LoopJointType {
  kFixed,
  kRevolute,
  kPrismatic,
  kCylindrical,
  kScrew,
  kUniversal,
  kGimbal,
  kSpherical,
  kPlanar,
  kCartesian,
  kDistance,
  kPointOnLine,
  kPointOnPlane,
};

std::string_view to_string(LoopJointType type);
std::optional<LoopJointType> find_loop_joint_type(std::string_view name);
int coordinate_count(LoopJointType type);

// One coordinate of a loop joint; the fields mean what they mean for a Joint.
struct LoopCoordinate {
  double reference = 0.0;  // its value where both frames coincide
  bool limited = false;
  Vector2 range = Vector2::Zero();  // rad or m; spherical: that of the first, [0, largest angle], is of all
  double limit_margin = 0.0;
  Impedance limit_impedance;
  double stiffness = 0.0;
  double spring_reference = 0.0;
  double damping = 0.0;
  double armature = 0.0;
  double friction = 0.0;
  Impedance friction_impedance;
};

struct LoopJoint {
  std::string name;
  LoopJointType type = LoopJointType::kRevolute;
  bool active = true;
  int body_a = 0, body_b = -1;              // 0 is the world
  Transform frame_a, frame_b;               // X_AF, X_BF: they coincide where all coordinates have their references
  double length = 0.0;                      // distance: m
  double pitch = 0.0;                       // screw: metres of travel per radian
  std::vector<LoopCoordinate> coordinates;  // coordinate_count(type) in the model; the builder adds what is missing
  Impedance impedance;
  Origin origin;
};

// --- actuators -------------------------------------------------------------------------------------------

enum class TransmissionType { kJoint, kJointInParent, kTendon, kSite, kSliderCrank, kLoopJoint };
enum class ActuatorDynamics { kNone, kIntegrator, kFilter, kFilterExact };
enum class ActuatorGain { kFixed, kAffine };
enum class ActuatorBias { kNone, kAffine };

std::string_view to_string(TransmissionType type);
std::string_view to_string(ActuatorDynamics dynamics);

// force = gain(length, velocity) * (control or activation) + bias(length, velocity), as in MuJoCo:
// gain = g0 + g1 length + g2 velocity, bias = b0 + b1 length + b2 velocity.
struct Actuator {
  std::string name;
  TransmissionType transmission = TransmissionType::kJoint;
  int target = -1;          // joint, tendon, site (kSite), crank site (kSliderCrank), or loop joint
  int reference_site = -1;  // kSite: the frame the force acts against; kSliderCrank: the slider site
  double crank_length = 0.0;
  std::array<double, 6> gear{1, 0, 0, 0, 0, 0};  // one for each dof of a joint, or coordinate of a loop joint
  ActuatorDynamics dynamics = ActuatorDynamics::kNone;
  double time_constant = 1.0;  // s, of the filters
  ActuatorGain gain_type = ActuatorGain::kFixed;
  ActuatorBias bias_type = ActuatorBias::kNone;
  std::array<double, 3> gain{1, 0, 0};
  std::array<double, 3> bias{0, 0, 0};
  double damping_ratio =
      0.0;  // > 0 on a position servo: the builder sets bias[2] from the inertia at the reference configuration
  bool control_limited = false;
  Vector2 control_range = Vector2::Zero();
  bool force_limited = false;
  Vector2 force_range = Vector2::Zero();
  bool activation_limited = false;
  Vector2 activation_range = Vector2::Zero();
  bool early_activation = false;  // the force uses the activation at the end of the step
  int group = 0;
  Origin origin;
};

// --- sensors, keyframes, options -------------------------------------------------------------------------

enum class SensorType {
  kJointPosition,
  kJointVelocity,
  kJointActuatorForce,
  kJointLimitPosition,
  kJointLimitVelocity,
  kJointLimitForce,
  kTendonPosition,
  kTendonVelocity,
  kTendonActuatorForce,
  kActuatorPosition,
  kActuatorVelocity,
  kActuatorForce,
  kBallQuaternion,
  kBallAngularVelocity,
  kFramePosition,
  kFrameQuaternion,
  kFrameXAxis,
  kFrameYAxis,
  kFrameZAxis,
  kFrameLinearVelocity,
  kFrameAngularVelocity,
  kFrameLinearAcceleration,
  kFrameAngularAcceleration,
  kGyro,
  kAccelerometer,
  kVelocimeter,
  kMagnetometer,
  kForce,
  kTorque,
  kTouch,
  kRangefinder,
  kSubtreeCom,
  kSubtreeLinearVelocity,
  kSubtreeAngularMomentum,
  kClock,
  kPotentialEnergy,
  kKineticEnergy,
};

std::string_view to_string(SensorType type);  // MJCF's name of it
std::optional<SensorType> find_sensor_type(std::string_view name);
int sensor_dimension(SensorType type);

enum class FrameType { kNone, kBody, kBodyInertial, kShape, kSite, kJoint, kTendon, kActuator };

std::string_view to_string(FrameType type);
// What a sensor is attached to: kNone for the clock and the energies; empty for sensors of a frame, which may be that
// of a body, its inertia, a shape or a site.
std::optional<FrameType> sensor_object(SensorType type);

struct Sensor {
  std::string name;
  SensorType type = SensorType::kClock;
  FrameType object_type = FrameType::kNone;
  int object = -1;
  FrameType reference_type = FrameType::kNone;
  int reference = -1;
  double noise = 0.0;
  double cutoff = 0.0;  // 0 = none
  Origin origin;
};

struct Keyframe {
  std::string name;
  double time = 0.0;
  VectorX q, v, activation, control;  // full length in the model; may be empty in the builder (defaults)
  VectorX loop_q;                     // the same: State::loop_q, which knows how often loop joints have turned
  std::vector<Transform> mocap;       // one for each mocap body, or empty in the builder
  Origin origin;
};

// What a file asked of the simulator; the simulator may override it.
struct SimulationOptions {
  double time_step = 0.002;               // s
  std::string integrator = "euler";       // euler, implicit, implicitfast, rk4
  std::string cone = "pyramidal";         // pyramidal, elliptic
  double friction_impedance_ratio = 1.0;  // impratio
  Vector3 magnetic_field{0.0, -0.5, 0.0};
  double sleep_tolerance = 1e-4;  // m/s: islands that are slower may fall asleep
  bool sleep_enabled = false;
  bool contacts_enabled = true, gravity_enabled = true, limits_enabled = true, equalities_enabled = true,
       springs_enabled = true, dampers_enabled = true, actuation_enabled = true, friction_loss_enabled = true,
       clamp_controls = true, filter_parent_contacts = true, safe_references = true, implicit_damping = true;
  // All shapes of moving bodies have ShapeElement::exclude_overlaps.
  bool exclude_overlaps = false;
  // Tangents of contacts follow MuJoCo's rule (MJCF), which says what the two values of a contact pair's sliding or
  // rolling friction refer to. Otherwise they are contact_frame(normal).
  bool mujoco_contact_frames = false;
};

}  // namespace touchstone

// A model as plain arrays: what the batched backend knows of it. Made once from a Model (sim/model_arrays.hpp), kept in
// memory or in a file, copied to a GPU as it is. No strings, no pointers, no other part of the library.
//
// Names, units and conventions are those of Model and Parameters. Arrays with several numbers for an element say how
// many; all are contiguous.
#pragma once

#ifndef __CUDACC_RTC__  // which has no standard library, and needs the addresses alone
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#endif

namespace touchstone::gpu {

struct ModelSizes {
  int bodies = 0, joints = 0, nq = 0, nv = 0, nu = 0, na = 0, shapes = 0, pairs = 0;
  int levels = 0;                       // of the tree: bodies of a level have their parents in the one before
  int jumps = 0;                        // rounds of body_jump: twice as far each
  int depths = 0;                       // of the dofs: how many numbers of ancestors there are
  int base_dofs = 0, base_entries = 0;  // of the free joints at the roots of trees
  int mass_entries = 0;                 // of the sparse rows of the mass matrix
  int limits = 0;                       // joints with limits
  int tendon_limits = 0;                // fixed tendons with limits
  int equalities = 0, equality_rows = 0;
  int friction_rows = 0;   // of dry friction, which every step has
  int single_rows = 0;     // the most rows of limits, dry friction and servos in a step
  int pair_points = 0;     // the most contacts that all pairs together can have
  int contact_rows = 3;    // the most rows of a contact: 3, with torsional friction 4, with rolling friction 6
  int cones = 0;           // above 0: there are pairs with other friction than one coefficient of sliding
  int iterated = 0;        // pairs of shapes that take an iteration (convex.hpp)
  int tendon_springs = 0;  // fixed tendons with a spring or damper
  int sensors = 0, sensor_numbers = 0;
  int mocaps = 0;            // bodies that users move
  int fields = 0;            // height fields; pairs with one are among the iterated
  int tendon_actuators = 0;  // actuators at fixed tendons
  int loop_numbers = 0;      // coordinates of loop joints that worlds remember; 0 where nothing asks for them
  int coordinates = 0;       // rows along them: these, whole angles of spherical joints, and what actuators there move
  int loop_actuators = 0;    // the last of these rows
  int loop_limits = 0, loop_frictions = 0;
  int followed = 0;      // mocap bodies, where equalities hold to any of them: worlds remember where they were
  int old_velocity = 0;  // numbers of velocities that worlds remember: 4 nv where loops hold for a mean of velocities
};

// Numbers of the impulse of a block from step to step: force and, with rows of it, torque.
constexpr int impulse_width(const ModelSizes& n) { return n.cones > 0 ? 6 : 3; }

// Whether a model needs a GeneralTeam.
constexpr bool is_general(const ModelSizes& n) {
  return n.cones > 0 || n.iterated > 0 || n.tendon_springs > 0 || n.mocaps > 0 || n.tendon_actuators > 0;
}

// Whether its tree does: kinematics to free motion.
constexpr bool has_general_tree(const ModelSizes& n) {
  return n.tendon_springs > 0 || n.mocaps > 0 || n.tendon_actuators > 0;
}

// Whether it needs a FullTeam.
constexpr bool is_full(const ModelSizes& n) { return n.coordinates > 0 || n.followed > 0 || n.old_velocity > 0; }

// What a step does besides the model. Units and meaning as in SimulatorOptions.
struct ModelSettings {
  double time_step = 0.0;
  double gravity[3] = {0, 0, 0};
  double erp = 0.0, slop = 0.0, recovery_speed = 0.0, restitution_threshold = 0.0;  // erp: 0 with the position pass
  double time_constant = 0.0, pass_interval = 0.0;  // s, of the position pass; interval 0: no pass, Baumgarte
  double remaining = 0.0;  // s: how long the next velocity acts on the configuration that the step is computed at
  double contact_margin = 0.0;
  int swept_margin = 1;
  int clamp_controls = 1;
};

constexpr int kFreeDofs = 6;  // of a free joint
enum JointKind { kFreeJoint, kBallJoint, kHingeJoint, kSlideJoint, kScrewJoint };
enum ShapeKind {
  kPlaneShape,
  kSphereShape,
  kCapsuleShape,
  kBoxShape,
  kEllipsoidShape,
  kCylinderShape,
  kHullShape,
  kFieldShape,
  kTriangleShape,  // of a height field, while it is looked at; no shape of a model
};
enum EqualityKind {
  kConnectEquality,
  kWeldEquality,
  kJointEquality,
  kLoopEquality,
  kCoupledEquality,  // a joint equality with a coordinate of a loop joint
  kSpringEquality,   // spring, damper and armature of such a coordinate
};
enum ActuatorFlag {
  kControlLimited = 1,
  kForceLimited = 2,
  kActivationLimited = 4,
  kEarlyActivation = 8,
  kAffineGain = 16,
  kAffineBias = 32,
  kJoinsBranches = 64,  // a servo that A has no entries for is always a block
};
enum SensorKind {
  kJointPositionSensor,
  kJointVelocitySensor,
  kJointActuatorForceSensor,
  kJointLimitForceSensor,
  kActuatorPositionSensor,
  kActuatorVelocitySensor,
  kActuatorForceSensor,
  kBallQuaternionSensor,
  kBallAngularVelocitySensor,
  kFramePositionSensor,
  kFrameQuaternionSensor,
  kFrameXAxisSensor,
  kFrameYAxisSensor,
  kFrameZAxisSensor,
  kFrameLinearVelocitySensor,
  kFrameAngularVelocitySensor,
  kFrameLinearAccelerationSensor,
  kFrameAngularAccelerationSensor,
  kGyroSensor,
  kAccelerometerSensor,
  kVelocimeterSensor,
  kMagnetometerSensor,
  kForceSensor,
  kTorqueSensor,
  kTouchSensor,
  kSubtreeComSensor,
  kSubtreeLinearVelocitySensor,
  kSubtreeAngularMomentumSensor,
  kClockSensor,
};
enum SensorFlag { kInertialObject = 1, kInertialReference = 2 };  // the frame is at the centre of mass
enum ActivationKind { kNoActivation, kIntegratorActivation, kFilterActivation, kExactFilterActivation };

// anchor_a 3, anchor_b 3, relative_pose 12, torque_scale, polynomial 5; of a loop joint its frames 12, 12, and a
// length, or the pitch of a screw; of a spring stiffness, damping, armature, rest.
constexpr int kEqualityNumbers = 25;

// Second coefficient of sliding by the first, torsional and two rolling coefficients (m), length of the rotational
// rows.
constexpr int kConeNumbers = 5;

constexpr int kLoopGears = 3;      // of an actuator: most coordinates of a loop joint
constexpr int kSpringNumbers = 4;  // of a tendon: stiffness, damping, band of lengths without a force
constexpr int kFieldInts = 3;      // of a height field: rows, columns, place of its heights
constexpr int kFieldNumbers = 4;   // half extents x and y, lowest and highest point, m

// Every array, for memory, files and copies alike.
#define TOUCHSTONE_MODEL_INTS(X)                                                                               \
  X(body_parent)      /* bodies */                                                                             \
  X(body_root)        /* bodies: the body whose origin spatial quantities are about */                         \
  X(body_first_joint) /* bodies + 1 */                                                                         \
  X(body_first_dof)   /* bodies + 1 */                                                                         \
  X(body_last_dof)    /* bodies: -1 for what does not move */                                                  \
  X(mocap_body)       /* mocaps */                                                                             \
  X(level_start)      /* levels + 1, in level_body */                                                          \
  X(level_body)       /* bodies without the world */                                                           \
  X(body_jump)        /* jumps x bodies: the ancestor 1, 2, 4 ... levels up; 0 for the world */                \
  X(child_start)      /* bodies + 1, in child_body */                                                          \
  X(child_body)                                                                                                \
  X(joint_type)                                                                                                \
  X(joint_q)                                                                                                   \
  X(joint_dof)                                                                                                 \
  X(joint_spins) /* joints: 1 for those of free bodies, whose spin is conserved */                             \
  X(dof_joint)                                                                                                 \
  X(dof_body)                                                                                                  \
  X(dof_parent)                                                                                                \
  X(row_start)    /* nv + 1: the row of a dof, its ancestors from the root, itself last */                     \
  X(row_dof)      /* mass_entries */                                                                           \
  X(dof_end)      /* one past its last descendant; those between are its descendants */                        \
  X(dof_near_end) /* the same, but for free joints at roots the end of the joint's own */                      \
  X(base_dof)     /* base_dofs */                                                                              \
  X(base_entry)   /* base_entries: entries of the rows of these dofs */                                        \
  X(base_entry_dof)                                                                                            \
  X(order_start)        /* depths + 1, in order_entry */                                                       \
  X(order_entry)        /* mass_entries: entries of the mass matrix by the depths of their dofs */             \
  X(order_dof)          /* the dof whose row an entry is in */                                                 \
  X(depth_start)        /* depths + 1, in depth_dof */                                                         \
  X(depth_dof)          /* nv: by their numbers of ancestors */                                                \
  X(dof_actuator_start) /* nv + 1, in dof_actuator */                                                          \
  X(dof_actuator)                                                                                              \
  X(limit_joint)                                                                                               \
  X(tendon_start) /* tendon_limits + 1, in tendon_dof */                                                       \
  X(tendon_dof)                                                                                                \
  X(tendon_q)                                                                                                  \
  X(spring_start) /* tendon_springs + 1, in spring_dof */                                                      \
  X(spring_dof)                                                                                                \
  X(spring_q)                                                                                                  \
  X(equality_type)                                                                                             \
  X(equality_a) /* bodies, or joints */                                                                        \
  X(equality_b) /* the same; -1: none */                                                                       \
  X(equality_row)                                                                                              \
  X(equality_of_row)                                                                                           \
  X(equality_measure)    /* equality_rows: LoopMeasure; 0 but for loop joints */                               \
  X(equality_coordinate) /* 2: rows along coordinates, -1: none; where sizes.coordinates is above 0 */         \
  X(equality_mocap)      /* 2: mocap bodies that carry its sides, -1: none; where sizes.followed is above 0 */ \
  X(coordinate_a)        /* bodies: of the rows along coordinates but those of actuators */                    \
  X(coordinate_b)                                                                                              \
  X(coordinate_measure)  /* LoopMeasure */                                                                     \
  X(loop_actuator)       /* loop_actuators: the actuator */                                                    \
  X(loop_actuator_first) /* its first coordinate */                                                            \
  X(loop_limit_coordinate)                                                                                     \
  X(loop_friction_coordinate)                                                                                  \
  X(actuator_dof) /* -1: at a tendon, -2: at a loop joint */                                                   \
  X(actuator_q)   /* at a loop joint: its row along coordinates */                                             \
  X(pull_start)   /* nu + 1, in pull_dof, where there are actuators at tendons */                              \
  X(pull_dof)                                                                                                  \
  X(pull_q)                                                                                                    \
  X(actuator_activation) /* entry of the activations, or -1 */                                                 \
  X(actuator_dynamics)                                                                                         \
  X(actuator_flags)                                                                                            \
  X(shape_type)                                                                                                \
  X(shape_body)                                                                                                \
  X(shape_element)          /* in Model::shapes */                                                             \
  X(shape_hull)             /* -1: none */                                                                     \
  X(hull_start)             /* hulls + 1, in hull_vertex */                                                    \
  X(hull_edge_start)        /* vertices of all hulls + 1, in hull_edge; none for flat hulls */                 \
  X(hull_edge)              /* neighbours of a vertex, counted in their hull */                                \
  X(hull_face_start)        /* hulls + 1, in hull_loop_start */                                                \
  X(hull_loop_start)        /* faces of all hulls + 1, in hull_loop */                                         \
  X(hull_loop)              /* vertices around a face, counted in their hull */                                \
  X(hull_vertex_face_start) /* vertices of all hulls + 1, in hull_vertex_face */                               \
  X(hull_vertex_face)       /* faces at a vertex */                                                            \
  X(shape_field)            /* -1: none */                                                                     \
  X(field_grid)             /* kFieldInts */                                                                   \
  X(pair_a)                 /* pairs: shapes; bodies are those of the shapes */                                \
  X(pair_b)                                                                                                    \
  X(pair_dimension) /* 1, 3, 4 or 6 */                                                                         \
  X(pair_may_lock)  /* 0: whatever the configuration, the pair can open and close */                           \
  X(sensor_type)                                                                                               \
  X(sensor_object)    /* body, joint or actuator */                                                            \
  X(sensor_reference) /* body, or -1 */                                                                        \
  X(sensor_flags)                                                                                              \
  X(sensor_shape) /* of a touch sensor */                                                                      \
  X(sensor_start) /* sensors + 1, in the row of a world */

#define TOUCHSTONE_MODEL_DOUBLES(X)                                           \
  X(body_pose)  /* 12: in the parent */                                       \
  X(mocap_pose) /* 7: position, quaternion */                                 \
  X(body_mass)                                                                \
  X(body_com)          /* 3 */                                                \
  X(body_inertia)      /* 9: about the centre of mass, by columns */          \
  X(body_compensation) /* share of its weight */                              \
  X(zero_wrench)       /* 6 bodies, where one is compensated; else none */    \
  X(joint_axis)        /* 3 */                                                \
  X(joint_anchor)      /* 3 */                                                \
  X(joint_reference)                                                          \
  X(joint_pitch)                                                              \
  X(joint_stiffness)                                                          \
  X(spring_reference) /* nq */                                                \
  X(reference_q)      /* nq */                                                \
  X(dof_damping)                                                              \
  X(dof_armature)                                                             \
  X(dof_friction)                                                             \
  X(dof_length)                                                               \
  X(dof_weight)                                                               \
  X(limit_range) /* 2 */                                                      \
  X(limit_margin)                                                             \
  X(tendon_coefficient)                                                       \
  X(tendon_range) /* 2 */                                                     \
  X(tendon_margin)                                                            \
  X(tendon_length) /* tendon_limits: of the row */                            \
  X(spring_coefficient)                                                       \
  X(spring_numbers)       /* kSpringNumbers */                                \
  X(equality_data)        /* kEqualityNumbers */                              \
  X(equality_compliance)  /* equality_rows */                                 \
  X(equality_length)      /* equality_rows */                                 \
  X(reference_loop)       /* loop_numbers */                                  \
  X(coordinate_frames)    /* 24: in both bodies */                            \
  X(coordinate_reference) /* value where the frames coincide */               \
  X(loop_gear)            /* kLoopGears, of loop_actuators */                 \
  X(loop_limit_range)     /* 2 */                                             \
  X(loop_limit_margin)                                                        \
  X(loop_limit_length) /* rad to m */                                         \
  X(loop_friction)                                                            \
  X(loop_friction_length)                                                     \
  X(actuator_gear)                                                            \
  X(pull_coefficient)                                                         \
  X(actuator_gain)             /* 3 */                                        \
  X(actuator_bias)             /* 3 */                                        \
  X(actuator_control_range)    /* 2 */                                        \
  X(actuator_force_range)      /* 2 */                                        \
  X(actuator_activation_range) /* 2 */                                        \
  X(actuator_time_constant)                                                   \
  X(actuator_row_length)                                                      \
  X(shape_pose)       /* 12: in the body */                                   \
  X(shape_size)       /* 3: radius; radius, half length; half sizes */        \
  X(hull_vertex)      /* 3 */                                                 \
  X(hull_face_normal) /* 3: outward */                                        \
  X(field_size)       /* kFieldNumbers */                                     \
  X(field_height)     /* rows x columns of each field, m */                   \
  X(shape_radius)     /* of a ball around its origin; infinite for a plane */ \
  X(pair_friction)                                                            \
  X(pair_restitution)                                                         \
  X(pair_margin)   /* at which they are taken to touch */                     \
  X(pair_gap)      /* how much farther contacts are looked for */             \
  X(pair_mobility) /* contacts that can move less than this are left out */   \
  X(pair_cone)     /* kConeNumbers, where sizes.cones says so */              \
  X(sensor_pose)   /* 24: in the body, and the reference in its body */       \
  X(sensor_size)   /* 3: of a touch sensor's volume; the magnetic field */    \
  X(sensor_cutoff) /* 0: none */

#ifndef __CUDACC_RTC__
struct ModelArrays {
  ModelSizes sizes;
  ModelSettings settings;
#define TOUCHSTONE_FIELD(name) std::vector<int> name;
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
#define TOUCHSTONE_FIELD(name) std::vector<double> name;
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
};

// Fowler, Noll, Vo: FNV-1a, 64 bits.
class Signature {
 public:
  constexpr void add_name(const char* text) {
    for (; *text != '\0'; ++text) add(static_cast<unsigned char>(*text));
    add(';');
  }
  constexpr void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x100000001b3ull; }
  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

// Of the lists of arrays and the structs above: arrays with another are of other sources, whoever forgot to count a
// version. Files begin with it, and backends are asked for it.
constexpr std::uint64_t arrays_signature() {
  Signature signature;
#define TOUCHSTONE_FIELD(name) signature.add_name(#name);
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  signature.add_name("doubles");
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  signature.add(sizeof(ModelSizes));
  signature.add(sizeof(ModelSettings));
  return signature.value();
}
#endif

// The same as addresses, in the memory of the processor or of a GPU.
struct ModelTables {
  ModelSizes sizes;
  ModelSettings settings;
  const double* applied_wrench = nullptr;  // 6 bodies, of a world; null: none
#define TOUCHSTONE_FIELD(name) const int* name = nullptr;
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
#define TOUCHSTONE_FIELD(name) const double* name = nullptr;
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
};

#ifdef TOUCHSTONE_SPECIAL_MODEL
}  // namespace touchstone::gpu
#include "touchstone/gpu/special_model.hpp"  // written for one model (special.hpp)
namespace touchstone::gpu {
#else
// What the algorithms take a model to be: its tables, or a struct of the same names whose members are constants.
using ModelView = ModelTables;
#endif

#ifndef __CUDACC_RTC__
// Bodies whose weight is compensated are pushed, if by nothing else: that needs an array of wrenches.
inline void use_own_wrench(const ModelArrays& arrays, ModelTables& view) {
  view.applied_wrench = arrays.zero_wrench.empty() ? nullptr : view.zero_wrench;
}

ModelView view_of(const ModelArrays& arrays);

// Throw std::runtime_error that names the file and what is wrong with it.
void write_model_arrays(const ModelArrays& arrays, const std::string& path);
ModelArrays read_model_arrays(const std::string& path);
// The same in memory.
std::string pack_model_arrays(const ModelArrays& arrays);
ModelArrays unpack_model_arrays(const std::string& bytes);
#endif

}  // namespace touchstone::gpu

// The model: topology, names and default parameters of robots and their surroundings. Immutable once built
// (ModelBuilder), shared between threads. Body 0 is the world. Bodies are numbered depth first, so a parent
// comes before its children and the dofs of a kinematic tree are contiguous.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "touchstone/math/vec3.hpp"
#include "touchstone/model/elements.hpp"
#include "touchstone/model/parameters.hpp"

namespace touchstone {

enum class ElementKind { kBody, kJoint, kShape, kSite, kTendon, kActuator, kSensor, kEquality, kKeyframe, kLoopJoint };
std::string_view to_string(ElementKind kind);

// Derived: a body as the kinematic recursion reads it, one cache-friendly record.
struct BodyKernel {
  Pose X_PB;
  int parent = 0;
  int tree = -1;  // -1: does not move (or is mocap)
  int first_joint = 0;
  int joint_count = 0;
  int first_dof = 0;
  int dof_count = 0;
  int mocap = -1;
  bool rotated = false;  // X_PB.R is not the identity
};

enum class AxisCode { kX, kY, kZ, kGeneral };

// Derived: a joint as the kinematic recursion reads it.
struct JointKernel {
  Vec3 axis;    // body frame, unit
  Vec3 anchor;  // body frame
  JointType type = JointType::kHinge;
  AxisCode axis_code = AxisCode::kGeneral;
  bool anchored = false;  // anchor is not the origin
  int q = 0;              // first entry in q
  int dof = 0;            // first entry in v
  int angle = -1;         // hinge and screw: position in the list of angles (see Model::angle_q)
  double reference = 0.0;
  double pitch = 0.0;
};

struct Model {
  std::string name;
  std::string file;  // what it was loaded from, empty if made in code

  // --- sizes ---
  int nbody = 0, njoint = 0, nq = 0, nv = 0, nu = 0, na = 0, nshape = 0, nsite = 0, ntendon = 0, nmocap = 0;
  int ntree = 0;  // kinematic trees: maximal sets of bodies joined by joints below the world

  // --- elements, as given (indices resolved) ---
  std::vector<Body> bodies;          // nbody; [0] is the world
  std::vector<Joint> joints;         // njoint
  std::vector<ShapeElement> shapes;  // nshape
  std::vector<Site> sites;           // nsite
  std::vector<Tendon> tendons;       // ntendon
  std::vector<Actuator> actuators;   // nu
  std::vector<Equality> equalities;
  std::vector<LoopJoint> loop_joints;
  std::vector<Sensor> sensors;
  std::vector<Keyframe> keyframes;
  std::vector<ContactPair> contact_pairs;
  std::vector<ContactExclusion> contact_exclusions;
  std::vector<VisualMaterial> visual_materials;
  std::vector<Warning> warnings;
  SimulationOptions options;
  Parameters defaults;

  // --- topology, filled by ModelBuilder::build ---
  std::vector<int> joint_q;           // njoint: first entry in q
  std::vector<int> joint_dof;         // njoint: first entry in v
  std::vector<int> dof_body;          // nv
  std::vector<int> dof_joint;         // nv
  std::vector<int> dof_parent;        // nv: the dof before this one on the path to the world, -1 at the root
  std::vector<int> dof_tree;          // nv
  std::vector<int> body_last_dof;     // nbody: the last dof that moves the body, -1 if it does not move
  std::vector<int> body_weld;         // nbody: the nearest ancestor (or itself) with a joint; 0 if it does not move
  std::vector<int> tree_first_dof;    // ntree + 1
  std::vector<int> tree_root;         // ntree: the body whose origin is the tree's reference point
  std::vector<int> free_joints;       // free joints that are all of their tree, and that no loop holds: free bodies
  std::vector<int> mocap_body;        // nmocap
  std::vector<int> activation_index;  // nu: entry in State::activation, -1 without dynamics
  VectorX reference_q;                // nq: the reference configuration (MuJoCo's qpos0)
  int nloop = 0;                      // coordinates of all loop joints
  std::vector<int> loop_coordinate;   // nloop_joint + 1: the first coordinate of a loop joint
  VectorX reference_loop;             // nloop: coordinates of loop joints at the reference configuration

  // --- the sparse layout of the mass matrix, filled by ModelBuilder::build ---
  // Row i holds the entries of dof i against its ancestors, root first, the diagonal last. An ancestor's row is
  // therefore a prefix of its descendants' rows, which makes the tree factorisation a sequence of contiguous
  // vector operations. Rows start on a multiple of four doubles.
  std::vector<int> row_start;   // nv + 1
  std::vector<int> row_length;  // nv: number of ancestors including itself
  std::vector<int> row_dof;     // row_start[nv]: dof of each entry; padding repeats the row's own dof

  // --- derived, for the recursions ---
  std::vector<BodyKernel> body_kernels;    // nbody
  std::vector<JointKernel> joint_kernels;  // njoint
  std::vector<int> angle_q;                // entries of q that are angles of hinges and screws, in order
  std::vector<double> angle_reference;     // their reference values

  // Index of a named element, -1 if there is none.
  int find(ElementKind kind, std::string_view element_name) const;
  // The same; throws Error that lists near misses.
  int body(std::string_view element_name) const;
  int joint(std::string_view element_name) const;
  int shape(std::string_view element_name) const;
  int site(std::string_view element_name) const;
  int tendon(std::string_view element_name) const;
  int actuator(std::string_view element_name) const;
  int sensor(std::string_view element_name) const;
  int keyframe(std::string_view element_name) const;
  int loop_joint(std::string_view element_name) const;

  double total_mass() const;

  // name -> index, one map for each ElementKind; filled by ModelBuilder::build
  std::vector<std::unordered_map<std::string, int>> names;
};

using ModelPtr = std::shared_ptr<const Model>;

}  // namespace touchstone

// The constraints of one step in the coordinates of the model: what each block of the contact problem stands for, and
// its Jacobian on the kinematic trees it touches.
//
// Layout. A block has at most six rows. Its Jacobian on a tree is stored dof by dof, the rows of one dof side by side:
// one number for a single row, four lanes for up to four rows, eight for more. Most constraints act on one body of a
// tree, and then only the dofs on the path from the root to that body are stored; the factor of the mass matrix stays
// on that path, and an ancestor's row of it is a prefix of its descendants' rows (Model::row_start), so that solving is
// a sequence of contiguous vector operations. Where paths are long (dynamics/long_trees.hpp) a block stores the dofs
// alone that it moves, in a list of its own: of a loop those beyond the body from which its two ends branch off.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "touchstone/contact/blocks.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/vec3.hpp"
#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

struct PairRows;  // sim/constraints/kind.hpp

// Each is a module in sim/constraints/, which also says what index and side mean.
enum class ConstraintKind : std::uint8_t {
  kContact,
  kJointLimit,
  kJointFriction,
  kTendonLimit,
  kTendonFriction,
  kEquality,
  kServo,
  kTendonSpring,
  kLoopJoint,
  kLoopLimit,
  kLoopFriction,
  kLoopSpring,
};

const char* to_string(ConstraintKind kind);

struct Constraint {
  ConstraintKind kind = ConstraintKind::kContact;
  int index = 0;
  int side = 0;
  int first_part = 0, part_count = 0;  // in Constraints::parts

  bool joins_trees() const { return part_count > 1; }
};

// A block's rows on one tree.
struct TreePart {
  int tree = 0;
  int path = -1;          // last dof of the path whose dofs are stored; -1: all dofs of the tree are, or a list
  int list = -1;          // where paths are long: first of its dofs in Constraints::listed
  int count = 0;          // number of dofs stored
  int first = 0;          // those before it are zero in J
  std::size_t start = 0;  // in Constraints::J: stored dof i has its rows at start + stride * i
};

// All constraints of a step. Memory is kept from step to step.
struct Constraints {
  Blocks blocks;
  std::vector<Constraint> list;  // nblock
  std::vector<TreePart> parts;
  std::vector<int> all_dofs;       // nv: 0, 1, 2, ...
  std::vector<int> listed;         // dofs of parts with lists
  AlignedVector J;                 // the Jacobians of all parts
  AlignedVector Y;                 // D^-1/2 L^-T J', same layout; solve_constraint_rows
  AlignedVector root;              // nv: D^-1/2
  AlignedVector unit_rows;         // rows D^-1/2 L^-T e_k of dofs k that are constrained alone, laid out like L
  std::vector<char> has_unit_row;  // nv: which of them are made
  std::vector<double> position;    // nrow: gap of contacts and limits, error of equalities, else 0
  std::vector<double> row_length;  // nrow: m for rotational rows, 1 for others
  std::vector<char> recovers;      // nrow: 1 where a hard law holds, whose violations are brought back
  std::vector<double> drift;       // nrow: dJ/dt v where the law wants it (connect and weld in MuJoCo's model), else 0
  std::vector<double>
      surface_velocity;  // nrow where a surface moves on its own, else empty: how fast the rows move by it
  std::vector<ContactPhysics> physics;  // nblock where contacts have laws (ConstraintRules::contact_laws), else empty
  VectorX velocity;                     // nrow: J v at the start of the step
  VectorX free_velocity;                // nrow: J v_free
  VectorX loop_velocity;                // nrow: J of ConstraintStep::loop_velocity, if there is one
  VectorX bias;                         // nrow: b
  VectorX compliance;                   // nrow: R
  VectorX recovery;                     // nrow: the part of b that brings violated constraints back

  int count() const { return static_cast<int>(list.size()); }
  int rows() const { return blocks.rows(); }
  // Numbers stored for each dof: rows, padded to whole lanes.
  static int stride_of(int rows) { return rows == 1 ? 1 : rows > 4 ? 8 : 4; }
  int stride(int block) const { return stride_of(blocks.size(block)); }
  // The dofs that are stored, ascending.
  const int* dofs(const Model& model, const TreePart& part) const {
    if (part.path >= 0) return model.row_dof.data() + model.row_start[static_cast<std::size_t>(part.path)];
    if (part.list >= 0) return listed.data() + part.list;
    return all_dofs.data() + model.tree_first_dof[static_cast<std::size_t>(part.tree)];
  }
  // How fast a row moves by surfaces that move on their own.
  double surface(int row) const {
    return surface_velocity.empty() ? 0.0 : surface_velocity[static_cast<std::size_t>(row)];
  }
  void set_surface_velocity(int row, double speed) {
    if (speed == 0.0) return;
    surface_velocity.resize(static_cast<std::size_t>(rows()), 0.0);
    surface_velocity[static_cast<std::size_t>(row)] = speed;
  }
  void clear();
};

// Adds the rows of constraints one block at a time:
//
//   ConstraintWriter writer(model, data, constraints);
//   writer.begin(ConstraintKind::kJointLimit, joint, side);
//   writer.blocks().add_nonnegative();
//   writer.add_dof(dof, 0, 1.0);
//   writer.end(position, lengths);
class ConstraintWriter {
 public:
  enum class Parts : std::uint8_t { kAll, kPositions };  // kPositions: without Jacobians
  ConstraintWriter(const Model& model, const Data& data, Constraints& constraints, Parts parts = Parts::kAll);

  Blocks& blocks() { return c_.blocks; }
  void begin(ConstraintKind kind, int index, int side = 0);
  // The entry of a row for one dof.
  void add_dof(int dof, int row, double value);
  // The only entry of a block of one row.
  void set_dof(int dof, double value);
  // Adds sign * (rows of the velocity of the point p of a body): row r gets linear[r].v + angular[r].w.
  // The first `skipped` dofs of the path to it are left out.
  void add_point(int body, Vec3 p, double sign, const Vec3* linear, const Vec3* angular, int rows, int skipped = 0);
  // The rows of the velocity of body b against body a.
  void add_pair(const PairRows& rows);
  // The entries of row 0 for the rate of a tendon's length.
  void add_tendon(int tendon, double sign);
  // One value for each row.
  void end(const double* position, const double* length);
  // After end: dJ/dt v of three rows of the last block.
  void set_drift(const Vec3& drift, int first = 0);
  void set_row_drift(double drift, int row);
  // Takes back the block that was begun, before end.
  void cancel();
  // Whether a unit impulse on a row of the block makes at least this velocity: the sum of J_k^2 weight_k over the dofs.
  bool moves(int row, const VectorX& dof_weight, double least) const;
  // The rate of a row of the block that is being written.
  double rate(int row, const ConstVectorRef& v) const;

 private:
  TreePart& part(int leaf);
  void move_part(TreePart& part, int path);
  TreePart& listed_part(int leaf, int skipped);
  int shared_dofs(int body_a, int body_b) const;
  bool is_on_path(int dof, int path) const;
  int position(const TreePart& part, int dof) const;

  const Model& model_;
  const Data& data_;
  Constraints& c_;
  const bool has_jacobian_;
  std::size_t first_value_ = 0;  // in J, of the block that is being written
};

// Y = D^-1/2 L^-T J' for all blocks, with the factor L' D L of A (compute_free_motion): G = Y' Y.
void solve_constraint_rows(const Model& model, const Scope& scope, const VectorX& L, const VectorX& D_inverse,
                           Constraints& constraints);

// c = J v.
void constraint_velocity(const Model& model, const Constraints& constraints, const ConstVectorRef& v, VectorRef c);
// The same of two velocities at once: J is read once.
void constraint_velocities(const Model& model, const Constraints& constraints, const ConstVectorRef& v_1,
                           const ConstVectorRef& v_2, VectorRef c_1, VectorRef c_2);
// tau += J' lambda.
void add_constraint_force(const Model& model, const Constraints& constraints, const ConstVectorRef& lambda,
                          VectorRef tau);

// "contact of 'foot' and 'floor'", "upper limit of joint 'knee'".
std::string describe(const Model& model, const Constraints& constraints, std::span<const Contact> contacts, int block);

}  // namespace touchstone

// The constraints of one step in the coordinates of the model: what each block of the contact problem stands for, and
// its Jacobian on the kinematic trees it touches.
//
// Layout. A block has at most six rows. Its Jacobian on a tree is stored dof by dof, the rows of one dof side by side
// in four lanes (two groups of four for more than four rows), so that solving with the tree factor and forming G are
// vector operations whatever the kind of constraint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/contact/blocks.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/math/vec3.hpp"

namespace touchstone {

enum class ConstraintKind : std::uint8_t {
  kContact,         // index: in the list of contacts
  kJointLimit,      // index: joint; side 0 lower, 1 upper
  kJointFriction,   // index: dof
  kTendonLimit,     // index: tendon; side 0 lower, 1 upper
  kTendonFriction,  // index: tendon
  kEquality,        // index: in Model::equalities
};

const char* to_string(ConstraintKind kind);

struct Constraint {
  ConstraintKind kind = ConstraintKind::kContact;
  int index = 0;
  int side = 0;
  int first_part = 0, part_count = 0;  // in Constraints::parts
};

// A block's rows on one tree.
struct TreePart {
  int tree = 0;
  std::size_t start = 0;  // in Constraints::J: dof k of the tree has its lanes at start + width * (k - first dof)
};

// All constraints of a step. Memory is kept from step to step.
struct Constraints {
  Blocks blocks;
  std::vector<Constraint> list;  // nblock
  std::vector<TreePart> parts;
  std::vector<Lanes> J;            // the Jacobians of all parts
  std::vector<Lanes> Y;            // D^-1/2 L^-T J', same layout; solve_constraint_rows
  std::vector<double> position;    // nrow: gap of contacts and limits, error of equalities, else 0
  std::vector<double> row_length;  // nrow: m for rotational rows, 1 for others
  VectorX velocity;                // nrow: J v at the start of the step
  VectorX free_velocity;           // nrow: J v_free
  VectorX bias;                    // nrow: b
  VectorX compliance;              // nrow: R
  VectorX recovery;                // nrow: the part of b that brings violated constraints back

  int count() const { return static_cast<int>(list.size()); }
  int rows() const { return blocks.rows(); }
  // Groups of four lanes a dof.
  int width(int block) const { return blocks.size(block) > 4 ? 2 : 1; }
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
  ConstraintWriter(const Model& model, const Data& data, Constraints& constraints)
      : model_(model), data_(data), c_(constraints) {}

  Blocks& blocks() { return c_.blocks; }
  void begin(ConstraintKind kind, int index, int side = 0);
  // The entry of a row for one dof.
  void add_dof(int dof, int row, double value);
  // Adds sign * (rows of the velocity of the point p of a body): row r gets linear[r].v + angular[r].w.
  void add_point(int body, Vec3 p, double sign, const Vec3* linear, const Vec3* angular, int rows);
  // One value for each row.
  void end(const double* position, const double* length);

 private:
  Lanes* part(int tree);

  const Model& model_;
  const Data& data_;
  Constraints& c_;
};

// Y = D^-1/2 L^-T J' for all blocks, with the factor of A in data (compute_free_motion): G = Y' Y.
void solve_constraint_rows(const Model& model, const Data& data, Constraints& constraints);

// c = J v.
void constraint_velocity(const Model& model, const Constraints& constraints, const ConstVectorRef& v, VectorRef c);
// tau += J' lambda.
void add_constraint_force(const Model& model, const Constraints& constraints, const ConstVectorRef& lambda,
                          VectorRef tau);

// "contact of shapes 'foot' and 'floor'", "upper limit of joint 'knee'".
std::string describe(const Model& model, const Constraints& constraints, int block);

}  // namespace touchstone

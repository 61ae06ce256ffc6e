// The constraint blocks of a contact problem: which set each group of rows lives in.
//
//   Equality(m)       lambda free                                u = 0
//   NonNegative       lambda >= 0, u >= 0, lambda u = 0          limits
//   Box(lo, hi)       -u in the normal cone of [lo, hi]          joint friction, bounded actuators; bounds are impulses
//   Coulomb(mu..)     |lambda_t / mu| <= lambda_n,               contacts: m = 1 (frictionless), 3, 4 (torsion), 6
//   (rolling)
//                     u + Gamma(u) in the dual cone, orthogonal
//
// The components of a Coulomb block are [t.., n], the normal last. Gamma(u) = [0, |mu u_t|] is De Saxce's correction.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/math/types.hpp"

namespace touchstone {

enum class BlockType : std::uint8_t { kEquality, kNonNegative, kBox, kCoulomb };

constexpr int kMaxBlockSize = 6;

const char* block_type_name(BlockType type);

struct Blocks {
  std::vector<BlockType> type;  // nblock
  std::vector<int> row{0};      // nblock + 1: first row of a block, then the number of rows
  std::vector<double> mu;       // nrow: friction coefficient of a tangential row of a Coulomb block; else 0
  std::vector<double> lo, hi;   // nrow: bounds of a Box row, may be infinite; else 0

  int count() const { return static_cast<int>(type.size()); }
  int rows() const { return row.back(); }
  int size(int block) const { return row[block + 1] - row[block]; }
  void clear();

  // Each returns the index of the new block.
  int add_equality(int size);
  int add_nonnegative();
  int add_box(double lo, double hi);
  int add_coulomb(const double* friction, int tangents);  // tangents = m - 1
  int add_coulomb(double friction);                       // m = 3, isotropic

 private:
  int add(BlockType block_type, int size);
};

// --- compliant models: what a contact is made of, in physical units (contact/laws/) ---

// Force over deformation x > 0.
enum class Elasticity : std::uint8_t {
  kLinear,  // k x
  kHertz,   // k x^(3/2)
};

// How a contact loses energy in the normal direction; SAP's is always linear.
enum class ContactDamping : std::uint8_t {
  kHuntCrossley,  // by a factor 1 - d v_n of the elastic force
  kLinear,        // a damper beside the spring, with relaxation time tau
};

struct ContactPhysics {
  double gap = 0.0;          // phi_0, m; negative where the bodies overlap
  double elapsed = 0.0;      // s: the part of the step before the moment of `gap`; 0: its start
  double speed = 0.0;        // v_n, m/s; positive where they separate
  double stiffness = 0.0;    // k, N/m (Hertz: N/m^1.5); 0: as stiff as the step resolves (near-rigid)
  double dissipation = 0.0;  // d of Hunt and Crossley, s/m
  double relaxation = 0.0;   // tau of a linear damper, s: the force is that of the deformation tau later
  ContactDamping damping = ContactDamping::kHuntCrossley;  // which of the two is meant
  double stiction = 1e-4;                                  // v_s, m/s: friction holds up to about this slip
  double sigma = 1e-3;                                     // of the friction's regularisation, (26); 0: v_s alone
  double near_rigid = 1.0;                                 // beta: period of a near-rigid contact in steps
  Elasticity elasticity = Elasticity::kLinear;
};

// Which compliant model is meant.
enum class CompliantModel : std::uint8_t { kSap, kLagged, kSimilar };

// The set of one block: K for cones, [lo, hi] for a box, everything for an equality. x and y have the size of the block
// and may be the same array.
void project_block(const Blocks& blocks, int block, const double* x, double* y);

// The product over all blocks.
void project(const Blocks& blocks, const double* x, double* y);

// |mu u_t|: what De Saxce's correction adds to the normal component; 0 for other blocks.
double de_saxce(const Blocks& blocks, int block, const double* u);

enum class ContactModel : std::uint8_t {
  kNcp,  // Signorini, Coulomb, maximum dissipation
  kCcp,  // without De Saxce's correction: a convex problem; sliding contacts lift off, u_n = |mu u_t|
  kLcp,  // the cone replaced by the pyramid |lambda_tj| <= mu_j lambda_n, normal and tangential parts apart
};

// The natural map of one block, out = lambda - P(lambda - F(u) / d), with F(u) = u + Gamma(u) for the NCP; zero exactly
// at solutions of the model. `d` > 0 is in units of G, so `out` is an impulse. Returns |out|.
//
// With a coefficient of friction above kLargeFriction the NCP is measured by its two laws apart,
// lambda_n - P(lambda_n - u_n / d) on [0, inf) and lambda_t - P(lambda_t - u_t / d) on the ellipse mu lambda_n, which
// is zero at the same points. Gamma would multiply the rounding of u_t by mu, and the projection on so steep a cone
// would divide an approach u_n < 0 by mu: solutions would look wrong and penetration right.
constexpr double kLargeFriction = 10.0;

// Larger coefficients are taken for this one: no pair of numbers that matter has such a ratio, and squares must not
// overflow.
constexpr double kUnboundedFriction = 1e100;

double natural_map_block(const Blocks& blocks, int block, ContactModel model, double d, const double* lambda,
                         const double* u, double* out);

}  // namespace touchstone

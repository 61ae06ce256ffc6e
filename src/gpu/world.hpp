// The memory of one world: what lies in the batch from step to step, and the scratch of a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "touchstone/gpu/algebra.hpp"
#include "touchstone/gpu/model_arrays.hpp"

namespace touchstone::gpu {

enum class WorldStatus : int {
  kOk = 0,
  kNotConverged = 1,     // the state has moved on, its certificate is above the tolerance
  kTooManyContacts = 2,  // more than the large pool holds; the state was not changed
  kDiverged = 3,         // not finite, or the inertia is not positive definite; the state was not changed
};

enum class BlockType : int { kNonNegative, kBox, kCoulomb };

// Kinds of constraints that are blocks of the contact problem; equalities are eliminated before it.
enum class BlockKind : int { kFriction, kServo, kLimit, kTendonLimit, kContact };

// A block is known from step to step by its kind, its element, and what touches.
TOUCHSTONE_LANE std::int64_t block_key(BlockKind kind, int index, int feature) {
  return (static_cast<std::int64_t>(kind) << 56) | (static_cast<std::int64_t>(index) << 16) | feature;
}

// The impulses of the last step: those of contacts in world axes, of others in the first number.
struct WarmStart {
  int* count = nullptr;         // 1
  std::int64_t* key = nullptr;  // capacity
  double* impulse = nullptr;    // 3 capacity
};

// One world's part of the batch.
struct WorldState {
  double *q = nullptr, *v = nullptr, *activation = nullptr;       // nq, nv, na
  const double *control = nullptr, *applied_force = nullptr;      // nu, nv
  double* natv = nullptr;                                         // relative certificate of the last step
  int *status = nullptr, *contacts = nullptr, *sweeps = nullptr;  // of the last step
  WarmStart warm;
};

// How many contacts and rows a world has room for in a step.
struct Pool {
  int contacts = 0, blocks = 0, rows = 0;
};

inline Pool pool_for(const ModelSizes& sizes, int contacts) {
  return {contacts, contacts + sizes.single_rows, 3 * contacts + sizes.single_rows};
}

// Hands out parts of a piece of memory; without one it just counts.
class Carver {
 public:
  TOUCHSTONE_BOTH explicit Carver(char* base) : base_(base) {}
  template <typename T>
  TOUCHSTONE_BOTH T* take(int count) {
    T* result = base_ != nullptr ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 7) / 8 * 8;
    return result;
  }
  TOUCHSTONE_BOTH std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

struct Contact {
  Vec position, normal, t1;  // t1 is turned so that the contact's own matrix is diagonal
  double gap;                // distance less margin
  int pair, feature;

  TOUCHSTONE_LANE Vec t2() const { return cross(normal, t1); }
};

// A block of the contact problem. Rows of contacts: t1, t2, n.
template <typename Real>
struct Block {
  BlockType type;
  BlockKind kind;
  int index;  // contact, dof, limit, tendon, actuator
  int side;   // of a limit
  int row;
  double bias;    // of the (normal) row
  double length;  // of a single row: rad to m
  Real diagonal;  // mean of its rows of G, equalities held
  double scale;   // the same without equalities: the d of the certificate
  Real compliance;
  Real lo, hi;  // kBox
  // kCoulomb: its matrix, once the tangents are made orthogonal to the normal row and to each other
  Real friction, tangent[2], normal, shear[2], alpha;
};

// The memory of a step. `Real` is what the sweeps compute with.
template <typename Real>
struct Scratch {
  Pool pool;
  int stride;                                       // of the rows of Y: odd, so that lanes meet different banks
  double *q, *v;                                    // at the start of the step
  double *X, *S;                                    // poses (12 a body), axes (6 a dof)
  double *velocity, *acceleration;                  // 6 a body
  double* inertia;                                  // 10 a body: of the subtree; mass, first moment, second moment
  double* wrench;                                   // 6 a body
  double *L, *D_inverse;                            // factor of A: rows of the mass matrix, and its diagonal
  double *tau, *v_free, *v_base, *v_next, *work;    // nv
  double *servo_force, *servo_gain, *activation;    // nu, nu, na: of the next state
  int* servo_mode;                                  // nu
  double *Y_e, *G_e, *lambda_e, *bias_e;            // equalities: whitened rows, factor of G, impulses
  Contact* contacts;                                // pool.contacts
  Block<Real>* blocks;                              // pool.blocks
  Real *Y, *g, *lambda;                             // pool.rows: whitened rows, free velocities, impulses
  Real* y;                                          // nv: Y' lambda
  Real *f_1, *f_2, *g_1, *g_2, *y_1, *y_2, *start;  // history of the acceleration
  int contact_count, block_count, row_count;

  // Pairs that come near, in memory that the rows need later.
  TOUCHSTONE_LANE int* candidates() const { return reinterpret_cast<int*>(Y); }
  TOUCHSTONE_LANE int most_candidates() const {
    return static_cast<int>(sizeof(Real) / sizeof(int)) * pool.rows * stride;
  }
};

template <typename Real>
TOUCHSTONE_BOTH std::size_t carve(const ModelSizes& n, const Pool& pool, char* base, Scratch<Real>& s) {
  Carver carver(base);
  s.pool = pool;
  s.stride = n.nv | 1;
  s.q = carver.take<double>(n.nq);
  s.v = carver.take<double>(n.nv);
  s.X = carver.take<double>(12 * n.bodies);
  s.S = carver.take<double>(6 * n.nv);
  s.velocity = carver.take<double>(6 * n.bodies);
  s.acceleration = carver.take<double>(6 * n.bodies);
  s.inertia = carver.take<double>(10 * n.bodies);
  s.wrench = carver.take<double>(6 * n.bodies);
  s.L = carver.take<double>(n.mass_entries);
  s.D_inverse = carver.take<double>(n.nv);
  s.tau = carver.take<double>(n.nv);
  s.v_free = carver.take<double>(n.nv);
  s.v_base = carver.take<double>(n.nv);
  s.v_next = carver.take<double>(n.nv);
  s.work = carver.take<double>(n.nv);
  s.servo_force = carver.take<double>(n.nu);
  s.servo_gain = carver.take<double>(n.nu);
  s.activation = carver.take<double>(n.na);
  s.servo_mode = carver.take<int>(n.nu);
  s.Y_e = carver.take<double>(n.equality_rows * s.stride);
  s.G_e = carver.take<double>(n.equality_rows * n.equality_rows);
  s.lambda_e = carver.take<double>(n.equality_rows);
  s.bias_e = carver.take<double>(n.equality_rows);
  s.contacts = carver.take<Contact>(pool.contacts);
  s.blocks = carver.take<Block<Real>>(pool.blocks);
  s.Y = carver.take<Real>(pool.rows * s.stride);
  s.g = carver.take<Real>(pool.rows);
  s.lambda = carver.take<Real>(pool.rows);
  s.y = carver.take<Real>(n.nv);
  s.f_1 = carver.take<Real>(pool.rows);
  s.f_2 = carver.take<Real>(pool.rows);
  s.g_1 = carver.take<Real>(pool.rows);
  s.g_2 = carver.take<Real>(pool.rows);
  s.y_1 = carver.take<Real>(n.nv);
  s.y_2 = carver.take<Real>(n.nv);
  s.start = carver.take<Real>(pool.rows);
  s.contact_count = s.block_count = s.row_count = 0;
  return carver.used();
}

template <typename Real>
inline std::size_t scratch_bytes(const ModelSizes& n, const Pool& pool) {
  Scratch<Real> unused;
  return carve(n, pool, nullptr, unused);
}

// The point that spatial quantities of a body's tree are about.
template <typename Real>
TOUCHSTONE_LANE Vec reference_point(const ModelView& m, const Scratch<Real>& s, int body) {
  return load_vec(s.X + 12 * m.body_root[body] + 9);
}

// The velocity of a body's material point at p with the joint velocities v.
template <typename Real>
TOUCHSTONE_LANE Vec point_velocity(const ModelView& m, const Scratch<Real>& s, int body, Vec p, const double* v) {
  Motion sum{{0, 0, 0}, {0, 0, 0}};
  for (int i = m.body_last_dof[body]; i >= 0; i = m.dof_parent[i]) sum = sum + v[i] * load_motion(s.S + 6 * i);
  return sum.v + cross(sum.w, p - reference_point(m, s, body));
}

}  // namespace touchstone::gpu

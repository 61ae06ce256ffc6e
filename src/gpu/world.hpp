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

// The certificate of a world that stayed where it was: infinite, as no step was made that one could be of.
constexpr double kLostNatv = __builtin_bit_cast(double, 0x7ff0000000000000ull);

// kCoulomb: one coefficient of sliding friction, rows t1, t2, n. kCone: any other contact with friction (cones.hpp).
enum class BlockType : int { kNonNegative, kBox, kCoulomb, kCone };

// Kinds of constraints that are blocks of the contact problem; equalities are eliminated before it.
enum class BlockKind : int { kFriction, kServo, kLimit, kTendonLimit, kContact, kLoopLimit, kLoopFriction };

// A block is known from step to step by its kind, its element, and what touches.
TOUCHSTONE_LANE std::int64_t block_key(BlockKind kind, int index, int feature) {
  return (static_cast<std::int64_t>(kind) << 56) | (static_cast<std::int64_t>(index) << 16) | feature;
}

// The impulses of the last step: those of contacts in world axes, of others in the first number. Torques of contacts
// follow where a model has contacts with such rows.
struct WarmStart {
  int* count = nullptr;         // 1
  std::int64_t* key = nullptr;  // capacity
  double* impulse = nullptr;    // impulse_width capacity
};

// One world's part of the batch.
struct WorldState {
  double *q = nullptr, *v = nullptr, *activation = nullptr;       // nq, nv, na
  const double *control = nullptr, *applied_force = nullptr;      // nu, nv
  double *natv = nullptr, *time = nullptr;                        // relative certificate of the last step; s
  int *status = nullptr, *contacts = nullptr, *sweeps = nullptr;  // of the last step
  double *since_pass = nullptr, *reach = nullptr;  // s: since the last position pass; m: how much farther the next step
                                                   // looks for contacts
  WarmStart warm;
  double* sensors = nullptr;       // sensor_numbers, of the last step
  double* mocap_before = nullptr;  // 7 followed: poses of mocap bodies in the last step; NaN: there was none
  double* loop_q = nullptr;  // loop_numbers: coordinates of loop joints at the start of the last step, with their turns
  double* old_velocity = nullptr;  // old_velocity: what the last step left, and three before of one motion; NaN: none
};

// A state that was put together may be deep in violations: a pass at once, that may move things as fast as it can.
TOUCHSTONE_BOTH void forget_pass(const ModelSettings& settings, double& since, double& reach) {
  since = settings.time_step > 0.5 * settings.time_constant ? settings.time_step : 0.5 * settings.time_constant;
  reach = settings.pass_interval > 0.0 ? settings.recovery_speed * since : 0.0;
}

// How many contacts and rows a world has room for in a step.
struct Pool {
  int contacts = 0, blocks = 0, rows = 0;
  int candidates = 0;  // pairs that come near
};

inline Pool pool_for(const ModelSizes& sizes, int contacts, int singles) {
  const int candidates = 4 * contacts < sizes.pairs ? 4 * contacts : sizes.pairs;
  return {contacts, contacts + singles, sizes.contact_rows * contacts + singles, candidates};
}

// Room for every limit, and for every pair.
inline Pool full_pool(const ModelSizes& sizes, int contacts) {
  Pool pool = pool_for(sizes, contacts, sizes.single_rows);
  pool.candidates = sizes.pairs;
  return pool;
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

// What one triangle of a height field has found of a shape, in the frame of the field (surface.hpp).
struct SurfaceBatch {
  Vec normal, lowest, corner[3];  // lowest: of the shape along the normal
  double least;                   // gap of the cores
  int first, count;               // of surface_points
  int proven;                     // no normal that is allowed gives less depth
  int group;                      // -1: none yet; -2: dropped
};
struct SurfacePoint {
  Vec a, b;            // on the triangle and on the core of the shape
  int name_a, name_b;  // features
};

// A block of the contact problem. Rows of contacts: t1, t2, n.
template <typename Real>
struct Block {
  BlockType type;
  BlockKind kind;
  int index;  // contact, dof, limit, tendon, actuator
  int side;   // of a limit; kCone: its place in the cones
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

// The friction of a contact with any number of rows, in coordinates z of its tangential impulses: lambda_t = T z, with
// T such that the cone is |z| <= lambda_n and the contact's own matrix is diagonal.
constexpr int kMostTangents = 5;
template <typename Real>
struct Cone {
  int rows;
  Real T[kMostTangents * kMostTangents];  // by rows: of the tangents
  Real diagonal[kMostTangents], shear[kMostTangents];
};

// Entries of the factor; before there is a mass matrix, its place holds six numbers for each dof (move_body).
TOUCHSTONE_BOTH int factor_room(const ModelSizes& n) { return n.mass_entries > 6 * n.nv ? n.mass_entries : 6 * n.nv; }

// The arrays of a step: type, name, entries. `Real` is what the sweeps compute with, `stride` that of the rows of Y.
#define TOUCHSTONE_SCRATCH(FIELD)                                                                                \
  FIELD(double, q, n.nq) /* at the start of the step */                                                          \
  FIELD(double, v, n.nv)                                                                                         \
  FIELD(double, X, 12 * n.bodies) /* poses */                                                                    \
  FIELD(double, S, 6 * n.nv)      /* axes */                                                                     \
  FIELD(double, velocity, 6 * n.bodies)                                                                          \
  FIELD(double, free_velocity, 6 * n.bodies)                           /* with v_free */                         \
  FIELD(double, base_velocity, n.equality_rows > 0 ? 6 * n.bodies : 0) /* with v_base, where that is another */  \
  FIELD(double, next_velocity, 6 * n.bodies)                           /* with v_next */                         \
  FIELD(double, subtree, kSubtree* n.bodies) /* inertia (mass, first, second moment) and wrench */               \
  FIELD(double, L, factor_room(n))           /* factor of A: rows of the mass matrix */                          \
  FIELD(double, D_inverse, n.nv)             /* its diagonal */                                                  \
  FIELD(double, D_root, n.nv)                /* and D^-1/2 */                                                    \
  FIELD(double, tau, n.nv)                                                                                       \
  FIELD(double, v_free, n.nv)                                                                                    \
  FIELD(double, v_base, n.equality_rows > 0 ? n.nv : 0)                                                          \
  FIELD(double, v_next, n.nv)                                                                                    \
  FIELD(double, work, n.nv)                                                                                      \
  FIELD(double, servo_force, n.nu)                                                                               \
  FIELD(double, servo_gain, n.nu)                                                                                \
  FIELD(double, activation, n.na) /* of the next state */                                                        \
  FIELD(int, servo_mode, n.nu)                                                                                   \
  FIELD(double, ball, kBall* n.shapes) /* centre, way in the step, way of turning */                             \
  FIELD(int, candidate, pool.candidates)                                                                         \
  FIELD(double, Y_e, n.equality_rows* stride) /* equalities: whitened rows, factor of G, impulses */             \
  FIELD(double, G_e, n.equality_rows* n.equality_rows)                                                           \
  FIELD(double, inverse_e, n.equality_rows) /* of the diagonal of the factor */                                  \
  FIELD(double, lambda_e, n.equality_rows)                                                                       \
  FIELD(double, bias_e, n.equality_rows)                                                                         \
  FIELD(double, along_e, n.equality_rows) /* velocities along Y_e */                                             \
  FIELD(double, share_e, n.equality_rows) /* share_equalities, with rows W */                                    \
  FIELD(double, W_e, n.equality_rows* stride)                                                                    \
  FIELD(Real, Q_e, n.equality_rows* stride)       /* Y_e in the rows' precision */                               \
  FIELD(Real, part_e, n.equality_rows* pool.rows) /* of each row along each of Y_e */                            \
  FIELD(Contact, contacts, pool.contacts)                                                                        \
  FIELD(Block<Real>, blocks, pool.blocks)                                                                        \
  FIELD(Real, L_rows, n.mass_entries) /* L and D_root in the rows' precision */                                  \
  FIELD(Real, D_half, n.nv)                                                                                      \
  FIELD(Real, Y, pool.rows* stride) /* whitened rows */                                                          \
  FIELD(Real, g, pool.rows)         /* free velocities */                                                        \
  FIELD(Real, lambda, pool.rows)    /* impulses */                                                               \
  FIELD(Real, y, n.nv)              /* Y' lambda */                                                              \
  FIELD(Real, f_1, pool.rows)       /* history of the acceleration */                                            \
  FIELD(Real, f_2, pool.rows)                                                                                    \
  FIELD(Real, g_1, pool.rows)                                                                                    \
  FIELD(Real, g_2, pool.rows)                                                                                    \
  FIELD(Real, y_1, n.nv)                                                                                         \
  FIELD(Real, y_2, n.nv)                                                                                         \
  FIELD(Real, start, pool.rows)                                                                                  \
  FIELD(int, counts, 4)                /* contacts, blocks, rows, and what became of the step: between stages */ \
  FIELD(double, servo_stiffness, n.nu) /* as long as forces are within their limits: for the position pass */    \
  FIELD(double, reach, 1)              /* m: how much farther than its margin the step looks for contacts */     \
  FIELD(Cone<Real>, cones, n.cones > 0 ? pool.blocks : 0)                                                        \
  FIELD(SurfaceBatch, batches, n.fields > 0 ? kBatchesOfContact * pool.contacts : 0) /* of one pair */           \
  FIELD(SurfacePoint, surface_points, n.fields > 0 ? kPointsOfContact * pool.contacts : 0)                       \
  FIELD(double, J_c, n.coordinates* n.nv)          /* rows along coordinates of loop joints */                   \
  FIELD(double, coordinate, n.coordinates)         /* their values */                                            \
  FIELD(double, held_velocity, n.old_velocity / 4) /* loops hold for the mean of it and the next */              \
  FIELD(double, mean_velocity, n.old_velocity / 4)

constexpr int kSubtree = 16;  // numbers: inertia 10, wrench 6
constexpr int kBall = 7;
// Room for triangles that touch, and for their points, by that for contacts.
constexpr int kBatchesOfContact = 2, kPointsOfContact = 6;

template <typename Real>
struct Scratch {
  Pool pool;
  int stride;  // odd, so that lanes meet different banks
#define TOUCHSTONE_FIELD(type, name, count) type* name;
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  int contact_count, block_count, row_count;
};

// How much farther than its margin a step looks for contacts and limits, m: after a position pass that moved far.
template <typename Real>
TOUCHSTONE_LANE double reach_of(const ModelSettings& settings, const Scratch<Real>& s) {
  return settings.pass_interval > 0.0 ? s.reach[0] : 0.0;
}

TOUCHSTONE_BOTH int row_stride(const ModelSizes& n) { return n.nv | 1; }

// All arrays in one piece of memory.
template <typename Real>
TOUCHSTONE_BOTH std::size_t carve(const ModelSizes& n, const Pool& pool, char* base, Scratch<Real>& s) {
  Carver carver(base);
  const int stride = row_stride(n);
  s.pool = pool;
  s.stride = stride;
#define TOUCHSTONE_FIELD(type, name, count) s.name = carver.take<type>(count);
  TOUCHSTONE_SCRATCH(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
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

// The velocity of a body's material point at p, with the spatial velocities of all bodies.
template <typename Real>
TOUCHSTONE_LANE Vec point_velocity(const ModelView& m, const Scratch<Real>& s, const double* velocities, int body,
                                   Vec p) {
  const Motion v = load_motion(velocities + 6 * body);
  return v.v + cross(v.w, p - reference_point(m, s, body));
}

}  // namespace touchstone::gpu

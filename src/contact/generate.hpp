// Contact problems made by rule or at random, for tests, benchmarks and experiments. Everything but the random dual
// problem is given by its primal view: free rigid bodies (6 dofs each: velocity of the centre of mass, then angular
// velocity, in world axes), gravity along -z, gravity already in v_free. The same arguments and seed give the same
// problem.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/contact/problem.hpp"

namespace touchstone {

struct SceneOptions {
  double time_step = 1e-3;  // s
  double gravity = 9.81;    // m/s^2
  double friction = 0.5;
};

// Rigid bodies and contacts between them, one after another; then finish().
class SceneBuilder {
 public:
  explicit SceneBuilder(const SceneOptions& options = {}) : options_(options) {
    problem_.time_step = options.time_step;
  }

  // Returns the index of the body, which is its clique. `inertia`: about the centre of mass, world axes.
  int add_body(double mass, const Vector3& centre, const Matrix3& inertia, const Vector3& velocity = Vector3::Zero(),
               const Vector3& angular_velocity = Vector3::Zero());
  int add_box(double mass, const Vector3& centre, const Vector3& half_size, const Vector3& velocity = Vector3::Zero());
  int add_sphere(double mass, const Vector3& centre, double radius, const Vector3& velocity = Vector3::Zero());

  // A contact at a point; the normal points from A to B, and body -1 is the ground. Tangents: the first is normal to
  // the world axis that the normal has least of.
  int add_contact(int body_a, int body_b, const Vector3& point, const Vector3& normal);
  int add_contact(int body_a, int body_b, const Vector3& point, const Vector3& normal, double friction);
  // With torsional (m = 4: mu, mu, mu_torsion) and rolling friction (m = 6: mu, mu, torsion, rolling, rolling).
  int add_contact(int body_a, int body_b, const Vector3& point, const Vector3& normal,
                  const std::vector<double>& friction, double length);
  // A ball joint: the two bodies share the point.
  int add_ball_joint(int body_a, int body_b, const Vector3& point);

  ContactProblem finish();

 private:
  void add_jacobian(int block, int body, double sign, const Vector3& point, const Matrix3& frame, int rotations);

  SceneOptions options_;
  ContactProblem problem_;
  std::vector<Vector3> centres_;
  std::vector<double> v_free_;
  DenseInertia inertia_;
  std::vector<JacobianBlock> jacobian_;
};

// A cube of 1 kg and side 1 m on the ground: 4 contacts at its lower corners. Free velocity of the cube: velocity +
// gravity.
ContactProblem make_cube(const Vector3& velocity, const SceneOptions& options = {});

// n cubes of side 1 m on each other, 4 contacts an interface; masses grow geometrically from 1 kg at the bottom to
// `mass_ratio` at the top.
ContactProblem make_box_stack(int n, double mass_ratio = 1.0, const SceneOptions& options = {});

// Spheres of the given masses (from the bottom) on each other, one contact an interface.
ContactProblem make_sphere_stack(const std::vector<double>& masses, const SceneOptions& options = {});

// A row of spheres on the ground, each touching the next, pushed from one end: about n contacts, a problem of one
// dimension.
ContactProblem make_chain(int contacts, const SceneOptions& options = {});

// Spheres of random mass on a jittered cubic lattice about as high as wide, every one touching its neighbours and the
// lowest layer the ground: at least n contacts, nearly isostatic.
ContactProblem make_pile(int contacts, std::uint32_t seed, double mass_ratio = 10.0, const SceneOptions& options = {});

// A triangular wall of bricks in running bond, 4 contacts between two bricks that overlap: at least n contacts,
// hyperstatic.
ContactProblem make_wall(int contacts, const SceneOptions& options = {});

struct RandomProblemOptions {
  int contacts = 10;
  int equalities = 0;  // of 1 to 6 rows
  int limits = 0;
  int boxes = 0;
  bool mixed_contacts = false;  // dimensions 1, 3, 4, 6 and anisotropic friction; else 3 and isotropic
  double condition = 100.0;     // ratio of the largest to the smallest nonzero eigenvalue of G
  double hyperstaticity = 1.0;  // rows divided by the rank of G, >= 1
  double skew = 0.0;            // size of a skew part added to G, relative to its largest entry
  double min_friction = 0.2, max_friction = 1.0;
};

// A dense dual problem with g in the range of J, so that a solution exists (g = J v_free, with b = 0).
ContactProblem make_random_problem(const RandomProblemOptions& options, std::uint32_t seed);

}  // namespace touchstone

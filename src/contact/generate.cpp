#include "touchstone/contact/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include <Eigen/QR>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

Matrix3 cross_matrix(const Vector3& p) {
  Matrix3 m;
  m << 0, -p.z(), p.y(), p.z(), 0, -p.x(), -p.y(), p.x(), 0;
  return m;
}

// Columns t1, t2, n.
Matrix3 contact_frame(const Vector3& normal) {
  const Vector3 n = normal.normalized();
  Vector3::Index least = 0;
  n.cwiseAbs().minCoeff(&least);
  const Vector3 t1 = n.cross(Vector3::Unit(least)).normalized();
  Matrix3 frame;
  frame << t1, n.cross(t1), n;
  return frame;
}

// The four corners of a rectangle of half-sizes (x, y) around a point, in the plane z = const.
template <typename Function>
void for_corners(const Vector3& centre, double x, double y, Function&& function) {
  for (const double sx : {-1.0, 1.0}) {
    for (const double sy : {-1.0, 1.0}) function(Vector3(centre + Vector3(sx * x, sy * y, 0.0)));
  }
}

}  // namespace

int SceneBuilder::add_body(double mass, const Vector3& centre, const Matrix3& inertia, const Vector3& velocity,
                           const Vector3& angular_velocity) {
  Eigen::Matrix<double, 6, 6> A = Eigen::Matrix<double, 6, 6>::Zero();
  A.topLeftCorner<3, 3>().diagonal().setConstant(mass);
  A.bottomRightCorner<3, 3>() = inertia;
  centres_.push_back(centre);
  const Vector3 fallen = velocity - options_.time_step * options_.gravity * Vector3::UnitZ();
  v_free_.insert(v_free_.end(), fallen.begin(), fallen.end());
  v_free_.insert(v_free_.end(), angular_velocity.begin(), angular_velocity.end());
  return inertia_.add(A);
}

int SceneBuilder::add_box(double mass, const Vector3& centre, const Vector3& half_size, const Vector3& velocity) {
  const Vector3 square = half_size.cwiseAbs2();
  const Vector3 moments = mass / 3.0 * (Vector3::Constant(square.sum()) - square);
  return add_body(mass, centre, moments.asDiagonal(), velocity);
}

int SceneBuilder::add_sphere(double mass, const Vector3& centre, double radius, const Vector3& velocity) {
  return add_body(mass, centre, 0.4 * mass * radius * radius * Matrix3::Identity(), velocity);
}

// Rows: the three translations of the frame with the normal last, `rotations` rotations before it.
void SceneBuilder::add_jacobian(int block, int body, double sign, const Vector3& point, const Matrix3& frame,
                                int rotations) {
  if (body < 0) return;
  Eigen::Matrix<double, 3, 6> translation;
  translation << frame.transpose(), -frame.transpose() * cross_matrix(point - centres_[static_cast<std::size_t>(body)]);
  MatrixX J = MatrixX::Zero(3 + rotations, 6);
  J.topRows(2) = translation.topRows(2);
  J.bottomRows(1) = translation.bottomRows(1);
  // Torsion about the normal first, then rolling about the tangents.
  if (rotations > 0) J.block<1, 3>(2, 3) = frame.col(2).transpose();
  if (rotations > 1) J.block<2, 3>(3, 3) = frame.leftCols<2>().transpose();
  jacobian_.push_back({block, body, sign * J});
}

int SceneBuilder::add_contact(int body_a, int body_b, const Vector3& point, const Vector3& normal) {
  return add_contact(body_a, body_b, point, normal, options_.friction);
}

int SceneBuilder::add_contact(int body_a, int body_b, const Vector3& point, const Vector3& normal, double friction) {
  return add_contact(body_a, body_b, point, normal, std::vector<double>{friction, friction}, 1.0);
}

int SceneBuilder::add_contact(int body_a, int body_b, const Vector3& point, const Vector3& normal,
                              const std::vector<double>& friction, double length) {
  const int rotations = static_cast<int>(friction.size()) - 2;
  if (rotations != 0 && rotations != 1 && rotations != 3)
    throw Error("a contact with {} friction coefficients; give 2, 3 (torsion) or 5 (rolling)", friction.size());
  const int block = problem_.blocks.add_coulomb(friction.data(), static_cast<int>(friction.size()));
  const Matrix3 frame = contact_frame(normal);
  add_jacobian(block, body_a, -1.0, point, frame, rotations);
  add_jacobian(block, body_b, 1.0, point, frame, rotations);
  problem_.row_length.resize(static_cast<std::size_t>(problem_.nrow()), 1.0);
  for (int k = 0; k < rotations; ++k) problem_.row_length[static_cast<std::size_t>(problem_.nrow() - 2 - k)] = length;
  return block;
}

int SceneBuilder::add_ball_joint(int body_a, int body_b, const Vector3& point) {
  const int block = problem_.blocks.add_equality(3);
  add_jacobian(block, body_a, -1.0, point, Matrix3::Identity(), 0);
  add_jacobian(block, body_b, 1.0, point, Matrix3::Identity(), 0);
  problem_.row_length.resize(static_cast<std::size_t>(problem_.nrow()), 1.0);
  return block;
}

ContactProblem SceneBuilder::finish() {
  problem_.primal.v_free = Eigen::Map<const VectorX>(v_free_.data(), std::ssize(v_free_));
  problem_.primal.set_inertia(std::move(inertia_));
  problem_.set_jacobian(jacobian_);
  return std::move(problem_);
}

ContactProblem make_cube(const Vector3& velocity, const SceneOptions& options) {
  SceneBuilder scene(options);
  const int cube = scene.add_box(1.0, {0, 0, 0.5}, Vector3::Constant(0.5), velocity);
  for_corners(Vector3::Zero(), 0.5, 0.5, [&](const Vector3& p) { scene.add_contact(-1, cube, p, Vector3::UnitZ()); });
  return scene.finish();
}

ContactProblem make_box_stack(int n, double mass_ratio, const SceneOptions& options) {
  SceneBuilder scene(options);
  int below = -1;
  for (int k = 0; k < n; ++k) {
    const double mass = n > 1 ? std::pow(mass_ratio, static_cast<double>(k) / (n - 1)) : 1.0;
    const int body = scene.add_box(mass, {0, 0, k + 0.5}, Vector3::Constant(0.5));
    for_corners({0, 0, static_cast<double>(k)}, 0.5, 0.5,
                [&](const Vector3& p) { scene.add_contact(below, body, p, Vector3::UnitZ()); });
    below = body;
  }
  return scene.finish();
}

ContactProblem make_sphere_stack(const std::vector<double>& masses, const SceneOptions& options) {
  SceneBuilder scene(options);
  int below = -1;
  double height = 0.0;
  for (const double mass : masses) {
    const int body = scene.add_sphere(mass, {0, 0, height + 0.5}, 0.5);
    scene.add_contact(below, body, {0, 0, height}, Vector3::UnitZ());
    below = body;
    height += 1.0;
  }
  return scene.finish();
}

ContactProblem make_chain(int contacts, const SceneOptions& options) {
  SceneBuilder scene(options);
  const int n = std::max(1, (contacts + 1) / 2);
  int before = -1;
  for (int k = 0; k < n; ++k) {
    const Vector3 velocity(k == 0 ? 0.1 : 0.0, 0.0, 0.0);
    const int body = scene.add_sphere(1.0, {static_cast<double>(k), 0, 0.5}, 0.5, velocity);
    scene.add_contact(-1, body, {static_cast<double>(k), 0, 0}, Vector3::UnitZ());
    if (before >= 0) scene.add_contact(before, body, {k - 0.5, 0, 0.5}, Vector3::UnitX());
    before = body;
  }
  return scene.finish();
}

ContactProblem make_pile(int contacts, std::uint32_t seed, double mass_ratio, const SceneOptions& options) {
  SceneBuilder scene(options);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  // A sphere has up to 3 contacts: with its lower, left and front neighbours.
  const int side = std::max(1, static_cast<int>(std::lround(std::cbrt(contacts / 3.0))));
  int bodies = 0;
  for (int count = 0; count < contacts; ++bodies) {
    const int rest = bodies % (side * side);
    count += 1 + (rest % side > 0 ? 1 : 0) + (rest / side > 0 ? 1 : 0);
  }
  const auto jitter = [&]() -> Vector3 {
    const double z = uniform(random), y = uniform(random),
                 x = uniform(random);  // one after another: arguments have no order
    return Vector3(x, y, z) * 0.3 - Vector3::Constant(0.15);
  };
  std::vector<Vector3> centre;
  for (int k = 0; k < bodies; ++k) {
    const int layer = k / (side * side), rest = k % (side * side), row = rest / side;
    const Vector3 cell(rest % side, row, layer + 0.5);
    centre.emplace_back(cell + (layer > 0 ? jitter() : Vector3(Vector3::Zero())));
    const double mass = std::pow(mass_ratio, uniform(random));
    scene.add_sphere(mass, centre.back(), 0.5, 0.2 * jitter());
  }
  const auto touch = [&](int a, int b) {
    const Vector3 between = centre[static_cast<std::size_t>(b)] - centre[static_cast<std::size_t>(a)];
    scene.add_contact(a, b, centre[static_cast<std::size_t>(a)] + 0.5 * between, between);
  };
  for (int k = 0; k < bodies; ++k) {
    const int rest = k % (side * side);
    if (k < side * side) {
      scene.add_contact(-1, k,
                        Vector3(centre[static_cast<std::size_t>(k)].x(), centre[static_cast<std::size_t>(k)].y(), 0.0),
                        Vector3::UnitZ());
    } else {
      touch(k - side * side, k);
    }
    if (rest % side > 0) touch(k - 1, k);
    if (rest / side > 0) touch(k - side, k);
  }
  return scene.finish();
}

ContactProblem make_wall(int contacts, const SceneOptions& options) {
  SceneBuilder scene(options);
  // 4 contacts for each of the lowest bricks (2 x 1 x 1 m), 8 for each of the others: 4 width^2.
  const int width = std::max(1, static_cast<int>(std::ceil(std::sqrt(contacts / 4.0))));
  int below = 0;  // the first brick of the layer below
  for (int layer = 0; layer < width; ++layer) {
    const int first = layer == 0 ? 0 : below + width - layer + 1;
    for (int column = 0; column < width - layer; ++column) {
      const double x = 2.0 * column + layer;
      const int brick = scene.add_box(1.0, {x, 0, layer + 0.5}, {1.0, 0.5, 0.5});
      const auto touch = [&](int other, double middle, double half_width) {
        for_corners({middle, 0, static_cast<double>(layer)}, half_width, 0.5,
                    [&](const Vector3& p) { scene.add_contact(other, brick, p, Vector3::UnitZ()); });
      };
      if (layer == 0) {
        touch(-1, x, 1.0);
      } else {
        touch(below + column, x - 0.5, 0.5);
        touch(below + column + 1, x + 0.5, 0.5);
      }
    }
    below = first;
  }
  return scene.finish();
}

ContactProblem make_random_problem(const RandomProblemOptions& options, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::normal_distribution<double> normal;
  const auto between = [&](double low, double high) { return low + (high - low) * uniform(random); };
  const auto pick = [&](int count) { return std::min(count - 1, static_cast<int>(uniform(random) * count)); };
  ContactProblem problem;
  Blocks& blocks = problem.blocks;
  for (int k = 0; k < options.equalities; ++k) blocks.add_equality(1 + pick(kMaxBlockSize));
  for (int k = 0; k < options.limits; ++k) blocks.add_nonnegative();
  for (int k = 0; k < options.boxes; ++k) {
    const double high = uniform(random), low = -uniform(random);
    blocks.add_box(low, high);
  }
  for (int k = 0; k < options.contacts; ++k) {
    const int size = options.mixed_contacts ? std::array{1, 3, 4, 6}[static_cast<std::size_t>(pick(4))] : 3;
    double mu[kMaxBlockSize];
    for (int j = 0; j < size - 1; ++j) {
      mu[j] = j > 0 && !options.mixed_contacts ? mu[0] : between(options.min_friction, options.max_friction);
    }
    blocks.add_coulomb(mu, size - 1);
  }
  const int n = blocks.rows();
  const int rank =
      std::clamp(static_cast<int>(std::lround(n / std::max(1.0, options.hyperstaticity))), 1, std::max(1, n));
  const auto gaussian = [&](int rows, int cols) {
    return MatrixX(MatrixX::NullaryExpr(rows, cols, [&] { return normal(random); }));
  };
  // G = Q diag(e) Q' with orthonormal Q (n x rank) and eigenvalues from 1/condition to 1, evenly in the logarithm.
  const MatrixX X = gaussian(n, rank);
  const MatrixX Q = Eigen::HouseholderQR<MatrixX>(X).householderQ() * MatrixX::Identity(n, rank);
  VectorX root(rank);
  for (int k = 0; k < rank; ++k)
    root[k] = std::pow(options.condition, -0.5 * (rank > 1 ? static_cast<double>(k) / (rank - 1) : 0.0));
  const MatrixX J = Q * root.asDiagonal();
  MatrixX G = J * J.transpose();
  if (options.skew > 0.0) {
    const MatrixX noise = gaussian(n, n);
    const MatrixX skew = noise - noise.transpose();
    G += options.skew * G.cwiseAbs().maxCoeff() / skew.cwiseAbs().maxCoeff() * skew;
  }
  problem.dual.set(std::move(G), J * gaussian(rank, 1));
  return problem;
}

}  // namespace touchstone

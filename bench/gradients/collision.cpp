// Estimators of the derivatives of collision compared (Montaut et al. 2023, V): contact-pose optimisation on rough
// shapes and on hulls of household things, and times. Prints JSON. bench_gradients_collision [pairs] [targets] [poses]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <nlohmann/json.hpp>

#include "touchstone/collision/derivatives/collision_derivatives.hpp"
#include "touchstone/math/so3.hpp"

namespace {

using namespace touchstone;
using Json = nlohmann::json;
using Random = std::mt19937_64;
using Matrix36 = Eigen::Matrix<double, 3, 6>;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

Vector3 random_unit(Random& random) {
  std::normal_distribution<double> normal;
  return Vector3(normal(random), normal(random), normal(random)).normalized();
}

Quaternion random_rotation(Random& random) {
  std::normal_distribution<double> normal;
  return Quaternion(normal(random), normal(random), normal(random), normal(random)).normalized();
}

// --- shapes ---

// An ellipsoid by twelve vertices: those of a dodecahedron's dual, turned at random and stretched.
ConvexShape rough_ellipsoid(Random& random) {
  const double g = 0.5 * (1.0 + std::sqrt(5.0));
  const Quaternion turn = random_rotation(random);
  const Vector3 axes(uniform(random, 0.05, 0.2), uniform(random, 0.05, 0.2), uniform(random, 0.05, 0.2));
  std::vector<Vector3> points;
  for (int k = 0; k < 12; ++k) {
    const double a = (k & 1) != 0 ? 1.0 : -1.0, b = (k & 2) != 0 ? g : -g;
    Vector3 p = Vector3::Zero();
    p[k / 4] = a;
    p[(k / 4 + 1) % 3] = b;
    points.push_back(axes.cwiseProduct(turn * p.normalized()));
  }
  return ConvexShape::polytope(points);
}

// Superellipsoids of a few hundred points with sizes of household things: cans, boxes, fruit, bottles.
ConvexShape household(Random& random) {
  const Vector3 axes(uniform(random, 0.02, 0.06), uniform(random, 0.02, 0.06), uniform(random, 0.03, 0.12));
  const double e1 = uniform(random, 0.2, 1.0), e2 = uniform(random, 0.2, 1.0);
  const auto power = [](double x, double e) { return std::copysign(std::pow(std::abs(x), e), x); };
  std::vector<Vector3> points;
  for (int k = 0; k < 400; ++k) {
    const Vector3 u = random_unit(random);
    const double across = std::hypot(u.x(), u.y());
    points.push_back(axes.cwiseProduct(Vector3(power(across, e1) * power(u.x() / across, e2),
                                               power(across, e1) * power(u.y() / across, e2), power(u.z(), e1))));
  }
  return ConvexShape::polytope(points);
}

Vector3 point_on(const ConvexShape& shape, Random& random) {
  const Polytope& p = *shape.polytope();
  const auto& t = p.triangles[std::uniform_int_distribution<std::size_t>(0, p.triangles.size() - 1)(random)];
  double a = uniform(random, 0, 1), b = uniform(random, 0, 1);
  if (a + b > 1.0) a = 1.0 - a, b = 1.0 - b;
  const auto v = [&](int k) { return p.vertices[static_cast<std::size_t>(t[k])].eigen(); };
  return (1.0 - a - b) * v(0) + a * v(1) + b * v(2);
}

// --- estimators ---

struct Method {
  const char* name;
  enum Kind { kDifferences, kExact, kZeroth, kGaussian, kGumbel } kind;
  double noise;
  int count;  // samples or depth
};

const Method kMethods[] = {
    {"finite differences, 1e-6", Method::kDifferences, 1e-6, 12},
    {"finite differences, 1e-3", Method::kDifferences, 1e-3, 12},
    {"exact", Method::kExact, 0.0, 0},
    {"zeroth order, M = 50", Method::kZeroth, 1e-2, 50},
    {"first order, Gaussian, M = 20", Method::kGaussian, 1e-3, 20},
    {"first order, Gumbel, depth 1", Method::kGumbel, 1e-4, 1},
};

// In the paper noise acts on the separation x*: a direction is perturbed by noise / |x*|. Ours acts on the normal.
constexpr double kLargestAngle = 0.5, kLargestHeight = 0.02;

Pose moved(const Pose& X, const Vector6& step) {
  return {Mat3(so3_exp(Vector3(step.tail<3>())).toRotationMatrix()) * X.R, X.p + Vec3(Vector3(step.head<3>()))};
}

struct Points {
  Matrix36 a = Matrix36::Zero(), b = Matrix36::Zero();
};

class Estimator {
 public:
  explicit Estimator(const Method& method) : method_(method) {}

  ContactResult collide(const ConvexShape& A, const ConvexShape& B, const Pose& X) {
    return touchstone::collide(A, Pose(), B, X, differentiate_.queries(), {}, &cache_);
  }

  Points operator()(const ConvexShape& A, const ConvexShape& B, const Pose& X, const ContactResult& contact) {
    Points out;
    if (method_.kind == Method::kDifferences) {
      for (int k = 0; k < 6; ++k) {
        const Vector6 e = method_.noise * Vector6::Unit(k);
        const ContactResult up = collide(A, B, moved(X, e)), down = collide(A, B, moved(X, -e));
        out.a.col(k) = (up.point_A - down.point_A).eigen() / (2.0 * method_.noise);
        out.b.col(k) = (up.point_B - down.point_B).eigen() / (2.0 * method_.noise);
      }
      return out;
    }
    CollisionDerivativeOptions options;
    const double apart = std::max(std::abs(contact.distance), 1e-12);
    switch (method_.kind) {
      case Method::kZeroth:
        options.method = CollisionGradient::kZerothOrder;
        options.noise = method_.noise;
        options.samples = method_.count;
        break;
      case Method::kGaussian:
        options.method = CollisionGradient::kGaussian;
        options.noise = std::min(method_.noise / apart, kLargestAngle);
        options.samples = method_.count;
        break;
      case Method::kGumbel:
        options.method = CollisionGradient::kGumbel;
        options.noise = std::min(method_.noise / apart, kLargestHeight);
        options.depth = method_.count;
        break;
      default:
        break;
    }
    const CollisionDerivatives d = differentiate_.of_contact(A, Pose(), B, X, contact, options);
    if (d.valid) out = {d.by_B.point_A, d.by_B.point_B};
    return out;
  }

 private:
  Method method_;
  CollisionDifferentiator differentiate_;
  QueryCache cache_;
};

// --- contact-pose optimisation, eq. 30 ---

struct Problem {
  const ConvexShape* A;
  const ConvexShape* B;
  Vector3 goal_A, goal_B;  // in the frames of the shapes
  Pose start;
};

using Residual = Eigen::Matrix<double, 9, 1>;

Residual residual(const Problem& p, const Pose& X, const ContactResult& c) {
  Residual r;
  r << c.point_A.eigen() - p.goal_A, c.point_B.eigen() - (X * Vec3(p.goal_B)).eigen(),
      c.point_A.eigen() - c.point_B.eigen();
  return r;
}

constexpr int kIterations = 50, kTrials = 15;

// Gauss-Newton, damped until the cost falls (Levenberg and Marquardt) where the paper shortens the step: with the
// derivatives of vertices and faces J is often singular. The cost after each iteration.
std::vector<double> optimise(const Problem& p, Estimator& estimate) {
  Pose X = p.start;
  ContactResult c = estimate.collide(*p.A, *p.B, X);
  Residual r = residual(p, X, c);
  std::vector<double> costs{0.5 * r.squaredNorm()};
  double damping = 1e-3;
  for (int k = 0; k < kIterations; ++k) {
    const Points d = estimate(*p.A, *p.B, X, c);
    Matrix36 goal;  // of the goal on B
    goal << Matrix3::Identity(), -skew((X.R * Vec3(p.goal_B)).eigen());
    Eigen::Matrix<double, 9, 6> J;
    J << d.a, d.b - goal, d.a - d.b;
    const Eigen::Matrix<double, 6, 6> H = J.transpose() * J;
    const Vector6 gradient = J.transpose() * r;
    for (int trial = 0; trial < kTrials; ++trial) {
      const double floor = damping * H.diagonal().maxCoeff() + 1e-300;
      const Vector6 step = -(H + floor * Eigen::Matrix<double, 6, 6>::Identity()).ldlt().solve(gradient);
      const Pose there = moved(X, step);
      const ContactResult moved_c = estimate.collide(*p.A, *p.B, there);
      const Residual moved_r = residual(p, there, moved_c);
      if (!moved_c.valid() || !(0.5 * moved_r.squaredNorm() < costs.back())) {
        damping = std::min(4.0 * damping, 1e6);
        continue;
      }
      damping = std::max(damping / 8.0, 1e-12);
      X = there;
      c = moved_c;
      r = moved_r;
      break;
    }
    costs.push_back(0.5 * r.squaredNorm());
  }
  return costs;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// `touchable`: targets are the nearest points in another pose. Points of two faces touch only where the faces lie on
// each other, and then the nearest points are not determined.
std::vector<Problem> make_problems(const std::vector<ConvexShape>& shapes, int targets, Random& random,
                                   bool touchable = false) {
  std::vector<Problem> problems;
  QueryWorkspace workspace;
  const auto random_pose = [&] { return Pose(Transform{0.5 * random_unit(random), random_rotation(random)}); };
  for (std::size_t k = 0; k + 1 < shapes.size(); k += 2) {
    for (int t = 0; t < targets; ++t) {
      Problem p{&shapes[k], &shapes[k + 1], point_on(shapes[k], random), point_on(shapes[k + 1], random), {}};
      if (touchable) {
        const Pose X = random_pose();
        const ContactResult c = collide(*p.A, Pose(), *p.B, X, workspace);
        p.goal_A = c.point_A.eigen();
        p.goal_B = transpose_times(X.R, c.point_B - X.p).eigen();
      }
      p.start = random_pose();
      problems.push_back(p);
    }
  }
  return problems;
}

Json compare(const std::vector<Problem>& problems, const std::vector<Method>& methods) {
  Json all = Json::array();
  for (const Method& method : methods) {
    std::vector<double> last;
    std::vector<std::vector<double>> by_iteration(kIterations + 1);
    for (const Problem& p : problems) {
      Estimator estimate(method);
      const std::vector<double> costs = optimise(p, estimate);
      last.push_back(costs.back());
      for (std::size_t k = 0; k < costs.size(); ++k) by_iteration[k].push_back(costs[k]);
    }
    Json row{{"method", method.name}, {"problems", problems.size()}};
    for (const double share : {0.1, 0.25, 0.5, 0.75, 0.9}) row["quantiles"].push_back(quantile(last, share));
    for (const auto& costs : by_iteration) {
      row["median"].push_back(quantile(costs, 0.5));
      row["d9"].push_back(quantile(costs, 0.9));
    }
    all.push_back(row);
  }
  return all;
}

// --- times ---

Json time_methods(const std::vector<ConvexShape>& shapes, int poses, Random& random) {
  const std::vector<Method> methods{{"finite differences, M = 12", Method::kDifferences, 1e-3, 12},
                                    {"exact", Method::kExact, 0, 0},
                                    {"zeroth order, M = 10", Method::kZeroth, 1e-2, 10},
                                    {"zeroth order, M = 20", Method::kZeroth, 1e-2, 20},
                                    {"zeroth order, M = 50", Method::kZeroth, 1e-2, 50},
                                    {"zeroth order, M = 100", Method::kZeroth, 1e-2, 100},
                                    {"Gaussian, M = 10", Method::kGaussian, 1e-3, 10},
                                    {"Gaussian, M = 20", Method::kGaussian, 1e-3, 20},
                                    {"Gaussian, M = 50", Method::kGaussian, 1e-3, 50},
                                    {"Gaussian, M = 100", Method::kGaussian, 1e-3, 100},
                                    {"Gumbel, depth 1", Method::kGumbel, 1e-4, 1},
                                    {"Gumbel, depth 3", Method::kGumbel, 1e-4, 3},
                                    {"Gumbel, depth 5", Method::kGumbel, 1e-4, 5}};
  struct Case {
    const ConvexShape *A, *B;
    Pose X;
  };
  std::vector<Case> cases[2];  // apart, overlapping
  QueryWorkspace workspace;
  for (int k = 0; k < 50 * poses && (cases[0].size() < static_cast<std::size_t>(poses) ||
                                     cases[1].size() < static_cast<std::size_t>(poses));
       ++k) {
    const auto i = std::uniform_int_distribution<std::size_t>(0, shapes.size() - 1)(random);
    const auto j = std::uniform_int_distribution<std::size_t>(0, shapes.size() - 1)(random);
    const Case c{&shapes[i], &shapes[j],
                 Pose(Transform{uniform(random, 0.0, 0.25) * random_unit(random), random_rotation(random)})};
    const ContactResult found = collide(*c.A, Pose(), *c.B, c.X, workspace);
    auto& list = cases[found.distance < 0.0 ? 1 : 0];
    if (found.valid() && std::abs(found.distance) > 1e-6 && list.size() < static_cast<std::size_t>(poses))
      list.push_back(c);
  }
  Json all = Json::array();
  for (const Method& method : methods) {
    Json row{{"method", method.name}};
    for (int overlap = 0; overlap < 2; ++overlap) {
      Estimator estimate(method);
      double sum = 0.0, squares = 0.0;
      for (const Case& c : cases[overlap]) {
        const ContactResult contact = estimate.collide(*c.A, *c.B, c.X);
        estimate(*c.A, *c.B, c.X, contact);
        constexpr int kRepeats = 5;
        double best = 1e9;
        for (int k = 0; k < kRepeats; ++k) {
          const auto begin = std::chrono::steady_clock::now();
          const Points d = estimate(*c.A, *c.B, c.X, contact);
          const double time =
              std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
          if (std::isfinite(d.a(0, 0))) best = std::min(best, time);
        }
        sum += best;
        squares += best * best;
      }
      const double n = static_cast<double>(cases[overlap].size()), mean = sum / n;
      row[overlap == 1 ? "collision" : "apart"] = {mean, std::sqrt(std::max(0.0, squares / n - mean * mean))};
      row[overlap == 1 ? "collisions" : "aparts"] = cases[overlap].size();
    }
    all.push_back(row);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int k, int otherwise) { return argc > k ? std::max(1, std::atoi(argv[k])) : otherwise; };
  const int pairs = number(1, 100), targets = number(2, 10), poses = number(3, 500);
  Random random(1);
  std::vector<ConvexShape> rough, things;
  for (int k = 0; k < 2 * pairs; ++k) rough.push_back(rough_ellipsoid(random));
  for (int k = 0; k < 40; ++k) things.push_back(household(random));
  const std::vector<Method> methods(std::begin(kMethods), std::end(kMethods));
  std::vector<Method> noises;  // Fig. 6
  static const std::string names[] = {"Gumbel, 1e-6", "Gumbel, 1e-5", "Gumbel, 1e-4", "Gumbel, 1e-3"};
  double noise = 1e-6;
  for (const std::string& name : names) {
    noises.push_back({name.c_str(), Method::kGumbel, noise, 1});
    noise *= 10.0;
  }
  Json result;
  result["rough"] = compare(make_problems(rough, targets, random), methods);
  result["touchable"] = compare(make_problems(rough, targets, random, true), methods);
  const std::vector<Problem> of_things = make_problems(things, std::max(1, pairs * targets / 40), random);
  result["things"] = compare(of_things, methods);
  result["noise"] = compare(of_things, noises);
  result["times"] = time_methods(things, poses, random);
  int vertices = 0;
  for (const ConvexShape& s : things) vertices += static_cast<int>(s.polytope()->vertices.size());
  result["vertices"] = vertices / static_cast<int>(things.size());
  std::printf("%s\n", result.dump(1).c_str());
  return 0;
}

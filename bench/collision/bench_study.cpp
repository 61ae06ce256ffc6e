// The experiments of Montaut et al., "GJK++: Leveraging Acceleration Methods for Faster Collision Detection", section
// IV, with our implementation:  bench_collision_study MODELS PAIRS POSES REPETITIONS   writes JSON to standard output.
//
// Unlike there: hulls of generated points and of robots' meshes in place of YCB objects; an interior point method in
// place of ProxQP; trajectories of free bodies that fly past and through each other, since no contact solver is used.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../dynamics/harness.hpp"
#include "dense_qp.hpp"
#include "nesmino.hpp"
#include "pairs.hpp"

namespace {

using namespace touchstone;
using bench::Random;
using bench::ShapeKind;
using nlohmann::json;

constexpr double kGap = 1e-8;  // the paper's epsilon, on the duality gap
const std::vector<double> kDistances = {-0.1, -0.05, -0.02, -0.01, -0.001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0};
const std::vector<std::pair<const char*, GjkVariant>> kVariants = {
    {"GJK", GjkVariant::kVanilla},
    {"Polyak", GjkVariant::kPolyak},
    {"Nesterov", GjkVariant::kNesterov},
    {"Nesterov, normalised", GjkVariant::kNesterovNormalized},
    {"automatic", GjkVariant::kAutomatic}};

struct Sizes {
  int pairs, poses, repetitions;
};

struct Problem {
  const ConvexShape *A, *B;
  Pose X_AB;
};

GjkOptions options_of(GjkVariant variant, bool boolean) {
  GjkOptions options;
  options.variant = variant;
  options.gap_tolerance = kGap;
  options.relative_tolerance = 0.0;
  options.max_iterations = 128;
  options.boolean = boolean;
  return options;
}

json statistics(std::vector<double> values) {
  double mean = 0.0, square = 0.0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double q) {
    return values[static_cast<std::size_t>(q * (static_cast<double>(values.size()) - 1.0))];
  };
  return {{"mean", mean},          {"deviation", std::sqrt(square)}, {"median", quantile(0.5)},
          {"low", quantile(0.25)}, {"high", quantile(0.75)},         {"tenth", quantile(0.1)}};
}

// Mean of the fastest 90 % of the repetitions of a block, in seconds.
double time_block(int repetitions, const std::function<void()>& block) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const double start = bench::thread_seconds();
    block();
    seconds.push_back(bench::thread_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  const std::size_t kept = std::max<std::size_t>(1, seconds.size() * 9 / 10);
  double total = 0.0;
  for (std::size_t i = 0; i < kept; ++i) total += seconds[i];
  return total / static_cast<double>(kept);
}

double solve(const Problem& p, const GjkOptions& options, int& iterations) {
  MinkowskiDifference D(*p.A, *p.B, p.X_AB);
  const GjkResult found = gjk(D, options);
  iterations = found.iterations;
  return found.distance;
}

// Iterations, and the time of a query, of every variant on problems at one distance.
json measure(const std::vector<Problem>& problems, bool boolean, int repetitions) {
  json result = json::object();
  for (const auto& [name, variant] : kVariants) {
    const GjkOptions options = options_of(variant, boolean);
    std::vector<double> iterations;
    for (const Problem& p : problems) {
      int count = 0;
      solve(p, options, count);
      iterations.push_back(count);
    }
    const double seconds = time_block(repetitions, [&] {
      int count = 0;
      double total = 0.0;
      for (const Problem& p : problems) total += solve(p, options, count);
      if (std::isnan(total)) std::abort();
      bench::barrier();
    });
    result[name] = statistics(iterations);
    result[name]["time"] = seconds / static_cast<double>(problems.size());
  }
  return result;
}

// The same random poses at every distance, as in the paper.
std::vector<std::vector<Problem>> problems_of(const std::vector<ConvexShape>& shapes, const Sizes& sizes,
                                              unsigned seed) {
  std::vector<std::vector<Problem>> problems(kDistances.size());
  Random pick(seed);
  for (int i = 0; i < sizes.pairs; ++i) {
    const ConvexShape *A = &shapes[pick() % shapes.size()], *B = &shapes[pick() % shapes.size()];
    for (int k = 0; k < sizes.poses; ++k) {
      const auto pose_seed = pick();
      for (std::size_t d = 0; d < kDistances.size(); ++d) {
        Random random(pose_seed);
        problems[d].push_back({A, B, bench::pose_at(random, *A, *B, kDistances[d])});
      }
    }
  }
  return problems;
}

json sweep(const std::vector<ConvexShape>& shapes, const Sizes& sizes, unsigned seed) {
  json result = {{"distances", kDistances}, {"distance", json::array()}, {"overlap", json::array()}};
  for (const std::vector<Problem>& problems : problems_of(shapes, sizes, seed)) {
    result["distance"].push_back(measure(problems, false, sizes.repetitions));
    result["overlap"].push_back(measure(problems, true, sizes.repetitions));
  }
  return result;
}

// Fig. 11: ratios of the times of plain to accelerated GJK, problem by problem, close or shallow.
json speed_ups(const std::vector<ConvexShape>& shapes, const Sizes& sizes) {
  const std::vector<std::vector<Problem>> all = problems_of(shapes, sizes, 77);
  json result = json::object();
  for (const bool boolean : {false, true}) {
    for (const auto& [name, variant] : kVariants) {
      std::vector<double> ratios;
      for (std::size_t d = 0; d < kDistances.size(); ++d) {
        if (std::abs(kDistances[d]) > 0.1) continue;
        for (std::size_t i = 0; i < all[d].size(); i += 10) {
          const auto time = [&](GjkVariant of) {
            const GjkOptions options = options_of(of, boolean);
            return time_block(10, [&] {
              int count = 0;
              for (int repeat = 0; repeat < 10; ++repeat) solve(all[d][i], options, count);
            });
          };
          ratios.push_back(time(GjkVariant::kVanilla) / time(variant));
        }
      }
      result[boolean ? "overlap" : "distance"][name] = statistics(ratios);
    }
  }
  return result;
}

// Tab. II: pairs of hulls with as many vertices, close to each other.
json against_qp(const Sizes& sizes) {
  json rows = json::array();
  Random random(30);
  for (const int vertices : {8, 100, 500, 2000}) {
    std::vector<ConvexShape> shapes;
    for (int i = 0; i < 4; ++i) {
      if (vertices > 8) {
        shapes.push_back(bench::convex(bench::random_hull(random, vertices)));
        continue;
      }
      const ConvexShape box = bench::convex(bench::random_shape(random, ShapeKind::kBox));
      std::vector<Vector3> corners;
      for (int c = 0; c < 8; ++c) {
        const auto at = [&](int bit, double s) { return (c & bit) != 0 ? s : -s; };
        corners.emplace_back(at(1, box.size().x()), at(2, box.size().y()), at(4, box.size().z()));
      }
      shapes.push_back(ConvexShape::polytope(corners));
    }
    std::vector<Problem> problems;
    std::vector<bench::FaceQp> programs;
    for (int i = 0; i < 20; ++i) {
      const ConvexShape &A = shapes[static_cast<std::size_t>(i % 2)], &B = shapes[static_cast<std::size_t>(2 + i % 2)];
      problems.push_back({&A, &B, bench::pose_at(random, A, B, bench::uniform(random, 0.001, 0.1))});
      programs.push_back(bench::face_qp(A, B, problems.back().X_AB));
    }
    double worst = 0.0;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      int count = 0;
      const double error = std::abs(solve(problems[i], options_of(GjkVariant::kVanilla, false), count) -
                                    bench::solve_distance(programs[i]));
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    const double qp = time_block(3, [&] {
      for (const bench::FaceQp& program : programs) bench::solve_distance(program);
    });
    json row = measure(problems, false, std::max(10, sizes.repetitions));
    rows.push_back({{"vertices", vertices},
                    {"faces", shapes[0].polytope()->triangles.size()},
                    {"qp", qp / static_cast<double>(programs.size())},
                    {"difference", std::min(worst, 1e30)},
                    {"gjk", row}});
  }
  return rows;
}

// Tab. III: Frank-Wolfe, NESMINO, plain and Nesterov's GJK on ellipsoids and cubes, by distance.
json simplex_matters(ShapeKind kind, int count) {
  constexpr int kLimit = 30000;
  const std::vector<std::tuple<const char*, double, double>> classes = {
      {"overlapping", -0.1, -0.001}, {"close", 0.0, 0.1}, {"distant", 1.0, 1.0}};
  json result = json::object();
  for (const auto& [name, low, high] : classes) {
    Random random(40);
    std::map<std::string, std::vector<double>> iterations;
    int unfinished = 0;
    for (int i = 0; i < count; ++i) {
      bench::ShapeSpec spec[2] = {bench::random_shape(random, kind), bench::random_shape(random, kind)};
      for (bench::ShapeSpec& s : spec) {
        if (kind == ShapeKind::kBox) s.size[1] = s.size[2] = s.size[0];
      }
      const ConvexShape A = bench::convex(spec[0]), B = bench::convex(spec[1]);
      const Problem problem{&A, &B, bench::pose_at(random, A, B, bench::uniform(random, low, high))};
      const auto run = [&](const char* label, GjkVariant variant, int limit) {
        GjkOptions options = options_of(variant, false);
        options.max_iterations = limit;
        int used = 0;
        const double found = solve(problem, options, used);
        iterations[label].push_back(used);
        return found;
      };
      const double distance = std::max(0.0, low < 0.0 ? 0.0 : run("GJK", GjkVariant::kVanilla, 128));
      if (low < 0.0) run("GJK", GjkVariant::kVanilla, 128);
      run("Nesterov", GjkVariant::kNesterov, 128);
      run("Frank-Wolfe", GjkVariant::kFrankWolfe, kLimit);
      const bench::NesminoResult slow = bench::nesmino(A, B, problem.X_AB, distance, std::sqrt(kGap), kLimit);
      iterations["NESMINO"].push_back(slow.iterations);
      unfinished += slow.converged ? 0 : 1;
    }
    for (const auto& [label, values] : iterations) result[name][label] = statistics(values);
    result[name]["NESMINO"]["unfinished"] = unfinished;
  }
  return result;
}

// Fig. 12: a pair of free bodies that meet, at 120 Hz; those steps at which their bounding spheres touch.
struct Trajectory {
  const ConvexShape *A, *B;
  std::vector<Pose> X_AB;
};

Trajectory fly(const std::vector<ConvexShape>& shapes, Random& random) {
  const ConvexShape *A = &shapes[random() % shapes.size()], *B = &shapes[random() % shapes.size()];
  const double reach = A->extent() + B->extent();
  const Pose start_A = bench::random_pose(random, 0.0), start_B = bench::random_pose(random, reach);
  const auto unit = [&] { return bench::random_pose(random, 1.0).p; };
  // They aim at each other, and fall alike, so that gravity does not matter.
  const Vec3 velocity = -2.2 * start_B.p + 0.3 * reach * unit(), spin_A = 4.0 * unit(), spin_B = 4.0 * unit();
  const auto turned = [](const Pose& X, Vec3 spin, double t) {
    const double angle = t * std::sqrt(dot(spin, spin));
    const Matrix3 R = Eigen::AngleAxisd(angle, spin.eigen().normalized()).toRotationMatrix();
    return Mat3(R) * X.R;
  };
  Trajectory result{A, B, {}};
  for (int step = 0; step < 120; ++step) {
    const double t = step / 120.0;
    const Pose X_A(turned(start_A, spin_A, t), start_A.p), X_B(turned(start_B, spin_B, t), start_B.p + t * velocity);
    const Mat3 R_AW = transpose(X_A.R);
    const Pose X_AB{R_AW * X_B.R, R_AW * (X_B.p - X_A.p)};
    const Bounds box_A = A->bounds(X_A), box_B = B->bounds(X_B);
    if ((box_A.lower.array() <= box_B.upper.array()).all() && (box_B.lower.array() <= box_A.upper.array()).all()) {
      result.X_AB.push_back(X_AB);
    }
  }
  return result;
}

json warm_starts(const std::vector<ConvexShape>& shapes, int count, int repetitions) {
  Random random(50);
  std::vector<Trajectory> trajectories;
  std::size_t queries = 0;
  for (int i = 0; i < count; ++i) {
    trajectories.push_back(fly(shapes, random));
    queries += trajectories.back().X_AB.size();
  }
  const std::vector<std::pair<const char*, GjkGuess>> guesses = {{"none", GjkGuess::kFixedDirection},
                                                                 {"centres", GjkGuess::kCentres},
                                                                 {"previous", GjkGuess::kDirection},
                                                                 {"transformed", GjkGuess::kSimplex}};
  json result = {{"queries", queries}, {"trajectories", count}, {"variants", json::object()}};
  for (const auto& [variant_name, variant] : kVariants) {
    for (const auto& [guess_name, guess] : guesses) {
      std::vector<double> iterations;
      const auto run = [&, variant = variant, guess = guess](bool record) {
        for (const Trajectory& t : trajectories) {
          GjkOptions options = options_of(variant, true);
          Simplex simplex;
          for (const Pose& X : t.X_AB) {
            MinkowskiDifference D(*t.A, *t.B, X);
            const GjkResult found = gjk(D, options);
            if (record) iterations.push_back(found.iterations);
            options.guess = guess;
            options.direction = found.separation;
            if (guess == GjkGuess::kSimplex) {
              simplex = found.simplex;
              options.simplex = &simplex;
            }
            // A simplex around the origin leaves no direction; the centres are the fallback, as in the paper.
            if (guess == GjkGuess::kDirection && found.status == GjkStatus::kOverlapping)
              options.guess = GjkGuess::kCentres;
          }
        }
      };
      run(true);
      const double seconds = time_block(repetitions, [&] { run(false); });
      json& entry = result["variants"][variant_name][guess_name];
      entry = statistics(iterations);
      entry["time"] = seconds / static_cast<double>(queries);
    }
  }
  return result;
}

std::vector<ConvexShape> ellipsoids(int count) {
  Random random(60);
  std::vector<ConvexShape> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(bench::convex(bench::random_shape(random, ShapeKind::kEllipsoid)));
  return shapes;
}

json run(const std::string& models, const Sizes& sizes) {
  json result = {{"pairs", sizes.pairs}, {"poses", sizes.poses}, {"repetitions", sizes.repetitions}, {"gap", kGap}};
  const auto stage = [&](const char* name, const std::function<json()>& work) {
    std::fprintf(stderr, "%s\n", name);
    result[name] = work();
  };
  stage("ellipsoids", [&] { return sweep(ellipsoids(2 * sizes.pairs), sizes, 1); });
  std::vector<ConvexShape> meshes;
  Random random(70);
  for (const int vertices : {100, 500, 2000, 8000}) {
    std::vector<ConvexShape> shapes;
    for (int i = 0; i < 4; ++i) shapes.push_back(bench::convex(bench::random_hull(random, vertices)));
    const std::string name = "hulls " + std::to_string(vertices);
    stage(name.c_str(), [&] { return sweep(shapes, sizes, 2); });
    meshes.insert(meshes.end(), shapes.begin(), shapes.end());
  }
  std::vector<ConvexShape> robots;
  for (const bench::ShapeSpec& spec : bench::robot_hulls(models)) robots.push_back(bench::convex(spec));
  if (robots.empty()) {
    std::fprintf(stderr, "no robots' meshes in '%s': left out (set TOUCHSTONE_DATA)\n", models.c_str());
  } else {
    stage("robots", [&] { return sweep(robots, sizes, 3); });
    meshes = robots;
  }
  stage("speed_ups", [&] { return speed_ups(meshes, {std::min(sizes.pairs, 200), 1, sizes.repetitions}); });
  stage("qp", [&] { return against_qp(sizes); });
  stage("simplex_ellipsoids", [&] { return simplex_matters(ShapeKind::kEllipsoid, sizes.pairs); });
  stage("simplex_cubes", [&] { return simplex_matters(ShapeKind::kBox, std::min(sizes.pairs, 200)); });
  stage("warm", [&] { return warm_starts(meshes, sizes.pairs, sizes.repetitions); });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5) throw std::runtime_error("usage: bench_collision_study MODELS PAIRS POSES REPETITIONS");
    std::cout << run(argv[1], {std::stoi(argv[2]), std::stoi(argv[3]), std::stoi(argv[4])}).dump(1) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

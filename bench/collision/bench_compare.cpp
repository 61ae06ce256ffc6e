// Native engines side by side on the same pairs: mean time of a query by pair type, kind of query and distance.
//
//   bench_collision_compare MODELS ROUNDS PAIRS ENGINE=MODULE ...   writes JSON to standard output
//
// The first engine is ours. Engines take turns, block by block; a time is the lower quartile over the rounds, which
// other work on the machine disturbs less than the median. Before any time is taken, the answers are compared with ours
// at a tolerance of 1e-12; a way of asking that gives wrong answers does not count.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../dynamics/harness.hpp"
#include "pairs.hpp"

namespace {

using bench::PairSpec;
using bench::Query;
using bench::Random;
using bench::ShapeKind;
using bench::ShapeSpec;
using nlohmann::json;

constexpr double kTolerance = 1e-6;      // m, of distances: Coal's default
constexpr double kSame = 1e-5;           // m; answers farther apart than this are different
constexpr double kWrongFraction = 0.01;  // more wrong answers than this, and a variant does not count
constexpr double kBlockSeconds = 4e-4;   // of one measurement

const char* const kKindNames[] = {"sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull"};

struct Case {
  std::string group, name;
  std::vector<ShapeSpec> shapes;
  std::map<std::string, std::vector<PairSpec>> pairs;  // by distance: near, far, deep
};

double target_distance(Random& random, const std::string& where) {
  if (where == "near") return bench::uniform(random, 1e-3, 0.1);
  return where == "far" ? 1.0 : -bench::uniform(random, 1e-3, 0.1);
}

// Pairs of a shape of the first half of `shapes` with one of the second half.
void add_pairs(Case& c, Random& random, int count) {
  std::vector<touchstone::ConvexShape> convex;
  for (const ShapeSpec& s : c.shapes) convex.push_back(bench::convex(s));
  const std::size_t half = c.shapes.size() / 2;
  for (const char* where : {"near", "far", "deep"}) {
    for (int i = 0; i < count; ++i) {
      const std::size_t a = random() % half, b = half + random() % (c.shapes.size() - half);
      const touchstone::Pose X_AB = bench::pose_at(random, convex[a], convex[b], target_distance(random, where));
      const touchstone::Pose X_WA = bench::random_pose(random, 1.0);
      c.pairs[where].push_back({static_cast<int>(a), static_cast<int>(b), bench::spec(X_WA), bench::spec(X_WA * X_AB)});
    }
  }
}

std::vector<Case> make_cases(const std::string& models, int count) {
  Random random(20);
  std::vector<Case> cases;
  for (int a = 0; a < 6; ++a) {
    for (int b = a; b < 6; ++b) {
      Case c;
      c.group = a == b && a == 5 ? "ellipsoids" : "primitives";
      c.name = std::string(kKindNames[a]) + " - " + kKindNames[b];
      for (int i = 0; i < 64; ++i)
        c.shapes.push_back(bench::random_shape(random, static_cast<ShapeKind>(i < 32 ? a : b)));
      add_pairs(c, random, count);
      cases.push_back(std::move(c));
    }
  }
  for (const int vertices : {12, 30, 100, 500, 2000, 8000}) {
    Case c;
    c.group = "hulls";
    c.name = std::to_string(vertices) + " vertices";
    for (int i = 0; i < 8; ++i) c.shapes.push_back(bench::random_hull(random, vertices));
    add_pairs(c, random, count);
    cases.push_back(std::move(c));
  }
  Case box;
  box.group = "hulls";
  box.name = "box - 100 vertices";
  for (int i = 0; i < 8; ++i) {
    box.shapes.push_back(i < 4 ? bench::random_shape(random, ShapeKind::kBox) : bench::random_hull(random, 100));
  }
  add_pairs(box, random, count);
  cases.push_back(std::move(box));
  Case robots;
  robots.group = "hulls";
  robots.name = "robots' meshes";
  robots.shapes = bench::robot_hulls(models);
  if (robots.shapes.size() >= 2) {
    std::shuffle(robots.shapes.begin(), robots.shapes.end(), random);
    add_pairs(robots, random, count);
    cases.push_back(std::move(robots));
  } else {
    std::fprintf(stderr, "no robots' meshes in '%s': their row is left out (set TOUCHSTONE_DATA)\n", models.c_str());
  }
  return cases;
}

struct Contestant {
  std::string engine;
  std::unique_ptr<bench::Engine> module;
};

struct Way {  // one engine and one of its variants
  Contestant* contestant;
  int variant;
  std::string name;
  int wrong = 0;
  double worst = 0.0;
  int passes = 1;
  std::vector<double> seconds;

  double quartile(int which) const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? INFINITY : sorted[static_cast<std::size_t>(which) * sorted.size() / 4];
  }
  double time() const { return quartile(1); }
};

void check(Way& way, Query query, const std::vector<double>& truth) {
  std::vector<double> answers(truth.size());
  way.contestant->module->run(query, way.variant, kTolerance, 1, answers.data());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = std::abs(answers[i] - truth[i]);
    way.worst = std::max(way.worst, std::isfinite(error) ? error : INFINITY);
    if (!(error <= kSame)) ++way.wrong;
  }
}

double measure(Way& way, Query query, std::vector<double>& answers) {
  const double start = bench::thread_seconds();
  way.contestant->module->run(query, way.variant, kTolerance, way.passes, answers.data());
  return (bench::thread_seconds() - start) / (way.passes * static_cast<double>(answers.size()));
}

json row(std::vector<Contestant>& contestants, Query query, std::size_t count, int rounds) {
  std::vector<double> truth(count), answers(count);
  contestants[0].module->run(query, 0, 1e-12, 1, truth.data());
  std::vector<Way> ways;
  json wrong = json::object();
  for (Contestant& c : contestants) {
    const std::vector<std::string> names = c.module->variants(query);
    for (std::size_t v = 0; v < names.size(); ++v) {
      Way way{&c, static_cast<int>(v), names[v], 0, 0.0, 1, {}};
      check(way, query, truth);
      if (way.wrong > 0) wrong[c.engine][way.name] = {{"count", way.wrong}, {"worst", std::min(way.worst, 1e30)}};
      if (way.wrong <= kWrongFraction * static_cast<double>(count)) ways.push_back(std::move(way));
    }
  }
  for (Way& way : ways) {
    const double once = measure(way, query, answers);
    way.passes = 1 + static_cast<int>(kBlockSeconds / (once * static_cast<double>(count) + 1e-9));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Way& way = ways[round % 2 == 0 ? i : ways.size() - 1 - i];
      // After some rounds, the slow variants of an engine drop out.
      double best = INFINITY;
      for (const Way& other : ways) {
        if (other.contestant == way.contestant) best = std::min(best, other.time());
      }
      if (round >= 3 && way.time() > 1.2 * best) continue;
      way.seconds.push_back(measure(way, query, answers));
    }
  }
  json result = json::object();
  for (const Way& way : ways) {
    json& entry = result[way.contestant->engine];
    if (entry.contains("time") && way.time() >= entry["time"].get<double>()) continue;
    entry = {{"time", way.time()},
             {"median", way.quartile(2)},
             {"high", way.quartile(3)},
             {"variant", way.name},
             {"wrong", way.wrong}};
  }
  return {{"engines", result}, {"wrong", wrong}};
}

json run_case(const Case& c, std::vector<Contestant>& contestants, int rounds) {
  const std::vector<std::tuple<const char*, Query, const char*>> asked = {
      {"distance", Query::kDistance, "near"}, {"distance", Query::kDistance, "far"},
      {"depth", Query::kContact, "deep"},     {"overlap", Query::kOverlap, "near"},
      {"overlap", Query::kOverlap, "far"},    {"overlap", Query::kOverlap, "deep"},
  };
  json rows = json::array();
  for (const auto& [name, query, where] : asked) {
    const std::vector<PairSpec>& pairs = c.pairs.at(where);
    for (Contestant& contestant : contestants) contestant.module->load(c.shapes, pairs);
    json entry = row(contestants, query, pairs.size(), rounds);
    entry["query"] = name;
    entry["where"] = where;
    entry["group"] = c.group;
    entry["name"] = c.name;
    rows.push_back(std::move(entry));
  }
  return rows;
}

Contestant open(const std::string& argument) {
  const std::size_t equal = argument.find('=');
  if (equal == std::string::npos) throw std::runtime_error("'" + argument + "' is not ENGINE=MODULE");
  void* module = dlopen(argument.substr(equal + 1).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw std::runtime_error(dlerror());
  const auto make = reinterpret_cast<bench::MakeEngine>(dlsym(module, "make_engine"));
  if (make == nullptr) throw std::runtime_error(dlerror());
  return {argument.substr(0, equal), std::unique_ptr<bench::Engine>(make())};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 5) throw std::runtime_error("usage: bench_collision_compare MODELS ROUNDS PAIRS ENGINE=MODULE ...");
    std::vector<Contestant> contestants;
    for (int i = 4; i < argc; ++i) contestants.push_back(open(argv[i]));
    json rows = json::array();
    for (const Case& c : make_cases(argv[1], std::stoi(argv[3]))) {
      std::fprintf(stderr, "%s\n", c.name.c_str());
      for (json& entry : run_case(c, contestants, std::stoi(argv[2]))) rows.push_back(std::move(entry));
    }
    std::cout << json{{"tolerance", kTolerance}, {"rows", rows}}.dump(1) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

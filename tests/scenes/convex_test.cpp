// The cases of Castro et al. 2025 (paper below) with its parameters, against its figures, its formulas and the
// continuous model by another method.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/convex_experiments.hpp"
#include "support/effort.hpp"
#include "touchstone/contact/laws/sap.hpp"
#include "touchstone/contact/laws/similar.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::test {
namespace {

const std::string kModels[] = {"sap", "lagged", "similar"};
constexpr double kGravity = 9.81;
constexpr double kNone[kMaxBlockSize] = {};  // no change of a velocity

TEST(Convex, ScenesRunWithTheirSolver) {
  for (const char* name : {"convex/conveyor", "convex/sphere", "convex/rod", "convex/grasp"}) {
    for (const std::string& model : kModels) {
      Scene scene = make_scene(name);
      EXPECT_EQ(scene.options.solver, "lagged") << name;
      scene.options.solver = model;
      SceneRun run(scene);
      for (int i = 0; i < 500 && run.simulator().state().time < scene.duration; ++i) {
        const StepReport& report = run.step();
        ASSERT_EQ(report.status, StepStatus::kOk) << name << ' ' << model << ' ' << report.time;
        ASSERT_LE(report.residuals.law_natv_relative, 1.001e-6) << name << ' ' << model << ' ' << report.time;
      }
    }
  }
}

// The pushes of the scene move the belt as XI-A says: 1 Hz, 0.2 m.
TEST(Convex, TheBeltOfTheSceneSwings) {
  SceneRun run(make_scene("convex/conveyor"));
  for (int i = 1; i <= 200; ++i) {
    run.step();
    ASSERT_NEAR(run.simulator().state().v[0], 0.4 * M_PI * std::cos(2 * M_PI * 0.01 * i), 1e-3) << i;
  }
}

// --- XI-A ---

// Fig. 3: the weight rests on the belt with Lagged; the others rise while the box slips, and pay with a jolt when it
// sticks.
TEST(ConvexConveyor, ForcesAndGlidingDistances) {
  const double h = 1e-2, weight = kGravity, mu = 0.7;
  for (const std::string& model : kModels) {
    const PlanarOptions o = paper_options(PlanarCase::kConveyor, model, h);
    const double tau = model == "sap" ? o.relaxation : 0.0;
    const double reach = model == "lagged" ? 0.0 : h + tau;
    double least = 1e9, most = 0.0, slip = 0.0;
    int sticks = 0, slips = 0;
    for (const PlanarSample& s : run_planar(o)) {
      if (s.time < 0.1) continue;
      least = std::min(least, s.normal_force);
      most = std::max(most, s.normal_force);
      if (std::abs(s.slip) > 0.02) {  // (24); a gap that changes by v_n counts tau later for SAP
        ++slips;
        const double glide = s.gap + tau * s.opening;
        EXPECT_NEAR(glide, mu * reach * std::abs(s.slip), 0.02 * mu * reach * std::abs(s.slip) + 1e-6)
            << model << ' ' << s.time;
      } else if (std::abs(s.slip) < 2e-4) {
        ++sticks;
        EXPECT_LT(std::abs(s.gap), 3e-5) << model << ' ' << s.time;
      }
      slip = std::max(slip, std::abs(s.slip));
    }
    EXPECT_GT(sticks, 50) << model;
    EXPECT_GT(slips, 50) << model;
    EXPECT_GT(slip, 0.1) << model;
    if (model == "lagged") {
      EXPECT_GT(least, weight * 0.999);
      EXPECT_LT(most, weight * 1.001);
    } else {
      EXPECT_LT(least, weight * 0.98) << model;
      EXPECT_GT(most, weight * 1.1) << model;
    }
  }
}

// A belt whose surface moves does what a slab does that moves as a whole: slip is all that a law sees of either.
TEST(ConvexConveyor, AMovingSurfaceIsASlab) {
  for (const std::string& model : kModels) {
    PlanarOptions o = paper_options(PlanarCase::kConveyor, model, 1e-2);
    const PlanarRun slab = run_planar(o);
    o.moving_surface = true;
    const PlanarRun surface = run_planar(o);
    ASSERT_EQ(slab.size(), surface.size());
    for (std::size_t i = 0; i < slab.size(); ++i) {
      EXPECT_NEAR(surface[i].x, slab[i].x, 1e-8) << model << ' ' << slab[i].time;
      EXPECT_NEAR(surface[i].normal_force, slab[i].normal_force, 1e-4) << model << ' ' << slab[i].time;
    }
  }
}

std::map<std::string, std::vector<double>> errors(PlanarCase kind, const PlanarRun& exact, double seconds,
                                                  const std::vector<double>& steps, bool damped = true) {
  std::map<std::string, std::vector<double>> out;
  for (const std::string& model : kModels) {
    for (const double h : steps) {
      PlanarOptions o = paper_options(kind, model, h);
      o.seconds = seconds;
      if (!damped) o.dissipation = o.relaxation = 0.0;
      out[model].push_back(position_error(run_planar(o), exact));
    }
    std::string line;
    for (const double e : out[model]) line += fmt::format(" {:.2e}", e);
    fmt::print("{}: errors{} m\n", model, line);
  }
  return out;
}

// Fig. 4: steps that differ by a factor of five. SAP does not converge to the continuous model: the glide mu tau v
// stays.
TEST(ConvexConveyor, FirstOrderButForSap) {
  PlanarOptions o = paper_options(PlanarCase::kConveyor, "lagged", 2e-6);
  const PlanarRun exact = planar_reference(o, 200);
  auto e = errors(o.kind, exact, o.seconds, {5e-2, 1e-2, 2e-3, 4e-4});
  for (const char* model : {"lagged", "similar"}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_GT(e[model][i] / e[model][i + 1], 4.0) << model << i;
      if (i > 0) {  // a twentieth of a period is far from small
        EXPECT_LT(e[model][i] / e[model][i + 1], 8.0) << model << i;
      }
    }
  }
  for (int i = 0; i < 4; ++i) EXPECT_GT(e["similar"][i], 3.0 * e["lagged"][i]);
  EXPECT_LT(e["sap"][2] / e["sap"][3], 1.3);
  EXPECT_GT(e["sap"][3], 10.0 * e["similar"][3]);
}

// --- XI-B ---

// Angular momentum about the line of contact is kept, whatever friction does on the way: 5/7 of the speed.
TEST(ConvexSphere, RollsAtFiveSevenths) {
  std::map<std::string, std::vector<double>> excess;
  for (const std::string& model : kModels) {
    for (const double h : {4e-4, 2e-3, 1e-2}) {
      PlanarOptions o = paper_options(PlanarCase::kSphere, model, h);
      o.seconds = 0.3;
      const PlanarRun run = run_planar(o);
      const double speed = (run.back().x - run[run.size() - 2].x) / h;
      excess[model].push_back(speed / (2.0 * 5.0 / 7.0) - 1.0);
      EXPECT_LT(std::abs(run.back().slip), 1e-4) << model << ' ' << h;
    }
  }
  for (const double e : excess["lagged"]) EXPECT_NEAR(e, 0.0, 1e-3);
  // Friction that acts at the distance of (24) has a longer arm: half of the gap.
  EXPECT_NEAR(excess["similar"][0], 0.0, 2e-3);
  EXPECT_NEAR(excess["similar"][1] / excess["similar"][0], 5.0, 0.5) << "falls with the step";
  EXPECT_GT(excess["sap"][0], 5e-3) << "stays";
}

// Fig. 6: a step pushes when the gap that it leads to is below (24), before the surfaces touch.
TEST(ConvexSphere, ActsAtADistance) {
  const double h = 2e-3, mu = 0.5;
  std::map<std::string, double> first;
  for (const std::string& model : kModels) {
    const PlanarOptions o = paper_options(PlanarCase::kSphere, model, h);
    const double tau = model == "sap" ? o.relaxation : 0.0;
    const double reach = model == "lagged" ? 0.0 : h + tau;
    const PlanarRun run = run_planar(o);
    for (std::size_t i = 1; i < run.size(); ++i) {
      const double opening = run[i - 1].opening - kGravity * h;
      const bool acts = run[i - 1].gap + (h + tau) * opening < mu * reach * run[i - 1].slip;
      ASSERT_EQ(run[i].normal_force > 0.0, acts) << model << ' ' << run[i].time;
      if (!acts) continue;
      first[model] = run[i].time;
      break;
    }
  }
  EXPECT_LT(first["sap"], first["similar"] - 0.5 * h);
  EXPECT_LT(first["similar"], first["lagged"] - 0.5 * h);
}

// Fig. 7.
TEST(ConvexSphere, FirstOrderButForSap) {
  PlanarOptions o = paper_options(PlanarCase::kSphere, "lagged", 1e-7);
  const PlanarRun exact = planar_reference(o, 1000);
  auto e = errors(o.kind, exact, o.seconds, {1e-2, 2e-3, 4e-4, 1e-4});
  for (int i = 0; i < 2; ++i) {
    EXPECT_GT(e["lagged"][i] / e["lagged"][i + 1], 4.0) << i;
    EXPECT_LT(e["lagged"][i] / e["lagged"][i + 1], 8.0) << i;
  }
  EXPECT_GT(e["lagged"][2] / e["lagged"][3], 2.5);
  EXPECT_LT(e["sap"][2] / e["sap"][3], 1.3) << "the plateau";
  EXPECT_GT(e["sap"][3], 5.0 * e["lagged"][3]);
}

// --- XI-C ---

struct Jam {
  double time = 0.0, force = 0.0, stick = 0.0;  // s, N, s: of the largest force; how long the point sticks
};

Jam find_jam(const PlanarRun& run) {
  Jam jam;
  const double spacing = run[1].time - run[0].time;
  for (const PlanarSample& s : run) {
    if (s.normal_force > jam.force) {
      jam.force = s.normal_force;
      jam.time = s.time;
    }
    if (s.normal_force > 0.0 && std::abs(s.slip) < 1e-4) jam.stick += spacing;
  }
  return jam;
}

// Fig. 9 to 12, at the paper's step of 1e-7 s until the rod has left the ground.
TEST(ConvexRod, JamsAsTheContinuousModel) {
  if (!whole_family()) GTEST_SKIP() << "two million steps; set TOUCHSTONE_LONG";
  for (const bool damped : {false, true}) {
    const auto options = [&](const std::string& model) {
      PlanarOptions o = paper_options(PlanarCase::kRod, model, 1e-7);
      if (!damped) o.dissipation = o.relaxation = 0.0;
      o.seconds = 0.0185;
      return o;
    };
    const Jam exact = find_jam(planar_reference(options("lagged"), 10));
    std::map<std::string, Jam> jam;
    for (const std::string& model : kModels) {
      jam[model] = find_jam(run_planar(options(model), 10));
      fmt::print("{} {}: {:.3f} ms, {:.0f} N, sticks {:.3f} ms\n", model, damped ? "damped" : "undamped",
                 1e3 * jam[model].time, jam[model].force, 1e3 * jam[model].stick);
      EXPECT_NEAR(jam[model].stick, 0.2e-3, 0.05e-3) << model;  // "about 0.2 ms"
    }
    EXPECT_NEAR(jam["lagged"].time, exact.time, 2e-5);
    EXPECT_NEAR(jam["lagged"].force, exact.force, 0.01 * exact.force);
    if (damped) {  // Similar is stiffer while it slides, SAP is pushed off by its glide
      EXPECT_LT(jam["similar"].time, exact.time - 4e-4);
      EXPECT_GT(jam["sap"].time, exact.time + 4e-4);
    } else {
      for (const std::string& model : kModels) {
        EXPECT_NEAR(jam[model].time, exact.time, 2e-5) << model;
        EXPECT_NEAR(jam[model].force, exact.force, 0.01 * exact.force) << model;
      }
    }
  }
}

// Fig. 13: SAP and Similar are the same without dissipation; Lagged converges, with the largest error at the largest
// step.
TEST(ConvexRod, ConvergesWithTheFirstOrder) {
  PlanarOptions o = paper_options(PlanarCase::kRod, "lagged", 1e-7);
  o.dissipation = 0.0;
  o.seconds = 0.03;
  const PlanarRun exact = planar_reference(o, 100);
  auto e = errors(o.kind, exact, o.seconds, {6.4e-4, 1.6e-4, 4e-5, 1e-5}, false);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(e["sap"][i], e["similar"][i], 0.01 * e["sap"][i]) << i;
  EXPECT_GT(e["lagged"][0], e["similar"][0]);
  EXPECT_GT(e["lagged"][2] / e["lagged"][3], 3.0);
  EXPECT_LT(e["lagged"][2] / e["lagged"][3], 5.0);
}

// Steps above 1 ms: friction of the step before does not grow with the force, and Lagged slides on.
TEST(ConvexRod, LaggedMissesTheImpactOfLongSteps) {
  for (const double h : {1e-4, 2e-4, 1.5e-3, 2e-3, 4e-3}) {
    for (const std::string& model : kModels) {
      double slip = 1e9;
      for (const PlanarSample& s : run_planar(paper_options(PlanarCase::kRod, model, h)))
        if (s.normal_force > 0.0) slip = std::min(slip, std::abs(s.slip));
      const bool missed = slip > 5.0;  // of 10 m/s
      EXPECT_EQ(missed, model == "lagged" && h > 1e-3) << model << ' ' << h << ' ' << slip;
      EXPECT_TRUE(missed || slip < 0.2) << model << ' ' << h << ' ' << slip;
    }
  }
}

// --- Table I ---

// While a contact slips, Similar is a law of other constants: k (1 + mu d v), d / (1 + mu d v), moved by mu h v.
TEST(ConvexTable, SimilarModulatesStiffnessAndDissipation) {
  const double h = 2e-3, k = 1e6, d = 30.0, mu = 0.8;
  for (const double slip : {0.1, 1.0, 5.0}) {
    for (const double gap : {-1e-4, 0.0, 1e-3}) {
      const double factor = 1.0 + mu * d * slip;
      const SimilarLaw law{{.h = h, .stiffness = k, .deformation = -gap, .dissipation = d}, 3, {mu, mu}, 1e-12};
      const NormalLaw as_if{
          .h = h, .stiffness = k * factor, .deformation = mu * h * slip - gap, .dissipation = d / factor};
      for (const double speed : {-0.5, -0.01, 0.0, 0.01}) {
        const double v[3] = {slip, 0.0, speed};
        double gamma[3];
        law.evaluate(v, kNone, gamma, nullptr);
        const double expected = as_if.impulse(speed);
        EXPECT_NEAR(gamma[2], expected, 1e-9 * std::abs(expected)) << slip << ' ' << gap << ' ' << speed;
        EXPECT_NEAR(gamma[0], -mu * expected, 1e-9 * std::abs(expected));
      }
    }
  }
}

// SAP: k / (1 + mu^2 R_t / R_n) while it slips; it sticks up to sigma w mu gamma_n.
TEST(ConvexTable, SapModulatesStiffnessAndSlipsAtSigma) {
  const double Rn = 2e-4, Rt = 1e-3, mu = 0.8;
  SapLaw law;
  law.size = 3;
  law.mu[0] = law.mu[1] = mu;
  law.R[0] = law.R[1] = Rt;
  law.R[2] = Rn;
  law.shift[0] = law.shift[1] = 0.0;
  law.shift[2] = 0.01;
  const auto impulse = [&](double slip, double speed) {
    const double v[3] = {slip, 0.0, speed};
    double gamma[3];
    law.evaluate(v, kNone, gamma, nullptr);
    return Vector3(gamma[0], gamma[1], gamma[2]);
  };
  const double step = 1e-6;
  const double stiff = (impulse(0.0, 0.0).z() - impulse(0.0, step).z()) / step;
  const double soft = (impulse(1.0, 0.0).z() - impulse(1.0, step).z()) / step;
  EXPECT_NEAR(stiff, 1.0 / Rn, 1e-6 / Rn);
  EXPECT_NEAR(soft, stiff / (1.0 + mu * mu * Rt / Rn), 1e-6 * stiff);
  const double transition = Rt * mu * impulse(0.0, 0.0).z();  // (25), with R_t = sigma w
  const Vector3 below = impulse(0.999 * transition, 0.0), above = impulse(1.001 * transition, 0.0);
  EXPECT_LT(-below.x(), mu * below.z() * (1.0 - 1e-4));
  EXPECT_NEAR(-above.x(), mu * above.z(), 1e-12);
}

// A sliding box rests as deep as its modulated stiffness says.
TEST(ConvexTable, ASlidingBodyFeelsTheModulatedStiffness) {
  PlanarOptions o = paper_options(PlanarCase::kConveyor, "similar", 1e-4);
  o.stiffness = 1e6;  // of each of four corners
  o.dissipation = 20.0;
  o.seconds = 0.35;
  const double mu = 0.7;
  int slips = 0;
  for (const PlanarSample& s : run_planar(o)) {
    if (s.time < 0.25 || std::abs(s.slip) < 0.05) continue;
    ++slips;
    const double slip = std::hypot(s.slip, 1e-4) - 1e-4;  // the soft norm
    const double factor = 1.0 + mu * o.dissipation * slip;
    const double depth = mu * o.h * slip - s.gap;
    const double force = 4.0 * o.stiffness * factor * depth * (1.0 - o.dissipation / factor * s.opening);
    EXPECT_NEAR(s.normal_force, force, 1e-3 * force) << s.time;
  }
  EXPECT_GT(slips, 100);
}

// --- XII-B ---

// The hand runs on its circle, and what it grasps goes with it, at long steps too: no lag of a step.
TEST(ConvexGrasp, TheRodStaysInTheHandAtLowFrequencies) {
  for (const std::string& model : kModels) {
    Scene scene = make_scene("convex/grasp:frequency=1,dissipation=50");
    scene.options.solver = model;
    scene.options.time_step = 1e-2;
    SceneRun run(scene);
    const State& state = run.simulator().state();
    const double height = state.q[6];
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(run.step().status, StepStatus::kOk) << model << ' ' << state.time;
      // Symplectic Euler leads by h (v - v_0) / 2; forces of mid-step are too large by (rate h)^2 / 24, 0.03 mm in 1 s.
      const double angle = 2 * M_PI * state.time, lead = 0.5 * scene.options.time_step * 2 * M_PI;
      const double c = std::cos(angle) - 1.0, n = std::sin(angle);
      const Vector2 expected(0.03 * (c - lead * n), 0.03 * (n + lead * c));
      ASSERT_LT((state.q.head<2>() - expected).norm(), 4e-5) << model << ' ' << state.time;
      ASSERT_LT(std::abs(state.q[2] - state.q[3]), 1e-5) << model << ' ' << state.time;  // fingers are coupled
    }
    EXPECT_NEAR(state.q[6], height, 1e-4) << model;
  }
}

// At 10 ms the moment of failure is wrong by up to a half, and not more.
TEST(ConvexGrasp, LongStepsLoseTheRodAtAboutTheSameTime) {
  for (const char* model : {"lagged", "similar"}) {
    GraspOptions o;
    o.solver = model;
    o.frequency = 3.0;
    o.dissipation = 0.0;
    o.seconds = 2.0;
    o.h = 1e-3;
    const double fine = time_to_failure(o);
    o.h = 1e-2;
    const double coarse = time_to_failure(o);
    EXPECT_LT(fine, 1.0) << model;
    EXPECT_NEAR(coarse, fine, 0.5 * fine) << model;
  }
}

}  // namespace
}  // namespace touchstone::test

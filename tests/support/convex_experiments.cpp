#include "support/convex_experiments.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/laws/block_laws.hpp"
#include "touchstone/contact/laws/mobility.hpp"
#include "touchstone/contact/primal_hessian.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/islands.hpp"

namespace touchstone::test {
namespace {

constexpr double kGravity = 9.81;
constexpr double kStiction = 1e-4;      // m/s, v_s
constexpr double kAnyStiffness = 1e-3;  // periods of steps: SAP too is as stiff as its material
constexpr double kBeltAmplitude = 0.2, kBeltRate = 2.0 * std::numbers::pi;

// What the reference knows of a case: a body with one point of contact, at the distance `arm` from its centre and
// `radius` below that.
struct Planar {
  const char* scene;
  double mass, inertia;  // kg, kg m^2
  double arm, radius;    // m
  double points;         // of contact that share the load
  double friction;
};

Planar planar(PlanarCase kind) {
  switch (kind) {
    case PlanarCase::kConveyor:
      return {"convex/conveyor", 1.0, 1e9, 0.0, 0.025, 4.0, 0.7};
    case PlanarCase::kSphere:
      return {"convex/sphere", 0.5, 0.4 * 0.5 * 0.025 * 0.025, 0.0, 0.025, 1.0, 0.5};
    case PlanarCase::kRod:
      return {"convex/rod", 0.3, 0.3 * 0.25 / 12.0, 0.245, 0.005, 1.0, 2.3};
  }
  throw Error("no such case");
}

struct PlanarState {
  double x = 0, z = 0, angle = 0, vx = 0, vz = 0, rate = 0;
};

// The state of the body in a simulator.
PlanarState read_state(PlanarCase kind, const State& state) {
  const VectorX &q = state.q, &v = state.v;
  switch (kind) {
    case PlanarCase::kConveyor:  // after the belt's slide
      return {q[1], q[3], 0, v[1], v[3], 0};
    case PlanarCase::kSphere:
      return {q[0], q[2], 0, v[0], v[2], v[4]};
    case PlanarCase::kRod: {
      const Planar p = planar(kind);
      const double base = p.arm * 0.5 + p.radius;  // sin 30 degrees
      return {q[0], base + q[1], q[2], v[0], v[1], v[2]};
    }
  }
  throw Error("no such case");
}

double gap(const Planar& p, const PlanarState& s) { return s.z - p.arm * std::sin(s.angle) - p.radius; }

// The point of contact from the centre: midway between the two surfaces.
Vector2 contact_offset(const Planar& p, const PlanarState& s) {
  const double depth = std::max(0.0, -gap(p, s));
  return {p.arm * std::cos(s.angle), -p.arm * std::sin(s.angle) - p.radius + 0.5 * depth};
}

PlanarSample sample(const Planar& p, const PlanarState& s, double time, double surface) {
  const Vector2 r = contact_offset(p, s);
  PlanarSample out;
  out.time = time;
  out.x = s.x;
  out.z = s.z;
  out.angle = s.angle;
  out.gap = gap(p, s);
  out.slip = s.vx + s.rate * r.y() - surface;
  out.opening = s.vz - s.rate * r.x();
  return out;
}

Scene planar_scene(const PlanarOptions& o) {
  Scene scene = make_scene(fmt::format("{}:stiffness={:.17g},dissipation={:.17g},relaxation={:.17g}",
                                       planar(o.kind).scene, o.stiffness, o.dissipation, o.relaxation));
  scene.options.solver = o.solver;
  scene.options.time_step = o.h;
  scene.options.tolerance = o.tolerance;
  scene.options.collision.margin = o.margin;
  // XI: v_s alone, but for sap, whose friction is made of sigma.
  if (o.solver != "sap") scene.options.laws.sigma = 0.0;
  scene.options.laws.near_rigid = kAnyStiffness;
  scene.pushes.clear();  // the belt's speed is given
  if (o.moving_surface) scene.start.v[0] = 0.0;
  // The rod would be thrown up if it started below the height at which its model glides.
  if (o.kind == PlanarCase::kRod && o.solver != "lagged")
    scene.start.q[1] += planar(o.kind).friction * scene.start.v[0] * (o.h + (o.solver == "sap" ? o.relaxation : 0.0));
  return scene;
}

// The mean over the step that ends at `time`.
double surface_speed(PlanarCase kind, double time, double h) {
  if (kind != PlanarCase::kConveyor) return 0.0;
  return kBeltAmplitude * (std::sin(kBeltRate * time) - std::sin(kBeltRate * (time - h))) / h;
}

// The impulse of regularised friction (10) that slows the slip `free` of a point of this mobility down, at most
// `limit`: the root of a function that grows and is concave for positive slip, by Newton from zero, which stays below
// it.
double soft_friction(double free, double mobility, double limit) {
  const double target = std::abs(free);
  double slip = 0.0;
  for (int i = 0; i < 50; ++i) {
    const double root = std::hypot(slip, kStiction);
    const double rest = target - slip - mobility * limit * slip / root;
    if (rest <= 1e-14 * target) break;
    slip += rest / (1.0 + mobility * limit * kStiction * kStiction / (root * root * root));
  }
  return std::copysign(limit * slip / std::hypot(slip, kStiction), free);
}

}  // namespace

PlanarOptions paper_options(PlanarCase kind, const std::string& solver, double h) {
  PlanarOptions o;
  o.kind = kind;
  o.solver = solver;
  o.h = h;
  o.dissipation = kind == PlanarCase::kRod ? 0.2 : 500.0;
  o.relaxation = kind == PlanarCase::kRod ? 4e-6 : 1e-3;
  o.seconds = kind == PlanarCase::kConveyor ? 2.0 : 0.2;
  return o;
}

PlanarRun run_planar(const PlanarOptions& o, int every) {
  SceneRun run(planar_scene(o));
  Simulator& sim = run.simulator();
  const Planar p = planar(o.kind);
  const auto steps = static_cast<int>(o.seconds / o.h + 1e-6);
  PlanarRun samples{sample(p, read_state(o.kind, sim.state()), 0.0, surface_speed(o.kind, 0.0, o.h))};
  for (int i = 1; i <= steps; ++i) {
    const double time = i * o.h, surface = surface_speed(o.kind, time, o.h);
    // The belt is held at its speed: friction has set it in motion since.
    if (o.kind == PlanarCase::kConveyor) sim.state().v[0] = o.moving_surface ? 0.0 : surface;
    if (o.kind == PlanarCase::kConveyor && o.moving_surface) sim.parameters().shape_surface_velocity[0][0] = surface;
    const StepReport& report = run.step();
    if (report.status != StepStatus::kOk)
      throw Error("{} with {} at {} s: {}", p.scene, o.solver, time, to_string(report.status));
    if (i % every != 0) continue;
    PlanarSample s = sample(p, read_state(o.kind, sim.state()), time, surface);
    for (const ContactForce& f : sim.contacts()) {
      const double sign = f.contact->body_b == sim.model().nbody - 1 ? 1.0 : -1.0;  // the body is the last one
      s.normal_force += sign * f.force.z();
      s.tangent_force += sign * f.force.x();
    }
    samples.push_back(s);
  }
  return samples;
}

PlanarRun planar_reference(const PlanarOptions& o, int every) {
  const Planar p = planar(o.kind);
  const Scene scene = planar_scene(o);
  PlanarState s = read_state(o.kind, scene.start);
  PlanarRun samples{sample(p, s, 0.0, surface_speed(o.kind, 0.0, o.h))};
  const auto steps = static_cast<long>(std::lround(o.seconds / o.h));
  const auto push = [&](const Vector2& r, double jx, double jz) {
    s.vx += jx / p.mass;
    s.vz += jz / p.mass;
    s.rate += (r.y() * jx - r.x() * jz) / p.inertia;
  };
  for (long i = 1; i <= steps; ++i) {
    const double time = static_cast<double>(i) * o.h;
    const double surface = surface_speed(o.kind, time, o.h);
    const Vector2 r = contact_offset(p, s);
    const double depth = -gap(p, s), opening = s.vz - s.rate * r.x();
    const double force = p.points * o.stiffness * std::max(0.0, depth) * std::max(0.0, 1.0 - o.dissipation * opening);
    s.vz -= kGravity * o.h;
    push(r, 0.0, force * o.h);
    const double mobility = 1.0 / p.mass + r.y() * r.y() / p.inertia;
    const double drag = soft_friction(s.vx + s.rate * r.y() - surface, mobility, o.h * p.friction * force);
    push(r, -drag, 0.0);
    s.x += o.h * s.vx;
    s.z += o.h * s.vz;
    s.angle += o.h * s.rate;
    if (i % every != 0) continue;
    samples.push_back(sample(p, s, time, surface));
    samples.back().normal_force = force;
    samples.back().tangent_force = -drag / o.h;
  }
  return samples;
}

double position_error(const PlanarRun& run, const PlanarRun& reference) {
  const double spacing = reference[1].time - reference[0].time;
  double sum = 0.0;
  for (const PlanarSample& s : run) {
    const PlanarSample& r = reference.at(static_cast<std::size_t>(std::lround(s.time / spacing)));
    if (std::abs(r.time - s.time) > 1e-3 * spacing) throw Error("the reference has no sample at {} s", s.time);
    sum += (s.x - r.x) * (s.x - r.x) + (s.z - r.z) * (s.z - r.z);
  }
  return std::sqrt(sum / static_cast<double>(run.size()));
}

// --- clutter ---

namespace {

CompliantModel model_of(const std::string& solver) {
  if (solver == "sap") return CompliantModel::kSap;
  return solver == "lagged" ? CompliantModel::kLagged : CompliantModel::kSimilar;
}

// The last step of a simulator as one problem.
class LastProblem {
 public:
  explicit LastProblem(const Simulator& sim) {
    islands_.find(sim.model(), sim.constraints(), false);
    islands_.build_problem(0, sim.model(), sim.constraints(), sim.time_step(), scratch_);
    problem_ = &islands_[0].problem;
    problem_->primal = islands_.build_primal(0, sim.model(), sim.data(), sim.constraints(), scratch_);
    impulses_.resize(problem_->nrow());
    for (int b = 0; b < problem_->nblock(); ++b) {
      const int from = sim.constraints().blocks.row[islands_[0].blocks[static_cast<std::size_t>(b)]];
      impulses_.segment(problem_->blocks.row[b], problem_->blocks.size(b)) =
          sim.impulses().segment(from, problem_->blocks.size(b));
    }
  }
  const ContactProblem& operator*() const { return *problem_; }
  const VectorX& impulses() const { return impulses_; }

 private:
  TreeIslands islands_;
  TreeIslands::Scratch scratch_;
  ContactProblem* problem_ = nullptr;
  VectorX impulses_;
};

// Of A + J' W J where the step ended.
double condition_number(const ContactProblem& problem, CompliantModel model, const VectorX& impulses) {
  BlockLaws laws;
  if (const std::string refusal = laws.prepare(problem, model); !refusal.empty()) throw Error("{}", refusal);
  const VectorX c = problem.primal.J * next_velocity(problem, impulses);
  BlockDiagonal W;
  W.set_partition(problem.blocks.row);
  double gamma[kMaxBlockSize];
  for (int i = 0; i < problem.nblock(); ++i) laws.evaluate(i, c.data() + problem.blocks.row[i], gamma, W.data(i));
  PrimalHessian hessian;
  const JointSpace space{&problem, nullptr, nullptr};
  hessian.set_pattern(space);
  hessian.compute(space, W);
  const Eigen::SelfAdjointEigenSolver<MatrixX> eigen(hessian.H.dense(), Eigen::EigenvaluesOnly);
  return eigen.eigenvalues().maxCoeff() / eigen.eigenvalues().minCoeff();
}

// Mean of the slip at which contacts that push begin to slide (Table I, (26)).
double effective_stiction(const ContactProblem& problem, CompliantModel model, const VectorX& impulses) {
  BlockDiagonal mobility;
  AlignedVector scratch;
  compute_mobility(problem, mobility, scratch);
  double sum = 0.0;
  int count = 0;
  for (int i = 0; i < problem.nblock(); ++i) {
    const ContactPhysics& physics = problem.physics[static_cast<std::size_t>(i)];
    const int r = problem.blocks.row[i], m = problem.blocks.size(i);
    const double impulse = impulses[r + m - 1], mu = problem.blocks.mu[r];
    if (!(impulse > 0.0)) continue;
    const double w = inverse_mass(mobility.data(i), m);
    const double before = problem.time_step * physics.stiffness * std::max(0.0, -physics.gap) *
                          std::max(0.0, 1.0 - physics.dissipation * physics.speed);
    const double soft = physics.sigma * w * mu * (model == CompliantModel::kSap ? impulse : before);
    sum += model == CompliantModel::kSap ? soft : std::max(physics.stiction, soft);
    ++count;
  }
  return count > 0 ? sum / count : 0.0;
}

}  // namespace

double ClutterRun::mean_iterations() const {
  double sum = 0.0;
  for (const double n : iterations) sum += n;
  return sum / static_cast<double>(iterations.size());
}

double ClutterRun::mean_condition() const {
  double sum = 0.0;
  for (const double c : condition) sum += std::log(c);
  return std::exp(sum / static_cast<double>(condition.size()));
}

ClutterRun run_clutter(const ClutterOptions& o) {
  Scene scene = make_scene(fmt::format("convex/clutter:n={},stiffness={:.17g}", o.objects, o.stiffness));
  scene.options.solver = o.solver;
  scene.options.time_step = o.h;
  scene.options.tolerance = 1e-5;  // XII
  scene.options.laws.near_rigid = kAnyStiffness;
  if (!o.regularised) scene.options.laws.sigma = 0.0;
  const CompliantModel model = model_of(o.solver);
  SceneRun run(scene);
  Simulator& sim = run.simulator();
  ClutterRun out;
  double depth = 0.0;
  long deep = 0;
  const auto steps = static_cast<int>(std::lround(o.seconds / o.h));
  for (int i = 0; i < steps; ++i) {
    const StepReport& report = run.step();
    if (report.status == StepStatus::kDiverged) throw Error("clutter with {} diverged at {} s", o.solver, report.time);
    out.unsolved += report.status == StepStatus::kOk ? 0 : 1;
    out.worst_law = std::max(out.worst_law, report.residuals.law_natv_relative);
    out.time.push_back(report.time);
    out.iterations.push_back(report.largest_iterations);
    if (report.time > o.seconds - 1.25) {
      for (const ContactForce& f : sim.contacts()) {
        if (f.contact->distance < 0.0) {
          depth -= f.contact->distance;
          ++deep;
        }
      }
    }
    if (o.condition_every > 0 && i % o.condition_every == 0 && sim.constraints().count() > 0) {
      const LastProblem problem(sim);
      out.condition_time.push_back(report.time);
      out.condition.push_back(condition_number(*problem, model, problem.impulses()));
      out.stiction.push_back(effective_stiction(*problem, model, problem.impulses()));
    }
  }
  out.mean_penetration = deep > 0 ? depth / static_cast<double>(deep) : 0.0;
  return out;
}

// --- grasp ---

double time_to_failure(const GraspOptions& o) {
  constexpr double kLost = 0.05;  // m below the fingers' tips
  Scene scene =
      make_scene(fmt::format("convex/grasp:frequency={:.17g},dissipation={:.17g}", o.frequency, o.dissipation));
  scene.options.solver = o.solver;
  scene.options.time_step = o.h;
  SceneRun run(scene);
  Simulator& sim = run.simulator();
  const Eigen::Index height = sim.model().nq - 5;
  const double start = sim.state().q[height];
  while (sim.state().time < o.seconds) {
    if (run.step().status == StepStatus::kDiverged) throw Error("grasp with {} diverged", o.solver);
    if (sim.state().q[height] < start - kLost) return sim.state().time;
  }
  return o.seconds;
}

}  // namespace touchstone::test

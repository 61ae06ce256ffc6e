// Derivatives of the last step of a simulator; inverse dynamics with contact, inverse kinematics.
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "simulator.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/contact_inverse_dynamics.hpp"
#include "touchstone/diff/inverse_kinematics.hpp"
#include "touchstone/diff/step_derivatives.hpp"

namespace touchstone::python {
namespace {

struct StepJacobians {
  MatrixX A, B, C;
  StepDerivatives::Held held;
};

using References = std::vector<Reference>;

// What a step is differentiated by beside x and u, by names and numbers.
struct Theta {
  bool gravity = false;
  References inertias, frictions, restitutions, stiffnesses, dissipations, relaxations, gains;
  std::vector<int> dampings, armatures, joint_frictions;

  StepParameters of(const Model& model) const {
    const auto find = [&](ElementKind kind, const References& references) {
      std::vector<int> numbers;
      for (const Reference& reference : references) numbers.push_back(find_index(model, kind, reference));
      return numbers;
    };
    return {gravity,
            find(ElementKind::kBody, inertias),
            find(ElementKind::kShape, frictions),
            find(ElementKind::kShape, restitutions),
            find(ElementKind::kShape, stiffnesses),
            find(ElementKind::kShape, dissipations),
            find(ElementKind::kShape, relaxations),
            find(ElementKind::kActuator, gains),
            dampings,
            armatures,
            joint_frictions};
  }
};

// Derivatives of the last step of a simulator, by turns with its steps.
class StepGradient {
 public:
  StepGradient(PySimulator& simulator, bool gravity, References inertias, References frictions, References restitutions,
               References stiffnesses, References dissipations, References relaxations, References gains,
               std::vector<int> dampings, std::vector<int> armatures, std::vector<int> joint_frictions)
      : simulator_(simulator),
        theta_(Theta{gravity, std::move(inertias), std::move(frictions), std::move(restitutions),
                     std::move(stiffnesses), std::move(dissipations), std::move(relaxations), std::move(gains),
                     std::move(dampings), std::move(armatures), std::move(joint_frictions)}
                   .of(simulator.sim.model())),
        derivatives_(simulator.sim.model(), theta_) {
    const Guard guard(simulator.busy, "simulator");
    simulator.sim.keep_starts();
  }
  StepGradient(const StepGradient&) = delete;
  StepGradient& operator=(const StepGradient&) = delete;

  void linearise() {
    const Guard guard(simulator_.busy, "simulator");
    const nb::gil_scoped_release release;
    derivatives_.linearise(simulator_.sim);
    known_ = true;
  }

  void set_smoothing(double width) { derivatives_.set_smoothing(width); }

  StepJacobians jacobians() {
    const Guard guard(simulator_.busy, "simulator");
    const nb::gil_scoped_release release;
    derivatives_.compute(simulator_.sim);
    known_ = true;
    return {derivatives_.A, derivatives_.B, derivatives_.C, derivatives_.held()};
  }

  nb::tuple vjp(const Numbers& x_next_bar) {
    require_known();
    VectorX x_bar(derivatives_.nx()), u_bar(derivatives_.nu()), theta_bar(derivatives_.ntheta());
    derivatives_.vjp(x_next_bar.vector("x_next_bar", derivatives_.nx()), x_bar, u_bar, theta_bar);
    return nb::make_tuple(copy(x_bar), copy(u_bar), copy(theta_bar));
  }

  Copy1 jvp(const Numbers& dx, const std::optional<Numbers>& du, const std::optional<Numbers>& dtheta) {
    require_known();
    VectorX result(derivatives_.nx());
    const auto part = [](const char* what, const std::optional<Numbers>& numbers, int size) {
      return numbers ? VectorX(numbers->vector(what, size)) : VectorX(VectorX::Zero(size));
    };
    derivatives_.jvp(dx.vector("dx", derivatives_.nx()), part("du", du, derivatives_.nu()),
                     part("dtheta", dtheta, derivatives_.ntheta()), result);
    return copy(result);
  }

  void set_collision(const std::string& method, double noise, int samples, int depth, std::uint64_t seed,
                     const std::optional<Reference>& a, const std::optional<Reference>& b) {
    const Model& model = simulator_.sim.model();
    if (a.has_value() != b.has_value()) throw Error("set_collision: name both shapes or none");
    const auto index = [&](const std::optional<Reference>& shape) {
      return shape ? find_index(model, ElementKind::kShape, *shape) : -1;
    };
    derivatives_.set_collision({collision_gradient_named(method), noise, samples, depth, seed}, index(a), index(b));
  }

  Copy1 theta() const { return copy(theta_.read(simulator_.sim.context().parameters)); }
  void set_theta(const Numbers& theta) {
    const Guard guard(simulator_.busy, "simulator");
    theta_.write(theta.vector("theta", theta_.size()), simulator_.sim.parameters());
  }

 private:
  void require_known() const {
    if (!known_) throw Error("there are no derivatives yet: call linearise() after a step");
  }

  PySimulator& simulator_;
  StepParameters theta_;
  StepDerivatives derivatives_;
  bool known_ = false;
};

StepJacobians jacobians(PySimulator& self, double smoothing) {
  const Guard guard(self.busy, "simulator");
  const nb::gil_scoped_release release;
  StepDerivatives d(self.sim.model());
  d.set_smoothing(smoothing);
  d.compute(self.sim);
  return {std::move(d.A), std::move(d.B), std::move(d.C), d.held()};
}

void keep_starts(PySimulator& self, bool keep) {
  const Guard guard(self.busy, "simulator");
  self.sim.keep_starts(keep);
}

nb::tuple vjp(const StepJacobians& j, const Numbers& x_next_bar) {
  const VectorX bar = x_next_bar.vector("x_next_bar", static_cast<int>(j.A.rows()));
  return nb::make_tuple(copy(VectorX(j.A.transpose() * bar)), copy(VectorX(j.B.transpose() * bar)));
}

// --- inverse dynamics with contact ---

ContactForces contact_inverse(PySimulator& self, const Numbers& v_next, const std::vector<int>& actuated,
                              double tolerance) {
  const Guard guard(self.busy, "simulator");
  const VectorX v = v_next.vector("v_next", self.sim.model().nv);
  const nb::gil_scoped_release release;
  ContactInverseDynamics inverse(self.sim.model_ptr(), self.sim.options(), actuated, &self.sim.context().parameters);
  inverse.tolerance = tolerance;
  return inverse.solve(self.sim.context().state, v, &self.sim.context().input);
}

Copy1 tau(const ContactForces& f) { return copy(f.tau); }
Copy1 actuator_force(const ContactForces& f) { return copy(f.actuator_force); }
Copy1 impulses(const ContactForces& f) { return copy(f.lambda); }
Copy1 residual(const ContactForces& f) { return copy(f.residual); }
bool solved(const ContactForces& f) { return f.status == SolveStatus::kSolved; }

template <Vector3 InverseContact::*member>
Copy2 by_contact(const ContactForces& f) {
  MatrixX rows(static_cast<Eigen::Index>(f.contacts.size()), 3);
  Eigen::Index k = 0;
  for (const InverseContact& contact : f.contacts) rows.row(k++) = (contact.*member).transpose();
  return copy_matrix(rows);
}

std::string describe(const ContactForces& f) {
  return fmt::format("<ContactForces at {} contacts, residual {:.3g} N, violation {:.3g} m/s>", f.contacts.size(),
                     f.residual_norm, f.violation);
}

void bind_contact_inverse(nb::module_& m) {
  nb::class_<ContactForces>(m, "ContactForces", "What inverse_contact_dynamics found.")
      .def_prop_ro("tau", &tau, "nv: what actuators do, N, N m.")
      .def_prop_ro("actuator_force", &actuator_force, "nu: the forces of actuators that make tau, of least norm.")
      .def_prop_ro("impulses", &impulses, "Of the step's rows, N s.")
      .def_prop_ro("force", &by_contact<&InverseContact::force>, "n x 3: of contacts on their second body, world, N.")
      .def_prop_ro("position", &by_contact<&InverseContact::position>, "n x 3: of contacts, world, m.")
      .def_prop_ro("residual", &residual, "nv: what neither actuators nor constraints can do, N, N m.")
      .def_ro("residual_norm", &ContactForces::residual_norm)
      .def_ro("violation", &ContactForces::violation, "m/s: how far the velocity breaks the laws of constraints.")
      .def_prop_ro("solved", &solved, "The problem of least residual was solved.")
      .def("__repr__", &describe);
  m.def("inverse_contact_dynamics", &contact_inverse, nb::arg("simulator"), nb::arg("v_next"), nb::kw_only(),
        nb::arg("actuated") = std::vector<int>(), nb::arg("tolerance") = 1e-6,
        "The forces of actuators and the impulses of least norm that give the simulator's state the velocity v_next "
        "after one step of the integrator euler. actuated: dofs with a force of their own, instead of the model's "
        "actuators. Parameters are those of the simulator, but for gains and biases of actuators; its controls do not "
        "act, other forces of its input do; the simulator stays as it is.");
}

// --- inverse kinematics ---

struct IkTarget {
  Reference body;
  std::optional<Vector3> position;
  std::optional<Quaternion> rotation;
  Vector3 point = Vector3::Zero();
  double weight = 1.0, turn_weight = 1.0;
};

IkTarget make_target(const Reference& body, const std::optional<Numbers>& position,
                     const std::optional<Numbers>& rotation, const std::optional<Numbers>& point, double weight,
                     double turn_weight) {
  IkTarget target{body, {}, {}, Vector3::Zero(), weight, turn_weight};
  if (position) target.position = position->vector3("position");
  if (point) target.point = point->vector3("point");
  if (rotation) {
    const VectorX q = rotation->vector("rotation", 4);
    target.rotation = Quaternion(q[0], q[1], q[2], q[3]);
  }
  if (!position && !rotation) throw Error("a target needs a position, a rotation or both");
  return target;
}

IkResult solve_kinematics(const PyModel& model, const std::vector<IkTarget>& targets, const std::optional<Numbers>& q,
                          const std::optional<Numbers>& centre_of_mass, const std::vector<int>& fixed_dofs,
                          const IkOptions& options) {
  IkProblem problem;
  for (const IkTarget& t : targets) {
    const int body = find_index(*model, ElementKind::kBody, t.body);
    if (t.position) problem.points.push_back({body, t.point, *t.position, t.weight});
    if (t.rotation) problem.turns.push_back({body, *t.rotation, t.turn_weight});
  }
  if (centre_of_mass) {
    const VectorX wanted = *centre_of_mass->shape().begin() == 2 ? centre_of_mass->vector("centre_of_mass", 2)
                                                                 : centre_of_mass->vector("centre_of_mass", 3);
    problem.centre_of_mass.weight = 1.0;
    problem.centre_of_mass.position.head(wanted.size()) = wanted;
    problem.centre_of_mass.axes[2] = wanted.size() == 3;
  }
  problem.fixed_dofs = fixed_dofs;
  const VectorX start = q ? VectorX(q->vector("q", model->nq)) : model->reference_q;
  const nb::gil_scoped_release release;
  InverseKinematics ik(*model);
  return ik.solve(problem, start, options);
}

void bind_inverse_kinematics(nb::module_& m) {
  nb::class_<IkTarget>(m, "IkTarget", "Where a body shall be (inverse_kinematics).")
      .def(
          "__init__",
          [](IkTarget* self, const Reference& body, const std::optional<Numbers>& position,
             const std::optional<Numbers>& rotation, const std::optional<Numbers>& point, double weight,
             double turn_weight) {
            new (self) IkTarget(make_target(body, position, rotation, point, weight, turn_weight));
          },
          nb::arg("body"), nb::arg("position") = nb::none(), nb::arg("rotation") = nb::none(), nb::kw_only(),
          nb::arg("point") = nb::none(), nb::arg("weight") = 1.0, nb::arg("turn_weight") = 1.0,
          "The point (body frame, its origin unless given) of a body (name or index) at a position of the world, and "
          "the body turned as the quaternion w x y z says; either or both.");
  nb::class_<IkResult>(m, "IkResult", "What inverse_kinematics found.")
      .def_prop_ro(
          "q", [](const IkResult& r) { return copy(r.q); }, "The configuration, within the limits.")
      .def_ro("reached", &IkResult::reached, "All targets are reached within the tolerance.")
      .def_ro("position_error", &IkResult::position_error, "m, the largest.")
      .def_ro("angle_error", &IkResult::angle_error, "rad, the largest.")
      .def_ro("iterations", &IkResult::iterations)
      .def_ro("attempts", &IkResult::attempts, "1: from the given configuration; more: from random ones.")
      .def("__repr__", [](const IkResult& r) {
        return fmt::format("<IkResult {}, {:.3g} m, {:.3g} rad, {} attempts>", r.reached ? "reached" : "not reached",
                           r.position_error, r.angle_error, r.attempts);
      });
  m.def(
      "inverse_kinematics",
      [](const PyModel& model, const std::vector<IkTarget>& targets, const std::optional<Numbers>& q,
         const std::optional<Numbers>& centre_of_mass, const std::vector<int>& fixed_dofs, bool limits,
         double tolerance, int max_iterations, int restarts, std::uint64_t seed) {
        return solve_kinematics(model, targets, q, centre_of_mass, fixed_dofs,
                                {tolerance, max_iterations, restarts, seed, limits});
      },
      nb::arg("model"), nb::arg("targets"), nb::arg("q") = nb::none(), nb::kw_only(),
      nb::arg("centre_of_mass") = nb::none(), nb::arg("fixed_dofs") = std::vector<int>(), nb::arg("limits") = true,
      nb::arg("tolerance") = 1e-6, nb::arg("max_iterations") = 100, nb::arg("restarts") = 20, nb::arg("seed") = 1,
      "A configuration in which targets are reached, from q (the reference configuration unless given), within the "
      "limits of joints; the nearest one found if there is none. centre_of_mass: x y or x y z of all that moves.");
}

}  // namespace

void bind_jacobians_of(nb::class_<PySimulator>& c) {
  c.def("keep_starts", &keep_starts, nb::arg("keep") = true,
        "From now on steps keep where they began, which their derivatives need; StepGradient asks "
        "for it itself.");
  c.def("jacobians", &jacobians, nb::kw_only(), nb::arg("smoothing") = 0.0,
        "Derivatives of the last step: A = dx'/dx and B = dx'/du, x = [q, v, activation] with q in the tangent space. "
        "All integrators; solvers of hard contact, compliant laws, softened constraints. Ask before anything else is "
        "changed. With smoothing, a width in m/s, laws of contact are relaxed by so much (solvers of the NCP): "
        "gradients at the "
        "border of two modes then say what lies beyond.");
}

namespace {

void bind_gradient(nb::module_& m) {
  nb::class_<StepGradient>(m, "StepGradient",
                           "Derivatives of a simulator's last step by state, controls and parameters theta: after "
                           "sim.step() call linearise(), then vjp or jvp; or jacobians(). touchstone.autograd makes "
                           "rollouts of it.")
      .def(nb::init<PySimulator&, bool, References, References, References, References, References, References,
                    References, std::vector<int>, std::vector<int>, std::vector<int>>(),
           nb::arg("simulator"), nb::kw_only(), nb::arg("gravity") = false, nb::arg("inertias") = References(),
           nb::arg("frictions") = References(), nb::arg("restitutions") = References(),
           nb::arg("stiffnesses") = References(), nb::arg("dissipations") = References(),
           nb::arg("relaxations") = References(), nb::arg("gains") = References(),
           nb::arg("dampings") = std::vector<int>(), nb::arg("armatures") = std::vector<int>(),
           nb::arg("joint_frictions") = std::vector<int>(), nb::keep_alive<1, 2>(),
           "theta, in this order: gravity (3), inertial parameters of bodies (10 each, as in regressor), sliding "
           "friction, restitution, stiffness (or modulus), dissipation and relaxation time of shapes, gain and bias of "
           "actuators (6 each), damping, armature and dry friction of dofs.")
      .def("set_collision", &StepGradient::set_collision, nb::arg("method"), nb::kw_only(), nb::arg("noise") = 1e-2,
           nb::arg("samples") = 50, nb::arg("depth") = 1, nb::arg("seed") = 1, nb::arg("a") = nb::none(),
           nb::arg("b") = nb::none(),
           "How contacts at one point are differentiated, as in distance_derivatives: of the shapes a and b, or of all "
           "others.")
      .def("set_smoothing", &StepGradient::set_smoothing, nb::arg("width"),
           "Relax the laws of contact by a width in m/s; 0: exact derivatives.")
      .def("linearise", &StepGradient::linearise, "For vjp and jvp of the last step.")
      .def("jacobians", &StepGradient::jacobians, "A, B and C of the last step.")
      .def("vjp", &StepGradient::vjp, nb::arg("x_next_bar"),
           "Gradients (by x, by u, by theta) of a number whose gradient by the state after the step is given.")
      .def("jvp", &StepGradient::jvp, nb::arg("dx"), nb::arg("du") = nb::none(), nb::arg("dtheta") = nb::none(),
           "How the state after the step moves along dx, du, dtheta.")
      .def_prop_rw("theta", &StepGradient::theta, &StepGradient::set_theta, "Of the simulator's parameters.");
}

}  // namespace

void bind_derivatives(nb::module_& m) {
  nb::class_<StepJacobians>(m, "StepJacobians", "Derivatives of a step (Simulator.jacobians).")
      .def_prop_ro(
          "A", [](const StepJacobians& j) { return copy_matrix(j.A); }, "dx'/dx, 2 nv + na square.")
      .def_prop_ro(
          "B", [](const StepJacobians& j) { return copy_matrix(j.B); }, "dx'/du, by the controls: 2 nv + na x nu.")
      .def_prop_ro(
          "C", [](const StepJacobians& j) { return copy_matrix(j.C); },
          "dx'/dtheta, by the parameters of a StepGradient; no columns without.")
      .def_prop_ro(
          "held_contacts", [](const StepJacobians& j) { return j.held.contacts; },
          "Contacts whose point and normal were taken to move with the mean of both bodies, or, beside the edge of a "
          "triangle, the normal with that triangle.")
      .def_prop_ro(
          "held_actuators", [](const StepJacobians& j) { return j.held.actuators; },
          "Actuators that share a force limit, and motors of loop joints that the limit of a joint cuts.")
      .def_prop_ro(
          "held_recovery", [](const StepJacobians& j) { return j.held.pass; },
          "The configuration was moved out of violations as far as it may, or loops were closed in every step; that "
          "motion is taken to be constant.")
      .def_prop_ro(
          "held_smoothing", [](const StepJacobians& j) { return j.held.smoothing; },
          "The relaxed problem of smoothed derivatives was not solved: these are those of the last point on its way.")
      .def("vjp", &vjp, nb::arg("x_next_bar"),
           "Gradients (by x, by u) of a number whose gradient by the state after the step is given.");
  bind_gradient(m);
  bind_inverse_kinematics(m);
  bind_contact_inverse(m);
}

}  // namespace touchstone::python

// The stages of a step, one by one.
#include <algorithm>

#include "arrays.hpp"
#include "bindings.hpp"
#include "simulator.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone::python {
namespace {

// A simulator's stages; Python keeps the simulator alive.
struct PyStages {
  PySimulator* owner;

  template <typename Stage>
  auto run(Stage stage) const {
    const Guard guard(owner->busy, "simulator");
    const nb::gil_scoped_release release;
    return stage(owner->sim.context());
  }
};

void begin(const PyStages& stages, double ahead) {
  if (!(ahead >= 0.0 && ahead < 1.0))
    throw Error("begin({}); give the share of the step, 0 or more and below 1", ahead);
  stages.run([&](StepContext& s) {
    stages.owner->run.apply_pushes();
    stage::begin(s, ahead);
  });
}

}  // namespace

void bind_stages(nb::module_& m) {
  nb::class_<PyStages>(m, "Stages",
                       "The stages of a step, to be called one by one in the order below; together they are a step of "
                       "semi-implicit Euler (begin(0.0)) or of Moreau's midpoint rule (begin(0.5)), bit for bit. "
                       "Substeps and callbacks are those of Simulator.step alone.")
      .def(
          "settle", [](const PyStages& s) { return s.run([](StepContext& c) { return stage::settle(c); }); },
          "Only where bodies may sleep, first of all: who rests falls asleep. True: everything sleeps, the step is "
          "made.")
      .def("begin", &begin, nb::arg("ahead") = 0.0,
           "Forces are evaluated where the old velocity leads in this share of the step: 0 the start, 0.5 the middle.")
      .def(
          "free_motion", [](const PyStages& s) { return s.run([](StepContext& c) { return stage::free_motion(c); }); },
          "Kinematics, mass matrix, factor, forces and v_free. False if the step is over: the report says diverged.")
      .def(
          "detect", [](const PyStages& s) { s.run([](StepContext& c) { stage::detect(c); }); }, "Finds contacts.")
      .def(
          "wake", [](const PyStages& s) { return s.run([](StepContext& c) { return stage::wake(c); }); },
          "Only where bodies may sleep: wakes whom moving ones touch. True: there were some, go back to begin.")
      .def(
          "assemble", [](const PyStages& s) { s.run([](StepContext& c) { stage::assemble(c); }); },
          "Rows and laws of all constraints, and the impulses to start from.")
      .def(
          "solve", [](const PyStages& s) { s.run([](StepContext& c) { stage::solve(c); }); },
          "Impulses and the velocity after the step.")
      .def(
          "bound_servos", [](const PyStages& s) { s.run([](StepContext& c) { stage::bound_servos(c); }); },
          "Solves again where a servo reached its force limit unexpectedly.")
      .def(
          "meet", [](const PyStages& s) { return s.run([](StepContext& c) { return stage::meet(c); }); },
          "Solves again with contacts that the step meets and that were not seen from its start. True: it woke a body "
          "that slept, go back to begin.")
      .def(
          "integrate", [](const PyStages& s) { s.run([](StepContext& c) { stage::integrate(c); }); },
          "Moves the state to the end of the step.")
      .def(
          "account", [](const PyStages& s) { s.run([](StepContext& c) { stage::account(c); }); },
          "Fills the report and the contacts, and keeps the impulses for the next step.")
      .def_prop_ro(
          "v_free", [](const PyStages& s) { return copy(s.owner->sim.context().data.v_free); },
          "Velocity at the end of the step without constraints (nv), a copy. After free_motion.")
      .def_prop_ro(
          "v_next", [](const PyStages& s) { return copy(s.owner->sim.context().v_next); },
          "Velocity at the end of the step (nv), a copy. After solve.")
      .def_prop_ro(
          "impulses",
          [](const PyStages& s) {
            const StepContext& c = s.owner->sim.context();
            return copy(VectorX(c.lambda.head(std::min<Eigen::Index>(c.lambda.size(), c.constraints.rows()))));
          },
          "Impulses of all constraint rows, N s or N m s, a copy. After solve.");
}

void bind_stages_of(nb::class_<PySimulator>& c) {
  c.def_prop_ro(
      "stages", [](PySimulator& self) { return PyStages{&self}; }, nb::keep_alive<0, 1>(),
      "The stages of a step one by one: sim.stages.begin(), free_motion(), detect(), assemble(), solve(), "
      "bound_servos(), integrate(), account().");
}

}  // namespace touchstone::python

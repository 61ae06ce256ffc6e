"""Times of Drake's gradient of a discrete step: MultibodyPlant with AutoDiffXd, by all of the state and the controls.

Called by run.py with the interpreter of an environment that has Drake: drake_times.py NAME=FILE... Prints JSON.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from pydrake.autodiffutils import InitializeAutoDiff
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, DiscreteContactApproximation
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

TIME_STEP = 0.001  # s: TAMSI does not converge with longer ones where robots land
SETTLE = 0.1  # s: before the state that is differentiated
SECONDS = 0.5  # of repetitions


def best_time(function):
    """Microseconds of a call: the best one."""
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best


def times(file):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    text = Path(file).read_text()
    if "<mujoco>" in text:  # it asks for a name
        Parser(plant).AddModelsFromString(text.replace("<mujoco>", '<mujoco model="model">'), "xml")
    else:
        Parser(plant).AddModels(file)
    # SAP has no AutoDiffXd.
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    plant.Finalize()
    if plant.num_actuators() > 0:
        builder.ExportInput(plant.get_actuation_input_port(), "u")
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = simulator.get_mutable_context()
    controls = np.zeros(plant.num_actuators())
    if controls.size > 0:
        diagram.get_input_port(0).FixValue(context, controls)
    simulator.AdvanceTo(SETTLE)
    state = plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context))
    result = {"dofs": plant.num_velocities()}
    end = diagram.CreateDefaultContext()

    def step():
        plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), state)  # nothing stays known
        diagram.CalcForcedUnrestrictedUpdate(context, end.get_mutable_state())

    step()
    if np.array_equal(plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(end)), state):
        raise RuntimeError("no step was made")
    result["step"] = best_time(step)
    smooth = diagram.ToAutoDiffXd()
    smooth_context = smooth.CreateDefaultContext()
    variables = InitializeAutoDiff(np.concatenate([state, controls])).ravel()
    smooth_plant = smooth.GetSubsystemByName(plant.get_name())
    smooth_end = smooth.CreateDefaultContext()

    def gradient():
        own = smooth.GetMutableSubsystemContext(smooth_plant, smooth_context)
        smooth_plant.SetPositionsAndVelocities(own, variables[: state.size])
        if controls.size > 0:
            smooth.get_input_port(0).FixValue(smooth_context, variables[state.size :])
        smooth.CalcForcedUnrestrictedUpdate(smooth_context, smooth_end.get_mutable_state())
        there = smooth.GetSubsystemContext(smooth_plant, smooth_end)
        return smooth_plant.GetPositionsAndVelocities(there)

    if gradient().ravel()[0].derivatives().size == 0:
        raise RuntimeError("no derivatives came back")
    result["jacobians"] = best_time(gradient)
    return result


def main():
    results = {}
    for argument in sys.argv[1:]:
        name, file = argument.split("=", 1)
        try:
            results[name] = times(file)
        except Exception as error:  # what it cannot read or differentiate is left out
            results[name] = {"error": str(error).splitlines()[0]}
    print(json.dumps(results))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Towers, slopes and energy by a batch, against closed forms and the simulator.

    TOUCHSTONE_CUDA_LIBRARY=build/gpu/libtouchstone_cuda.so python bench/gpu/check_physics.py CASES [--device cuda]

CASES: the folder with tower10.xml, slope_box_above.xml ... (TOUCHSTONE_DATA/cases). With --device lanes it runs on the
processor. Prints a line for each check; exits with 1 if one fails.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

import touchstone as ts

TIGHT = {"tolerance": 1e-6, "most_sweeps": 10000}
STILL = {"tower10": 0.2, "tower10_rough": 0.2, "slope_box_above": 0.01, "mass1000_top": 0.2}  # mm in the time given
failed = False


def say(what: str, value: float, limit: float) -> None:
    global failed
    passed = value <= limit  # not of a NaN
    failed = failed or not passed
    print(f"{'ok' if passed else 'FAILED':<7}{what:<60}{value:10.3g} (at most {limit:g})", flush=True)


def q_of(batch: ts.DeviceBatch) -> np.ndarray:
    return np.array(np.asarray(batch.q), copy=True)


def drifts(folder: Path, device: str, worlds: int, seconds: float) -> None:
    for name, limit in STILL.items():
        model = ts.load(folder / f"{name}.xml")
        batch = ts.Batch(model, worlds, device=device, **TIGHT)
        per_second = round(1.0 / ts.Simulator(model).dt)
        batch.step(per_second)  # what was put in the air falls
        before = q_of(batch)
        batch.step(round((seconds - 1.0) * per_second))
        moved = np.linalg.norm(q_of(batch)[:, -7:-4] - before[:, -7:-4], axis=1)
        say(f"{name}: drift of the last body, mm", 1e3 * float(moved.max()), limit)


def slides(folder: Path, device: str) -> None:
    model = ts.load(folder / "slope_box_below.xml")
    batch = ts.Batch(model, 1, device=device)
    batch.step(round(2.0 / ts.Simulator(model).dt))
    slope = math.radians(20.0)
    exact = 9.81 * (math.sin(slope) - 0.99 * math.tan(slope) * math.cos(slope))
    speed = float(np.linalg.norm(np.asarray(batch.v)[0, :3]))
    say("slope_box_below: error of the acceleration, relative", abs(speed / 2.0 / exact - 1.0), 0.01)


CHAIN = """<mujoco><option timestep="0.001"/><worldbody><body pos="0 0 2"><joint axis="0 1 0" damping=".02"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/><body pos=".4 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/><body pos=".4 0 0"><joint axis="1 0 0" frictionloss=".01"/>
<geom type="capsule" fromto="0 0 0 .2 .3 0" size=".03"/></body></body></body></worldbody></mujoco>"""


def energy(device: str) -> None:
    """A swinging chain with a damper and dry friction: the same energy as in the simulator."""
    model = ts.load_string(CHAIN)
    for rule in ("euler", "midpoint"):
        batch = ts.Batch(model, 1, device=device, integrator=rule, tolerance=1e-9, most_sweeps=1000)
        sim, meter = ts.Simulator(model, integrator=rule), ts.Simulator(model, integrator=rule)
        batch.step(300)
        sim.step(300)
        meter.state.q[:], meter.state.v[:] = np.asarray(batch.q)[0], np.asarray(batch.v)[0]
        theirs = sim.kinetic_energy() + sim.potential_energy()
        mine = meter.kinetic_energy() + meter.potential_energy()
        say(f"chain, {rule}: difference of energy, relative", abs(mine - theirs) / (sim.kinetic_energy() + 1.0), 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--device", default="cuda", choices=["cuda", "lanes"])
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0, help="of towers and slopes")
    arguments = parser.parse_args()
    drifts(arguments.cases, arguments.device, arguments.worlds, arguments.seconds)
    slides(arguments.cases, arguments.device)
    energy(arguments.device)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

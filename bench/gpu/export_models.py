"""Exports what evidence.sh and device.sh run on a machine with a GPU: arrays and states of robots and mechanisms.

    python3 bench/gpu/export_models.py MODELS OUT [--touchstone PROGRAM] [--states 512] [--cases CASES]

MODELS: the folder mjcf/ with agility_cassie, google_barkour_vb, mujoco_samples, wonik_allegro. Writes OUT/NAME.arrays
and OUT/NAME.states. Baumgarte's rule, as in all figures of docs/gpu.md that do not say otherwise; NAME-pass is with the
position pass. press.urdf and press.loops.yaml beside this file have what acts along coordinates of loop joints. CASES:
the folder with towers and slopes (TOUCHSTONE_DATA/cases), which are exported as they start, with a swinging chain for
both integrators.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROBOTS = {
    "humanoid": "mujoco_samples/humanoid/humanoid.xml",
    "cassie": "agility_cassie/scene.xml",
    "barkour": "google_barkour_vb/scene_mjx.xml",
    "barkour-field": "google_barkour_vb/scene_hfield_mjx.xml",
}
MECHANISMS = {"stewart": "loops/stewart", "digit-leg": "loops/digit-leg", "fourbar": "loops/fourbar-free"}
CASES = [
    *("tower10", "tower10_rough", "mass1000_top", "cards2", "cards7", "slope_box_above", "slope_box_below", "rolling"),
    *("ring_connect", "ring_weld", "fourbar_slow", "fourbar_fast"),
]
ELLIPSOID = '<geom type="ellipsoid" size="0.03 0.04 0.02" rgba="0.5 0.7 0.5 1" condim="6" priority="1"'
CUBE = '<geom type="box" size="0.03 0.03 0.03" rgba="0.5 0.7 0.5 1" condim="{}" priority="1"'


def cube_scene(models: Path, folder: Path, dimension: int) -> Path:
    """The Allegro hand with a cube of 6 cm in the place of its ellipsoid."""
    shutil.copytree(models / "wonik_allegro", folder, dirs_exist_ok=True)
    text = (folder / "scene_right.xml").read_text()
    if ELLIPSOID not in text:
        sys.exit("export_models: scene_right.xml has another object than the ellipsoid that this script replaces")
    scene = folder / "scene_cube.xml"
    scene.write_text(text.replace(ELLIPSOID, CUBE.format(dimension)))
    return scene


# A damper, dry friction, and no contact: energy that both engines have to lose alike.
CHAIN = """<mujoco><option timestep="0.001"/><worldbody><body pos="0 0 2"><joint axis="0 1 0" damping=".02"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/><body pos=".4 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/><body pos=".4 0 0"><joint axis="1 0 0" frictionloss=".01"/>
<geom type="capsule" fromto="0 0 0 .2 .3 0" size=".03"/></body></body></body></worldbody></mujoco>"""


def export(
    program: str, scene: str, name: str, out: Path, states: int, options: list[str], integrator: str = "euler"
) -> None:
    command = [program, "export", scene, "--integrator", integrator, "--arrays", str(out / f"{name}.arrays")]
    command += ["--states", str(out / f"{name}.states"), "--count", str(states)]
    for option in options:
        command += ["--option", option]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{name}: {(done.stdout + done.stderr).strip()}", flush=True)
    if done.returncode != 0:
        sys.exit(f"export_models: {' '.join(command)} failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--touchstone", default="build/release/bin/touchstone")
    parser.add_argument("--states", type=int, default=512)
    parser.add_argument("--cases", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    baumgarte = ["stabilisation=baumgarte"]

    def send(scene: str | Path, name: str, options: list[str]) -> None:
        export(arguments.touchstone, str(scene), name, arguments.out, arguments.states, options)

    for name, file in ROBOTS.items():
        send(arguments.models / file, name, baumgarte)
    send(arguments.models / ROBOTS["cassie"], "cassie-pass", [])
    for name, scene in MECHANISMS.items():
        send(scene, name, ["loops=pass", *baumgarte])
    send(MECHANISMS["stewart"], "stewart-pass", ["loops=pass"])
    press = Path(__file__).parent / "press.urdf"
    send(press, "press", ["loops=pass", *baumgarte])
    send(press, "press-pass", ["loops=pass"])
    if arguments.cases is not None:
        for name in CASES:
            scene = str(arguments.cases / f"{name}.xml")
            export(arguments.touchstone, scene, name, arguments.out, 1, ["loops=pass", *baumgarte])
    with tempfile.TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.xml"
        chain.write_text(CHAIN)
        for name, rule in (("chain", "euler"), ("chain-midpoint", "midpoint")):
            export(arguments.touchstone, str(chain), name, arguments.out, 1, baumgarte, rule)
    for dimension in (3, 6):
        with tempfile.TemporaryDirectory() as folder:
            send(cube_scene(arguments.models, Path(folder), dimension), f"allegro-cube{dimension}", baumgarte)


if __name__ == "__main__":
    main()

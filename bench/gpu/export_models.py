"""Exports what evidence.sh runs on a machine with a GPU: arrays and states of robots and mechanisms.

    python3 bench/gpu/export_models.py MODELS OUT [--touchstone build/release/bin/touchstone] [--states 512]

MODELS: the folder mjcf/ with agility_cassie, google_barkour_vb, mujoco_samples, wonik_allegro. Writes OUT/NAME.arrays
and OUT/NAME.states. Baumgarte's rule, as in all figures of docs/gpu.md that do not say otherwise; NAME-pass is with the
position pass.
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


def export(program: str, scene: str, name: str, out: Path, states: int, options: list[str]) -> None:
    command = [program, "export", scene, "--arrays", str(out / f"{name}.arrays")]
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
    for dimension in (3, 6):
        with tempfile.TemporaryDirectory() as folder:
            send(cube_scene(arguments.models, Path(folder), dimension), f"allegro-cube{dimension}", baumgarte)


if __name__ == "__main__":
    main()

"""What is measured: models, how long their runs are, and how many states are taken from them."""

import os
from dataclasses import dataclass
from pathlib import Path

import scenes

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "models" / "mjcf"


@dataclass(frozen=True)
class Case:
    name: str
    label: str
    model: Path
    step: float  # s
    start: float = 0.3  # s: states are taken from here
    end: float = 3.0  # to here
    states: int = 48
    control: str = "wave"  # or idle, grasp: bench/robots/harness.hpp
    rounds: int = 0  # at most so many; 0: no limit


def cases(folder):
    """Those whose model exists, and the names of the others."""
    humanoid = DATA / "mujoco_samples/humanoid/humanoid.xml"
    all_cases = [
        Case("humanoid", "humanoid", humanoid, 0.005),
        Case("humanoids", "22 humanoids", DATA / "mujoco_samples/humanoid/22_humanoids.xml", 0.005, states=16),
        Case("barkour", "Barkour", DATA / "google_barkour_vb/scene.xml", 0.001),
        Case("cassie", "Cassie", DATA / "agility_cassie/scene.xml", 0.0005),
        Case("talos", "Talos", DATA / "pal_talos/scene_position.xml", 0.002),
        Case("shadow_hand", "Shadow hand", DATA / "shadow_hand/scene_right.xml", 0.002),
        Case("allegro", "Allegro with ball", DATA / "wonik_allegro/scene_right.xml", 0.002),
        Case("lying", "humanoid, lying", humanoid, 0.005, 2.0, 4.0, control="idle"),
        Case("collapsing", "Talos, collapsing", DATA / "pal_talos/scene_motor.xml", 0.002, 0.3, 2.0, control="idle"),
        Case("cube", "Shadow hand, cube", scenes.hand(folder, DATA), 0.002, 0.3, 2.0, control="grasp"),
        Case("gripper", "gripper with box", scenes.gripper(folder), 0.002, 0.3, 2.0, control="grasp"),
        Case("arm", "arm, no contacts", DATA / "kinova_gen3/scene.xml", 0.002),
        Case("condim6", "humanoid, condim 6", scenes.with_condim(folder, humanoid, 6), 0.005),
        Case("pyramid", "pyramid of 36", scenes.pyramid(folder, 8), 0.002, 0.1, 1.0, 16),
        Case("dominoes", "20 dominoes", scenes.dominoes(folder, 20), 0.002, 0.05, 1.0),
        Case("meshes", "40 meshes", scenes.meshes(folder, 40), 0.002, 0.3, 1.0, 8, rounds=3),
        Case("boxes", "100-box pile", scenes.box_pile(folder), 0.002, 0.2, 1.5, 8, rounds=3),
        Case("spheres", "1,000-sphere pile", scenes.sphere_pile(folder), 0.002, 0.05, 0.15, 2, rounds=3),
        Case("mixed", "3,072 mixed bodies", scenes.mixed_pile(folder), 0.002, 0.05, 0.12, 2, rounds=3),
    ]
    missing = [case.label for case in all_cases if case.model is None or not case.model.exists()]
    return [case for case in all_cases if case.label not in missing], missing

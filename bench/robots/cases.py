"""What is measured: models, how long their runs are, and how many states are taken from them."""

import math
import os
import random
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "models" / "mjcf"


@dataclass(frozen=True)
class Case:
    name: str
    label: str
    model: Path
    step: float  # s, that of the model file
    seconds: float = 3.0  # of the runs that states are taken from
    states: int = 24  # of each engine's run
    peer_only: bool = False  # all states from MuJoCo's run, where it is there: ours would take long


def bin_walls(half, height):
    """A floor and four walls of boxes, 0.1 m thick."""
    walls = [f"<geom type='plane' size='{4 * half} {4 * half} 1'/>"]
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        centre = f"{x * (half + 0.05)} {y * (half + 0.05)} {height / 2}"
        size = (0.05 if x else half + 0.1, 0.05 if y else half + 0.1, height / 2)
        walls.append(f"<geom type='box' pos='{centre}' size='{size[0]} {size[1]} {size[2]}'/>")
    return "".join(walls)


def pile(folder, name, half, per_side, layers, spacing, rise, jitter, geom, random_turn):
    """`per_side`^2 bodies a layer, layers `rise` apart, dropped into a bin; written as MJCF."""
    draw = random.Random(7)
    bodies = []
    for layer in range(layers):
        for i in range(per_side):
            for j in range(per_side):
                x, y = ((k - (per_side - 1) / 2) * spacing + draw.uniform(-jitter, jitter) for k in (i, j))
                z = 0.06 + layer * rise
                turn = ""
                if random_turn:
                    axis = [draw.gauss(0, 1) for _ in range(3)]
                    angle = draw.uniform(0, math.pi / 3)
                    norm = math.sqrt(sum(a * a for a in axis))
                    quaternion = [math.cos(angle / 2), *(math.sin(angle / 2) * a / norm for a in axis)]
                    turn = " quat='" + " ".join(f"{q:.6f}" for q in quaternion) + "'"
                bodies.append(f"<body pos='{x:.5f} {y:.5f} {z:.5f}'{turn}><freejoint/>{geom}</body>")
    text = (
        "<mujoco><option timestep='0.002'/><size memory='1G'/><worldbody>"
        + bin_walls(half, layers * spacing)
        + "\n".join(bodies)
        + "</worldbody></mujoco>"
    )
    path = folder / f"{name}.xml"
    path.write_text(text)
    return path


def cases(folder):
    """Those whose model exists, and the names of the others."""
    boxes = pile(
        folder, "box_pile", 0.32, 5, 4, 0.125, 0.13125, 0.004, "<geom type='box' size='.05 .04 .03' mass='0.5'/>", True
    )
    spheres = pile(folder, "sphere_pile", 0.51, 10, 10, 0.101, 0.1014, 0.0004, "<geom size='.05' mass='0.5'/>", False)
    all_cases = [
        Case("humanoid", "humanoid", DATA / "mujoco_samples/humanoid/humanoid.xml", 0.005),
        Case("humanoids", "22 humanoids", DATA / "mujoco_samples/humanoid/22_humanoids.xml", 0.005, 3.0, 8),
        Case("barkour", "Barkour", DATA / "google_barkour_vb/scene.xml", 0.001),
        Case("cassie", "Cassie", DATA / "agility_cassie/scene.xml", 0.0005),
        Case("talos", "Talos", DATA / "pal_talos/scene_position.xml", 0.002),
        Case("shadow_hand", "Shadow hand", DATA / "shadow_hand/scene_right.xml", 0.002),
        Case("allegro", "Allegro with ball", DATA / "wonik_allegro/scene_right.xml", 0.002),
        Case("boxes", "100-box pile", boxes, 0.002, 2.0, 6, True),
        Case("spheres", "1,000-sphere pile", spheres, 0.002, 0.1, 1, True),
    ]
    missing = [case.label for case in all_cases if not case.model.exists()]
    return [case for case in all_cases if case.model.exists()], missing

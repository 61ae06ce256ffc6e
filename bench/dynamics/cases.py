"""What is measured: robots, rows, and the names of the rows in each program."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "models"

PINOCCHIO_ROWS = {
    "rnea": "RNEA",
    "crba": "CRBA",
    "aba": "ABA",
    "factor_solve": "factor + solve",
    "crba_factor_solve": "CRBA + factor + solve",
}
# No row for the kinematics alone: MuJoCo's (mj_comPos) also makes the spatial inertias that we make in CRBA.
MUJOCO_ROWS = {
    "kinematics_crba": "kinematics + CRBA",
    "kinematics_crba_factor": "kinematics + CRBA + factor",
    "kinematics_crba_factor_bias": "kinematics + CRBA + factor + bias",
}


@dataclass(frozen=True)
class Case:
    name: str
    label: str
    peer: str
    model: Path
    base: str = "as_is"  # URDF: fixed, floating

    @property
    def rows(self):
        return PINOCCHIO_ROWS if self.peer == "pinocchio" else MUJOCO_ROWS


def cases():
    urdf = DATA / "urdf" / "example-robot-data" / "robots"
    mjcf = DATA / "mjcf"
    found = [
        Case("solo12", "Solo-12, floating", "pinocchio", urdf / "solo_description/robots/solo12.urdf", "floating"),
        Case("panda", "Panda, fixed", "pinocchio", urdf / "panda_description/urdf/panda.urdf", "fixed"),
        Case(
            "talos", "Talos reduced, floating", "pinocchio", urdf / "talos_data/robots/talos_reduced.urdf", "floating"
        ),
        Case(
            "talos_full", "Talos full, floating", "pinocchio", urdf / "talos_data/robots/talos_full_v2.urdf", "floating"
        ),
        Case("humanoid", "humanoid", "mujoco", mjcf / "mujoco_samples/humanoid/humanoid.xml"),
        Case("cassie", "Cassie", "mujoco", mjcf / "agility_cassie/cassie.xml"),
        Case("shadow_hand", "Shadow hand", "mujoco", mjcf / "shadow_hand/right_hand.xml"),
        Case("talos_mjcf", "Talos (MJCF)", "mujoco", mjcf / "pal_talos/talos.xml"),
    ]
    return [case for case in found if case.model.exists()]

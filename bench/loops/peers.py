"""Time of a step beside other engines: MuJoCo's wheel on the systems it can express, Kamino in Newton's wheel."""

import json
import math
import statistics
import subprocess
import time
from pathlib import Path

from environment import interpreter_with

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / "build" / "venv-kamino"
KAMINO_LIMIT = 240  # s
STEPS, ROUNDS = 500, 3
DIVERGED = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC")


def drive(data, control, pushes):
    """What acts from outside in the coming step, as drive_scene (scenes/loop_samples.cpp) has it."""
    if len(control):
        data.ctrl[:] = (0.5 - 0.5 * math.cos(2.0 * math.pi * data.time)) * control
    for body, _ in pushes:
        data.xfrc_applied[body] = 0.0
    for body, push in pushes:
        if push["start"] <= data.time < push["end"]:
            data.xfrc_applied[body] += push["force"] + push["torque"]


def mujoco_run(mujoco, description, steps):
    """Median processor time of a step, and the largest error of its loops."""
    import numpy as np

    model = mujoco.MjModel.from_xml_string(description["xml"])
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = description["q"], description["v"]
    control = np.array(description["control"])
    pushes = [
        (mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, push["body"]), push) for push in description["pushes"]
    ]
    times, error = [], 0.0
    for _ in range(steps):
        drive(data, control, pushes)
        begin = time.thread_time_ns()
        mujoco.mj_step(model, data)
        times.append(1e-9 * (time.thread_time_ns() - begin))
        if data.ne:
            error = max(error, float(np.abs(data.efc_pos[: data.ne]).max()))
    if any(data.warning[getattr(mujoco.mjtWarning, kind)].number for kind in DIVERGED):
        return None, None  # it has begun anew
    return statistics.median(times), error


def compare_mujoco(program, systems, ask):
    try:
        import mujoco
    except ImportError as error:
        return {system["scene"]: {"note": f"no MuJoCo: {error}"} for system in systems}
    rows = {}
    for system in systems:
        scene = system["scene"]
        description, note = ask(program, "mjcf", scene, "surfaces"), ""
        if description is None:
            description, note = ask(program, "mjcf", scene, "hulls"), "MuJoCo collides with hulls of the meshes"
        if description is None:
            rows[scene] = {"note": "MJCF cannot say it"}
            continue
        seconds = STEPS * 1e-3
        ours, theirs, errors = {"reduced": [], "maximal": []}, [], []
        for _ in range(ROUNDS):
            for coordinates, times in ours.items():
                times.append(ask(program, "run", scene, coordinates, seconds, 1e-3, "closed")["median"])
            took, error = mujoco_run(mujoco, description, STEPS)
            if took is not None:
                theirs.append(took)
                errors.append(error)
        rows[scene] = {coordinates: statistics.median(times) for coordinates, times in ours.items()}
        rows[scene]["note"] = note
        if theirs:
            rows[scene].update({"mujoco": statistics.median(theirs), "error": max(errors)})
        else:
            rows[scene]["note"] = "MuJoCo's motion diverges"
    return rows


def compare_kamino(program, ask):
    python, reason = interpreter_with(HERE / "requirements.txt", ENVIRONMENT)
    if python is None:
        return {"note": f"The wheel of Newton could not be installed ({reason}): Kamino is left out."}
    try:
        result = subprocess.run(
            [str(python), str(HERE / "kamino.py")], capture_output=True, text=True, check=False, timeout=KAMINO_LIMIT
        )
    except subprocess.TimeoutExpired:
        return {"note": f"Kamino did not end within {KAMINO_LIMIT} s (its kernels are compiled at the first use)."}
    if result.returncode != 0:
        return {"note": f"Kamino failed: {(result.stderr.strip().splitlines() or ['no message'])[-1]}"}
    answer = json.loads(result.stdout.strip().splitlines()[-1])
    rows = []
    for name, ours in (
        ("box-on-plane", "loops/box-on-plane:speed=0"),
        ("fourbar-free", "loops/fourbar-free:drop=0.03,speed=0"),
    ):
        mine = ask(program, "run", ours, "maximal", 0.3, 1e-3, "closed")
        theirs = answer["results"][name]
        rows.append({"label": name, "kamino": theirs["seconds"], "ours": mine["median"], "error": theirs["error"]})
    note = (
        f"Newton {answer['version']}, SolverKamino on the processor (proximal ADMM, tolerances 1e-6, single "
        "precision): the same masses, lengths and ground, resting. It is made for thousands of worlds on a GPU; one "
        "world on a processor is what can be compared here."
    )
    return {"rows": rows, "note": note}


def compare(program, systems, ask):
    return {"mujoco": compare_mujoco(program, systems, ask), "kamino": compare_kamino(program, ask)}

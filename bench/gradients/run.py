"""Gradients: estimators of the derivatives of collision (Montaut et al. 2023), and times of derivatives of dynamics and
of steps, beside Pinocchio, MuJoCo and Drake in the same run. One page."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from environment import interpreter_with
from look import LOOK, META
from plots import plot

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "models"
QUANTILES = ["D1", "Q1", "median", "Q3", "D9"]
# Tab. I and II of the paper: terminal costs (its rough shapes, sizes not given), and microseconds (its machine).
PAPER_COSTS = {
    "finite differences, 1e-6": "2e-33, 4e-32, 3e-3, 4e-2, 8e-2",
    "finite differences, 1e-3": "8e-33, 7e-23, 4e-14, 1e-2, 5e-2",
    "zeroth order, M = 50": "4e-23, 5e-20, 2e-13, 2e-3, 5e-3",
    "first order, Gaussian, M = 20": "4e-16, 1e-10, 4e-8, 3e-7, 2e-6",
    "first order, Gumbel, depth 1": "6e-16, 3e-10, 1e-8, 7e-8, 2e-5",
}
PAPER_TIMES = {
    "finite differences, M = 12": (78, 11.0),
    "zeroth order, M = 10": (65, 9),
    "zeroth order, M = 20": (122, 17),
    "zeroth order, M = 50": (338, 47),
    "zeroth order, M = 100": (613, 86),
    "Gaussian, M = 10": (4.8, 3.1),
    "Gaussian, M = 20": (8.9, 5.8),
    "Gaussian, M = 50": (22, 15),
    "Gaussian, M = 100": (42, 27),
    "Gumbel, depth 1": (1.7, 1.6),
    "Gumbel, depth 3": (4.1, 3.9),
    "Gumbel, depth 5": (9.6, 9.7),
}


def table(head, rows):
    cells = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><tr>{cells}</tr>{body}</table>"


def costs(rows, paper=False):
    head = ["terminal cost, m²", *QUANTILES] + (["paper"] if paper else [])
    return table(
        head,
        [
            [r["method"], *(f"{q:.0e}" for q in r["quantiles"])] + ([PAPER_COSTS.get(r["method"], "")] if paper else [])
            for r in rows
        ],
    )


def curves(title, rows, which):
    series = {r["method"]: (list(range(len(r[which]))), [max(v, 1e-32) for v in r[which]]) for r in rows}
    return plot(title, series, "iteration", "cost, m²", log_y=True)


def best_time(function, seconds=0.3):
    """Microseconds of a call: the best of batches."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(20):
            function()
        best = min(best, (time.perf_counter() - begin) / 20)
    return 1e6 * best


def mujoco_times(models):
    try:
        import mujoco
        import numpy as np
    except ImportError as error:
        return {}, f"MuJoCo is not here ({error})."
    result = {}
    for name, file in models.items():
        model = mujoco.MjModel.from_xml_path(str(file))
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_step(model, data, 1000)
        nx = 2 * model.nv + model.na
        A, B = np.zeros((nx, nx)), np.zeros((nx, model.nu))
        result[name] = {
            "dofs": model.nv,
            "rows": int(data.nefc),
            "step": best_time(lambda model=model, data=data: mujoco.mj_step(model, data)),
            "jacobians": best_time(
                lambda model=model, data=data, A=A, B=B: mujoco.mjd_transitionFD(
                    model, data, 1e-6, True, A, B, None, None
                )
            ),
        }
    return result, f"MuJoCo {mujoco.__version__}"


def pinocchio_times(models):
    try:
        import numpy as np
        import pinocchio as pin
    except ImportError as error:
        return {}, f"Pinocchio is not here ({error})."
    result = {}
    for name, file in models.items():
        try:
            model = pin.buildModelFromMJCF(str(file))
        except Exception as error:  # what it cannot read is left out
            result[name] = {"error": str(error).splitlines()[0]}
            continue
        data = model.createData()
        q, v, a = pin.neutral(model), np.ones(model.nv), np.ones(model.nv)
        result[name] = {
            "dofs": model.nv,
            "call": best_time(lambda model=model, data=data, q=q: pin.computeTotalMass(model, data)),
            "inverse_dynamics": best_time(
                lambda model=model, data=data, q=q, v=v, a=a: pin.computeRNEADerivatives(model, data, q, v, a)
            ),
        }
    return result, f"Pinocchio {pin.__version__}"


def drake_times(models):
    """In an environment of its own, which bench convex shares; nothing where that cannot be made."""
    python, reason = interpreter_with(ROOT / "bench" / "convex" / "requirements.txt", ROOT / "build" / "venv-drake")
    if python is None:
        return {}, f"Drake is not here ({reason})."
    run = [str(python), str(Path(__file__).parent / "drake_times.py"), *(f"{k}={v}" for k, v in models.items())]
    result = subprocess.run(run, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return {}, f"Drake did not run ({(result.stderr.strip().splitlines() or ['no message'])[-1]})."
    version = (ROOT / "bench" / "convex" / "requirements.txt").read_text().strip().split("==")[-1]
    return json.loads(result.stdout), f"Drake {version}"


def own_times(program):
    run = [str(program), "--benchmark_format=json", "--benchmark_min_time=0.2", "--benchmark_repetitions=3"]
    environment = {**os.environ, "TOUCHSTONE_DATA": str(DATA.parent)}
    result = subprocess.run(run, capture_output=True, text=True, check=False, env=environment)
    if result.returncode != 0:
        sys.exit(f"{program.name}: {result.stderr.strip()}")
    times = {}
    for row in json.loads(result.stdout)["benchmarks"]:
        if row.get("run_type") == "aggregate":
            continue
        what, name = row["run_name"].split("/", 1)
        entry = times.setdefault(name, {"dofs": int(row["dofs"]), "rows": int(row["rows"])})
        entry[what] = min(row["cpu_time"], entry.get(what, float("inf")))
    return times


def steps(data):
    rows = []
    for name, own in data["own"].items():
        mujoco, pinocchio = data["mujoco"].get(name, {}), data["pinocchio"].get(name, {})
        drake = data["drake"].get(name, {})
        shown = lambda value: "" if value is None else f"{value:.1f}"  # noqa: E731
        rows.append(
            [
                name,
                own["dofs"],
                own["rows"],
                shown(own["step"]),
                f"{own['gradient']:.1f} ({own['gradient'] / own['step']:.2f} steps)",
                shown(own["jacobians"]),
                shown(mujoco.get("step")),
                shown(mujoco.get("jacobians")),
                shown(drake.get("step")),
                drake.get("error", shown(drake.get("jacobians"))),
                shown(own["inverse_dynamics"]),
                shown(pinocchio.get("inverse_dynamics")),
            ]
        )
    head = ["model", "dofs", "rows", "step", "one gradient", "A and B", "MuJoCo: step", "MuJoCo: mjd_transitionFD"]
    head += ["Drake: step", "Drake: AutoDiffXd"]
    return table([*head, "dtau/dq, dv", "Pinocchio: dtau/dq, dv"], rows)


def times(rows):
    def both(value, paper):
        return f"{value[0]:.1f} ± {value[1]:.1f}" + ("" if paper is None else f" ({paper})")

    return table(
        ["microseconds (paper)", "collision", "no collision"],
        [
            [
                r["method"],
                both(r["collision"], PAPER_TIMES.get(r["method"], (None, None))[0]),
                both(r["apart"], PAPER_TIMES.get(r["method"], (None, None))[1]),
            ]
            for r in rows
        ],
    )


def page(data):
    c = data["collision"]
    count, things = c["rough"][0]["problems"], c["things"][0]["problems"]
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: gradients</title><style>{LOOK}</style></head>
<body><h1>Gradients</h1>
<h2>Contact-pose optimisation: rough shapes</h2>
<p>As in "Differentiable Collision Detection: a Randomized Smoothing Approach" (Montaut et al. 2023), V: find a relative
pose in which given points of two shapes touch, by 50 iterations of Gauss-Newton, damped until the cost falls (the
paper shortens the step), with the derivatives of the witness points by one of the estimators. {count} problems,
ellipsoids of twelve vertices. "exact" is the derivative by features: what finite differences approach, without their
noise. The noise of first-order estimators is the paper's, on the separation: an angle of noise over distance, at most
0.5 rad (Gumbel: a height, at most 2 cm).</p>
{costs(c["rough"], paper=True)}
{curves("Median (Fig. 4)", c["rough"], "median")}{curves("Worst tenth (D9)", c["rough"], "d9")}
<p>The same with targets that are the nearest points in another pose. Points inside two faces touch only where the faces
lie on each other, a set of poses without volume in which the nearest points are not determined: without it no cost is
below half the squared distance of the targets to an edge each, or to a vertex.</p>
{costs(c["touchable"], paper=True)}
<h2>Hulls of household things</h2>
<p>{things} problems with convex hulls of about {c["vertices"]} vertices and the sizes of cans, boxes, fruit and bottles
(superellipsoids, in place of the YCB meshes).</p>
{costs(c["things"])}
{curves("Median (Fig. 5)", c["things"], "median")}{curves("Noise (Fig. 6), median", c["noise"], "median")}
<h2>Times of estimators</h2>
<p>Per call, given the contact, hulls of household things; mean and deviation over poses, the best of five calls each.
In brackets the paper's, on its machine and meshes.</p>
{times(c["times"])}
<h2>Derivatives of dynamics and steps</h2>
<p>Microseconds. "One gradient" is linearise and vjp. MuJoCo, Pinocchio and Drake are called from Python in the same run
({escape(data["versions"])}; an empty call of Pinocchio takes {data["call"]:.1f} us), MuJoCo at a state of its
own after 1,000 steps, with central differences. Drake's step is that of a discrete MultibodyPlant with TAMSI (SAP has
no AutoDiffXd), differentiated by all of the state and the controls; what it says where it cannot. The arm moves freely,
the robots stand on the ground. humanoid36 is generated, with the joints of Atlas; talos is there with TOUCHSTONE_DATA.
</p>
{steps(data)}
</body></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--pairs", type=int, default=100, help="pairs of rough shapes")
    parser.add_argument("--targets", type=int, default=10, help="problems a pair")
    options = parser.parse_args()
    programs = [options.build / "bin" / f"bench_gradients_{name}" for name in ("collision", "steps")]
    for program in programs:
        if not program.exists():
            sys.exit(f"{program} does not exist; ./run bench gradients builds it")
    run = [str(programs[0]), str(options.pairs), str(options.targets)]
    result = subprocess.run(run, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{programs[0].name}: {result.stderr.strip()}")
    data = {"collision": json.loads(result.stdout), "own": own_times(programs[1])}
    with tempfile.TemporaryDirectory() as folder:
        models = {
            "quadruped:flat": ROOT / "models" / "quadruped" / "quadruped.xml",
            "humanoid": ROOT / "models" / "humanoid" / "humanoid.xml",
            "talos": DATA / "mjcf" / "pal_talos" / "scene_motor.xml",
        }
        for name in ("arm", "humanoid36"):
            models[name] = Path(folder) / f"{name}.xml"
            made = subprocess.run([str(programs[1]), f"--{name}"], capture_output=True, text=True, check=True)
            models[name].write_text(made.stdout)
        models = {name: file for name, file in models.items() if file.exists()}
        data["mujoco"], first = mujoco_times(models)
        data["pinocchio"], second = pinocchio_times(models)
        data["drake"], third = drake_times(models)
    data["versions"] = f"{first}, {second}, {third}"
    data["call"] = min((t["call"] for t in data["pinocchio"].values() if "call" in t), default=float("nan"))
    folder = options.out / "gradients"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gradients.json").write_text(json.dumps(data))
    (folder / "gradients.html").write_text(page(data))
    print(folder / "gradients.html")


if __name__ == "__main__":
    main()

"""Integrators compared: the tossed cube of Boussema (Fig. 1 to 7), orders, energy, error against effort. One page."""

import argparse
import json
import math
import os
import subprocess
import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from look import LOOK, META
from plots import plot

ROOT = Path(__file__).resolve().parents[2]
STYLE = f"""{LOOK}
figcaption {{ max-width: 470px; }}
"""

# Figure, contestant that stands for it, step, what the paper says.
FIGURES = [
    (
        "Fig. 1",
        "contact-implicit",
        0.01,
        "Time stepping, h = 0.01 s: a ballistic flight, several impacts that reorient the cube, then sliding that "
        "slows down.",
    ),
    (
        "Fig. 2",
        "contact-implicit",
        0.05,
        "Time stepping, h = 0.05 s: largely the same outcome as with the small step.",
    ),
    (
        "Fig. 4",
        "event rk4",
        0.01,
        "Event-driven, RK4, h = 0.01 s: agrees with the midpoint rule, differs slightly from time stepping.",
    ),
    (
        "Fig. 5",
        "event rk4",
        0.05,
        "Event-driven, RK4, h = 0.05 s: the cube sinks and slides after it came to rest, which is unphysical.",
    ),
    (
        "Fig. 6",
        "event variational",
        0.01,
        "Event-driven, variational midpoint, h = 0.01 s: comes to rest sooner and slides less than with the large "
        "step.",
    ),
    ("Fig. 7", "event variational", 0.05, "Event-driven, variational midpoint, h = 0.05 s: better than RK4."),
]
PAPER_SECONDS = {
    ("contact-implicit", 0.05): "3",
    ("contact-implicit", 0.01): "2.2",
    ("event rk4", 0.05): "0.17",
    ("event rk4", 0.01): "0.03",
    ("event variational", 0.05): "0.052",
    ("event variational", 0.01): "0.032",
}


def table(head, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def find(runs, name, h):
    return next(run for run in runs if run["name"] == name and run["h"] == h)


def end_of(run):
    return run["x"][-1], run["y"][-1], run["z"][-1]


def cube(runs):
    parts = []
    for figure, name, h, says in FIGURES:
        run = find(runs, name, h)
        other = find(runs, name, 0.05 if h == 0.01 else 0.01)
        ways = {axis: (run["time"], run[axis]) for axis in "xyz"}
        apart = math.dist(end_of(run), end_of(other))
        sunk = 1e3 * run["deepest"]
        parts.append(
            f"<h3>{figure}: {escape(name)}, h = {h} s</h3><p>Paper: {escape(says)}</p>"
            f"<p>Ours: ends at ({run['x'][-1]:.4f}, {run['y'][-1]:.4f}, {run['z'][-1]:.4f}) m with a speed of "
            f"{run['speed']:.1e}; {1e3 * apart:.1f} mm from where the other step ends; deepest contact {sunk:.2g} mm; "
            f"{run['events']} events; steps made in another way: {run['fallbacks']}.</p>"
            + plot("Centre of the cube", ways, "time, s", "m")
        )
    force = {
        f"{name}, h = 0.01 s": (find(runs, name, 0.01)["time"], find(runs, name, 0.01)["force"])
        for name in ("euler", "contact-implicit", "event dopri")
    }
    parts.append(
        "<h3>Fig. 3: normal forces, h = 0.01 s</h3><p>Paper: impulses at impacts beside the weight, 9.81 N here. Ours: "
        "time stepping shows impacts as impulses over a step; event-driven forces are those at the end of a step, and "
        "impulses of impacts are not among them.</p>" + plot("Sum of the normal forces", force, "time, s", "N")
    )
    rows = [
        [
            escape(run["name"]),
            run["h"],
            f"{1e6 * run['seconds_per_step']:.0f}",
            PAPER_SECONDS.get((run["name"], run["h"]), ""),
            ", ".join(f"{value:.4f}" for value in end_of(run)),
            f"{1e3 * run['deepest']:.2g}",
            f"{run['gained']:.1e}",
            run["fallbacks"],
            run["unsolved"],
        ]
        for run in runs
    ]
    head = [
        "integrator",
        "h, s",
        "us a step",
        "paper, s a step (Ipopt)",
        "end, m",
        "deepest, mm",
        "largest gain of energy in a step, J",
        "fallbacks",
        "not solved",
    ]
    return "".join(parts) + "<h3>All integrators</h3>" + table(head, rows)


def ipopt(rows, runs):
    """Each step as a nonlinear program (eq. 4) for a general solver, beside ours."""
    if not rows:
        return "<p>Left out: coinor-libipopt-dev was not there when this was built.</p>"
    lines = []
    for row in rows:
        ours = find(runs, "contact-implicit", row["h"])
        lines.append(
            [
                row["h"],
                f"{1e3 * row['seconds_per_step']:.0f}",
                f"{1e3 * row['seconds_per_step'] / max(row['iterations_per_step'], 1):.2f}",
                f"{row['iterations_per_step']:.0f}",
                f"{1e6 * ours['seconds_per_step']:.0f}",
                f"{row['seconds_per_step'] / ours['seconds_per_step']:.0f}",
                PAPER_SECONDS[("contact-implicit", row["h"])],
                f"{row['unsolved']} of {row['steps']}",
                f"{row['largest_slack']:.1e}",
                ", ".join(f"{value:.4f}" for value in end_of(row)),
                ", ".join(f"{value:.4f}" for value in end_of(ours)),
            ]
        )
    head = [
        "h, s",
        "Ipopt, ms a step",
        "ms an iteration",
        "iterations a step",
        "contact-implicit, us a step",
        "ratio",
        "paper, s a step",
        "Ipopt: not solved",
        "largest slack",
        "Ipopt: end, m",
        "ours: end, m",
    ]
    return (
        "<p>Eq. (4) of the paper with the linearised cone of eq. (5), four directions, as a nonlinear program of 78 "
        "unknowns for Ipopt, from the last step's solution, with exact Jacobians and a limited-memory Hessian. Its "
        "cone is a pyramid inside of ours. Wall times of the same machine.</p>" + table(head, lines)
    )


def order(points):
    """Slope of the error over the step between the two smallest steps that are above rounding."""
    good = [(p["h"], p["error"]) for p in points if p["error"] > 1e-11]
    if len(good) < 2:
        return ""
    (h1, e1), (h2, e2) = good[-2:]
    return f"{math.log(e1 / e2) / math.log(h1 / h2):.1f}" if h1 != h2 else ""


def precision(systems):
    parts = []
    rows = []
    for system in systems:
        curves = {
            name: ([p["seconds"] for p in points], [max(p["error"], 1e-16) for p in points])
            for name, points in system["curves"].items()
        }
        parts.append(
            f"<h3>{escape(system['title'])}</h3>"
            + plot(
                "Error against effort", curves, "processor time of the run, s", "largest error of q", True, True, True
            )
        )
        for name, points in system["curves"].items():
            is_fixed = "accuracy" not in name
            best = min(points, key=lambda p: p["error"])
            rows.append(
                [
                    escape(system["name"]),
                    escape(name),
                    order(points) if is_fixed else "",
                    f"{points[0]['error']:.1e}",
                    f"{best['error']:.1e}",
                    f"{1e3 * best['seconds']:.3g}",
                    sum(p["fallbacks"] for p in points),
                ]
            )
    head = ["system", "integrator", "order", "error, largest step", "best error", "ms for that", "fallbacks"]
    return "".join(parts) + table(head, rows)


def energies(runs):
    curves = {f"{run['name']}, h = {run['h']}": (list(range(1, len(run["errors"]) + 1)), run["errors"]) for run in runs}
    rows = [
        [escape(run["name"]), run["h"], f"{max(run['errors'][:10]):.1e}", f"{max(run['errors'][-10:]):.1e}"]
        for run in runs
    ]
    return plot("Double pendulum: error of the energy", curves, "s", "J, largest in each second", False, True) + table(
        ["integrator", "h, s", "first 10 s, J", "last 10 s, J"], rows
    )


# Integral consistency error, m s, of the preprint's Tab. III (by time step, s) and Tab. IV (by stopping criterion).
PAPER_STEPS = {
    "ccp-pgs": {1e-3: 1.6e-3, 1e-2: 1.7e-2, 1e-1: 1.6e-1},
    "raisim": {1e-3: 1.5e-3, 1e-2: 1.6e-2, 1e-1: 1.5e-1},
    "ncp-pgs": {1e-3: 1.5e-3, 1e-2: 1.6e-2, 1e-1: 1.6e-1},
}
PAPER_CRITERIA = {
    "ccp-pgs": {1e-6: 6.7e-7, 1e-4: 4.3e-5, 1e-2: 4.8e-2},
    "raisim": {1e-6: 9.0e-8, 1e-4: 4.8e-5, 1e-2: 7.0e-4},
    "ncp-pgs": {1e-6: 6.0e-10, 1e-4: 9.9e-8, 1e-2: 5.3e-6},
}


def consistency_table(rows, label, paper):
    values = sorted({row["value"] for row in rows})
    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    head = ["solver", *(f"{label} {value:g}" for value in values)]
    lines = []
    for solver in solvers:
        line = [escape(solver)]
        for value in values:
            row = next(row for row in rows if row["solver"] == solver and row["value"] == value)
            said = next((e for v, e in paper.get(solver, {}).items() if math.isclose(v, value)), None)
            line.append(f"{row['error']:.1e}" + (f" (paper {said:.1e})" if said is not None else ""))
        lines.append(line)
    return table(head, lines)


def consistency_energies(rows, values, label):
    parts = []
    for solver in ("ncp-pgs", "ccp-pgs", "raisim"):
        curves = {
            f"{label} {row['value']:g}": (row["time"], row["energy"])
            for row in rows
            if row["solver"] == solver and any(math.isclose(row["value"], v) for v in values)
        }
        parts.append(plot(f"{solver}: energy of the cube", curves, "time, s", "J"))
    return "".join(parts)


def energy_apart(rows, solver, value, other):
    """The largest distance of the energies of two runs at the times of the one with fewer points, J."""
    few, many = sorted(
        (row for row in rows if row["solver"] == solver and any(math.isclose(row["value"], v) for v in (value, other))),
        key=lambda row: len(row["time"]),
    )
    worst = 0.0
    for time, energy in zip(few["time"], few["energy"], strict=True):
        nearest = min(range(len(many["time"])), key=lambda i: abs(many["time"][i] - time))
        worst = max(worst, abs(many["energy"][nearest] - energy))
    return worst


def apart_text(rows, value, other):
    return ", ".join(f"{s} {energy_apart(rows, s, value, other):.2g} J" for s in ("ncp-pgs", "ccp-pgs", "raisim"))


def largest(rows, solver, value):
    return next(row["error"] for row in rows if row["solver"] == solver and math.isclose(row["value"], value))


def consistency(data):
    steps, criteria = data["steps"], data["criteria"]
    ratio = {s: largest(steps, s, 1e-1) / max(largest(steps, "ncp-pgs", 1e-1), 1e-300) for s in ("ccp-pgs", "raisim")}
    coarse = {s: largest(criteria, s, 1e-2) for s in ("ncp-pgs", "ccp-pgs", "raisim")}
    return (
        "<p>A cube of 0.2 m and 1 kg slides on a plane, friction 0.4, from (2, 1) m/s, for 1 s; the preprint gives "
        "no figures of its cube. Error: the integral of the distance to the reference over time, no warm start.</p>"
        "<h3>Tab. III: time step; reference 0.1 ms</h3><p>Paper: sensitivities are similar for all solvers. Ours: "
        f"at 0.1 s the errors of ccp-pgs and raisim are {ratio['ccp-pgs']:.2f} and {ratio['raisim']:.2f} times that of "
        "ncp-pgs.</p>"
        + consistency_table(steps, "h, s:", PAPER_STEPS)
        + "<h3>Fig. 14</h3><p>Paper: NCP and RaiSim are little affected; CCP lets the cube take off. Ours: "
        f"the energies at steps of 0.1 and 0.001 s are apart by at most {apart_text(steps, 1e-1, 1e-3)}.</p>"
        + consistency_energies(steps, (1e-3, 1e-2, 1e-1), "h, s:")
        + "<h3>Tab. IV: stopping criterion; h = 1 ms, reference 1e-9</h3><p>Paper: trajectories of RaiSim and CCP "
        "change much when it is relaxed, those of NCP do not. Here it is relative (natv over the free velocity). "
        f"Ours at 1e-2: ncp-pgs {coarse['ncp-pgs']:.1e}, ccp-pgs {coarse['ccp-pgs']:.1e}, raisim "
        f"{coarse['raisim']:.1e} m s.</p>"
        + consistency_table(criteria, "", PAPER_CRITERIA)
        + "<h3>Fig. 15</h3><p>Paper: NCP keeps the evolution of energy, CCP and RaiSim do not; RaiSim at 1e-2 hardly "
        "loses any. Ours: the energies at criteria of 1e-2 and 1e-8 are apart by at most "
        f"{apart_text(criteria, 1e-2, 1e-8)}.</p>" + consistency_energies(criteria, (1e-2, 1e-4, 1e-6), "criterion")
    )


def page(data):
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: integrators</title><style>{STYLE}</style></head>
<body><h1>Integrators</h1>
<p>The comparison of "Comparing time-stepping and event-based simulation for nonsmooth dynamics with frictional
impacts" (Boussema), with our integrators: a cube tossed with a velocity in all six directions, friction 0.3,
inelastic. The paper does not give mass, size and velocity; here 1 kg, 0.2 m, (1, 0.5, 1) m/s and (1, 2, 1.5)
rad/s, from 1 m. Its friction is a linearised cone, ours the full one. "Time stepping" of the paper is the
contact-implicit variational rule. Times are wall times on the machine of this run.</p>
<h2>The tossed cube</h2>{cube(data["cube"])}
<h2>The tossed cube by Ipopt</h2>{ipopt(data.get("ipopt"), data["cube"])}
<h2>Order, and error against effort</h2><p>Errors against event-driven runs with a tolerance of 1e-13. Steps from 20 to
1.25 ms; accuracies from 1e-3 to 1e-6 m (event: 1e-4 to 1e-10).</p>{precision(data["precision"])}
<h2>Energy over long times</h2>{energies(data["energy"])}
<h2>Self-consistency</h2>{consistency(data["consistency"])}</body></html>
"""


def output_of(program):
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False, env=one_thread)
    if result.returncode != 0:
        sys.exit(f"{program.name}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the program")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    program = options.build / "bin" / "bench_integrators_touchstone"
    if not program.exists():
        sys.exit(f"{program} does not exist; ./run bench integrators builds it")
    data = output_of(program)
    by_ipopt = options.build / "bin" / "bench_integrators_ipopt"
    if by_ipopt.exists():
        data["ipopt"] = output_of(by_ipopt)
    else:
        print("no coinor-libipopt-dev when this was built: our own integrators alone")
    folder = options.out / "integrators"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "integrators.json").write_text(json.dumps(data))
    (folder / "integrators.html").write_text(page(data))
    print(folder / "integrators.html")


if __name__ == "__main__":
    main()

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
        "event midpoint",
        0.01,
        "Event-driven, variational midpoint, h = 0.01 s: comes to rest sooner and slides less than with the large "
        "step.",
    ),
    ("Fig. 7", "event midpoint", 0.05, "Event-driven, variational midpoint, h = 0.05 s: better than RK4."),
]
PAPER_SECONDS = {
    ("contact-implicit", 0.05): "3",
    ("contact-implicit", 0.01): "2.2",
    ("event rk4", 0.05): "0.17",
    ("event rk4", 0.01): "0.03",
    ("event midpoint", 0.05): "0.052",
    ("event midpoint", 0.01): "0.032",
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
<h2>Order, and error against effort</h2><p>Errors against event-driven runs with a tolerance of 1e-13. Steps from 20 to
1.25 ms; accuracies from 1e-3 to 1e-6 m (event: 1e-4 to 1e-10).</p>{precision(data["precision"])}
<h2>Energy over long times</h2>{energies(data["energy"])}</body></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the program")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    program = options.build / "bin" / "bench_integrators_touchstone"
    if not program.exists():
        sys.exit(f"{program} does not exist; ./run bench integrators builds it")
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{program.name}: {result.stderr.strip()}")
    data = json.loads(result.stdout)
    folder = options.out / "integrators"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "integrators.json").write_text(json.dumps(data))
    (folder / "integrators.html").write_text(page(data))
    print(folder / "integrators.html")


if __name__ == "__main__":
    main()

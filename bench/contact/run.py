"""The experiments of Le Lidec et al. 2024, section IV (Fig. 9 to 17), with our simulator: one page of plots and tables.

tests/sim/paper_contact_test.cpp checks the numbers; this shows them.
"""

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
LABELS = {"lcp-pgs": "LCP", "ccp-admm": "CCP", "raisim": "RaiSim", "ncp-pgs": "NCP (ncp-pgs)", "auto": "NCP (auto)"}
ROBOTS = {
    "solo": "Solo-12 pushed with 10 N",
    "talos": "Talos pushed with 80 N",
    "allegro": "a ball in the Allegro hand",
}


def table(head, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def figure_9(data):
    bent = {}
    for solver, runs in data["fig9"].items():
        run = next(run for run in runs if run["angle"] == 25)
        bent[LABELS[solver]] = (run["along"], [1e3 * y for y in run["across"]])
    by_angle = {
        LABELS[solver]: ([run["angle"] for run in runs], [1e3 * run["across"][-1] for run in runs])
        for solver, runs in data["fig9"].items()
    }
    return plot("Way of a cube thrown 25 degrees off the tangent axes", bent, "along, m", "across, mm") + plot(
        "Deviation after 0.5 s", by_angle, "angle off the tangent axes, degrees", "across, mm", points=True
    )


def figure_10(data):
    runs = data["fig10"]
    height = {LABELS[name]: (run["time"], [1e3 * z for z in run["height"]]) for name, run in runs.items()}
    energy = {LABELS[name]: (run["time"], run["energy"]) for name, run in runs.items()}
    energy["analytic"] = tuple(zip(*data["analytic"], strict=True))
    analytic = dict((round(t, 4), e) for t, e in data["analytic"])
    error = {}
    for name, run in runs.items():
        pairs = [
            (t, abs(e - analytic[round(t, 4)]))
            for t, e in zip(run["time"], run["energy"], strict=True)
            if round(t, 4) in analytic
        ]
        error[LABELS[name]] = ([t for t, _ in pairs], [e for _, e in pairs])
    return (
        plot("Height of the sliding cube", height, "time, s", "mm")
        + plot("Energy", energy, "time, s", "J")
        + plot("Distance to the analytic energy", error, "time, s", "J", log_y=True)
    )


def figures_11_and_15(data):
    def curves(key):
        return {LABELS[s]: ([r["h"] for r in rows], [r[key] for r in rows]) for s, rows in data["fig11"].items()}

    rows = []
    for solver, runs in data["fig11"].items():
        first, last = runs[0], runs[-1]

        def slope(key, first=first, last=last):
            if not (first[key] > 1e-9 and last[key] > 1e-9):
                return "-"
            return f"{math.log(last[key] / first[key]) / math.log(last['h'] / first['h']):.2f}"

        rows.append(
            [
                LABELS[solver],
                f"{last['height']:.2e}",
                slope("height"),
                f"{last['consistency']:.2e}",
                slope("consistency"),
            ]
        )
    head = ["model", "height at 8 ms, m", "slope", "change of the way at 8 ms, m", "slope"]
    return (
        plot("Height of the dragged cube", curves("height"), "time step, s", "largest, m", True, True, True)
        + plot(
            "Self-consistency",
            curves("consistency"),
            "time step, s",
            "distance to the run at 0.1 ms, m",
            True,
            True,
            True,
        )
        + table(head, rows)
    )


def figure_12(data):
    rows, plots = [], ""
    for solver, run in data["fig12"].items():
        series = {}
        for k, force in enumerate(run["lateral"]):
            series["lateral force of each corner" if k == 0 else f"_{k}"] = (run["time"], force)
        plots += plot(solver, series, "time, s", "N")
        still = [i for i, t in enumerate(run["time"]) if t < 0.19]
        largest = max((abs(force[i]) for force in run["lateral"] for i in still if i < len(force)), default=0.0)
        rows.append([solver, f"{largest:.2e}"])
    return table(["solver", "largest lateral force at stiction, N"], rows) + plots


def figure_13(data):
    series = {
        s: ([r["ratio"] for r in rows], [max(r["natv"], 1e-17) for r in rows]) for s, rows in data["fig13"].items()
    }
    rows = [
        [s, *(f"{r['solved']}/50" for r in runs), f"{runs[-1]['sinking'] * 1e3:.3g}"]
        for s, runs in data["fig13"].items()
    ]
    ratios = [f"1e{round(math.log10(r['ratio']))}" for r in next(iter(data["fig13"].values()))]
    return plot(
        "Residual of the solver's own model",
        series,
        "mass ratio",
        "relative natv, median of 50 steps",
        True,
        True,
        True,
    ) + table(["steps solved by mass ratio", *ratios, "sinking at 1e6, mm"], rows)


def figure_14(data):
    stiffness = [row["stiffness"] for row in data["fig14"]]
    series = {
        "simulated": ([1 / k for k in stiffness], [row["depth"] for row in data["fig14"]]),
        "weight / (4 k)": ([1 / k for k in stiffness], [9.81 / 4 / k for k in stiffness]),
    }
    return plot(
        "Depth of a cube in a compliant plane", series, "compliance 1/k of a corner, m/N", "m", True, True, True
    )


def robot_section(name, entry):
    rows = []
    for solver, figures in entry["solvers"].items():
        row = [solver]
        for mode in ("cold", "warm"):
            f = figures[mode]
            row += [f"{f['iterations']:.1f}", f"{f['seconds'] * 1e6:.3g}", f"{f['certified']}/{f['count']}"]
        rows.append(row)
    head = ["solver", "iterations, cold", "us", "certified", "iterations, warm", "us", "certified"]
    series = {
        solver: (list(range(1, len(history) + 1)), [max(v, 1e-17) for v in history])
        for solver, history in entry["convergence"].items()
        if len(history) > 1 and all(map(math.isfinite, history))
    }
    note = f"<p>{entry['problems']} problems along the motion, {entry['rows']:.0f} rows in the mean.</p>"
    picture = plot("Convergence, cold", series, "iterations", "relative natv", True, True) if series else ""
    return f"<h2>Fig. 16, 17: {escape(ROBOTS[name])}</h2>{note}{table(head, rows)}{picture}"


def page(data):
    sections = [
        ("Fig. 9: pyramids bend the way of a sliding cube", figure_9(data)),
        ("Fig. 10: the convex model lifts off", figure_10(data)),
        ("Fig. 11 and 15: errors over the time step", figures_11_and_15(data)),
        ("Fig. 12: internal forces of a dragged cube, at stiction up to 0.196 s", figure_12(data)),
        ("Fig. 13: heavy on light", figure_13(data)),
        ("Fig. 14: compliance", figure_14(data)),
    ]
    body = "".join(f"<h2>{escape(title)}</h2>{content}" for title, content in sections)
    robots = "".join(robot_section(name, entry) for name, entry in data["robots"].items())
    missing = [label for name, label in ROBOTS.items() if name not in data["robots"]]
    if missing:
        robots += f"<p>Left out, because the models are absent: {escape(', '.join(missing))}.</p>"
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: contact models</title><style>{STYLE}</style></head>
<body><h1>Contact models and solvers</h1><p>The experiments of "Contact models in robotics: a comparative analysis",
section IV, with our simulator. Cube: 1 kg, 0.2 m, friction 0.4, on a plane; step 1 ms unless said otherwise. Times are
processor time of one thread; "certified" counts answers whose residual, in the solver's own model, is at most 1e-5 of
the free velocity; asked for was 1e-6.</p>{body}{robots}</body></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the program")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    program = options.build / "bin" / "bench_contact_touchstone"
    if not program.exists():
        sys.exit(f"{program} does not exist; ./run bench contact builds it")
    environment = {"TOUCHSTONE_DATA": str(ROOT.parent / "shared"), **os.environ}
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False, env=environment)
    if result.returncode != 0:
        sys.exit(f"{program.name}: {result.stderr.strip()}")
    data = json.loads(result.stdout)
    folder = options.out / "contact"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "contact.json").write_text(json.dumps(data))
    (folder / "contact.html").write_text(page(data))
    for name in ROBOTS:
        if name not in data["robots"]:
            print(f"No models of {ROBOTS[name]}: left out. Set TOUCHSTONE_DATA to the folder of models/.")
    print(folder / "contact.html")


if __name__ == "__main__":
    main()

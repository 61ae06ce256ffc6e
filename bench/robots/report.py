"""The results as lines on the terminal, as JSON, as a Markdown table, and as one HTML page."""

import json
import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from look import LOOK, META

STYLE = f"""{LOOK}
body {{ max-width: 1400px; }} th, td {{ white-space: nowrap; vertical-align: top; }}
.bar {{ display: inline-block; height: .8rem; vertical-align: middle; }}
"""
STAGES = {
    "dynamics": ("#2f6fb0", "dynamics"),
    "rest": ("#2f6fb0", "dynamics, integration and the rest (MuJoCo)"),
    "collision": ("#c8791b", "collision"),
    "assembly": ("#2f7d4f", "assembly"),
    "solve": ("#a02020", "solve"),
    "certify": ("#a0449a", "certificate"),
    "integrate": ("#777777", "integration"),
}


def ratio(row, peer="default", figure="seconds"):
    engines = row["engines"]
    return engines["touchstone"][figure] / engines[peer][figure] if peer in engines else None


def microseconds(value):
    return f"{value * 1e6:.3g}" if value < 1e-4 else f"{value * 1e6:,.0f}"


def figure(certificate):
    return "-" if certificate is None else f"{certificate['median']:.0e}, {certificate['worst']:.0e}"


def contacts(entry):
    return f"{entry['contacts']:.1f} ({entry['active']:.1f})"


def print_row(row):
    ours = row["engines"]["touchstone"]
    stages = ", ".join(f"{name} {microseconds(value)}" for name, value in ours["stages"].items())
    line = f"{row['label']}: {microseconds(ours['seconds'])} us a step"
    for peer in ("default", "tight"):
        if peer in row["engines"]:
            entry = row["engines"][peer]
            line += f"; MuJoCo {peer} {microseconds(entry['seconds'])} us, ratio {ratio(row, peer):.2f}"
            if peer == "default":
                line += f" (mean {ratio(row, peer, 'mean'):.2f}, p99 {ratio(row, peer, 'p99'):.2f})"
    print(line, flush=True)
    print(f"  {stages}; contacts {contacts(ours)}; natv {figure(ours['certificate']['hard'])}", flush=True)


def cells_of(row):
    """The columns of the main table, as text."""
    engines = row["engines"]
    ours = engines["touchstone"]
    cells = [row["label"], microseconds(ours["seconds"])]
    if "default" not in engines:
        return [*cells, *["-"] * 6, contacts(ours), "-", figure(ours["certificate"]["hard"]), "-", "-"]
    default, tight = engines["default"], engines["tight"]
    return [
        *cells,
        microseconds(default["seconds"]),
        f"{ratio(row):.2f}",
        f"{ratio(row, 'default', 'mean'):.2f}",
        f"{ratio(row, 'default', 'p99'):.2f}",
        microseconds(tight["seconds"]),
        f"{ratio(row, 'tight'):.2f}",
        contacts(ours),
        contacts(default),
        figure(ours["certificate"]["hard"]),
        figure(default["certificate"]["hard"]),
        figure(default["certificate"]["soft"]),
    ]


HEAD = [
    "model",
    "Touchstone",
    "MuJoCo",
    "ratio",
    "of means",
    "of p99",
    "MuJoCo tight",
    "ratio",
    "contacts",
    "MuJoCo's",
    "natv",
    "MuJoCo's, hard",
    "MuJoCo's, its own",
]
STAGE_HEAD = ["model", "dynamics", "collision", "assembly", "solve", "certificate", "integration", "iterations", "rows"]


def stage_cells(row):
    ours = row["engines"]["touchstone"]
    names = ("dynamics", "collision", "assembly", "solve", "certify", "integrate")
    return [
        row["label"],
        *(microseconds(ours["stages"][name]) for name in names),
        f"{ours['iterations']:.1f}",
        f"{ours['rows']:.0f}",
    ]


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def html_table(head, rows, classes=None):
    body = ""
    for i, row in enumerate(rows):
        cells = "".join(
            f"<td{' class=' + classes[i] if classes and k == 3 else ''}>{v}</td>" for k, v in enumerate(row)
        )
        body += f"<tr>{cells}</tr>"
    return "<table><tr>" + "".join(f"<th>{title}</th>" for title in head) + f"</tr>{body}</table>"


def bars(row):
    """Where the time goes, both engines to the same scale."""
    engines = {key: row["engines"][key] for key in ("touchstone", "default") if key in row["engines"]}
    longest = max(entry["seconds"] for entry in engines.values())
    lines = []
    for name, entry in engines.items():
        parts = "".join(
            f'<span class="bar" style="width:{max(value, 0) / longest * 34:.2f}rem;background:{STAGES[stage][0]}" '
            f'title="{STAGES[stage][1]} {microseconds(value)} us"></span>'
            for stage, value in entry["stages"].items()
        )
        label = "Touchstone" if name == "touchstone" else "MuJoCo"
        lines.append(f"{parts} <small>{label}, {microseconds(entry['seconds'])} us</small>")
    return "<br>".join(lines)


def html_page(rows, batch, facts, options):
    classes = ["slow" if (ratio(row) or 0) > 1 else "good" for row in rows]
    main = html_table(HEAD, [[escape(cell) for cell in cells_of(row)] for row in rows], classes)
    legend = " ".join(f'<span style="color:{color}">&#9632;</span> {text}' for color, text in STAGES.values())
    stage_rows = "".join(
        f"<tr><td>{escape(row['label'])}</td><td style='text-align:left'>{bars(row)}</td></tr>" for row in rows
    )
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: robots</title><style>{STYLE}</style></head>
<body><h1>Time of a step</h1>
<p>Microseconds of processor time for one step on one thread, median of {options.rounds} rounds; the same model file,
step, controls and states for both engines, native code, in turns on one processor. MuJoCo: as the model file asks for;
tight: elliptic cones, Newton's method until rounding stops it. The ratio is ours to MuJoCo's: below 1 we are faster.
Contacts: detected, and in brackets those that push. Of means, of p99: the same ratio for the mean and the 99th
percentile of single steps.</p>
<p>natv: how far the impulses are from the contact law, relative to the free velocity; median, worst. Ours is that of
the hard problem (Signorini, Coulomb, maximum dissipation), asked for 1e-6. MuJoCo's impulses are scored on the hard
problem of its own contacts, and on the softened convex problem that it sets out to solve.</p>
{main}
<h2>Where the time goes</h2><p>{legend}</p>
<table>{stage_rows}</table>
{html_table(STAGE_HEAD, [stage_cells(row) for row in rows])}
{batch_html(batch)}
<p><small>{escape(", ".join(f"{key} {value}" for key, value in facts.items()))}</small></p></body></html>
"""


BATCH_HEAD = ["model", "worlds", "threads", "Touchstone, steps/s", "MuJoCo, steps/s", "ratio"]


def batch_cells(batch):
    rows = []
    for entry in batch:
        ours, peer = entry["touchstone"], entry.get("mujoco")
        rows.append(
            [
                entry["label"],
                str(entry["worlds"]),
                str(entry["threads"]),
                f"{ours:,.0f}",
                f"{peer:,.0f}" if peer else "-",
                f"{ours / peer:.2f}" if peer else "-",
            ]
        )
    return rows


def batch_html(batch):
    if not batch:
        return ""
    return "<h2>Many worlds</h2>" + html_table(BATCH_HEAD, batch_cells(batch))


def write(rows, batch, facts, options):
    folder = options.out / "robots"
    result = {"machine": facts, "rounds": options.rounds, "rows": rows, "batch": batch}
    (folder / "robots.json").write_text(json.dumps(result, indent=1))
    (folder / "robots.html").write_text(html_page(rows, batch, facts, options))
    tables = [markdown(HEAD, [cells_of(row) for row in rows]), markdown(STAGE_HEAD, [stage_cells(row) for row in rows])]
    if batch:
        tables.append(markdown(BATCH_HEAD, batch_cells(batch)))
    (folder / "robots.md").write_text("\n\n".join(tables) + "\n")
    print(folder / "robots.html")

"""The page of the benchmark `loops`."""

import math
from html import escape

import figures as f
from drawing import draw
from look import LOOK, META
from plots import plot

STYLE = f"""{LOOK}
figcaption {{ max-width: 470px; }}
li {{ max-width: 100ch; margin-bottom: 4px; color: var(--soft); }}
td:first-child {{ white-space: nowrap; }}
.words td {{ text-align: left; }}
.systems {{ display: flex; flex-wrap: wrap; gap: 12px; }}
.systems figure {{ margin: 0; }}
.systems figcaption {{ max-width: 220px; font-size: 12px; }}
"""


def table(head, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def number(value, form="{:.3g}"):
    return form.format(value) if value is not None and math.isfinite(value) and abs(value) < 1e299 else "-"


def percent(value):
    return f"{100 * value:.0f} %" if math.isfinite(value) else "-"


def short(scene):
    return escape(scene.removeprefix("loops/"))


def systems_section(data):
    cards = []
    for s in data["systems"]:
        counts = f"{s['bodies']} bodies, {s['joints']} joints, {s['constraints']} constraints"
        more = f"mass ratio {s['mass_ratio']:.5g}, {'fixed' if s['fixed_base'] else 'free'}"
        if "mobility" in s:
            more += f", mobility {s['mobility']}, {s['redundancy']} redundant rows"
        name = f"<b>{short(s['scene'])}</b>" + (f" ({escape(s['table']['name'])})" if "table" in s else "")
        cards.append(f"<figure>{draw(s['picture'])}<figcaption>{name}: {counts}, {more}</figcaption></figure>")
    return (
        "<h2>Systems</h2><p>Those with a name in brackets have the counts of Tsounis et al. 2025, Tab. II. The four "
        "animatronic figures are generated stand-ins. Red dots are joints that close loops; pale hulls are shells.</p>"
        f'<div class="systems">{"".join(cards)}</div>'
    )


def disagreements(data):
    rows = []
    for s in data["systems"]:
        t = s.get("table")
        if not t:
            continue
        base = 0 if t["fixed_base"] else 6
        notes = []
        if t["passive"] + t["actuated"] + (0 if t["passive"] >= base else base) != t["total"]:
            notes.append(f"passive and actuated are {t['passive'] + t['actuated']}, total {t['total']}")
        coordinates = 6 * t["joints"] - t["constraints"] + base
        if coordinates != t["total"]:
            notes.append(
                f"{t['joints']} joints with {t['constraints']} constraints leave {coordinates} coordinates, the base's "
                f"{base} included, not {t['total']}"
            )
        left = 6 * t["bodies"] - t["constraints"]
        if left not in (t["total"], coordinates):
            notes.append(f"6 dofs a body less the constraints are {left}")
        if notes:
            rows.append([escape(t["name"]), "; ".join(notes)])
    return (
        "<h2>Rows of Tab. II that do not add up</h2><p>A joint of a closed chain counts as often as it is there, so "
        "that constraints may exceed dofs. Beyond that:</p>"
        + table(["row", "what disagrees"], rows).replace("<table>", '<table class="words">')
    )


def samples_section(data, samples):
    rows = []
    for category in f.CATEGORIES:
        members = f.within(samples, category)
        if not members:
            rows.append([category, "0", "-", "-", "-", "-", "-"])
            continue
        conditions = [s["condition"] for s in members]
        rows.append(
            [
                category,
                len(members),
                f"{min(s['rows'] for s in members)} to {max(s['rows'] for s in members)}",
                f"{max(s['contacts'] for s in members)}",
                f"{f.median(s['density'] for s in members):.2f}",
                f"{max(s['rows'] - s['rank'] for s in members)}",
                f"{number(f.median(conditions), '{:.1e}')}, {number(max(conditions), '{:.1e}')}",
            ]
        )
    head = ["category", "samples", "rows", "contacts, most", "density", "rank lost, most", "condition, median, worst"]
    return (
        f"<h2>Samples</h2><p>{len(samples)} contact problems, taken evenly along {data['extent']['seconds']} s of "
        "motion of every system in reduced and in maximal coordinates, 1 ms a step. Categories are those of VII-C: "
        "densities are rows over dofs; rank and condition number are those of the rows of joints, limits and "
        "contacts. A problem with contacts may count as dense too.</p>" + table(head, rows)
    )


def by_system(samples):
    rows = []
    for key in dict.fromkeys((s["system"], s["coordinates"]) for s in samples):
        members = [s for s in samples if (s["system"], s["coordinates"]) == key]
        rows.append(
            [
                short(key[0]),
                key[1],
                members[0]["dofs"],
                f"{f.median(s['joint_rows'] for s in members):.0f}",
                f"{f.median(s['contacts'] for s in members):.0f}",
                f"{f.median(s['other_rows'] for s in members):.0f}",
                f"{f.median(s['joint_density'] for s in members):.2f}",
                f"{f.median(s['rows'] - s['rank'] for s in members):.0f}",
                number(f.median(s["condition"] for s in members), "{:.1e}"),
                percent(f.share_solved(members, "auto", 1)),
            ]
        )
    head = ["system", "coordinates", "dofs", "joint rows", "contacts", "other rows", "joint density", "rank lost"]
    return table([*head, "condition", "auto solves"], rows)


def robustness(samples):
    rows = []
    for solver in f.solvers_of(samples):
        row = [escape(solver)]
        for coordinates in ("reduced", "maximal"):
            members = f.within(samples, coordinates=coordinates)
            row += [percent(f.share_solved(members, solver, k)) for k in range(3)]
        rows.append(row)
    head = ["solver", *(f"{c}, {t}" for c in ("reduced", "maximal") for t in f.TOLERANCES)]
    by_category = [
        [escape(solver), *(percent(f.share_solved(f.within(samples, c), solver, 1)) for c in f.CATEGORIES)]
        for solver in f.solvers_of(samples)
    ]
    return (
        "<h2>Robustness</h2><p>Share of samples that are solved: relative natv of the NCP, computed from the "
        "problem's own data, is at most the tolerance. Capital names are those of Tab. I; the others are ours. RAISIM "
        "and ADMM-CCP solve other models, and cannot reach it where contacts slide.</p>"
        + table(head, rows)
        + "<p>To 1e-6 by category:</p>"
        + table(["solver", *f.CATEGORIES], by_category)
    )


def accuracy(samples):
    rows = []
    for solver in f.solvers_of(samples):
        row = [escape(solver)]
        for key in ("pen", "dual", "ncp", "nat", "natv"):
            values = [s["outcomes"][solver][key] for s in samples]
            row.append(f"{number(f.median(values), '{:.1e}')}, {number(f.quantile(values, 0.95), '{:.1e}')}")
        rows.append(row)
    head = ["solver, median, 95 %", "r_pen, m or rad", "r_dual, m/s", "r_ncp, J", "r_nat", "natv, relative"]
    return (
        "<h2>Accuracy</h2><p>Metrics (173) to (176) of VII-D for answers that were asked for 1e-6, or the best that "
        "the budget allowed; all samples count, solved or not. r_pen is the violation after a step by the new "
        "velocity alone, without the position pass; it contains what the step's curvature "
        "makes.</p>" + table(head, rows)
    )


def speed(samples):
    rows = []
    for solver in f.solvers_of(samples):
        row = [escape(solver)]
        for k in range(3):
            entries = f.solved(samples, solver, k)
            row.append(
                f"{number(f.median(i for i, _ in entries), '{:.0f}')}, {number(1e6 * f.median(t for _, t in entries))}"
            )
        warm = [s["outcomes"][solver]["warm"] for s in samples if s["outcomes"][solver]["warm"][0]]
        row.append(f"{number(f.median(w[1] for w in warm), '{:.0f}')}, {number(1e6 * f.median(w[2] for w in warm))}")
        row.append(percent(len(warm) / max(1, len(samples))))
        rows.append(row)
    head = ["solver", *(f"to {t}: iterations, us" for t in f.TOLERANCES), "warm, to 1e-6", "solved warm"]
    return (
        "<h2>Speed</h2><p>Medians over the samples that the solver solved, so that a solver which solves only easy "
        "ones looks fast: the profiles below do not have this fault. Processor time of one thread. Warm: from the "
        "impulses of the step before.</p>" + table(head, rows)
    )


def steadiness(samples):
    rows = []
    for solver in f.solvers_of(samples):
        jumps, ratios = f.steadiness(samples, solver), f.excess(samples, solver)
        rows.append(
            [
                escape(solver),
                len(jumps),
                number(f.median(jumps), "{:.1e}"),
                number(f.quantile(jumps, 0.95), "{:.1e}"),
                number(f.median(ratios), "{:.3f}"),
                number(f.quantile(ratios, 0.95), "{:.3g}"),
            ]
        )
    head = ["solver", "pairs", "jump, median", "jump, 95 %", "norm, median", "norm, 95 %"]
    return (
        "<h2>Steadiness of reactions</h2><p>Jump: the change of all impulses from a step to the next, relative to "
        "their norm, where both were solved to 1e-6 from a cold start and have the same rows. Norm: the norm of the "
        "impulses over the least of all solvers on the same sample; where constraints are redundant, what exceeds 1 "
        "is internal force.</p>" + table(head, rows)
    )


def profiles(samples):
    parts = [
        "<h2>Performance profiles</h2><p>Share of the samples of a category that a solver solves to 1e-6 within a "
        "multiple of the processor time of the fastest solver on that sample.</p>"
    ]
    for category in f.CATEGORIES:
        members = f.within(samples, category)
        if not members:
            continue
        ours = [s for s in f.solvers_of(samples) if s not in f.PAPER]
        best = next(name for name, _, _ in f.ranking(members) if name in f.PAPER)
        for title, names in (("Tab. I", f.PAPER), ("ours, and the best of Tab. I", [*ours, best])):
            series = {name: f.profile(members, name) for name in names}
            parts.append(
                plot(
                    f"{category} ({len(members)}), {title}",
                    series,
                    "time over that of the fastest",
                    "share solved",
                    log_x=True,
                )
            )
    return "".join(parts)


def convergence(data):
    """For each category the sample with most rows."""
    chosen = {}
    for system in data["systems"]:
        for coordinates, measured in system["measured"].items():
            if measured is None:
                continue
            by_step = {sample["step"]: sample for sample in measured["samples"]}
            for curve in measured["convergence"]:
                rows = by_step[curve["step"]]["rows"]
                key = curve["category"]
                if key not in chosen or rows > chosen[key][0]:
                    chosen[key] = (rows, system["scene"], coordinates, curve["step"], measured["convergence"])
    parts = [
        "<h2>Convergence</h2><p>Relative natv of the solver's own model after each iteration from a cold start, on the "
        "sample of each category that has most rows. An iteration of Newton and interior point is a factorisation, of "
        "the others a sweep or a solve with a factor; <code>auto</code> counts sweeps and factorisations.</p>"
    ]
    for category in f.CATEGORIES:
        if category not in chosen:
            continue
        rows, scene, coordinates, step, curves = chosen[category]
        mine = [c for c in curves if c["step"] == step and c["category"] == category]
        for title, paper in (("Tab. I", True), ("ours", False)):
            series = {
                c["solver"]: ([p[0] for p in c["points"]], [max(p[1], 1e-16) for p in c["points"] if p[1] < 1e299])
                for c in mine
                if (c["solver"] in f.PAPER) == paper and c["points"]
            }
            if series:
                name = f"{category}: {scene.removeprefix('loops/')}, {coordinates}, {rows} rows, {title}"
                parts.append(plot(name, series, "iterations", "relative natv", log_x=True, log_y=True))
    return "".join(parts)


def loop_errors(data):
    rows = []
    for s in data["systems"]:
        runs = s["runs"]
        cells = [short(s["scene"])]
        for key in ("fine", "coarse", "open"):
            run = runs.get(key)
            cells += [number(run["error"], "{:.1e}"), run["unsolved"]] if run else ["-", "-"]
        for coordinates in ("reduced", "maximal"):
            m = s["measured"].get(coordinates)
            cells.append(f"{m['unsolved']} of {m['steps']}, {number(m['loop_error'], '{:.1e}')}" if m else "-")
        rows.append(cells)
    head = ["system", "1 ms", "unsolved", "4 ms", "unsolved", "1 ms, pass alone", "unsolved"]
    return (
        f"<h2>Errors of loops</h2><p>Largest error of loops (m, turns by their lengths) over {data['extent']['run']} "
        "s with <code>auto</code>, reduced coordinates, and steps that were not solved to 1e-6. Loops are closed in "
        "every step; in the third pair of columns only the position pass acts, and limits and contacts count too. The "
        "last two columns are of the runs that samples were taken from.</p>"
        + table([*head, "reduced: unsolved, error", "maximal: unsolved, error"], rows)
    )


def peers_section(data):
    peers = data.get("peers") or {}
    rows = []
    for s in data["systems"]:
        entry = peers.get("mujoco", {}).get(s["scene"], {})
        ratio = entry["touchstone"] / entry["mujoco"] if "mujoco" in entry else math.nan
        maximal = (s["measured"].get("maximal") or {}).get("median", math.nan)
        note = escape(entry.get("note", ""))
        style = "good" if ratio <= 1.0 else "bad"
        rows.append(
            [
                short(s["scene"]),
                number(1e6 * entry.get("touchstone", math.nan)),
                number(1e6 * maximal),
                number(1e6 * entry.get("mujoco", math.nan)),
                f'<span class="{style}">{ratio:.2f}</span>' if math.isfinite(ratio) else "-",
                number(entry.get("error", math.nan), "{:.1e}"),
                note,
            ]
        )
    head = ["system", "reduced, us", "maximal, us", "MuJoCo, us", "reduced over MuJoCo", "MuJoCo's loop error, m", ""]
    text = (
        "<h2>Time of a step</h2><p>Median processor time of a step of 1 ms along each engine's own motion, one "
        "thread, in one run, the engines by turns. Ours ends with a certificate of 1e-6 and loops closed to 1e-9 m; "
        "MuJoCo's constraints are soft, with its defaults, elliptic cones and the rule implicitfast.</p>"
    )
    kamino = peers.get("kamino", {})
    text += table(head, rows)
    if kamino.get("rows"):
        head = ["system", "Kamino on the processor, us", "ours, maximal, us", "joint error of Kamino, m"]
        body = [
            [escape(r["label"]), number(1e6 * r["kamino"]), number(1e6 * r["ours"]), number(r["error"], "{:.1e}")]
            for r in kamino["rows"]
        ]
        text += f"<h2>Kamino</h2><p>{escape(kamino.get('note', ''))}</p>" + table(head, body)
    elif kamino:
        text += f"<h2>Kamino</h2><p>{escape(kamino.get('note', ''))}</p>"
    return text


def advice(samples):
    """What the figures say in words."""
    items = []
    for category in f.CATEGORIES:
        members = f.within(samples, category)
        if not members:
            items.append(f"<b>{category}</b>: no sample in this run.")
            continue
        ranked = f.ranking(members)
        best = ranked[0]
        fastest = min((r for r in ranked if r[1] >= 0.95 * best[1]), key=lambda r: r[2])
        paper = next(r for r in ranked if r[0] in f.PAPER)
        text = (
            f"<b>{category}</b> ({len(members)} samples): <code>{escape(best[0])}</code> solves {percent(best[1])}, "
            f"in {number(1e6 * best[2])} us; "
        )
        if fastest[0] != best[0]:
            text += f"<code>{escape(fastest[0])}</code> solves {percent(fastest[1])} in {number(1e6 * fastest[2])} us; "
        text += f"of Tab. I <code>{escape(paper[0])}</code> solves {percent(paper[1])} in {number(1e6 * paper[2])} us."
        items.append(text)
    general = [
        "Take <code>auto</code> unless you have a reason. It is the one that is meant to solve every sample, and in a "
        "simulation reactions of redundant loops are then made those of least norm (the solves compared here are not).",
        "Gauss-Seidel (<code>nbgs</code>, <code>ncp-pgs</code>) is cheap where few constraints are coupled: single "
        "bodies, feet of robots in reduced coordinates. In maximal ones every joint is a block and forces travel one "
        "joint a sweep: long chains and large mass ratios do not converge within any budget of a simulation.",
        "ADMM pays one factorisation for many iterations, and does not mind redundant joints. The spectral rule is the "
        "safest of its penalties. It is the best of the paper's solvers for loops; to 1e-8 it is slow.",
        "Newton and interior point (<code>ncp-newton</code>, <code>ncp-ipm</code>) cost a factorisation an iteration "
        "and need few of them: for 1e-8, for dense constraints, for large mass ratios.",
        "RAISIM and ADMM-CCP answer other questions than the NCP where contacts slide; RAISIM-DS-ES stops before it "
        "knows.",
        "Choose reduced coordinates if you can: the joints of the tree are then no rows at all.",
    ]
    return (
        "<h2>Which solver, when</h2><ul>"
        + "".join(f"<li>{text}</li>" for text in general)
        + "</ul><p>Best by category, to 1e-6 from a cold start, in this run:</p><ul>"
        + "".join(f"<li>{text}</li>" for text in items)
        + "</ul>"
    )


def page(data):
    samples = f.collect(data)
    extent = data["extent"]
    intro = (
        "Contact problems of mechanisms with closed chains, solved by the solvers of Tsounis et al. 2025, Tab. I, and "
        f"by ours. A solve may take {extent['work']:.0e} multiplications and additions and 5,000 iterations. "
        + ("The whole suite." if data["full"] else "A short run; TOUCHSTONE_BENCH_FULL=1 makes the whole one.")
    )
    sections = [advice(samples), systems_section(data), disagreements(data), samples_section(data, samples)]
    sections += [by_system(samples), robustness(samples), accuracy(samples), speed(samples), steadiness(samples)]
    sections += [profiles(samples), convergence(data), loop_errors(data), peers_section(data)]
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: closed chains</title><style>{STYLE}</style></head>
<body><h1>Closed chains</h1><p>{intro}</p>{"".join(sections)}</body></html>
"""

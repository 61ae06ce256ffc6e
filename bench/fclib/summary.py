"""What the measurements say: tables, profiles, ratios and exponents."""

from html import escape
from math import exp, log

from contestants import OURS, SICONOS, TOLERANCES
from figures import PALETTE, Series, legend, log_plot
from page import table

BLACK = "#111111"
AIMS = {"NSGS": 10.0, "best of Siconos": 3.0}  # at 1e-6
AIM_EXPONENT = 1.15
SPARSE_FROM = 300  # contacts: below, constant costs flatter the exponent
CURVES = ["auto", "nbgs", "ncp-admm", "ncp-newton", "ncp-ipm", "NSGS_FULL", "NSN_AC", "NSN_AC_HYB"]


def best(answers, names, tolerance):
    """(seconds, name) of the fastest that counts, or None."""
    times = [(answers[n].seconds(tolerance), n) for n in names if n in answers]
    return min((t for t in times if t[0] is not None), default=None)


def names_of(results, contestants):
    some = next(iter(results.values()))
    return [c.name for c in contestants if c.name in some]


def ratios(results, tolerance, contestant="auto"):
    """{rival: {...}}: how much faster than the rival the contestant is, in the geometric mean of what both solve."""
    siconos = names_of(results, SICONOS)
    rivals = {"NSGS": ["NSGS"], "best of Siconos": siconos} if siconos else {}
    found = {}
    for rival, names in rivals.items():
        logs, only_ours, only_theirs = [], [], []
        for problem, answers in results.items():
            ours, theirs = answers[contestant].seconds(tolerance), best(answers, names, tolerance)
            if ours and theirs:
                logs.append(log(theirs[0] / ours))
            elif ours:
                only_ours.append(problem)
            elif theirs:
                only_theirs.append(problem)
        found[rival] = {
            "ratio": exp(sum(logs) / len(logs)) if logs else None,
            "slowest": exp(min(logs)) if logs else None,
            "fastest": exp(max(logs)) if logs else None,
            "faster_on": sum(value > 0 for value in logs),
            "problems": len(logs),
            "only_ours": only_ours,
            "only_theirs": only_theirs,
        }
    return found


def solved(results):
    """{contestant: [number solved at each tolerance]}"""
    some = next(iter(results.values()))
    return {n: [sum(a[n].seconds(t) is not None for a in results.values()) for t in TOLERANCES] for n in some}


def exponent(points):
    """Of y ~ x^p, by least squares of the logarithms."""
    if len(points) < 2:
        return None
    xs, ys = [log(p[0]) for p in points], [log(p[1]) for p in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def exponents(scaling):
    found = {}
    for kind, rows in scaling.items():
        points = [(row["contacts"], row["seconds"]) for row in rows if row["seconds"]]
        found[kind] = {"all": exponent(points), "sparse": exponent([p for p in points if p[0] >= SPARSE_FROM * 0.9])}
    return found


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g}"


def time_rows(results, tolerance):
    """Text of the table of times: problem, contacts, auto, best of ours, NSGS, best of Siconos, ratios."""
    ours, siconos = names_of(results, OURS), names_of(results, SICONOS)
    rows = []
    for problem, answers in results.items():
        auto = answers["auto"].seconds(tolerance)
        nsgs = answers["NSGS"].seconds(tolerance) if siconos else None
        fastest, rival = best(answers, ours, tolerance), best(answers, siconos, tolerance)
        row = [problem, str(answers["auto"].contacts), milliseconds(auto) if auto else "-"]
        row.append(f"{milliseconds(fastest[0])} {fastest[1]}" if fastest else "-")
        row.append(milliseconds(nsgs) if nsgs else "-")
        row.append(f"{milliseconds(rival[0])} {rival[1]}" if rival else "-")
        row.append(f"{nsgs / auto:.3g}" if auto and nsgs else "-")
        row.append(f"{rival[0] / auto:.3g}" if auto and rival else "-")
        rows.append(row)
    return rows


TIME_HEAD = ["problem", "contacts", "auto", "best of ours", "NSGS", "best of Siconos", "NSGS / auto", "best / auto"]


def style_of(names):
    """{name: (color, dashed, bold)}: auto black, our solvers solid, Siconos' dashed."""
    ours = {c.name for c in OURS}
    styles, counts = {}, {True: 0, False: 0}
    for name in names:
        mine = name in ours
        if name == "auto":
            styles[name] = (BLACK, False, True)
            continue
        styles[name] = (PALETTE[counts[mine] % len(PALETTE)], not mine, False)
        counts[mine] += 1
    return styles


def profile(results, tolerance, styles):
    """Dolan and More: the share of problems solved within a factor of the fastest of all."""
    series = []
    count = len(results)
    for name, (color, dashed, bold) in styles.items():
        factors = []
        for answers in results.values():
            mine, fastest = answers[name].seconds(tolerance), best(answers, styles, tolerance)
            if mine:
                factors.append(mine / fastest[0])
        factors.sort()
        points = [(1.0, sum(f <= 1.0 for f in factors) / count)]
        points += [(factor, (i + 1) / count) for i, factor in enumerate(factors) if factor > 1.0]
        points.append((1e4, len(factors) / count))
        series.append(Series(name, points, color, dashed, bold, steps=True))
    return log_plot(
        f"Share of problems solved to {tolerance:g}",
        series,
        "times the time of the fastest",
        "share",
        y_linear=True,
        x_range=(0, 4),
        with_legend=False,
    )


def curves(problem, answers, styles):
    """Time against natv: iterates at even pace, or the answers to several tolerances."""
    series = []
    for name in CURVES:
        if name not in answers:
            continue
        answer, (color, dashed, bold) = answers[name], styles[name]
        if name == "auto":
            solves = [answer.solves[t] for t in sorted(answer.solves, reverse=True) if answer.solves[t]["natv"]]
            points = [(1e3 * s["seconds"], s["natv"]) for s in solves]
        else:
            total = answer.solves.get(TOLERANCES[-1], {}).get("seconds")
            last = answer.history[-1][0] if answer.history else 0
            points = [(1e3 * total * i / last, natv) for i, natv in answer.history if natv and total]
        if points:
            series.append(Series(name, points, color, dashed, bold, markers=name == "auto"))
    if not series:
        return ""
    caption = f"{escape(problem)}, {answers['auto'].contacts} contacts"
    return log_plot(caption, series, "ms", "natv", y_range=(-12, 1), with_legend=True)


def ratio_section(results):
    parts = [
        "<p>Geometric mean, over the problems that both solve, of the time of the rival divided by that of ours.</p>"
    ]
    rows = []
    for tolerance in TOLERANCES:
        for ours in ("auto", "auto/data"):
            for rival, found in ratios(results, tolerance, ours).items():
                aim = AIMS[rival] if tolerance == 1e-6 else None
                value = f"{found['ratio']:.2f}" if found["ratio"] else "-"
                if aim and found["ratio"]:
                    value = (
                        f'<span class="{"good" if found["ratio"] >= aim else "slow"}">{value}</span> (aim&nbsp;{aim:g})'
                    )
                spread = f"{found['slowest']:.2g} to {found['fastest']:.3g}" if found["ratio"] else "-"
                missing = ", ".join(escape(p) for p in found["only_ours"]) or "none"
                wins = f"{found['faster_on']} of {found['problems']}"
                one_line = [cell.replace(" ", "&nbsp;") for cell in (rival, spread, wins)]
                rows.append([f"{tolerance:g}", ours, one_line[0], value, *one_line[1:], missing])
    head = ["tolerance", "ours", "rival", "ratio", "from, to", "faster on", "only ours solves"]
    parts.append(table(head, rows, left=(1, 2, 6), firsts=(4, 8)))
    return "".join(parts)


def solved_section(results):
    count = len(results)
    rows = [[escape(n), *(f"{k} of {count}" for k in numbers)] for n, numbers in solved(results).items()]
    return table(["solver", *(f"to {t:g}" for t in TOLERANCES)], rows)


def scaling_section(scaling):
    found = exponents(scaling)
    parts = ["<p>auto, cold start, to 1e-6. Exponents of time against contacts, by least squares.</p>"]
    rows, series, firsts = [], [], []
    for k, (kind, answers) in enumerate(scaling.items()):
        firsts.append(len(rows))
        for row in answers:
            time = milliseconds(row["seconds"]) if row["seconds"] else f"not within {row['limit']:g} s"
            natv = f"{row['natv']:.1e}" if row["natv"] else "-"
            memory = f"{row['peak_memory']:.0f}" if row["peak_memory"] else "-"
            rows.append([kind, str(row["contacts"]), time, natv, memory])
        points = [(row["contacts"], 1e3 * row["seconds"]) for row in answers if row["seconds"]]
        series.append(Series(kind, points, PALETTE[k], markers=True))
    numbers = []
    for kind, value in found.items():
        cells = [kind]
        for fit in ("all", "sparse"):
            good = value[fit] is not None and value[fit] <= AIM_EXPONENT
            cells.append(
                "-" if value[fit] is None else f'<span class="{"good" if good else "slow"}">{value[fit]:.2f}</span>'
            )
        numbers.append(cells)
    head = ["kind", "exponent, all sizes", f"from {SPARSE_FROM} contacts"]
    parts.append(table(head, numbers))
    parts.append(f"<p><small>Aim: at most {AIM_EXPONENT}.</small></p>")
    parts.append(log_plot("Time of auto", series, "contacts", "ms"))
    parts.append(table(["kind", "contacts", "ms", "natv", "peak memory of the process, MB"], rows, firsts=firsts))
    return "".join(parts)


def sections(results, scaling, about):
    parts = []
    if results:
        styles = style_of(next(iter(results.values())))
        parts.append(("What is measured", f"<p>{about}</p>"))
        if names_of(results, SICONOS):
            parts.append(("Against Siconos", ratio_section(results)))
        parts.append(("Solved", solved_section(results)))
        for tolerance in (1e-6, 1e-4, 1e-8):
            rows = [[escape(cell).replace(" ", "&nbsp;") for cell in row] for row in time_rows(results, tolerance)]
            parts.append((f"Milliseconds to {tolerance:g}", table(TIME_HEAD, rows, left=(0, 3, 5))))
        lines = [Series(n, [], color, dashed, bold) for n, (color, dashed, bold) in styles.items()]
        profiles = "".join(profile(results, t, styles) for t in TOLERANCES)
        parts.append(("Performance profiles", f"{profiles}<p>{legend(lines)}</p>"))
        large = sorted(results, key=lambda p: -results[p]["auto"].contacts)
        about_curves = (
            "<p>Certificate against time. Iterates are placed at an even pace over the time of a solve to 1e-8. auto "
            "has no single sequence of iterates: its points are solves to 1e-2, 1e-3, .. 1e-8.</p>"
        )
        plots = [curves(p, results[p], styles) for p in large]
        rest = f"<details><summary>Smaller problems</summary>{''.join(plots[10:])}</details>"
        parts.append(("Convergence", about_curves + "".join(plots[:10]) + rest))
    if scaling:
        parts.append(("Scaling", scaling_section(scaling)))
    return parts


def print_tables(results, scaling):
    """The figures for the terminal, as Markdown."""
    if results:
        for row in [TIME_HEAD, ["---"] * len(TIME_HEAD), *time_rows(results, 1e-6)]:
            print("| " + " | ".join(row) + " |")
        for tolerance in TOLERANCES:
            for ours in ("auto", "auto/data"):
                for rival, found in ratios(results, tolerance, ours).items():
                    if found["ratio"]:
                        print(
                            f"to {tolerance:g}: {ours} {found['ratio']:.2f} times faster than {rival} "
                            f"({found['problems']} problems, faster on {found['faster_on']}; "
                            f"only ours solves {len(found['only_ours'])}, only theirs {len(found['only_theirs'])})"
                        )
        for name, numbers in solved(results).items():
            print(f"{name}: solved {', '.join(map(str, numbers))} of {len(results)}")
    for kind, rows in scaling.items():
        for row in rows:
            solved_row = row["seconds"] and row["peak_memory"]
            text = f"{milliseconds(row['seconds'])} ms, {row['peak_memory']:.0f} MB" if solved_row else "not in time"
            print(f"{kind} {row['contacts']}: {text}")
    for kind, value in exponents(scaling).items():
        fits = ", ".join(f"{fit} {number:.2f}" for fit, number in value.items() if number is not None)
        print(f"{kind}: exponent {fits}")

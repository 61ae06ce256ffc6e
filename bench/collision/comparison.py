"""The table of Touchstone against Coal."""

import math
from html import escape

from page import table

TARGET = 0.8  # ratio of times that we want to reach


def ratio(row, engine="touchstone"):
    engines = row["engines"]
    if engine not in engines or "coal" not in engines:
        return None
    return engines[engine]["time"] / engines["coal"]["time"]


def wrong_rows(compared):
    return [f"{r['name']}, {r['query']} {r['where']}" for r in compared["rows"] if "touchstone" in r["wrong"]]


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def text(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def nanoseconds(row, engine):
    entry = row["engines"].get(engine)
    return "-" if entry is None else f"{entry['time'] * 1e9:.0f}"


def groups(compared):
    """{(group, query, where): rows}"""
    found = {}
    for row in compared["rows"]:
        found.setdefault((row["group"], row["query"], row["where"]), []).append(row)
    return found


def marked(value):
    kind = "" if value is None else ("good" if value <= TARGET else ("slow" if value > 1 else ""))
    return f'<span class="{kind}">{text(value)}</span>'


def summary_rows(compared):
    rows = []
    for (group, query, where), members in groups(compared).items():
        ours = [ratio(r) for r in members]
        reached = sum(1 for v in ours if v and v <= TARGET)
        baseline = geometric_mean([ratio(r, "baseline") for r in members])
        rows.append(
            (group, query, where, geometric_mean(ours), max(filter(None, ours)), reached, len(members), baseline)
        )
    return rows


def sections(compared):
    rows, firsts, last = [], [], None
    for i, row in enumerate(compared["rows"]):
        if row["name"] != last:
            firsts.append(i)
        coal = row["engines"].get("coal", {})
        errors = sum(v["count"] for v in row["wrong"].get("coal", {}).values())
        rows.append(
            [
                escape(row["name"]) if row["name"] != last else "",
                f"{row['query']}, {row['where']}",
                nanoseconds(row, "touchstone"),
                nanoseconds(row, "baseline"),
                f"{nanoseconds(row, 'coal')} <small>{escape(coal.get('variant', ''))}</small>",
                marked(ratio(row)),
                marked(ratio(row, "baseline")),
                str(errors) if errors else "",
            ]
        )
        last = row["name"]
    head = ["pair", "query", "ours, ns", "ours, baseline", "Coal, fastest way", "ratio", "baseline", "Coal wrong"]
    summary = [
        [group, f"{query}, {where}", marked(mean), marked(worst), f"{reached} of {count}", marked(base)]
        for group, query, where, mean, worst, reached, count, base in summary_rows(compared)
    ]
    intro = f"""<p>Nanoseconds for one query, native code in one process, engines in turns, the same pairs and poses,
distances to {compared["tolerance"]:g} m. A time is the lower quartile of the rounds. Coal is asked in twelve ways (its
table of pair functions or its solver; plain, Polyak, Nesterov; two first guesses) and the fastest counts. Near: 1 mm to
0.1 m apart; far: 1 m; deep: up to 0.1 m into each other. "Baseline" is our code built for plain x86-64, as Coal's wheel
is; the first column is built for x86-64-v3 (AVX2). Ratios are ours to Coal's: below 1 we are faster, the aim is
{TARGET}. "Coal wrong" counts answers of its twelve ways that are more than 1e-5 m off.</p>"""
    means = table(["group", "query", "mean ratio", "worst", f"at most {TARGET}", "baseline, mean"], summary, (0, 1))
    details = f"<details><summary>All rows</summary>{table(head, rows, (0, 1, 4), firsts)}</details>"
    return [("Against Coal", intro + means + details)]


def print_table(compared):
    print(f"{'group':<12}{'query':<16}{'mean ratio':>11}{'worst':>7}{'<= 0.8':>10}{'baseline':>10}")
    for group, query, where, mean, worst, reached, count, base in summary_rows(compared):
        name, share = f"{query}, {where}", f"{reached} / {count}"
        print(f"{group:<12}{name:<16}{text(mean):>11}{text(worst):>7}{share:>10}{text(base):>10}")
    ratios = [ratio(r) for r in compared["rows"]]
    reached = sum(1 for v in ratios if v and v <= TARGET)
    print(f"all rows: geometric mean {text(geometric_mean(ratios))}, {reached} of {len(ratios)} at most {TARGET}")

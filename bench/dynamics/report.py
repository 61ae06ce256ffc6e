"""The results as a table on the terminal, as JSON, and as one HTML page."""

import json
import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from look import LOOK, META

STYLE = f"""{LOOK}
table {{ width: 100%; }} th, td {{ white-space: nowrap; }} th:nth-child(2), td:nth-child(2) {{ text-align: left; }}
"""


def fastest(row):
    """(name, times) of the fastest peer."""
    name, times = min(row["peers"].items(), key=lambda item: item[1]["median"])
    return name + (f" ({times['variant']})" if times["variant"] else ""), times


def ratio(row):
    return row["touchstone"]["median"] / fastest(row)[1]["median"] if "touchstone" in row else None


def same_compiler_ratio(row):
    """Against the peer built by our compiler, where another compiler does better for it."""
    times = next(iter(row["peers"].values()))
    return row["touchstone"]["median"] / times["median"] if "touchstone" in row and len(row["peers"]) > 1 else None


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}"


def time_text(entry):
    if entry is None:
        return "-"
    return f"{entry['median'] * 1e6:.3f} ± {(entry['high'] - entry['low']) / 2 * 1e6:.3f}"


def print_table(rows, facts):
    print(f"{facts['processor']}, {facts['compiler']}, load {facts['load']:.1f}; µs per call, median ± half the IQR")
    print(f"{'robot':<25}{'row':<36}{'Touchstone':>18}{'fastest peer':>18}  {'':<24}{'ratio':>6}{'to g++':>8}")
    for row in rows:
        name, times = fastest(row)
        ours = time_text(row.get("touchstone"))
        ratios = f"{ratio_text(ratio(row)):>6}{ratio_text(same_compiler_ratio(row)):>8}"
        print(f"{row['robot']:<25}{row['row']:<36}{ours:>18}{time_text(times):>18}  {name:<24}{ratios}")


def bar(value):
    """The ratio as a bar; the line is 1."""
    width = min(value, 2.0) * 90
    color = "#2f7d4f" if value <= 1 else "#a02020"
    return (
        '<svg width="182" height="14"><rect x="0" y="2" height="10" rx="2" '
        f'width="{width:.1f}" fill="{color}"/><line x1="90" x2="90" y1="0" y2="14" stroke="#222"/></svg>'
    )


def html_row(row, first):
    (name, times), value = fastest(row), ratio(row)
    cells = [
        escape(row["robot"]) if first else "",
        escape(row["row"]),
        time_text(row.get("touchstone")),
        f"{time_text(times)} <small>{escape(name)}</small>",
        "-" if value is None else f'<span class="{"slow" if value > 1 else ""}">{value:.2f}</span>',
        "" if value is None else bar(value),
        ratio_text(same_compiler_ratio(row)),
    ]
    return f'<tr class="{"first" if first else ""}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def html_page(rows, differences, facts, options):
    titles = ("robot", "computation", "Touchstone", "fastest peer", "ratio", "", "to g++")
    head = "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>"
    body, last = [], None
    for row in rows:
        body.append(html_row(row, row["case"] != last))
        last = row["case"]
    checks = "; ".join(f"{escape(name)} {max(parts.values()):.1e}" for name, parts in differences.items())
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: rigid-body dynamics</title><style>{STYLE}</style></head>
<body><h1>Rigid-body dynamics</h1>
<p>Microseconds for one call on one thread, median ± half the interquartile range of {options.rounds} rounds over 128
random states; native code, warm caches, the engines in turns on one processor. The ratio is ours to the peer's
fastest variant; below 1 we are faster. Pinocchio's templates are compiled here twice, by our compiler with our flags
and by clang; the last column is the ratio to the former.</p>
<table>{head}{"".join(body)}</table>
<p>Largest differences between the engines' results, relative to the largest entry: {checks or "not checked"}.</p>
<p><small>{escape(", ".join(f"{key} {value}" for key, value in facts.items()))}</small></p></body></html>
"""


def write(rows, differences, facts, options):
    options.out.mkdir(parents=True, exist_ok=True)
    result = {
        "machine": facts,
        "rounds": options.rounds,
        "differences": differences,
        "rows": [{**row, "ratio": ratio(row)} for row in rows],
    }
    (options.out / "dynamics.json").write_text(json.dumps(result, indent=1))
    (options.out / "dynamics.html").write_text(html_page(rows, differences, facts, options))
    print_table(rows, facts)
    print(f"{options.out / 'dynamics.html'}")

"""The HTML page: tables and plots as inline SVG, nothing loaded from elsewhere."""

import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from look import LOOK, META

STYLE = f"""{LOOK}
td.left, th.left {{ text-align: left; }} .good, .slow {{ white-space: nowrap; }} summary {{ cursor: pointer; }}
"""
COLORS = ["#444444", "#c8791b", "#2f6fb0", "#2f7d4f", "#a0449a", "#a02020"]


def table(head, rows, left=(0,), firsts=()):
    """Rows of ready HTML; `left`: columns of text."""

    def cells(values, tag):
        return "".join(f"<{tag}{' class=left' if i in left else ''}>{v}</{tag}>" for i, v in enumerate(values))

    body = "".join(
        f'<tr class="{"first" if i in firsts else ""}">{cells(row, "td")}</tr>' for i, row in enumerate(rows)
    )
    return f"<table><tr>{cells(head, 'th')}</tr>{body}</table>"


def nice_ticks(high):
    step = 10 ** len(str(int(high))) / 10 if high >= 1 else 0.1
    while high / step < 4:
        step /= 2
    return [step * i for i in range(int(high / step) + 2)]


def line_plot(caption, labels, series, unit):
    """`series`: {name: (values, deviations or None)} over the labels, which are evenly spaced."""
    width, height, left, bottom, top = 460, 270, 44, 46, 12
    ticks = nice_ticks(max(max(values) for values, _ in series.values()))
    high = ticks[-1]

    def x(i):
        return left + i * (width - left - 12) / (len(labels) - 1)

    def y(value):
        return height - bottom - min(max(value, 0), high) / high * (height - bottom - top)

    parts = []
    for tick in ticks:
        parts.append(f'<line x1="{left}" x2="{width - 12}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for i, label in enumerate(labels):
        parts.append(
            f'<text transform="translate({x(i) + 4:.1f},{height - bottom + 8}) rotate(-45)" text-anchor="end">'
            f"{label:g}</text>"
        )
    for k, (values, deviations) in enumerate(series.values()):
        color = COLORS[k % len(COLORS)]
        if deviations:
            upper = [f"{x(i):.1f},{y(v + d):.1f}" for i, (v, d) in enumerate(zip(values, deviations, strict=True))]
            lower = [f"{x(i):.1f},{y(v - d):.1f}" for i, (v, d) in enumerate(zip(values, deviations, strict=True))]
            parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{color}" opacity="0.10"/>')
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8"/>')
    legend = " ".join(
        f'<span style="color:{COLORS[k % len(COLORS)]}">&#9632;</span> {escape(name)}' for k, name in enumerate(series)
    )
    return (
        f'<figure><svg width="{width}" height="{height}" font-size="11" font-family="system-ui, sans-serif" '
        f'fill="#333">{"".join(parts)}</svg><figcaption>{caption}: {unit}<br>{legend}</figcaption></figure>'
    )


def page(title, sections, facts):
    body = "".join(f"<h2>{escape(name)}</h2>{content}" for name, content in sections)
    about = escape(", ".join(f"{key} {value}" for key, value in facts.items()))
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: {escape(title)}</title><style>{STYLE}</style></head>
<body><h1>{escape(title)}</h1>{body}<p><small>{about}</small></p></body></html>
"""

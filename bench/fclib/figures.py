"""Plots with logarithmic axes as inline SVG."""

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

PALETTE = ["#2f6fb0", "#2f7d4f", "#c8791b", "#a0449a", "#7a5c3e", "#3aa6a6", "#a02020", "#888888"]


@dataclass
class Series:
    name: str
    points: list  # (x, y)
    color: str
    dashed: bool = False
    bold: bool = False
    markers: bool = False
    steps: bool = False


def decades(values):
    """Exponents around the values, one decade at least."""
    low, high = floor(log10(min(values)) + 1e-9), ceil(log10(max(values)) - 1e-9)
    return low, max(high, low + 1)


def power(exponent):
    if -3 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return f'10<tspan dy="-4" font-size="8">{exponent}</tspan>'


def curve(series, x, y):
    width = 2.6 if series.bold else 1.5
    dash = ' stroke-dasharray="5 3"' if series.dashed else ""
    points = []
    for px, py in series.points:
        if series.steps and points:
            points.append((x(px), points[-1][1]))
        points.append((x(px), y(py)))
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    parts = [f'<polyline points="{path}" fill="none" stroke="{series.color}" stroke-width="{width}"{dash}/>']
    if series.markers:
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{series.color}"/>' for px, py in points]
    return "".join(parts)


def legend(all_series):
    marks = [
        f'<span style="color:{s.color};white-space:nowrap">{"&#9476;&#9476;" if s.dashed else "&#9473;&#9473;"} '
        f"{escape(s.name)}</span>"
        for s in all_series
    ]
    return " &nbsp;".join(marks)


def log_plot(caption, all_series, x_label, y_label, y_linear=False, x_range=None, y_range=None, with_legend=True):
    """Both axes logarithmic, or y from 0 to 1."""
    width, height, left, right, bottom, top = 470, 300, 52, 14, 40, 10
    points = [p for s in all_series for p in s.points]
    x_low, x_high = x_range or decades([p[0] for p in points])

    def x(value):
        share = (log10(max(value, 10.0 ** (x_low - 2))) - x_low) / (x_high - x_low)
        return left + min(max(share, 0.0), 1.0) * (width - left - right)

    if y_linear:
        ticks = [(share, f"{share:g}") for share in (0, 0.2, 0.4, 0.6, 0.8, 1)]
        y_low, y_high = 0.0, 1.0
    else:
        y_low, y_high = y_range or decades([max(p[1], 1e-300) for p in points])
        stride = max(1, round((y_high - y_low) / 8))
        ticks = [(10.0**e, power(e)) for e in range(y_low, y_high + 1, stride)]

    def y(value):
        place = value if y_linear else log10(max(value, 1e-300))
        share = (place - y_low) / (y_high - y_low)
        return height - bottom - min(max(share, 0.0), 1.0) * (height - bottom - top)

    parts = []
    for value, label in ticks:
        parts.append(
            f'<line x1="{left}" x2="{width - right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#e4e4e4"/>'
        )
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>')
    for exponent in range(x_low, x_high + 1):
        place = x(10.0**exponent)
        parts.append(f'<line y1="{top}" y2="{height - bottom}" x1="{place:.1f}" x2="{place:.1f}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{place:.1f}" y="{height - bottom + 15}" text-anchor="middle">{power(exponent)}</text>')
    parts.append(f'<text x="{(left + width) / 2:.0f}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>')
    middle = (height - bottom + top) / 2
    parts.append(
        f'<text transform="translate(12,{middle:.0f}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )
    parts += [curve(s, x, y) for s in sorted(all_series, key=lambda s: s.bold)]
    below = f"<br>{legend(all_series)}" if with_legend else ""
    return (
        f'<figure style="max-width:{width}px"><svg width="{width}" height="{height}" font-size="11" '
        f'font-family="system-ui, sans-serif" fill="#333">{"".join(parts)}</svg>'
        f"<figcaption>{caption}{below}</figcaption></figure>"
    )

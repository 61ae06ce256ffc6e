"""Line plots as inline SVG, linear or logarithmic."""

import math
from html import escape

COLORS = ["#a02020", "#c8791b", "#2f6fb0", "#2f7d4f", "#222222", "#a0449a", "#7a7a7a", "#b0a020", "#20a0a0", "#d060a0"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 470, 290, 62, 40, 12, 12


def linear_ticks(low, high):
    step = 10 ** math.floor(math.log10(max(high - low, 1e-300)))
    while (high - low) / step < 4:
        step /= 2
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Axis:
    def __init__(self, values, log, start, end):
        self.log, self.start, self.end = log, start, end
        values = [v for v in values if v is not None and math.isfinite(v) and (v > 0 or not log)]
        low, high = (min(values), max(values)) if values else (0.1 if log else 0.0, 1.0)
        if log:
            self.low, self.high = math.floor(math.log10(low)), max(math.ceil(math.log10(high)), math.log10(low) + 1)
            every = max(1, math.ceil((self.high - self.low) / 8))
            self.ticks = [10.0**k for k in range(int(self.low), int(self.high) + 1, every)]
        else:
            if high <= low:
                high = low + 1.0
            self.low, self.high = low - 0.03 * (high - low), high + 0.03 * (high - low)
            self.ticks = linear_ticks(self.low, self.high)

    def __call__(self, value):
        if self.log:
            value = math.log10(max(value, 10.0**self.low))
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0), 1) * (self.end - self.start)


def plot(title, series, x_label, y_label, log_x=False, log_y=False, points=False):
    """`series`: {name: (xs, ys)}; a name that begins with '_' has no place in the legend and the colour before."""
    x = Axis([v for xs, _ in series.values() for v in xs], log_x, LEFT, WIDTH - RIGHT)
    y = Axis([v for _, ys in series.values() for v in ys], log_y, HEIGHT - BOTTOM, TOP)
    parts = []
    for tick in y.ticks:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e6e6e6"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>')
    for tick in x.ticks:
        parts.append(
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#f0f0f0"/>'
        )
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick:.4g}</text>')
    color, legend = -1, []
    for name, (xs, ys) in series.items():
        if not name.startswith("_"):
            color += 1
            legend.append(f'<span style="color:{COLORS[color % len(COLORS)]}">&#9632;</span> {escape(name)}')
        stroke = COLORS[color % len(COLORS)]
        pairs = [(x(a), y(b)) for a, b in zip(xs, ys, strict=False) if math.isfinite(b) and (b > 0 or not log_y)]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{stroke}" stroke-width="1.6"/>')
        if points:
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{stroke}"/>' for a, b in pairs]
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    return (
        f'<figure><svg width="{WIDTH}" height="{HEIGHT}" font-size="11" font-family="system-ui, sans-serif" '
        f'fill="#333">{"".join(parts)}</svg><figcaption><b>{escape(title)}</b>: {escape(y_label)}<br>'
        f"{' '.join(legend)}</figcaption></figure>"
    )

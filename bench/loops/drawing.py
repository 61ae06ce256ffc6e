"""Systems as drawings: hulls of their shapes from the side and a little above, loops as dots."""

import math

WIDTH, HEIGHT, MARGIN = 220, 180, 10
TURN, TILT = math.radians(35.0), math.radians(18.0)


def project(point):
    """To the right, up, and towards us."""
    x, y, z = point
    right = x * math.cos(TURN) - y * math.sin(TURN)
    away = x * math.sin(TURN) + y * math.cos(TURN)
    return right, z * math.cos(TILT) + away * math.sin(TILT), z * math.sin(TILT) - away * math.cos(TILT)


def hull(points):
    """Andrew's monotone chain."""
    points = sorted(set(points))
    if len(points) < 3:
        return points

    def half(sequence):
        chain = []
        for p in sequence:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > 0:
                    break
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return half(points) + half(reversed(points))


def draw(picture):
    shapes = []
    for shape in picture["shapes"]:
        seen = [project(p) for p in shape["points"]]
        outline = hull([(a, b) for a, b, _ in seen])
        shapes.append((sum(c for _, _, c in seen) / len(seen), outline, shape))
    dots = [project(p)[:2] for p in picture["loops"]]
    xs = [a for _, outline, _ in shapes for a, _ in outline]
    ys = [b for _, outline, _ in shapes for _, b in outline]
    if not xs:
        return ""
    extent = max((max(xs) - min(xs)) / (WIDTH - 2 * MARGIN), (max(ys) - min(ys)) / (HEIGHT - 2 * MARGIN), 1e-9)
    left = 0.5 * (min(xs) + max(xs)) - 0.5 * WIDTH * extent
    top = 0.5 * (min(ys) + max(ys)) + 0.5 * HEIGHT * extent

    def place(p):
        return f"{(p[0] - left) / extent:.1f},{(top - p[1]) / extent:.1f}"

    parts = []
    for _, outline, shape in sorted(shapes, key=lambda entry: entry[0]):
        r, g, b = (round(255 * c) for c in shape["color"])
        opacity = 0.25 if shape["shell"] else 0.85
        parts.append(
            f'<polygon points="{" ".join(place(p) for p in outline)}" fill="rgb({r},{g},{b})" '
            f'fill-opacity="{opacity}" stroke="#333" stroke-opacity="0.5" stroke-width="0.5"/>'
        )
    for dot in dots:
        x, y = place(dot).split(",")
        parts.append(f'<circle cx="{x}" cy="{y}" r="2.4" fill="#b3261e"/>')
    return f'<svg width="{WIDTH}" height="{HEIGHT}">{"".join(parts)}</svg>'

"""Signed distances, normals and witness points against Coal, for every pair of shape kinds in random poses.

Where the two disagree, the definition decides: for any unit vector n the gap between the supporting planes,
-h_B(-n) - h_A(n), is at most the signed distance, and the right normal attains it.
"""

import subprocess

import numpy as np
import pytest
import touchstone_dump

coal = pytest.importorskip("coal")

KINDS = ("sphere", "capsule", "box", "hull", "ellipsoid", "cylinder", "cone")
PAIRS = [(a, b) for a in range(len(KINDS)) for b in range(a, len(KINDS))]
POSES = 1000
TOLERANCE = 1e-6  # m; Coal's answers for smooth shapes are no better
PROGRAM = touchstone_dump.PROGRAM.parent / "collision_dump"


def random_rotation(random):
    q = random.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_shape(random, kind, hulls):
    size = random.uniform(0.1, 1.0, size=3)
    if KINDS[kind] == "hull":
        size[0] = random.integers(len(hulls))
    return {"kind": kind, "size": size, "R": random_rotation(random), "p": random.uniform(-0.8, 0.8, size=3)}


def reach(shape, hulls, n):
    """max { n.x } over the shape."""
    d, s = shape["R"].T @ n, shape["size"]
    across = np.hypot(d[0], d[1])
    local = {
        "sphere": lambda: s[0],
        "capsule": lambda: s[0] + s[1] * abs(d[2]),
        "box": lambda: s @ abs(d),
        "hull": lambda: (hulls[int(s[0])] @ d).max(),
        "ellipsoid": lambda: np.linalg.norm(s * d),
        "cylinder": lambda: s[0] * across + s[1] * abs(d[2]),
        "cone": lambda: max(s[1] * d[2], s[0] * across - s[1] * d[2]),
    }[KINDS[shape["kind"]]]()
    return local + n @ shape["p"]


def gap(A, B, hulls, n):
    return -reach(B, hulls, -n) - reach(A, hulls, n)


def coal_hull(points):
    return coal.Convex.convexHull(coal_points(points), True, "Qt")


def coal_points(points):
    vector = coal.StdVec_Vec3s()
    for p in points:
        vector.append(p)
    return vector


def coal_shape(shape, coal_hulls):
    s = shape["size"]
    return {
        "sphere": lambda: coal.Sphere(s[0]),
        "capsule": lambda: coal.Capsule(s[0], 2 * s[1]),
        "box": lambda: coal.Box(*(2 * s)),
        "hull": lambda: coal_hulls[int(s[0])],
        "ellipsoid": lambda: coal.Ellipsoid(*s),
        "cylinder": lambda: coal.Cylinder(s[0], 2 * s[1]),
        "cone": lambda: coal.Cone(s[0], 2 * s[1]),
    }[KINDS[shape["kind"]]]()


def coal_answers(pairs, coal_hulls):
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    # Tighter, and its EPA fails now and then.
    request.gjk_tolerance = request.epa_tolerance = 1e-7
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    for A, B in pairs:
        result = coal.DistanceResult()
        poses = [coal.Transform3s(s["R"], s["p"]) for s in (A, B)]
        value = coal.distance(coal_shape(A, coal_hulls), poses[0], coal_shape(B, coal_hulls), poses[1], request, result)
        yield value, np.array(result.normal).ravel()


def our_answers(pairs, hulls, folder):
    numbers = [float(len(hulls))]
    for points in hulls:
        numbers += [float(len(points)), *points.ravel()]
    for pair in pairs:
        for s in pair:
            numbers += [float(s["kind"]), *s["size"], *s["R"].T.ravel(), *s["p"]]
    np.array(numbers).tofile(folder / "in")
    subprocess.run([str(PROGRAM), str(folder / "in"), str(folder / "out")], check=True, timeout=300)
    return np.fromfile(folder / "out").reshape(len(pairs), 11)


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=[f"{KINDS[a]}-{KINDS[b]}" for a, b in PAIRS])
def test_signed_distance(a, b, tmp_path):
    random = np.random.default_rng(10 * a + b)
    hulls = [random.normal(size=(30, 3)) * random.uniform(0.1, 0.4, size=3) for _ in range(20)]
    pairs = [(random_shape(random, a, hulls), random_shape(random, b, hulls)) for _ in range(POSES)]
    ours = our_answers(pairs, hulls, tmp_path)
    different, ties, worst = [], 0, 0.0
    for i, (theirs, their_normal) in enumerate(coal_answers(pairs, [coal_hull(h) for h in hulls])):
        status, distance, normal = ours[i, 0], ours[i, 1], ours[i, 2:5]
        assert status <= 1, f"pose {i}: status {status}"
        A, B = pairs[i]
        our_gap = gap(A, B, hulls, normal)
        assert abs(our_gap - distance) < TOLERANCE, f"pose {i}: our normal does not attain our distance"
        their_gap = gap(A, B, hulls, their_normal) if np.isfinite(their_normal).all() else -np.inf
        assert distance > their_gap - TOLERANCE, f"pose {i}: Coal's normal is better by {their_gap - distance}"
        if abs(theirs - distance) > TOLERANCE:
            different.append(f"pose {i}: ours {distance:.9f}, Coal {theirs:.9f}, Coal's planes {their_gap:.9f}")
            continue
        worst = max(worst, abs(theirs - distance))
        # The same distance with another normal is a tie, or a smooth shape so flat that the normal hardly matters.
        if np.linalg.norm(normal - their_normal) > 1e-3:
            ties += 1
            assert abs(their_gap - distance) < 10 * TOLERANCE
    summary = f"largest difference {worst:.1e}; {ties} ties; Coal is off in {len(different)} of {POSES} poses"
    print(summary, *different, sep="\n  ")
    assert len(different) <= POSES // 20

"""What is computed from the outcomes of all samples: shares, medians, performance profiles."""

import math
import statistics

TOLERANCES = ("1e-4", "1e-6", "1e-8")
CATEGORIES = (
    "independent joints",
    "redundant joints",
    "dense joints",
    "single contact",
    "sparse contacts",
    "dense contacts",
    "dense constraints",
)
PAPER = (
    "PGS-CCP",
    "PGS-NCP",
    "NBGS",
    "RAISIM",
    "RAISIM-DS",
    "RAISIM-DS-ES",
    "ADMM-CCP",
    "ADMM-NCP-FP",
    "ADMM-NCP-LA",
    "ADMM-NCP-SA",
)


def collect(data):
    """All samples: dicts with system, coordinates, figures and the outcome of each solver."""
    samples = []
    for system in data["systems"]:
        for coordinates, measured in system["measured"].items():
            if measured is None:
                continue
            for i, sample in enumerate(measured["samples"]):
                outcomes = {name: values[i] for name, values in measured["outcomes"].items()}
                samples.append({**sample, "system": system["scene"], "coordinates": coordinates, "outcomes": outcomes})
    return samples


def solvers_of(samples):
    """In the order of Tab. I, then ours; `auto` last."""
    names = list(samples[0]["outcomes"]) if samples else []
    ours = sorted((name for name in names if name not in PAPER), key=lambda name: (name == "auto", name))
    return [name for name in PAPER if name in names] + ours


def within(samples, category=None, coordinates=None):
    return [
        s
        for s in samples
        if (category is None or category in s["categories"]) and coordinates in (None, s["coordinates"])
    ]


def share_solved(samples, solver, tolerance):
    if not samples:
        return math.nan
    return sum(s["outcomes"][solver]["cold"][tolerance][0] for s in samples) / len(samples)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else math.nan


def median(values):
    values = list(values)
    return statistics.median(values) if values else math.nan


def solved(samples, solver, tolerance):
    """(iterations, seconds) of the samples that the solver solved."""
    found = [s["outcomes"][solver]["cold"][tolerance] for s in samples]
    return [(entry[1], entry[2]) for entry in found if entry[0]]


def steadiness(samples, solver):
    return [s["outcomes"][solver]["jump"] for s in samples if s["outcomes"][solver]["jump"] >= 0]


def excess(samples, solver):
    """Norms of the impulses over the least of all solvers that solved the sample."""
    ratios = []
    for s in samples:
        norms = [o["norm"] for o in s["outcomes"].values() if o["cold"][1][0]]
        own = s["outcomes"][solver]
        if own["cold"][1][0] and norms and min(norms) > 0:
            ratios.append(own["norm"] / min(norms))
    return ratios


def profile(samples, solver, tolerance=1):
    """The performance profile in processor time: shares of samples solved within a multiple of the least time."""
    ratios = []
    for s in samples:
        times = [o["cold"][tolerance][2] for o in s["outcomes"].values() if o["cold"][tolerance][0]]
        own = s["outcomes"][solver]["cold"][tolerance]
        if own[0] and times:
            ratios.append(own[2] / min(times))
    ratios.sort()
    xs, ys = [1.0], [sum(r <= 1.0 for r in ratios) / len(samples)]
    for i, ratio in enumerate(ratios):
        xs.append(max(ratio, 1.0))
        ys.append((i + 1) / len(samples))
    xs.append(1e4)
    ys.append(len(ratios) / len(samples))
    return xs, ys


def ranking(samples, tolerance=1):
    """Solvers, those that solve most first, then by the median time on what they solved."""
    rows = []
    for solver in solvers_of(samples):
        times = [seconds for _, seconds in solved(samples, solver, tolerance)]
        rows.append((solver, share_solved(samples, solver, tolerance), median(times)))
    return sorted(rows, key=lambda row: (-row[1], row[2] if math.isfinite(row[2]) else 1e9))

"""Comparison of arrays relative to their largest entry, with a message that says where they differ."""

import numpy as np


class Comparison:
    """Collects all mismatches of a model, so that one run shows them all."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.failures = []

    def close(self, name, ours, theirs, tolerance=None, scale=None):
        """|ours - theirs| <= tolerance * largest entry of theirs (or of `scale`, where a sum cancels)."""
        tolerance = tolerance or self.tolerance
        ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
        if ours.shape != theirs.shape:
            self.failures.append(f"{name}: shape {ours.shape} here, {theirs.shape} there")
            return
        if theirs.size == 0:
            return
        largest = np.max(np.abs(theirs if scale is None else scale))
        error = np.abs(ours - theirs)
        worst = np.unravel_index(np.argmax(np.where(np.isfinite(error), error, np.inf)), error.shape)
        if not error[worst] <= tolerance * largest:  # also when it is not a number
            place = tuple(int(i) for i in worst)
            relative = error[worst] / largest if largest > 0 else np.inf
            self.failures.append(
                f"{name}{list(place)}: {ours[worst]:.15g} here, {theirs[worst]:.15g} there, relative {relative:.2g}"
            )

    def fail(self, message):
        self.failures.append(message)

    def equal(self, name, ours, theirs):
        if ours != theirs:
            self.failures.append(f"{name}: {ours!r} here, {theirs!r} there")

    def finish(self):
        # The first of a name is enough to see what is wrong.
        seen, lines = set(), []
        for failure in self.failures:
            key = failure.split(":")[0].split("[")[0]
            if key not in seen:
                seen.add(key)
                lines.append(failure)
        assert not lines, f"{len(self.failures)} mismatches:\n  " + "\n  ".join(lines)

"""Your own solver against recorded problems: projected Gauss-Seidel in a few lines, judged by the same certificate.

python own_solver.py [FOLDER]     a folder with FCLIB or Siconos files; default: ../shared/problems
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import touchstone as ts

Vector = npt.NDArray[np.float64]


def gauss_seidel(problem: ts.ContactProblem, sweeps: int = 200) -> Vector:
    """One contact after another: step along its own rows, then project onto its cone (rows t1, t2, n)."""
    G, g, mu = problem.G, problem.g, problem.mu
    impulse = np.zeros(problem.nrow)
    for _ in range(sweeps):
        for first in range(0, problem.nrow, 3):
            rows = slice(first, first + 3)
            u = G[rows] @ impulse + g[rows]
            u[2] += mu[first] * np.hypot(u[0], u[1])  # De Saxce: makes the cone condition Coulomb's law
            step = impulse[rows] - u / np.trace(G[rows, rows])
            impulse[rows] = project(step, mu[first])
    return impulse


def project(x: Vector, mu: float) -> Vector:
    """Onto the cone |(x1, x2)| <= mu x3."""
    tangent = float(np.hypot(x[0], x[1]))
    if tangent <= mu * x[2]:
        return x
    if mu * tangent <= -x[2]:
        return np.zeros(3)
    normal = (mu * tangent + x[2]) / (1 + mu * mu)
    return np.array([mu * normal * x[0] / tangent, mu * normal * x[1] / tangent, normal])


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[3] / "shared" / "problems")
    files = sorted(folder.glob("*.hdf5")) + sorted(folder.glob("*.dat")) if folder.is_dir() else []
    problems = {file.stem: ts.load_problem(file) for file in files}
    if not problems:
        print(f"{folder} has no recorded problems: taking generated ones")
        problems = {"cube": ts.problems.cube([1.0, 0.2, 0.0]), "stack": ts.problems.box_stack(5)}
    print(f"{'problem':40} {'contacts':>8} {'mine: natv':>12} {'auto: natv':>12}")
    for name, problem in problems.items():
        if problem.nrow > 150 or set(problem.block_types) != {"coulomb"}:
            continue  # keep the example short
        mine = ts.residuals(problem, gauss_seidel(problem))
        auto = ts.solve(problem, "auto")
        print(f"{name[:40]:40} {problem.nblock:8d} {mine.natv:12.1e} {auto.residuals.natv:12.1e}")


main()

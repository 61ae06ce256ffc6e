"""Who takes part, and how one of them is run on one problem: a process with a time limit, on one processor."""

import json
import os
import subprocess
from dataclasses import dataclass, field

TOLERANCES = (1e-4, 1e-6, 1e-8)
CURVE = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # auto has no single sequence of iterates: runs to these instead
CERTIFIED = 10.0  # an answer counts if its natv is at most this many tolerances
DENSE_UP_TO = 60  # contacts: Siconos' Newton and ADMM are also measured with a dense matrix
ENDLESS = "max_iterations=200000"  # the time limit decides


@dataclass(frozen=True)
class Contestant:
    name: str
    words: str  # what the program calls it
    ours: bool
    patient: bool = False  # gets the longer time limit


OURS = [
    Contestant("auto", "auto", True, True),
    Contestant("auto/data", "auto,validation=data", True, True),
    Contestant("nbgs", f"nbgs,{ENDLESS}", True),
    Contestant("ncp-pgs", f"ncp-pgs,{ENDLESS}", True),
    Contestant("ncp-staggered", f"ncp-staggered,{ENDLESS}", True),
    Contestant("ncp-admm", f"ncp-admm,{ENDLESS}", True),
    Contestant("ncp-prox", f"ncp-prox,{ENDLESS}", True),
    Contestant("ncp-newton", "ncp-newton", True),
    Contestant("ncp-ipm", "ncp-ipm", True),
]
SICONOS = [
    Contestant("NSGS", "NSGS", False, True),
    *(Contestant(n, n, False) for n in ("NSGS_FULL", "NSGS_PLI", "NSGS_QUARTIC", "NSN_AC", "NSN_AC_HYB", "ADMM")),
]


@dataclass
class Answer:
    """Of one contestant on one problem."""

    contacts: int = 0
    solves: dict = field(default_factory=dict)  # by tolerance
    history: list = field(default_factory=list)  # [iteration, natv] at the last tolerance
    memory: dict = field(default_factory=dict)

    def seconds(self, tolerance):
        """None if the answer does not count."""
        solve = self.solves.get(tolerance)
        if not solve or not solve["claimed"] or solve["natv"] is None or solve["natv"] > CERTIFIED * tolerance:
            return None
        return solve["seconds"]


def run(program, words, processor, wall_limit):
    """The answer as far as it was printed before the process ended, of its own or at its limit."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    process = subprocess.Popen(
        [str(program), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
    )
    try:
        output, _ = process.communicate(timeout=wall_limit)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    answer = Answer()
    for line in output.splitlines():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue  # cut off by the limit
        if "contacts" in data:
            answer.contacts = data["contacts"]
        elif "tolerance" in data:
            answer.solves[data["tolerance"]] = data
        elif "history" in data:
            answer.history = data["history"]
        else:
            answer.memory = data
    return answer


def faster(a, b):
    """Of two answers with different storage of the matrix, for each tolerance the one that counts and is faster."""
    best = Answer(a.contacts, dict(a.solves), a.history)
    for tolerance in b.solves:
        if b.seconds(tolerance) is not None and (
            best.seconds(tolerance) is None or b.seconds(tolerance) < best.seconds(tolerance)
        ):
            best.solves[tolerance] = b.solves[tolerance]
            best.history = b.history
    return best


def solve(contestant, problem, options):
    """Runs a contestant on a file."""
    limit = options.patience if contestant.patient else options.limit
    wall = 60.0 + 40.0 * limit
    if contestant.ours:
        program = options.build / "bin" / "bench_fclib_touchstone"
        tolerances = CURVE if contestant.name == "auto" else TOLERANCES
        return run(program, ["file", problem, limit, contestant.words, *tolerances], options.processor, wall)
    program = options.build / "bin" / "bench_fclib_siconos"
    words = [problem, limit, contestant.words, *TOLERANCES]
    answer = run(program, words, options.processor, wall)
    if contestant.name.startswith(("NSN", "ADMM")) and 0 < answer.contacts <= DENSE_UP_TO:
        words[2] += "/dense"
        answer = faster(answer, run(program, words, options.processor, wall))
    return answer


def scale(kind, contacts, options):
    """auto on a generated problem, to 1e-6."""
    program = options.build / "bin" / "bench_fclib_touchstone"
    words = [kind, contacts, options.scaling_limit, "auto", 1e-6]
    return run(program, words, options.processor, 60.0 + 40.0 * options.scaling_limit)

"""What Python costs: the step loop beyond the native step, and a batch against the same batch in C++.

    ./run bench python

Loop: `for _ in range(n): sim.step()` against one call `sim.step(n)`, which loops in C++; the difference a call is the
overhead. Batch: 256 humanoids, one call a step from Python and from C++ (bench/python/native.cpp), in turns. Medians
over rounds, processor time in the loop; what else runs on the machine hits both alike.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import touchstone as ts

BUILD = Path(os.environ.get("TOUCHSTONE_BUILD", Path(__file__).resolve().parents[2] / "build" / "release"))
ROUNDS = 61
LOOP_LIMIT = 2e-6  # s a call
BATCH_LIMIT = 0.03  # share of the native throughput
WORLDS, STEPS = 256, 20


def loop_overhead(scene: str, steps: int) -> tuple[float, float]:
    """Seconds a step natively, and seconds a call beyond it."""
    sim = ts.scene(scene).simulator()
    sim.step(500)
    snapshot = sim.save()
    native, looped = [], []
    for _ in range(ROUNDS):
        for times, calls in ((native, 1), (looped, steps)):
            sim.restore(snapshot)
            step = sim.step
            begin = time.process_time()
            for _ in range(calls):
                step(steps // calls)
            times.append((time.process_time() - begin) / steps)
    return statistics.median(native), statistics.median(b - a for a, b in zip(native, looped, strict=True))


def python_batch(worlds: int, steps: int) -> float:
    """Steps of a world a second, one call from Python a step."""
    scene = ts.scene("humanoid")
    batch = ts.Batch(scene.model, worlds, dt=scene.simulator().dt)
    batch.q[:] = scene.start.q
    batch.control[:] = scene.control
    batch.forget()
    batch.step(50)
    begin = time.perf_counter()
    for _ in range(steps):
        batch.step()
    return worlds * steps / (time.perf_counter() - begin)


def native_batch(worlds: int, steps: int) -> float:
    command = [BUILD / "bin" / "bench_python_native", str(worlds), str(steps)]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rate"])


def main() -> int:
    failed = False
    print(f"{'step loop':22} {'native step':>12} {'overhead a call':>16}")
    for scene, steps in (("pendulum", 20000), ("double-pendulum", 20000), ("quadruped:flat", 500)):
        native, overhead = loop_overhead(scene, steps)
        failed |= overhead > LOOP_LIMIT
        print(f"{scene:22} {1e6 * native:9.2f} us {1e6 * overhead:13.3f} us")
    print(f"limit {1e6 * LOOP_LIMIT:.0f} us")
    pairs = [(native_batch(WORLDS, STEPS), python_batch(WORLDS, STEPS)) for _ in range(5)]
    native, ours = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    loss = 1.0 - statistics.median(p[1] / p[0] for p in pairs)
    failed |= loss > BATCH_LIMIT
    print(f"{WORLDS} humanoids: {native:.0f} world steps/s in C++, {ours:.0f} from Python: {-100 * loss:+.1f} %")
    print(f"limit {100 * BATCH_LIMIT:.0f} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

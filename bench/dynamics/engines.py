"""The programs under measurement, one process each, pinned to one processor."""

import os
import subprocess


class Engine:
    def __init__(self, name, program, processor):
        self.name = name
        self.process = subprocess.Popen(
            [str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"{self.name}: {' '.join(map(str, words))}: {answer or 'the program ended'}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    return {
        "processor": names[0] if names else "unknown",
        "processors": os.cpu_count(),
        "system": " ".join(os.uname()[i] for i in (0, 2)),
        "compiler": compiler[0] if compiler else "unknown",
        "load": os.getloadavg()[0],
    }

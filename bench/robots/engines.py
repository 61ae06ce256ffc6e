"""The programs under measurement, one process each, pinned to one processor."""

import json
import os
import subprocess


class Engine:
    def __init__(self, name, program, processors):
        self.name = name
        self.process = subprocess.Popen(
            [str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
        )

    def ask(self, *words):
        question = " ".join(map(str, words))
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: {question}: the program ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {question}: {answer['error']}")
        return answer["result"]

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
        "compiler": compiler[0] if compiler else "unknown",
        "load": os.getloadavg()[0],
    }

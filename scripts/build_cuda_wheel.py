#!/usr/bin/env python3
"""Builds the wheel touchstone-sim-cuda: the CUDA library that Batch(..., device="cuda") loads.

    python3 -m venv build/venv-cuda && build/venv-cuda/bin/pip install -r scripts/requirements-cuda.txt
    python3 scripts/build_cuda_wheel.py [--nvcc NVCC] [--architectures 80,90] [--output build/dist]

nvcc is that of --nvcc, of build/venv-cuda (the Python package index has it), or of the PATH. CUDA's runtime is linked
statically, so that the wheel needs nothing but a driver. Code for the newest of the architectures is kept in a form
that drivers translate for newer ones.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = "py3-none-linux_x86_64"


def find_nvcc(given: str) -> Path:
    if given:
        if not os.access(given, os.X_OK):
            sys.exit(f"build_cuda_wheel: --nvcc {given}: no such program")
        return Path(given)
    for found in sorted((ROOT / "build" / "venv-cuda").rglob("bin/nvcc")):
        return found
    program = shutil.which("nvcc")
    if program is None:
        sys.exit("build_cuda_wheel: no nvcc; put scripts/requirements-cuda.txt into build/venv-cuda, or give --nvcc")
    return Path(program)


def version() -> str:
    text = (ROOT / "src" / "base" / "version.hpp").read_text()
    found = re.search(r'TOUCHSTONE_VERSION "([0-9.]+)"', text)
    if found is None:
        sys.exit("build_cuda_wheel: src/base/version.hpp names no version")
    return found.group(1)


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def code_flags(architectures: list[str]) -> list[str]:
    flags = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    return [*flags, f"-gencode=arch=compute_{architectures[-1]},code=compute_{architectures[-1]}"]


def embed_sources(build: Path) -> Path:
    """The headers of src/gpu as a source file: the library compiles them again for a model (docs/gpu.md)."""
    folder, output, listed = ROOT / "src" / "gpu", build / "embedded_sources.cpp", build / "embedded_sources.txt"
    files = sorted(str(f) for f in folder.rglob("*") if f.suffix in (".hpp", ".cuh"))
    listed.write_text("\n".join(files) + "\n")
    values = {"ROOT": folder, "LIST": listed, "OUTPUT": output, "HEADER": "gpu/embedded_sources.hpp"}
    values |= {"FUNCTION": "embedded_sources", "NAMESPACE": "touchstone::gpu"}
    script = ROOT / "cmake" / "embed.cmake"
    run(["cmake", *[f"-DEMBED_{name}={value}" for name, value in values.items()], "-P", str(script)])
    return output


def build_library(nvcc: Path, architectures: list[str], jobs: int, build: Path) -> Path:
    """All sources of src/gpu as one shared library, of which one function is visible."""
    include = build / "include" / "touchstone"
    include.mkdir(parents=True, exist_ok=True)
    link = include / "gpu"
    if not link.exists():
        link.symlink_to(ROOT / "src" / "gpu")
    common = ["-std=c++20", "-O3", f"-I{build / 'include'}", "-Xcompiler", "-fPIC,-fvisibility=hidden"]
    kernels = ["--expt-relaxed-constexpr", "--use_fast_math", *code_flags(architectures)]
    sources = sorted((ROOT / "src" / "gpu").glob("*.cpp")) + sorted((ROOT / "src" / "gpu" / "cuda").glob("*.cu"))
    sources.append(embed_sources(build))

    def compile_one(source: Path) -> str:
        target = build / (source.name + ".o")
        extra = kernels if source.suffix == ".cu" else []
        run([str(nvcc), *common, *extra, "-c", str(source), "-o", str(target)])
        print(f"  {source.relative_to(ROOT)}", flush=True)
        return str(target)

    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(compile_one, sources))
    library = build / "libtouchstone_cuda.so"
    # nvcc of the package index has its libraries beside it, where its own profile does not look.
    folders = [f for f in (nvcc.parent.parent / "lib", nvcc.parent.parent / "lib64") if f.is_dir()]
    run([str(nvcc), "-shared", "-cudart", "static", *[f"-L{f}" for f in folders], *objects, "-o", str(library), "-ldl"])
    return library


def write_wheel(library: Path, output: Path) -> Path:
    name, info = "touchstone_sim_cuda", f"touchstone_sim_cuda-{version()}.dist-info"
    metadata = (
        "Metadata-Version: 2.1\nName: touchstone-sim-cuda\n"
        f"Version: {version()}\nSummary: CUDA backend of touchstone-sim\nRequires-Python: >=3.9\n"
        f"Requires-Dist: touchstone-sim=={version()}\n"
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: build_cuda_wheel\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    files = {
        "touchstone_cuda/__init__.py": (ROOT / "python" / "touchstone_cuda" / "__init__.py").read_bytes(),
        "touchstone_cuda/libtouchstone_cuda.so": library.read_bytes(),
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": wheel.encode(),
        f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    record = ""
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    output.mkdir(parents=True, exist_ok=True)
    target = output / f"{name}-{version()}-{TAG}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="", help="the compiler")
    parser.add_argument("--architectures", default="80,86,89,90,100,120", help="compute capabilities, without dots")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="sources that are compiled at a time")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "dist", help="folder for the wheel")
    arguments = parser.parse_args()
    architectures = sorted(arguments.architectures.split(","), key=int)
    build = ROOT / "build" / "cuda-wheel"
    build.mkdir(parents=True, exist_ok=True)
    try:
        library = build_library(find_nvcc(arguments.nvcc), architectures, arguments.jobs, build)
    except RuntimeError as error:
        sys.exit(f"build_cuda_wheel: {error}")
    print(write_wheel(library, arguments.output))


if __name__ == "__main__":
    main()

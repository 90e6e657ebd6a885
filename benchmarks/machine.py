"""The machine and the versions a benchmark ran on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_PACKAGES = ("penstock-streams", "numba", "numpy", "pyarrow", "polars", "duckdb")


@dataclass(frozen=True, slots=True)
class Machine:
    """What a figure depends on besides the program."""

    processor: str
    cores: int
    memory_gb: int
    system: str
    versions: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions)
        return f"{self.processor}, {self.cores} cores, {self.memory_gb} GB, {self.system}; {versions}"

    def to_json(self) -> dict[str, object]:
        return {"processor": self.processor, "cores": self.cores, "memory_gb": self.memory_gb, "system": self.system}


def this_machine(packages: Sequence[str] = ()) -> Machine:
    """The machine this process runs on, with the versions of further packages."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = (("python", platform.python_version()), *((name, _version(name)) for name in (*_PACKAGES, *packages)))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    system = f"{platform.system()} {platform.release()}"
    return Machine(_processor(), cores, round(memory_bytes / 2**30), system, versions)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"

"""Python workers that start warm: the daemon that Spark forks, run as `python -m penstock.spark.worker_daemon`.

Spark's own daemon imports nothing before it forks: every new worker spends a second or two on imports, and after each
task collects garbage over all that was imported (20-110 ms).  This one imports first, freezes what is there, and forks
then; docs/design/0010-micro-batch-cost.md has the figures.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

# Forking is only safe while there is one thread: OpenBLAS and Arrow's allocator must not start theirs before it.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

_PRELOADED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "asyncio",  # numba's, as soon as there is a kernel
    "penstock.connectors.trace.trace",
    "penstock.kernels.codegen.prefetch",
    "penstock.kernels.windows.count.count_window",
    "penstock.operators.factory",
    "penstock.runtime.replica.task",
    "penstock.runtime.sources.raw_rows",
    "penstock.spark.executors.worker",
    "penstock.spark.sources.driver_stream",
)


class FrozenCollector:
    """Stands for the module gc in Spark's daemon, which collects after each task; the first few times it also freezes.

    A worker's first tasks import and compile what the application needs: frozen with the rest, it is not walked again.
    """

    def __init__(self, collects_all: Callable[[], bool] = lambda: False, warm_tasks: int = 3) -> None:
        self._collects_all, self._tasks_until_frozen = collects_all, warm_tasks

    def collect(self) -> int:
        """Collects garbage, cheaply but for once after another run or fusion began."""
        if self._collects_all():
            return 0
        if self._tasks_until_frozen > 0:
            self._tasks_until_frozen -= 1
            found = gc.collect()
            gc.freeze()
            return found
        return gc.collect()


def leave_archives(paths: list[str]) -> list[str]:
    """The import paths without the archives of pyspark that lie inside an installed pyspark, which is on the paths too.

    A new worker makes Python read the archive's directory again once per package in it, which took 0.4 s or more.
    """
    installed = {str(Path(path) / "pyspark" / "python" / "lib") for path in paths if (Path(path) / "pyspark").is_dir()}
    return [path for path in paths if not (path.endswith(".zip") and str(Path(path).parent) in installed)]


def preload() -> None:
    """Imports what every element needs, and takes it out of the garbage collector's sight."""
    for name in _PRELOADED:
        importlib.import_module(name)
    importlib.import_module("pyarrow").array([])  # the first array of Python objects has Arrow import pandas
    _start_compiler()
    gc.collect()
    gc.freeze()


def _start_compiler() -> None:
    """Has numba read what it knows of types and machine code, which takes as long as all of penstock's imports."""
    importlib.import_module("numba").njit("int64(int64)")(lambda number: number + 1)


def thread_count() -> int:
    """Threads of this process, those of native libraries included (1 where the system does not say)."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def main() -> None:
    """Preloads, then serves as Spark's worker daemon until Spark closes its standard input."""
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
    sys.path[:] = leave_archives(sys.path)
    for path in set(sys.path_importer_cache) - set(sys.path):
        del sys.path_importer_cache[path]
    preload()
    if thread_count() > 1:
        print(f"{thread_count()} threads before the first fork; a library started them at import", file=sys.stderr)
    daemon = importlib.import_module("pyspark.daemon")
    garbage = importlib.import_module("penstock.state.memory.garbage").GARBAGE
    garbage.expect_collector()
    daemon.gc = FrozenCollector(garbage.collect_after_task)  # type: ignore[attr-defined]
    daemon.manager()


if __name__ == "__main__":
    main()

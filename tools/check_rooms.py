"""`make lint`: how many modules a folder has, how many share a name, and that only what needs Spark is in `spark`."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

MOST_MODULES = 15
MOST_NAMESAKES = 3
MAY_BE_SHARED = {"command", "source", "report"}
ROOTS = (Path("src/penstock"), Path("benchmarks"))
SPARK = Path("src/penstock/spark")
WITHOUT_PYSPARK = {"worker_daemon", "offset_log"}  # run before pyspark is there; read Spark's files alone
_PYSPARK = re.compile(r"^\s*(from|import) (pyspark|py4j)\b", re.MULTILINE)


def problems() -> list[str]:
    modules = [path for root in ROOTS for path in sorted(root.rglob("*.py")) if path.stem != "__init__"]
    return [*_full_folders(modules), *_namesakes(modules), *_strangers_in_spark(modules), *_rooms_without_a_word()]


def _full_folders(modules: list[Path]) -> list[str]:
    by_folder = defaultdict(list)
    for path in modules:
        by_folder[path.parent].append(path)
    return [
        f"{folder} has {len(own)} modules; at most {MOST_MODULES}: make sub-folders"
        for folder, own in by_folder.items()
        if len(own) > MOST_MODULES
    ]


def _namesakes(modules: list[Path]) -> list[str]:
    by_name = defaultdict(list)
    for path in modules:
        by_name[path.stem].append(str(path))
    return [
        f"{len(own)} modules are called {name}.py; at most {MOST_NAMESAKES} may be: {', '.join(own)}"
        for name, own in by_name.items()
        if len(own) > MOST_NAMESAKES and name not in MAY_BE_SHARED
    ]


def _strangers_in_spark(modules: list[Path]) -> list[str]:
    return [
        f"{path} imports neither pyspark nor py4j; only what talks to Spark belongs into penstock.spark"
        for path in modules
        if path.is_relative_to(SPARK) and path.stem not in WITHOUT_PYSPARK and not _PYSPARK.search(path.read_text())
    ]


def _rooms_without_a_word() -> list[str]:
    folders = {path.parent for root in ROOTS for path in root.rglob("*.py")}
    return [
        f"{folder} has no __init__.py with a docstring"
        for folder in sorted(folders)
        if not (folder / "__init__.py").is_file() or not (folder / "__init__.py").read_text().startswith('"""')
    ]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "Rooms KEPT")
    sys.exit(1 if found else 0)

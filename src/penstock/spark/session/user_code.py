"""Python workers that have imported the user's modules as they are now: Spark keeps workers for a whole session."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_GENERATION = "PENSTOCK_CODE_GENERATION"  # Spark has workers of their own for each set of environment variables
_NOT_THE_USERS = tuple(f"{path}{os.sep}" for path in (sys.prefix, sys.base_prefix, Path(__file__).resolve().parents[2]))

Version = tuple[int, int]  # time of the last change (ns) and bytes
_known: dict[str, dict[str, Version]] = {}  # by application of Spark: the files that its workers may have imported


def use_current_code(session: SparkSession) -> None:
    """Lets tasks run in new workers where a module of the user's has changed on disk since the session saw it first."""
    context: Any = session.sparkContext
    known = _known.setdefault(str(context.applicationId), {})
    files = user_files()
    if any(known.get(path, version) != version for path, version in files.items()):
        context.environment[_GENERATION] = str(int(context.environment.get(_GENERATION, "0")) + 1)
    known.update(files)


def user_files() -> dict[str, Version]:
    """The files of the loaded modules that are neither the interpreter's, nor installed, nor Penstock's."""
    found = {}
    for module in list(sys.modules.values()):
        # Not getattr(module, "__file__"): some import others when they are asked.  An entry may be None.
        file = getattr(module, "__dict__", {}).get("__file__")
        if not file or str(file).startswith(_NOT_THE_USERS):
            continue
        try:
            status = Path(file).stat()
        except OSError:
            continue
        found[str(file)] = (status.st_mtime_ns, status.st_size)
    return found

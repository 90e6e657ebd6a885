"""Spark's JVM with an archive of its classes: made from a real list, mapped by the next start, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = """
import json, sys, time
from pathlib import Path
from penstock.spark.session import class_archive, session
class_archive.LEAST_CLASSES = int(sys.argv[1])
folder = Path(sys.argv[2]) / "classes"

def opened():
    spark = session.spark_session("local[1]")
    launch = session._launches[spark]
    maps = Path(f"/proc/{launch.gateway.proc.pid}/maps").read_text()
    found = {"rows": spark.range(3).count(), "mapped": str(launch.archive.file) in maps,
             "draft": launch.archive.draft.is_file(), "path": launch.archive.class_path}
    session.close_session(spark)
    return found, launch.archive

first, archive = opened()
deadline_s = time.monotonic() + float(sys.argv[3])
while archive.names.exists() and time.monotonic() < deadline_s:
    time.sleep(0.1)
first["left"] = sorted(path.suffix for path in folder.iterdir())
if not archive.file.exists():
    archive.file.write_bytes(b"not an archive")
second, _ = opened()
print(json.dumps([first, second]))
"""


def sessions(tmp_path: Path, least_classes: int, patience_s: float) -> tuple[dict[str, Any], dict[str, Any]]:
    environment = {**os.environ, "PENSTOCK_CLASS_ARCHIVE": "on", "PENSTOCK_CACHE": str(tmp_path / "a cache")}
    arguments = [str(least_classes), str(tmp_path / "a cache"), str(patience_s)]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout.strip().splitlines()[-1])
    return first, second


def test_a_start_goes_on_with_an_archive_that_is_none(tmp_path: Path) -> None:
    first, second = sessions(tmp_path, 10**9, 0.0)
    assert first["draft"]
    assert "spark-core" in first["path"]
    assert first["left"] == []  # the list was too short, and nothing stays of it
    assert (first["rows"], second["rows"], second["mapped"]) == (3, 3, False)


@pytest.mark.long
def test_the_first_session_leaves_an_archive_and_the_next_one_maps_it(tmp_path: Path) -> None:
    first, second = sessions(tmp_path, 1000, 600.0)
    assert first["left"] == [".jsa"]
    assert not first["mapped"]
    assert (second["rows"], second["mapped"], second["draft"]) == (3, True, False)

"""quix-streams at `vwap_per_ticker` from the same topic: a process for each core, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
import venv
from pathlib import Path

from benchmarks.report import Show
from benchmarks.spark.kafka.peer import PeerRun
from benchmarks.spark.vwap.stock_tuples import Sums

VERSION = "3.28.1"
_IDLE_S = 15.0  # without messages, after which a process is done
_SCRIPT = Path(__file__).with_name("quix_process.py")


def quix_run(
    servers: str, topic: str, words: list[str], cores: int, limit_s: float, folder: Path, show: Show
) -> PeerRun | str:
    """All messages of the topic, shared by a consumer group; a sentence where quix-streams cannot be had."""
    python = environment(show)
    if python is None:
        return f"quix-streams: pip could not install version {VERSION}"
    numbers = folder / "quix-words.json"
    numbers.write_text(json.dumps(words))
    show(f"quix-streams, {cores} processes")
    group = f"quix-{uuid.uuid4().hex[:8]}"
    processes = [
        subprocess.Popen(
            [python, _SCRIPT, servers, topic, group, numbers, folder / f"quix-{core}", str(_IDLE_S), str(limit_s)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for core in range(cores)
    ]  # fmt: skip
    found = []
    for process in processes:
        try:
            found.append(process.communicate(timeout=limit_s + 60.0)[0])
        except subprocess.TimeoutExpired:
            process.kill()
            found.append(process.communicate()[0])
    if not all(text.strip() for text in found):
        return f"quix-streams: version {VERSION} failed"
    return together([json.loads(text.strip().splitlines()[-1]) for text in found])


def together(found: list[dict[str, float]]) -> PeerRun:
    """The processes of a group as one run: from the first message of any to the last."""
    own = [one for one in found if one["tuples"]]
    tuples = int(sum(one["tuples"] for one in own))
    seconds = max((one["end_s"] for one in own), default=0.0) - min((one["begin_s"] for one in own), default=0.0)
    sums = sum((Sums(int(o["results"]), int(o["mixed"]), o["vwap"], o["mean"]) for o in own), Sums())
    return PeerRun(f"quix-streams {VERSION}", tuples / seconds if seconds > 0 else None, tuples, sums)


def environment(show: Show) -> Path | None:
    """The Python of an environment with quix-streams, which is made where it is not there; None where it cannot be."""
    from tests.services.kafka_server import JARS

    folder = JARS.parent / f"quix-{VERSION}"
    python, done = folder / "bin" / "python", folder / "done"
    if done.is_file():
        return python
    show(f"installing quix-streams {VERSION} into an environment of its own")
    try:
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-q", f"quixstreams=={VERSION}"]
        subprocess.run(command, check=True, timeout=600, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError):
        return None
    done.write_text(VERSION)
    return python

"""Why a query stopped: one sentence out of what Spark says, which is pages of two languages' traces."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterable, Iterator

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from penstock.errors import InputError

_OWN = re.compile(r"\bpenstock\.[\w.]*\b[A-Z]\w*: (.+)")
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)*\w+(?:Error|Exception): (.+)", re.MULTILINE)
_FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
_FULL_FILE = re.compile(r"(?:No space left on device|Disk quota exceeded)[^\n']*: '([^'\n]+)'")
_ROOM_BYTES = 4 << 20
_LONGEST = 400

# What Spark says, and what it means to who runs the application.
_KNOWN = (
    ("python_streaming_source_runner|Python streaming (?:data )?source|PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR",
     "the process that reads the source died or failed"),
    ("ExecutorLostFailure", "executors died again and again while they ran the same task; see the cluster's logs"),
    ("Python worker exited unexpectedly|PythonWorkerException|Python worker process terminated",
     "a Python worker died again and again in the same task; was it out of memory?"),
    ("SparkContext was shut down|stopped SparkContext|All masters are unresponsive|Master removed our application",
     "Spark's cluster ended the application"),
)  # fmt: skip


def sentence_of(text: str, folders: Iterable[str] = ()) -> str:
    """The sentence for an error's whole text; `folders` are looked at where a disk is full and nobody said which.

    Penstock's own sentence goes first, wherever in the text it stands; it comes last where errors are chained.
    """
    if own := _OWN.findall(text):
        return _short(str(own[-1]))
    if _FULL.search(text):
        return _full_disk(text, folders)
    for pattern, meaning in _KNOWN:
        if re.search(pattern, text):
            return meaning
    causes = _CAUSE.findall(text)
    return _short(str(causes[-1]) if causes else text)


@contextlib.contextmanager
def told_if_spark_died() -> Iterator[None]:
    """One sentence where the JVM that runs Spark does not answer any more."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if isinstance(error, Py4JJavaError):  # it answered
            raise
        raise InputError(
            "Spark's JVM died; was the machine out of memory? Run again with the same checkpoint"
        ) from error


def _full_disk(text: str, folders: Iterable[str]) -> str:
    named = _FULL_FILE.search(text)
    full = [f"'{named[1]}'"] if named else [f"'{folder}'" for folder in folders if _is_full(folder)]
    where = f" at {', '.join(full)}" if full else ""
    return f"no space left on device{where}; free some room"


def _is_full(folder: str) -> bool:
    try:
        return shutil.disk_usage(folder).free < _ROOM_BYTES
    except OSError:
        return False


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."

"""Why a query stopped: one sentence out of what Spark says, which is pages of two languages' traces."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterable, Iterator

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from penstock.errors import InputError, OperatorError, PenstockError

_OWN = re.compile(r"\bpenstock\.[\w.]*\b[A-Z]\w*: (.+)")
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)*\w+(?:Error|Exception): (.+)", re.MULTILINE)
_FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
_FULL_FILE = re.compile(r"(?:No space left on device|Disk quota exceeded)[^\n']*: '([^'\n]+)'")
_LEAST_FREE_BYTES = 4 << 20
_LONGEST = 400
_RAISED = re.compile(r"\bpenstock\.errors\.(?!State|Stale|CorruptState)(\w+): (.+)")
_PYTHON = re.compile(r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)): ?(.*)$", re.MULTILINE)
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (\S+)', re.MULTILINE)
_NOT_THE_USERS = re.compile(r"^<|/site-packages/|/lib/python3|/src/penstock/|/pyspark/")

# What Spark says, and what it means to who runs the application.
_KNOWN = (
    ("python_streaming_source_runner|Python streaming (?:data )?source|PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR",
     "the process that reads the source died or failed"),
    ("ExecutorLostFailure", "executors died again and again while they ran the same task; see the cluster's logs"),
    ("Python worker exited unexpectedly|PythonWorkerException|Python worker process terminated",
     "a Python worker died again and again in the same task; was it out of memory?"),
    ("SparkContext was shut down|stopped SparkContext|All masters are unresponsive|Master removed our application",
     "Spark's cluster ended the application"),
    (r"spark\.driver\.maxResultSize",
     "what Spark adds to the results of its tasks exceeds spark.driver.maxResultSize; set it higher in the session"),
)  # fmt: skip


def stopped(error: BaseException | str, folders: Iterable[str] = ()) -> PenstockError:
    """The error to raise where a query stopped: ours as it was raised, else one that tells the cause."""
    carried = _carried(error)
    if carried is not None:
        return carried
    text = str(error)
    if raised := _RAISED.findall(text):
        name, sentence = raised[-1]
        return OperatorError(_short(sentence)) if name == OperatorError.__name__ else InputError(_short(sentence))
    users = None if _is_known(text) else _users_error(text)
    return users or InputError(f"the application stopped: {sentence_of(text, folders)}")


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
def check_spark_lives() -> Iterator[None]:
    """One sentence where the JVM that runs Spark does not answer any more."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if isinstance(error, Py4JJavaError):  # it answered
            raise
        raise InputError(
            "Spark's JVM died, perhaps since the machine was out of memory; run again with the same checkpoint"
        ) from error


def _carried(error: BaseException | str) -> PenstockError | None:
    """The first error of ours in a chain of causes."""
    seen: set[int] = set()
    while isinstance(error, BaseException) and id(error) not in seen:
        if isinstance(error, PenstockError):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__ or ""
    return None


def _is_known(text: str) -> bool:
    own = _OWN.search(text) or _FULL.search(text)
    return bool(own) or any(re.search(pattern, text) for pattern, _ in _KNOWN)


def _users_error(text: str) -> PenstockError | None:
    """What a function of the user's raised, with the line of it."""
    raised = [m for m in _PYTHON.finditer(text) if not m[1].startswith(("org.", "java.", "py4j.", "pyspark.", "Py4J"))]
    if not raised or "Traceback" not in text:
        return None
    last = raised[-1]
    frames = [f for f in _FRAME.finditer(text) if f.start() < last.start() and not _NOT_THE_USERS.search(f[1])]
    where = f" ({frames[-1][1].rsplit('/', 1)[-1]}:{frames[-1][2]}, in {frames[-1][3]})" if frames else ""
    name = last[1].rsplit(".", 1)[-1]
    return OperatorError(f"the application stopped: {_short(f'{name}: {last[2]}'.rstrip(': '))}{where}")


def _full_disk(text: str, folders: Iterable[str]) -> str:
    named = _FULL_FILE.search(text)
    full = [f"'{named[1]}'"] if named else [f"'{folder}'" for folder in folders if _is_full(folder)]
    where = f" at {', '.join(full)}" if full else ""
    return f"no space left on device{where}; free some space"


def _is_full(folder: str) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_FREE_BYTES
    except OSError:
        return False


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."

"""Why an application stopped: one sentence out of what Spark says, which is a page of Java and Python tracebacks."""

from __future__ import annotations

import re

from penstock.errors import InputError, OperatorError, PenstockError
from penstock.spark.quiet import one_sentence

# the last line of a traceback of ours, in a worker, in the driver's callback, or in Java's words around either
_OURS = re.compile(r"penstock\.errors\.(\w+): (.+)")
_PYTHON = re.compile(
    r"^(?:.*?: )?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)): ?(.*)$", re.MULTILINE
)
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (\S+)', re.MULTILINE)
_NOT_THE_USERS = re.compile(r"^<|/site-packages/|/lib/python3|/src/penstock/|/pyspark/")
_LONGEST = 400

_AGAIN = "start again from the checkpoint"
_KNOWN = (
    (r"No space left on device", f"the disk is full (no space left on device); make room and {_AGAIN}"),
    (r"Disk quota exceeded", f"the disk quota is exceeded; make room and {_AGAIN}"),
    (
        r"Python worker exited unexpectedly|Python worker crashed",
        f"a Python worker crashed (out of memory, killed, or a fault in a native library); {_AGAIN}",
    ),
    (
        r"ExecutorLostFailure",
        f"executors were lost too often (out of memory, or killed); give them more memory, or {_AGAIN}",
    ),
    (r"OutOfMemoryError", "Spark's JVM ran out of memory; lower micro_batch_tuples, or give the driver more memory"),
    (r"SparkContext (?:was|has been) (?:shut ?down|stopped)", "Spark was shut down while the application ran"),
)


def sentence_of(error: BaseException | str) -> PenstockError:
    """The error to raise: ours where Spark carried one along, else a short sentence about the cause."""
    found = _carried(error)
    if found is not None:
        return found
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        name, sentence = ours[-1]
        return _ours(name, _shortened(sentence))
    for pattern, sentence in _KNOWN:
        if re.search(pattern, text):
            return InputError(f"the application stopped: {sentence}")
    return _python_error(text) or InputError(f"the application stopped: {_shortened(one_sentence(text))}")


def _carried(error: BaseException | str) -> PenstockError | None:
    """The first error of ours in a chain of causes."""
    seen: set[int] = set()
    while isinstance(error, BaseException) and id(error) not in seen:
        if isinstance(error, PenstockError):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__ or ""
    return None


def _ours(name: str, sentence: str) -> PenstockError:
    """An error of the class that was raised, if that takes a sentence alone."""
    return OperatorError(sentence) if name == OperatorError.__name__ else InputError(sentence)


def _python_error(text: str) -> PenstockError | None:
    """What a function of the user's raised, with the line of it."""
    raised = [m for m in _PYTHON.finditer(text) if not m[1].startswith(("org.", "java.", "py4j.", "pyspark.", "Py4J"))]
    if not raised or "Traceback" not in text:
        return None
    last = raised[-1]
    frames = [f for f in _FRAME.finditer(text) if f.start() < last.start()]
    own = [f for f in frames if not _NOT_THE_USERS.search(f[1])]
    where = f" ({own[-1][1].rsplit('/', 1)[-1]}:{own[-1][2]}, in {own[-1][3]})" if own else ""
    name = last[1].rsplit(".", 1)[-1]
    return OperatorError(f"the application stopped: {_shortened(f'{name}: {last[2]}'.rstrip(': '))}{where}")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 4] + " ..."

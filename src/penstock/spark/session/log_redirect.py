"""Output of Spark, its JVM and py4j goes into a log file, so that the terminal has the user's alone."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from penstock.errors import InputError
from penstock.host.directories import temporary_directory

_RETENTION_S = 7 * 24 * 3600
# py4j reports every exception of a callback, which Penstock does itself; the two others repeat a raised error as JSON.
_NOISY = ("py4j", "DataFrameQueryContextLogger", "SQLQueryContextLogger")


def open_log(log_file: str | Path | None) -> Path:
    """The file that takes Spark's output: the one asked for, else a temporary one that is kept for a week."""
    path = Path(log_file) if log_file is not None else _fresh_log()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise InputError(f"Spark's log file '{path}' cannot be written: {error.strerror}; name another one") from None
    return path


def _fresh_log() -> Path:
    folder = Path(temporary_directory())
    for old in folder.glob("spark-*.log"):
        if old.stat().st_mtime < time.time() - _RETENTION_S:
            old.unlink(missing_ok=True)
    return folder / f"spark-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


def redirect_python_logs(log: Path) -> None:
    """Sends the Python side's own reports into the log as well."""
    for name in _NOISY:
        logger = logging.getLogger(name)
        for handler in logger.handlers[:]:
            logger.removeHandler(handler)
            handler.close()
        logger.addHandler(logging.FileHandler(log, delay=True))
        logger.propagate = False
    logging.getLogger().addFilter(_is_not_of_py4j)
    warnings.filterwarnings("ignore", module=r"pyspark\b.*")


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """A JVM that died is reported in a sentence; py4j logs its traces as the root."""
    return record.module not in ("java_gateway", "clientserver")


def launch_jvm(conf: SparkConf, log: Path, home: Path, *, verbose: bool) -> Any:
    """Starts Spark's JVM with its output in the log, and gives py4j's gateway to it; its `proc` is the process."""
    with log.open("ab") as file:
        output = {} if verbose else {"stdout": file, "stderr": file}
        try:
            return launch_gateway(conf, output)  # type: ignore[no-untyped-call]
        except (PySparkException, OSError, Py4JError) as error:
            reason = str(error) if verbose else last_words(log)
            raise InputError(f"Spark's JVM did not start with the Java in '{home}': {one_sentence(reason)}; its log is "
                             f"'{log}'") from error  # fmt: skip


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes started within, and for nothing after it."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def last_words(log: Path) -> str:
    """The last line of a log that names an error, shortened for a sentence."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()] if log.is_file() else []
    telling = [at for at, line in enumerate(lines) if re.search(r"Error|Exception|error:", line) and line[:3] != "at "]
    if not telling:
        return "it said nothing"
    at = telling[-1]
    # the virtual machine itself puts the reason on the line after
    return one_sentence(" ".join(lines[at : at + 2]) if lines[at].endswith("of VM") else lines[at])


def one_sentence(text: str) -> str:
    """The first line of an error's text without Java's class names, at most 200 characters long."""
    first = text.strip().splitlines()[0] if text.strip() else "no reason given"
    plain = re.sub(r"^(?:Caused by: |Exception in thread \S+ )?(?:[a-z]\w*\.)+[A-Z]\w*:\s*", "", first)
    return plain if len(plain) <= 200 else plain[:197] + "..."

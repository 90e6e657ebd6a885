"""What a user is told when a query stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.session import failures
from penstock.spark.session.failures import sentence_of

TRACE = """[STREAM_FAILED] Query [id = 1] terminated with exception: Traceback (most recent call last):
  File "worker.py", line 3, in commit
{error}

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2898)
"""


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "penstock.errors.StateFileError: writing the state log '/c/1.log' failed: no space left",
            "writing the state log '/c/1.log' failed: no space left",
        ),
        (
            "OSError: [Errno 28] No space left on device: '/out/.penstock/batch-1'",
            "no space left on device at '/out/.penstock/batch-1'; free some space",
        ),
        (
            "Caused by: java.io.EOFException\nPython worker exited unexpectedly (crashed)",
            "a Python worker died again and again in the same task; was it out of memory?",
        ),
        (
            "ExecutorLostFailure (executor 3 exited caused by one of the running tasks)",
            "executors died again and again while they ran the same task; see the cluster's logs",
        ),
        ("Job 3 cancelled because SparkContext was shut down", "Spark's cluster ended the application"),
    ],
)
def test_the_cause_is_told_without_the_traces(error: str, sentence: str) -> None:
    assert sentence_of(TRACE.format(error=error)) == sentence


def test_the_last_of_our_own_sentences_counts() -> None:
    text = "penstock.errors.InputError: first\nDuring handling ...\npenstock.errors.OperatorError: second\n"
    assert sentence_of(text) == "second"


def test_a_full_disk_that_nobody_named_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = TRACE.format(error="java.io.IOException: No space left on device")
    assert sentence_of(text, [str(tmp_path)]) == "no space left on device; free some space"
    monkeypatch.setattr(failures, "_LEAST_FREE_BYTES", 1 << 60)
    assert sentence_of(text, [str(tmp_path)]) == f"no space left on device at '{tmp_path}'; free some space"


def test_of_what_is_not_known_the_last_cause_is_told() -> None:
    text = "java.lang.RuntimeException: outer\nCaused by: org.apache.spark.SparkException: inner\n\tat x.y(z:1)\n"
    assert sentence_of(text) == "inner"


def test_what_is_not_known_is_shortened_to_one_line() -> None:
    told = sentence_of("strange\n" * 200)
    assert told.startswith("strange strange")
    assert len(told) < 410
    assert "\n" not in told

"""A page of tracebacks becomes the one error that is raised."""

from __future__ import annotations

import pytest

from penstock.errors import InputError, OperatorError, PenstockError
from penstock.spark.session.failures import stopped

QUERY = """

=== Streaming Query ===
Identifier: [id = 376d7c2a, runId = 01aabe39]
Current Committed Offsets: {RateStreamV2[rowsPerSecond=100]: 0}

Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink, 376d7c2a, [checkpointLocation=/c], Append
"""
DRIVER = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/env/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
  File "/env/lib/python3.11/site-packages/pyspark/sql/utils.py", line 163, in call
    self.func(DataFrame(jdf, wrapped_session_jdf), batch_id)
"""
WORKER = (
    DRIVER
    + """pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/home/me/src/penstock/element/operators/aggregate.py", line 12, in process
    value = function(values)
  File "/home/me/median.py", line 7, in median
    return statistics.median(values)
  File "/usr/lib/python3.11/statistics.py", line 460, in median
    raise StatisticsError("no median for empty data")
"""
)
CRASH = (
    DRIVER
    + """py4j.protocol.Py4JJavaError: An error occurred while calling o343.getResult.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent
failure: Lost task 0.3 in stage 3.0 (TID 9) (127.0.0.1 executor driver): org.apache.spark.SparkException: [BROKEN]
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
Caused by: java.io.EOFException
"""
)


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        (
            WORKER + "penstock.errors.InputError: source 'a' needs \"x\": got y; did you mean 'z'?" + QUERY,
            InputError,
            "source 'a' needs \"x\": got y; did you mean 'z'?",
        ),
        (DRIVER + "penstock.errors.OperatorError: operator 'm' fails" + QUERY, OperatorError, "operator 'm' fails"),
        (
            WORKER + "statistics.StatisticsError: no median for empty data" + QUERY,
            OperatorError,
            "the application stopped: StatisticsError: no median for empty data (median.py:7, in median)",
        ),
        (
            DRIVER + '  File "/home/me/app.py", line 23, in give\n    d[k]\nKeyError: \'gone\'' + QUERY,
            OperatorError,
            "the application stopped: KeyError: 'gone' (app.py:23, in give)",
        ),
        (
            CRASH,
            InputError,
            "the application stopped: a Python worker died again and again in the same task; was it out of memory?",
        ),
        (
            WORKER + "OSError: [Errno 28] No space left on device: '/c/logs'" + QUERY,
            InputError,
            "the application stopped: no space left on device at '/c/logs'; free some space",
        ),
        (
            WORKER + "penstock.errors.StateFileError: writing '/c' failed" + QUERY,
            InputError,
            "the application stopped: writing '/c' failed",
        ),
        ("org.apache.spark.SparkException: odd\n\tat x.y", InputError, "the application stopped: odd"),
    ],
)  # fmt: skip
def test_the_cause_is_found(text: str, kind: type[PenstockError], sentence: str) -> None:
    error = stopped(text)
    assert type(error) is kind
    assert str(error) == sentence


def test_an_error_of_ours_in_the_chain_is_given_as_it_is() -> None:
    ours = OperatorError("operator 'm' fails")
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("Spark's own") from ours
    assert stopped(raised.value) is ours


def test_sentences_stay_short() -> None:
    assert len(str(stopped("x" * 10_000))) < 450
    assert len(str(stopped("penstock.errors.InputError: " + "y" * 10_000))) < 450

"""How many bytes each task may send to the driver, so that no micro-batch exceeds what Spark brings there."""

from __future__ import annotations

from penstock.plan.configuration import Configuration

MOST_BYTES = 64 << 20  # of a micro-batch: files are no slower from there on, and the JVM need not hold it
_LIMIT_PARTS = 4  # Spark counts what it adds to each result, too
_SIGN = "spark.driver.maxResultSize"


class ResultShare:
    """Shares the driver's limit (None: there is none) between tasks.

    How many tasks a source has is Spark's matter, and known from the reports of earlier batches.  A batch that exceeds
    the limit nevertheless runs again, with all results in files.
    """

    def __init__(self, limit_bytes: int | None) -> None:
        self._bytes = MOST_BYTES if limit_bytes is None else min(MOST_BYTES, limit_bytes // _LIMIT_PARTS)
        self._tasks = 1

    def task_bytes(self, configuration: Configuration) -> int:
        """The share of one task of the next micro-batch."""
        return self._bytes // max(self._tasks, sum([element.replicas for element in configuration.elements]))

    def note(self, tasks: int) -> None:
        """A micro-batch had so many tasks."""
        self._tasks = max(self._tasks, tasks)

    def lower(self) -> None:
        """A micro-batch exceeded the limit."""
        self._bytes //= 2

    def is_exceeded(self, error: Exception) -> bool:
        """Whether that is why a micro-batch failed."""
        return _SIGN in str(error)

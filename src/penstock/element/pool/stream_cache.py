"""Pools and levels of a worker process that wait for the next task of their `elastic_map`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from penstock.element.pool.stream import ElasticStream

_MOST = 4  # each has up to `max_threads` threads and whatever clients the function keeps


class StreamCache:
    """Those used last.  Others are closed: nothing tells a worker that an `elastic_map` will not come again."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._streams: dict[str, ElasticStream] = {}  # by `elastic_map`, that used last at the end

    def run(
        self,
        identity: str,
        function: Callable[..., Any],
        make: Callable[[], ElasticStream],
        batches: Iterator[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        """Outputs of a task, by the task's own copy of the function: Spark counts only in that one's accumulators."""
        # Taken out while it is in use: a task that fails leaves nothing of its own to the next.
        stream = self._streams.pop(identity, None) or make()
        stream.calls.function = function
        try:
            yield from stream.run(batches)
        except BaseException:  # the consumer's end of interest, too
            stream.pool.close()
            raise
        self._streams[identity] = stream
        while len(self._streams) > self._most:
            self._streams.pop(next(iter(self._streams))).pool.close()

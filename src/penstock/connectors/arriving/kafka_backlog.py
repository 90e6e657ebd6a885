"""What waits in the topics of a user's DataFrame from Kafka, by the newest offsets that Spark tells of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

_KAFKA = "Kafka"


class TopicWaiting:
    """Of other streams nothing is known.

    Spark tells of a micro-batch that is over what was there when it was planned; what came since is taken to have come
    at the rate between the last two.  A tuple is as many offsets as it was so far: a DataFrame may leave some out.
    """

    arrives = True

    def __init__(self) -> None:
        self.may_tell = True  # until its source is seen to be another one
        self._newest: tuple[float, int] | None = None  # the moment, and the offsets that were there
        self._rate_s: float | None = None  # offsets in a second
        self._offsets = self._tuples = 0  # taken since the start

    def tell(self, progress: Mapping[str, Any], line: int) -> None:
        """What Spark reports of a trigger, in which the source has a place."""
        sources = progress["sources"]
        if line >= len(sources) or not str(sources[line].get("description", "")).startswith(_KAFKA):
            self.may_tell = False
            return
        latest = sources[line].get("latestOffset")
        if not isinstance(latest, Mapping):
            return
        moment_s, there = datetime.fromisoformat(progress["timestamp"]).timestamp(), _total(latest)
        if self._newest is not None and moment_s > self._newest[0]:
            self._rate_s = max(there - self._newest[1], 0) / (moment_s - self._newest[0])
        if self._newest is None or moment_s > self._newest[0]:
            self._newest = moment_s, there

    def waiting(self, before: Any, after: Any, tuples: int, now_s: float) -> float | None:
        if self._newest is None or not isinstance(after, Mapping):
            return None
        if isinstance(before, Mapping):
            self._offsets, self._tuples = self._offsets + _total(after) - _total(before), self._tuples + tuples
        if self._rate_s is None or not self._offsets:
            return None
        there = self._newest[1] + self._rate_s * max(now_s - self._newest[0], 0.0)
        return max(there - _total(after), 0.0) * self._tuples / self._offsets


def _total(offsets: Mapping[str, Any]) -> int:
    """Of all partitions of all topics.

    >>> _total({"trades": {"0": 5, "1": 7}})
    12
    """
    return sum(int(offset) for own in offsets.values() for offset in own.values())

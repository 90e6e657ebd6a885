"""The time window as its definition reads: tuples are kept, every window is computed anew from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.kernels.windows.aggregates import AggregateCall

Value = float | int | bool | None


class Kept(NamedTuple):
    group: int
    event_us: int
    values: tuple[Value, ...]


class Output(NamedTuple):
    row: int
    group: int
    end_us: int
    results: tuple[Value, ...]


@dataclass
class ReferenceTimeWindow:
    size_us: int
    every_us: int
    calls: Sequence[AggregateCall]
    kept: list[Kept] = field(default_factory=list)
    clock_us: int | None = None

    def push(self, row: int, group: int, event_us: int, values: tuple[Value, ...]) -> list[Output] | None:
        """The outputs that one tuple triggers; None if it is late."""
        if self.clock_us is not None and event_us < self.clock_us // self.every_us * self.every_us:
            return None
        fired = []
        if self.clock_us is None or event_us > self.clock_us:
            ends = self._ends_held() if self.clock_us is not None else []
            for end in ends:
                if self.clock_us < end <= event_us:
                    fired += self._window(row, end)
            self.clock_us = event_us
            self.kept = [kept for kept in self.kept if kept.event_us >= event_us - self.size_us - self.every_us]
        self.kept.append(Kept(group, event_us, values))
        return fired

    def _ends_held(self) -> list[int]:
        ends = set()
        for kept in self.kept:
            first = kept.event_us // self.every_us * self.every_us + self.every_us
            ends.update(range(first, first + self.size_us, self.every_us))
        return sorted(ends)

    def _window(self, row: int, end: int) -> list[Output]:
        held: dict[int, list[Kept]] = {}
        for kept in self.kept:
            if end - self.size_us <= kept.event_us < end:
                held.setdefault(kept.group, []).append(kept)
        return [
            Output(row, group, end, tuple(aggregate(call, [kept.values for kept in tuples]) for call in self.calls))
            for group, tuples in held.items()
        ]


def aggregate(call: AggregateCall, tuples: Sequence[tuple[Value, ...]]) -> Value:
    """One aggregate over the tuples of one group in one window, in order of arrival."""
    if call.argument is None:
        return len(tuples)
    if call.function in ("first", "last"):
        return tuples[0 if call.function == "first" else -1][call.argument]
    values = [row[call.argument] for row in tuples if row[call.argument] is not None]
    if call.function == "count":
        return len(values)
    if len(values) < (2 if call.function == "stddev" else 1):
        return None
    if call.function in ("min", "max"):
        if any(math.isnan(value) for value in values):
            return math.nan
        return min(values) if call.function == "min" else max(values)
    if call.function == "stddev":
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    if call.function == "avg":
        return sum(values) / len(values)
    if call.function == "sum":
        total = sum(values)
        return total if isinstance(total, float) else (total + 2**63) % 2**64 - 2**63
    raise ValueError(call.function)

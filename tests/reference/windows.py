"""Windows one tuple at a time: which tuples each firing holds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.app.windows import MICROSECONDS, Window
from tests.reference.events import Row


class Held(NamedTuple):
    """A tuple in a window, with its group, the number the window runs on, and the segment it came in."""

    row: Row
    group: Hashable
    number: Any
    segment: int
    ordinal: int = 0  # among all tuples of the operator


class Firing(NamedTuple):
    """What a window holds when it fires; `end_us` for time windows."""

    held: list[Held]
    end_us: int | None = None


def number_of(row: Row, window: Window, schema: pa.Schema) -> Any:
    """The number a window runs on, None where the tuple has none: microseconds for time windows."""
    if window.on is None:
        return 0
    number, moment = row[window.on], pa.types.is_timestamp(schema.field(window.on).type)
    if number is None or number != number or number in (float("inf"), float("-inf")):
        return None
    if window.measure == "time" and not moment:
        return None if abs(float(number)) >= 2.0**62 / MICROSECONDS else round(float(number) * MICROSECONDS)
    if window.measure == "time":
        return number
    return number / MICROSECONDS if moment else float(number)


@dataclass
class Windows:
    """All windows of one operator: one per group where the window is per group, else one."""

    window: Window
    held: dict[Hashable, list[Held]] = field(default_factory=dict)
    seen: dict[Hashable, int] = field(default_factory=dict)
    clock_us: int | None = None
    segment: int = 0
    tuples: int = 0

    def on_tuple(self, row: Row, group: Hashable, number: Any) -> list[Firing] | None:
        """The firings that a tuple causes; None if it is late."""
        owner = group if self.window.per_group and self.window.measure != "punctuation" else None
        self.tuples += 1
        new = Held(row, group, number, self.segment, self.tuples)
        if self.window.measure == "time":
            return self._on_time(new)
        held = self.held.setdefault(owner, [])
        self.seen[owner] = self.seen.get(owner, 0) + 1
        if self.window.measure == "punctuation":
            held.append(new)
            return []
        if self.window.measure == "count":
            return self._on_count(held, new, self.seen[owner])
        return self._on_delta(held, new, self.seen[owner])

    def on_mark(self) -> list[Firing]:
        """The firings that a punctuation causes."""
        self.segment += 1
        if self.window.measure != "punctuation":
            return []
        held = self.held.setdefault(None, [])
        held[:] = [h for h in held if h.segment >= self.segment - self.window.size]
        fires = bool(held) and self.segment % self.window.every == 0
        return _per_owner([Firing(list(held))], self.window.per_group) if fires else []

    def at_end(self) -> list[Firing]:
        """What is fired at the end: time windows at each end to come, tumbling ones by the age of what they hold."""
        if self.window.measure == "time":
            held = self.held.setdefault(None, [])
            size, every = int(self.window.size), int(self.window.every)
            ends = {h.number // every * every + every + step for h in held for step in range(0, size, every)}
            clock_us = self.clock_us or 0
            left = sorted(end for end in ends if end > clock_us // every * every)
            inside = [Firing([h for h in held if end - size <= h.number < end], end) for end in left]
            return _per_owner(inside, self.window.per_group)
        if self.window.kind != "tumbling":
            return []
        newest = [[h for h in held if self._is_open(h)] for held in self.held.values()]
        return [Firing(held) for held in sorted(filter(None, newest), key=lambda held: held[0].ordinal)]

    def _is_open(self, held: Held) -> bool:
        """Whether it came since the last punctuation, where windows go by these."""
        return self.window.measure != "punctuation" or held.segment == self.segment

    def _on_count(self, held: list[Held], new: Held, seen: int) -> list[Firing]:
        held.append(new)
        if self.window.kind == "tumbling":
            if len(held) < self.window.size:
                return []
            full = list(held)
            held.clear()
            return [Firing(full)]
        del held[: -int(self.window.size)]
        return [Firing(list(held))] if seen % self.window.every == 0 else []

    def _on_delta(self, held: list[Held], new: Held, seen: int) -> list[Firing]:
        delta = self.window.size
        if self.window.kind == "tumbling":
            full = list(held) if held and abs(new.number - held[0].number) > delta else []
            if full:
                held.clear()
            held.append(new)
            return [Firing(full)] if full else []
        held.append(new)
        held[:] = [h for h in held if abs(new.number - h.number) <= delta]
        return [Firing(list(held))] if seen % self.window.every == 0 else []

    def _on_time(self, new: Held) -> list[Firing] | None:
        size, every = int(self.window.size), int(self.window.every)
        held = self.held.setdefault(None, [])
        if self.clock_us is not None and new.number < self.clock_us // every * every:
            return None
        fired = []
        if self.clock_us is not None:
            end = self.clock_us // every * every + every
            while end <= new.number and held:
                inside = [h for h in held if end - size <= h.number < end]
                fired += [Firing(inside, end)] if inside else []
                held[:] = [h for h in held if h.number >= end + every - size]
                end += every
        self.clock_us = new.number if self.clock_us is None else max(self.clock_us, new.number)
        held.append(new)
        return _per_owner(fired, self.window.per_group)


def _per_owner(firings: list[Firing], per_group: bool) -> list[Firing]:
    """Firings of the groups' own windows: groups in order of first appearance."""
    if not per_group:
        return firings
    own = []
    for held, end_us in firings:
        for group in dict.fromkeys(h.group for h in held):
            own += [Firing([h for h in held if h.group == group], end_us)]
    return own

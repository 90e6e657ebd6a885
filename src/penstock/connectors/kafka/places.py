"""How far a source has come in its topics, as values: the offset that Spark's log keeps, and how a batch is cut."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Partition = tuple[str, int]  # topic and number
_LEAST_MESSAGES = 32_768  # of a split: a reader needs some milliseconds to begin


@dataclass(frozen=True, slots=True)
class Place:
    """A partition of a topic: the offset where its reading began, and the one that comes next."""

    topic: str
    partition: int
    first: int
    next: int

    @property
    def name(self) -> Partition:
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Places:
    """All partitions, in the order in which they were found, which never changes; `ids` are those of the topics."""

    places: tuple[Place, ...] = ()
    ids: Mapping[str, str] | None = None

    @classmethod
    def of(cls, offset: Any) -> Places | None:
        """From what Spark's log has; None before the first micro-batch."""
        if offset is None:
            return None
        return cls(tuple(Place(*own) for own in offset["places"]), offset["ids"])

    def to_offset(self) -> dict[str, Any]:
        return {
            "places": [[p.topic, p.partition, p.first, p.next] for p in self.places],
            "ids": dict(self.ids or {}),
        }

    def with_new(self, begins: Mapping[Partition, int], ids: Mapping[str, str]) -> Places:
        """With partitions that were not there before, each from an offset on."""
        known = {place.name for place in self.places}
        new = [Place(*name, begin, begin) for name, begin in sorted(begins.items()) if name not in known]
        return Places((*self.places, *new), {**(self.ids or {}), **ids})

    def upto(self, ends: Mapping[Partition, int], most: int) -> Places:
        """At most so many offsets further on, shared fairly: a partition with little left leaves its part to others."""
        left = {place.name: max(ends.get(place.name, 0) - place.next, 0) for place in self.places}
        taken, rest = dict.fromkeys(left, 0), most
        for count, name in enumerate(sorted(left, key=left.__getitem__)):
            taken[name] = min(left[name], -(-rest // (len(left) - count)), rest)
            rest -= taken[name]
        return replace(self, places=tuple(replace(p, next=p.next + taken[p.name]) for p in self.places))

    def behind(self, ends: Mapping[Partition, int]) -> int:
        """Offsets that are there and were not taken."""
        return sum(max(ends.get(place.name, place.next) - place.next, 0) for place in self.places)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets begin..end of a partition, which is number `place` of the source."""

    topic: str
    partition: int
    place: int
    begin: int
    end: int

    @property
    def name(self) -> Partition:
        return self.topic, self.partition


def ranges_between(start: Places | None, end: Places, *, in_pieces: bool) -> Iterator[OffsetRange]:
    """What lies between two offsets; `in_pieces`: several tasks may share a partition's range."""
    before = {place.name: place.next for place in start.places} if start is not None else {}
    for number, place in enumerate(end.places):
        begin = before.get(place.name, place.first)
        for first, stop in _pieces(begin, place.next) if in_pieces else [(begin, place.next)]:
            if stop > first:
                yield OffsetRange(place.topic, place.partition, number, first, stop)


def _pieces(begin: int, end: int) -> list[tuple[int, int]]:
    count = max(1, (end - begin) // _LEAST_MESSAGES)
    edges = [begin + (end - begin) * i // count for i in range(count + 1)]
    return list(itertools.pairwise(edges))


def first_places(
    start: str | Mapping[Any, Any], earliest: Mapping[Partition, int], latest: Mapping[Partition, int]
) -> dict[Partition, int]:
    """Where the reading of each partition begins; those that `start` does not name begin at the earliest.

    >>> first_places({"trades": {"1": 7}}, {("trades", 0): 2, ("trades", 1): 2}, {})
    {('trades', 0): 2, ('trades', 1): 7}
    """
    if isinstance(start, str):
        return dict(latest if start == "latest" else earliest)
    named = {(topic, int(number)): int(own) for topic, parts in start.items() for number, own in parts.items()}
    return {name: named.get(name, first) for name, first in earliest.items()}


def of_one_topic(start: Mapping[Any, Any], topics: Sequence[str]) -> Mapping[Any, Any]:
    """`start` by topic; offsets by partition alone are of the only topic."""
    is_flat = bool(start) and not any(isinstance(own, Mapping) for own in start.values())
    return {topics[0]: start} if is_flat and len(topics) == 1 else start

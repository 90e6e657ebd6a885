"""What streams are made of in the reference: tuples and punctuations, each at its position, a plain Python tuple."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Position = tuple[float, ...]
Row = dict[str, Any]

AFTER_ALL = math.inf  # the last level of a punctuation: after its tuple and all that comes of it
AT_PUNCTUATION = 2.0**62  # the level of results that a punctuation fired: after its tuple's, right before itself


@dataclass(frozen=True, slots=True)
class Item:
    """A tuple of a stream."""

    position: Position
    row: Row


@dataclass(frozen=True, slots=True)
class Mark:
    """A punctuation; its copies on several streams have the same identity."""

    position: Position
    identity: tuple[str, int]


Event = Item | Mark


def mark_after(position: Position) -> Position:
    return (*position, AFTER_ALL)


def mark_before(position: Position) -> Position:
    return (*position[:-1], position[-1] - 1, AFTER_ALL)


def filled(position: Position, length: int) -> Position:
    """A position of at least a length; what fills it up is less than any number."""
    return (*position, *[-math.inf] * (length - len(position)))


def of_results(mark: Mark, stage: int) -> Position:
    """Where the results stand that a punctuation triggers, before their numbers.

    `stage`: behind how many others stands the operator that it fires; the results of these stand before its own.
    """
    return (*mark.position[:-1], AT_PUNCTUATION + 2.0**20 * stage)


def merged(streams: Sequence[Sequence[Event]]) -> list[tuple[int, Event]]:
    """Events of all inputs with the number of their input, in order; equal positions go by the order of the inputs."""
    events = [(port, event) for port, stream in enumerate(streams) for event in stream]
    return sorted(events, key=lambda pair: pair[1].position)

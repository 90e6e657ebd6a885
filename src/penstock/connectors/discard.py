"""Tuples that are only counted."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.block.block import Block
from penstock.connectors.sinks.sink_port import Claim, Delivered, Delivery, Part, SinkPromise, Sweep
from penstock.kernels.keys.row_checksum import add_checksums, checksum_of


@dataclass(frozen=True, slots=True)
class DiscardSink:
    """Tuples counted and summed up in a checksum, then dropped."""

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("this run", "replicas", in_order=False)

    def claim(self, claim: Claim) -> None:
        """There is nothing to take."""

    def open(self, part: Part) -> CountedPart:
        return CountedPart()

    def write(self, opened: CountedPart, tuples: Block) -> None:
        opened.add(tuples)

    def publish(self, delivery: Delivery) -> Delivered:
        count = total = 0
        for part in delivery.parts:
            own, checksum = map(int, part.split())
            count, total = count + own, add_checksums(total, checksum)
        return Delivered(tuples=count if delivery.parts else None, checksum=total)

    def sweep(self, sweep: Sweep) -> None:
        """Nothing is left of tuples."""


class CountedPart:
    """A part that is two numbers."""

    def __init__(self) -> None:
        self._count = self._checksum = 0

    def add(self, block: Block) -> None:
        self._count, self._checksum = self._count + block.rows, add_checksums(self._checksum, checksum_of(block))

    def close(self) -> str:
        return f"{self._count} {self._checksum}"

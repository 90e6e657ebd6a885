"""The window join as its definition reads: two lists, searched from end to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.kernels.joins.window_join import JoinWindow


class Held(NamedTuple):
    row: int
    key: int
    value: float


@dataclass
class ReferenceJoin:
    """Rows are counted per port from the stream's beginning: no store is ever cut down."""

    sides: tuple[JoinWindow, JoinWindow]
    held: tuple[list[Held], list[Held]] = field(default_factory=lambda: ([], []))
    rows: list[int] = field(default_factory=lambda: [0, 0])
    clock: float | None = None

    def push(self, port: int, key: int, value: float) -> list[tuple[int, int]]:
        """The pairs (left row, right row) that one tuple makes."""
        side, window, new = self.sides[port], self.held[port], Held(self.rows[port], key, value)
        self.rows[port] += 1
        window.append(new)
        if side.measure == "count":
            rivals = [old for old in window if old.key == key or not side.per_group]
            if len(rivals) > side.size:
                window.remove(rivals[0])
        elif side.measure == "time":
            self.clock = value if self.clock is None else max(self.clock, value)
            for one in (0, 1):
                if self.sides[one].measure == "time":
                    self.held[one][:] = [old for old in self.held[one] if old.value > self.clock - self.sides[one].size]
        else:
            window[:] = [
                old for old in window if (side.per_group and old.key != key) or abs(value - old.value) <= side.size
            ]
        partners = [old.row for old in self.held[1 - port] if old.key == key]
        return [(new.row, partner) if port == 0 else (partner, new.row) for partner in partners]

"""Count windows one tuple at a time, as plainly as they can be said: the generated kernels must equal this."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Call = tuple[str, int | None]


class ReferenceCountWindow:
    """Per group a list of tuples; values are Python's, None is null."""

    def __init__(
        self, size: int, every: int, tumbling: bool, calls: Sequence[Call], float_columns: Sequence[bool]
    ) -> None:
        self.size, self.every, self.tumbling = size, every, tumbling
        self.calls, self.float_columns = calls, float_columns
        self.held: dict[int, list[tuple[Any, ...]]] = {}
        self.seen: dict[int, int] = {}

    def add(self, group: int, values: tuple[Any, ...]) -> list[Any] | None:
        """The results if this tuple makes its group's window fire, else None."""
        held = self.held.setdefault(group, [])
        held.append(values)
        self.seen[group] = self.seen.get(group, 0) + 1
        if self.tumbling:
            if len(held) < self.size:
                return None
            self.held[group] = []
        else:
            del held[: -self.size]
            if self.seen[group] % self.every:
                return None
        return [self._result(function, argument, held) for function, argument in self.calls]

    def _result(self, function: str, argument: int | None, held: list[tuple[Any, ...]]) -> Any:
        if argument is None:
            return len(held)
        column = [values[argument] for values in held]
        if function in ("first", "last"):
            return column[0] if function == "first" else column[-1]
        return aggregate(function, [value for value in column if value is not None], self.float_columns[argument])


def aggregate(function: str, values: list[Any], is_float: bool) -> Any:
    """One aggregate of the values that are not null."""
    if function == "count":
        return len(values)
    if not values or (function == "stddev" and len(values) < 2):
        return None
    if function in ("min", "max"):
        if any(value != value for value in values):
            return math.nan
        return min(values) if function == "min" else max(values)
    if function == "sum":
        return _float_sum(values) if is_float else (sum(map(int, values)) + 2**63) % 2**64 - 2**63
    mean = _float_sum(values) / len(values) if is_float else sum(map(int, values)) / len(values)
    if function == "avg":
        return mean
    if any(not math.isfinite(value) for value in values):
        return math.nan
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _float_sum(values: list[float]) -> float:
    if all(math.isfinite(value) for value in values):
        return math.fsum(values)
    return sum(values)

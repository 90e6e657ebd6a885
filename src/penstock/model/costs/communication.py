"""What sending and receiving tuples between elements costs (MODEL, Equations 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from penstock.arguments import is_number, shown
from penstock.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True)
class Communication:
    """The calibration's table: by bytes per tuple, the highest rate and the cores used at it on either side.

    Between two widths the cost per tuple is interpolated; beyond the table it goes on as the last two widths say.
    """

    bytes_per_tuple: tuple[float, ...] = ()
    max_rate_tuples_s: tuple[float, ...] = ()
    send_cores: tuple[float, ...] = ()
    receive_cores: tuple[float, ...] = ()

    def send(self, tuples_s: float, bytes_per_tuple: float | None = None) -> float:
        """Cores for sending: u_src(m) t / t_max(m), m being bytes per tuple (Equation 5, in tuples/s)."""
        return self._cores(self.send_cores, tuples_s, bytes_per_tuple)

    def receive(self, tuples_s: float, bytes_per_tuple: float | None = None) -> float:
        """Cores for receiving: u_sink(m) t / t_max(m) (Equation 4, in tuples/s)."""
        return self._cores(self.receive_cores, tuples_s, bytes_per_tuple)

    def _cores(self, cores: Sequence[float], tuples_s: float, width: float | None) -> float:
        if not self.bytes_per_tuple:
            return 0.0
        costs = [own / rate for own, rate in zip(cores, self.max_rate_tuples_s, strict=True)]
        return tuples_s * _between(self.bytes_per_tuple, costs, self.bytes_per_tuple[0] if width is None else width)


def _between(widths: Sequence[float], costs: Sequence[float], width: float) -> float:
    order = np.argsort(widths)
    x, y = np.asarray(widths, float)[order], np.asarray(costs, float)[order]
    if len(x) > 1 and width > x[-1]:
        return max(float(y[-1] + (width - x[-1]) * (y[-1] - y[-2]) / (x[-1] - x[-2])), float(y[-1]))
    return float(np.interp(width, x, y))


COLUMNS = tuple(own.name for own in fields(Communication))


def communication_of(given: Communication | Mapping[str, Any] | None) -> Communication:
    """The table that a caller gave, as a value or as in a profile's JSON; InputError with every mistake in it.

    >>> communication_of({"bytes_per_tuple": [8], "max_rate_tuples_s": [1e6], "send_cores": [1], "receive_cores": [0]})
    Communication(bytes_per_tuple=(8.0,), max_rate_tuples_s=(1000000.0,), send_cores=(1.0,), receive_cores=(0.0,))
    """
    if isinstance(given, Communication):
        return given
    body = {} if given is None else given
    if problems := list(table_problems(body)):
        raise InputError("\n".join(problems))
    return Communication(**{name: tuple(map(float, body.get(name, ()))) for name in COLUMNS})


def table_problems(table: Any) -> Iterator[str]:
    """What is wrong with a table: lists of one length, of numbers."""
    if not isinstance(table, Mapping):
        yield f"communication is an object; got {shown(table)}"
        return
    for name in table:
        if name not in COLUMNS:
            hint = did_you_mean(name, COLUMNS)
            yield (
                f"communication has the unknown key '{name}'; known are: {', '.join(COLUMNS)}"
                + (f"; {hint}" if hint else "")
            )  # fmt: skip
    lists = {name: table.get(name, []) for name in COLUMNS}
    for name, values in lists.items():
        above = name in ("bytes_per_tuple", "max_rate_tuples_s")
        rule = "above 0" if above else "of at least 0"
        fits = isinstance(values, list | tuple) and all(is_number(v) and (v > 0 if above else v >= 0) for v in values)
        if not fits:
            yield f"{name} of communication is a list of numbers {rule}; got {shown(values)}"
    sizes = {len(values) for values in lists.values() if isinstance(values, list | tuple)}
    if len(sizes) > 1:
        yield f"the lists of communication are equally long; got {' and '.join(map(str, sorted(sizes)))} values"

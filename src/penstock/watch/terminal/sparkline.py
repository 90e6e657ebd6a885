"""A row of small bars in a terminal's characters: how a figure went over time."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], highest: float | None = None) -> str:
    """One bar per value between 0 and `highest` (the largest value, where not given); a space where there is none.

    >>> sparkline([0, 1, None, 4, 8])
    '▁▂ ▅█'
    """
    known = [value for value in values if value is not None]
    top = max(known, default=0.0) if highest is None else highest
    return "".join(" " if value is None else _bar(value, top) for value in values)


def _bar(value: float, top: float) -> str:
    share = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
    return _BARS[int(share * (len(_BARS) - 1) + 0.5)]

"""Where the names of changes stand above a picture, so that none covers another or is cut off at the edge."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

_LETTERS, _LINES, _MOST_LANES = 27, 2, 6
_LETTER_SHARE = 0.0056  # of the width of the picture
_TITLE_SHARE = 0.08  # the lowest lane begins to the right of the panel's title


@dataclass(frozen=True, slots=True)
class MarkName:
    """A name in its lines; `lane` counts from the panel upwards.  `is_left`: it ends at its line and does not begin."""

    at_s: float
    text: str
    lane: int
    is_left: bool


def mark_names(marks: Sequence[tuple[float, str]], span_s: float) -> list[MarkName]:
    """The name of each change, in the lowest lane that is free there; none where all lanes are full.

    >>> [(own.lane, own.is_left) for own in mark_names([(1.0, "2 to 4"), (1.5, "4 to 8"), (99.0, "8 to 6")], 100.0)]
    [(1, False), (2, False), (0, True)]
    """
    ends_s = [_TITLE_SHARE * span_s]  # of the last name in each lane
    found = []
    for at_s, text in marks:
        lines = textwrap.wrap(text, _LETTERS, max_lines=_LINES, placeholder=" ...")
        width_s = (max(map(len, lines), default=0) + 2) * _LETTER_SHARE * span_s
        is_left = at_s + width_s > span_s and at_s >= width_s
        begin_s = at_s - width_s if is_left else at_s
        lane = next((lane for lane, end_s in enumerate(ends_s) if end_s <= begin_s), len(ends_s))
        if lane >= _MOST_LANES:
            continue
        ends_s[lane : lane + 1] = [begin_s + width_s]
        found.append(MarkName(at_s, "\n".join(lines), lane, is_left))
    return found

"""Queue placement at a fixed thread count: rules R1 to R5 of MULTILEVEL, its Figure 4, group by group.

Upwards, operators get queues, the dearest group first; downwards they lose them, the cheapest group first. `moved`
counts those of the current group that were given (or lost) one. A group is finished at `moved` = its size: the printed
`binSize - 1` would leave one operator out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from penstock.control.threads.multilevel.rules import MultiLevelRules

Direction = Literal["up", "down"]
Point = tuple[int, float]


@dataclass(frozen=True, slots=True)
class GroupSearch:
    """A search under way: `moved` of the first group is being measured; `fewer` and `more` are the measured neighbours.

    `fixed` are the queues outside the group; `placement` and `rate` are what it ends with.
    """

    direction: Direction
    groups: tuple[tuple[str, ...], ...]
    fixed: frozenset[str]
    began_with: frozenset[str]
    placement: frozenset[str]
    rate: float
    moved: int = 0
    fewer: Point = (0, 0.0)
    more: Point | None = None
    number: int = 0
    finished: bool = False

    @property
    def size(self) -> int:
        return len(self.groups[0])

    @property
    def changed(self) -> bool:
        """The paper's CHANGE; otherwise STAY."""
        return self.placement != self.began_with

    @property
    def queued(self) -> frozenset[str]:
        """The placement to measure next, or the one found."""
        return self.placement


def start_group_search(
    direction: Direction,
    groups: tuple[tuple[str, ...], ...],
    queued: frozenset[str],
    rate: float,
    rules: MultiLevelRules,
) -> tuple[GroupSearch, str]:
    """A search from a placement whose rate is known, with its first trial; finished at once where nothing can move."""
    ordered = groups if direction == "up" else tuple(reversed(groups))
    movable = (tuple(name for name in group if (name in queued) == (direction == "down")) for group in ordered)
    search = GroupSearch(direction, tuple(group for group in movable if group), queued, queued, queued, rate)
    return _enter_group(search, rate, rules, "")


def step(search: GroupSearch, rate: float, rules: MultiLevelRules) -> tuple[GroupSearch, str]:
    """The search after its trial gave `rate`, and why."""
    below, above, sensitivity = search.fewer[1], search.more, rules.sensitivity
    said = f"{_what(search)} gave {_relative(rate, below)} on {search.fewer[0]}"
    rising, falling = rate >= below * (1 + sensitivity), below >= rate * (1 + sensitivity)
    if above is not None and above[1] >= rate * (1 + sensitivity):
        return _increase(search, rate, rules, f"{said}, less than {above[0]}: R2, more")
    if above is None and rising:
        if search.moved == search.size:
            return _next_group(search, rate, rules, f"{said}: all of the group")
        return _increase(search, rate, rules, f"{said}: R1, more")
    if falling:
        return _decrease(search, rate, rules, f"{said}: R3, fewer")
    if rising and above is not None:
        return _finish(replace(search, rate=rate), search.moved, rules, f"{said} and more than {above[0]}: R5, stop")
    if rules.take_back:
        return _finish(replace(search, rate=below), search.fewer[0], rules, f"{said}, no trend: stop, take it back")
    return _finish(replace(search, rate=rate), search.moved, rules, f"{said}, no trend: stop")


def _increase(search: GroupSearch, rate: float, rules: MultiLevelRules, why: str) -> tuple[GroupSearch, str]:
    end, end_rate = search.more or (search.size + 1, 0.0)
    moved = (search.moved + end) // 2
    if moved == search.moved:  # only the one above is better
        return _finish(replace(search, rate=end_rate), end, rules, f"{why}, nothing lies between")
    return _try(replace(search, fewer=(search.moved, rate)), moved, rules, why)


def _decrease(search: GroupSearch, rate: float, rules: MultiLevelRules, why: str) -> tuple[GroupSearch, str]:
    """R3; R4 is the same here, since the count that a search begins with has been measured."""
    fewest, fewest_rate = search.fewer
    moved = (fewest + search.moved) // 2
    if moved == fewest:
        return _finish(replace(search, rate=fewest_rate), fewest, rules, f"{why}, nothing lies between")
    return _try(replace(search, more=(search.moved, rate)), moved, rules, why)


def _next_group(search: GroupSearch, rate: float, rules: MultiLevelRules, why: str) -> tuple[GroupSearch, str]:
    placed = _placed(search, search.size, rules)
    onward = replace(
        search, groups=search.groups[1:], fixed=placed, placement=placed, rate=rate, number=search.number + 1
    )
    return _enter_group(onward, rate, rules, f"{why}; ")


def _enter_group(search: GroupSearch, rate: float, rules: MultiLevelRules, why: str) -> tuple[GroupSearch, str]:
    if not search.groups:
        return replace(search, finished=True), f"{why}no operator left to move {search.direction}"
    inside = replace(search, fewer=(0, rate), more=None)
    first = search.size if rules.whole_group_first else (search.size + 1) // 2
    return _try(inside, first, rules, why.removesuffix("; "))


def _try(search: GroupSearch, moved: int, rules: MultiLevelRules, why: str) -> tuple[GroupSearch, str]:
    on_trial = replace(search, moved=moved, placement=_placed(search, moved, rules))
    return on_trial, f"{why}; try {_what(on_trial)}" if why else f"try {_what(on_trial)}"


def _finish(search: GroupSearch, moved: int, rules: MultiLevelRules, why: str) -> tuple[GroupSearch, str]:
    ended = replace(search, moved=moved, placement=_placed(search, moved, rules), finished=True)
    return ended, f"{why}; {len(ended.placement)} queues"


def _placed(search: GroupSearch, moved: int, rules: MultiLevelRules) -> frozenset[str]:
    """The placement with `moved` of the group, at random; those of a smaller number are among those of a larger one."""
    group = search.groups[0]
    seed = (rules.seed, search.number, len(search.began_with))
    order = np.random.default_rng(seed).permutation(len(group))
    those = frozenset(group[place] for place in order[:moved])
    return search.fixed | those if search.direction == "up" else search.fixed - those


def _what(search: GroupSearch) -> str:
    given = "queues for" if search.direction == "up" else "no queues for"
    return f"{given} {search.moved} of {search.size} in group {search.number + 1}"


def _relative(rate: float, other: float) -> str:
    return f"{rate / other - 1:+.1%}" if other > 0 else "something"

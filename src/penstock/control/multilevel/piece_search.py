"""Queue placement at a fixed thread count, ours: how many pieces of like cost there are for each thread.

The paper searches a number of operators within a group of like cost, at random places; the thread that gets the dearest
piece then holds up the others. Here the graph is cut into pieces of about equal cost and only their number is searched,
on a ladder of pieces per thread. A thread count that changes keeps its rung: the pieces become smaller or larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.control.multilevel.cuts import cut, front
from penstock.control.multilevel.rules import MultiLevelRules

Feeds = Mapping[str, tuple[str, ...]]

NONE, FRONT = 0, 1
PIECES_PER_THREAD = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
ALL = FRONT + len(PIECES_PER_THREAD) + 1
_HOPELESS = 0.8
_CARRIED = 0.1
FIRST_RUNG = FRONT + 1 + PIECES_PER_THREAD.index(2.0)


def place(rung: int, threads: int, costs: Mapping[str, float], feeds: Feeds) -> frozenset[str]:
    """The queues of a rung: none, those right behind the source, pieces of like cost, all."""
    if rung == NONE:
        return frozenset()
    if rung == FRONT:
        return front(costs, feeds)
    if rung == ALL:
        return frozenset(costs)
    per_thread = PIECES_PER_THREAD[rung - FRONT - 1]
    limit = sum(costs.values()) / (per_thread * (threads + 1))
    return cut(limit, _CARRIED / per_thread, costs, feeds)


def describe(rung: int) -> str:
    named = {NONE: "no queues", FRONT: "queues behind the source", ALL: "queues for all"}
    return named.get(rung) or f"{PIECES_PER_THREAD[rung - FRONT - 1]:g} pieces per thread"


@dataclass(frozen=True, slots=True)
class PieceSearch:
    """A search under way: `rung` is being measured; `best` of those with queues gave `rate`, none at all `none_rate`.

    `hopeless` rungs lost so much, here or at another thread count, that they are not tried again. A first rung that
    gives `enough_rate` is taken at once.
    """

    rung: int
    best: int
    rate: float
    began_with: int
    up_first: bool
    tried: frozenset[int]
    hopeless: frozenset[int]
    enough_rate: float | None = None
    none_rate: float | None = None
    finished: bool = False

    @property
    def placement(self) -> int:
        return self.best

    @property
    def changed(self) -> bool:
        return self.best != self.began_with

    def queued(self, threads: int, costs: Mapping[str, float], feeds: Feeds) -> frozenset[str]:
        """The placement to measure next, or the one found."""
        return place(self.rung, threads, costs, feeds)


def start_piece_search(
    rung: int, rate: float, threads: int, rules: MultiLevelRules, *, up_first: bool, hopeless: frozenset[int]
) -> tuple[PieceSearch, str]:
    """A search beside a rung whose rate is known; from no queues at all it leaps to the middle of the ladder."""
    search = PieceSearch(rung, rung, rate, rung, up_first, frozenset({rung}), hopeless)
    if rung != NONE:
        return _next_to_best(search, "", rules)
    # the source's thread did it all: `threads` more should bring as many times its rate
    enough_rate = None if rules.satisfaction is None else rate * (1 + rules.satisfaction * threads)
    first = replace(search, rung=FIRST_RUNG, none_rate=rate, enough_rate=enough_rate)
    return first, f"try {describe(FIRST_RUNG)}"


def step(search: PieceSearch, rate: float, rules: MultiLevelRules) -> tuple[PieceSearch, str]:
    """The search after its rung gave `rate`, and why it goes where."""
    said = f"{describe(search.rung)} gave {_relative(rate, search.rate)} on {describe(search.best)}; "
    search = replace(search, tried=search.tried | {search.rung})
    if rate < _HOPELESS * search.rate:
        search = replace(search, hopeless=search.hopeless | {search.rung})
    if search.best == NONE and search.enough_rate is not None and rate > search.enough_rate:
        return replace(search, best=search.rung, rate=rate, finished=True), f"{said}satisfies"
    if search.rung == NONE:
        search = replace(search, none_rate=rate)
    elif search.best == NONE or _better(search, rate, rules):
        kept = rate if search.best == NONE else max(rate, search.rate)
        search = replace(search, best=search.rung, rate=kept)
    return _next_to_best(search, said, rules)


def _better(search: PieceSearch, rate: float, rules: MultiLevelRules) -> bool:
    """More queues must gain something, fewer may lose a little."""
    more = search.rung > search.best
    return rate >= search.rate * (1 + rules.levels.least_gain if more else 1 - rules.levels.give)


def _next_to_best(search: PieceSearch, why: str, rules: MultiLevelRules) -> tuple[PieceSearch, str]:
    """On to a neighbour of the best that was not tried; the end where both were."""
    above, below = search.best + 1, search.best - 1
    for rung in (above, below) if search.up_first else (below, above):
        if NONE <= rung <= ALL and rung not in search.tried | search.hopeless:
            return replace(search, rung=rung), f"{why}try {describe(rung)}"
    if search.none_rate is not None and search.none_rate >= search.rate * (1 - rules.levels.give):
        search = replace(search, best=NONE, rate=search.none_rate)
    return replace(search, rung=search.best, finished=True), f"{why}best: {describe(search.best)}"


def _relative(rate: float, other: float) -> str:
    return f"{rate / other - 1:+.1%}" if other > 0 else "something"

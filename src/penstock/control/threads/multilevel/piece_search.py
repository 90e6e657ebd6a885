"""Queue placement at a fixed thread count, ours: how many pieces of like cost there are for each thread.

The paper searches a number of operators within a group of like cost, at random places; the thread that gets the dearest
piece then holds up the others. Here the graph is cut into pieces of about equal cost and only their number is searched,
on a ladder of pieces per thread. A thread count that changes keeps its rung: the pieces become smaller or larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.control.threads.multilevel.rules import MultiLevelRules

Feeds = Mapping[str, tuple[str, ...]]
NONE, FRONT = 0, 1
PIECES_PER_THREAD = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
ALL = FRONT + len(PIECES_PER_THREAD) + 1
_HOPELESS = 0.8
_CARRIED = 0.2
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
    return cut(limit, _CARRIED / per_thread**2, costs, feeds)


def describe(rung: int) -> str:
    named = {NONE: "no queues", FRONT: "queues behind the source", ALL: "queues for all"}
    return named.get(rung) or f"{PIECES_PER_THREAD[rung - FRONT - 1]:g} pieces per thread"


def ladder(threads: int, costs: Mapping[str, float], feeds: Feeds) -> dict[int, frozenset[str]]:
    """The placements of all rungs, each but once: a rung that places queues like one below it is left out."""
    rungs: dict[int, frozenset[str]] = {}
    for rung in range(ALL + 1):
        placement = place(rung, threads, costs, feeds)
        if placement not in rungs.values():
            rungs[rung] = placement
    return rungs


@dataclass(frozen=True, slots=True)
class PieceSearch:
    """A search under way: `rung` is being measured; `best` of those with queues gave `rate`, none at all `none_rate`.

    `hopeless` rungs lost so much, here or at another thread count, that they are not tried again. `known` rungs were
    measured at this thread count before. A first rung that gives `enough_rate` is taken at once.
    """

    rungs: Mapping[int, frozenset[str]]
    threads: int
    rung: int
    best: int
    rate: float
    began_with: int
    up_first: bool
    tried: frozenset[int]
    hopeless: frozenset[int]
    known: Mapping[int, float] = field(default_factory=dict)
    enough_rate: float | None = None
    none_rate: float | None = None
    finished: bool = False

    @property
    def placement(self) -> int:
        return self.best

    @property
    def changed(self) -> bool:
        return self.best != self.began_with

    @property
    def queued(self) -> frozenset[str]:
        """The placement to measure next, or the one found."""
        return self.rungs[self.rung]


def start_piece_search(
    rungs: Mapping[int, frozenset[str]],
    rung: int,
    rate: float,
    threads: int,
    rules: MultiLevelRules,
    *,
    up_first: bool,
    hopeless: frozenset[int],
    known: Mapping[int, float] | None = None,
) -> tuple[PieceSearch, str]:
    """A search next to a rung whose rate is known; from no queues at all it leaps to the middle of the ladder."""
    rung = _nearest(rungs, rung)
    search = PieceSearch(rungs, threads, rung, rung, rate, rung, up_first, frozenset({rung}), hopeless, known or {})
    if rung != NONE:
        return _next_to_best(search, "", rules)
    if len(rungs) == 1:
        return replace(search, none_rate=rate, finished=True), "no operator can have a queue"
    # the source's thread did it all: `threads` more should bring as many times its rate
    enough_rate = None if rules.satisfaction is None else rate * (1 + rules.satisfaction * threads)
    first = replace(search, rung=_nearest(rungs, FIRST_RUNG), none_rate=rate, enough_rate=enough_rate)
    return first, f"try {describe(first.rung)}"


def step(search: PieceSearch, rate: float, rules: MultiLevelRules) -> tuple[PieceSearch, str]:
    """The search after its rung gave `rate`, and why it goes where."""
    said = f"{describe(search.rung)} gave {_relative(rate, search.rate)} on {describe(search.best)}; "
    search = replace(search, tried=search.tried | {search.rung})
    # where the source's thread has nothing to do, one thread less is at work
    if rate < _HOPELESS * search.rate * search.threads / (search.threads + 1):
        search = replace(search, hopeless=search.hopeless | {search.rung})
    if search.best == NONE and search.enough_rate is not None and rate > search.enough_rate:
        return replace(search, best=search.rung, rate=rate, finished=True), f"{said}satisfies"
    if search.rung == NONE:
        search = replace(search, none_rate=rate)
    elif search.best == NONE or _better(search, rate, rules):
        best_rate = rate if search.best == NONE else max(rate, search.rate)
        search = replace(search, best=search.rung, rate=best_rate)
    return _next_to_best(search, said, rules)


def _nearest(rungs: Mapping[int, frozenset[str]], rung: int) -> int:
    """The rung itself, or the one below it that places queues alike."""
    return max(known for known in rungs if known <= rung)


def _better(search: PieceSearch, rate: float, rules: MultiLevelRules) -> bool:
    """More queues must gain something, fewer may lose a little."""
    more = search.rung > search.best
    return rate >= search.rate * (1 + rules.levels.least_gain if more else 1 - rules.levels.give)


def _next_to_best(search: PieceSearch, why: str, rules: MultiLevelRules) -> tuple[PieceSearch, str]:
    """On to a neighbour of the best that was not tried; the end where both were."""
    rungs = sorted(search.rungs)
    place_of_best = rungs.index(search.best)
    above, below = rungs[place_of_best + 1 :][:1], rungs[:place_of_best][-1:]
    for rung in above + below if search.up_first else below + above:
        if rung in search.tried | search.hopeless:
            continue
        if rung in search.known:
            return step(replace(search, rung=rung), search.known[rung], rules)
        return replace(search, rung=rung), f"{why}try {describe(rung)}"
    if search.none_rate is not None and _keeps_none(search, search.none_rate, rules):
        search = replace(search, best=NONE, rate=search.none_rate)
    return replace(search, rung=search.best, finished=True), f"{why}best: {describe(search.best)}"


def _keeps_none(search: PieceSearch, none_rate: float, rules: MultiLevelRules) -> bool:
    """No queues at all may lose a little, and any at all must gain something."""
    return none_rate >= search.rate * (1 - rules.levels.give) or search.rate < none_rate * (1 + rules.levels.least_gain)


def _relative(rate: float, other: float) -> str:
    return f"{rate / other - 1:+.1%}" if other > 0 else "something"


def cut(
    limit: float, carried: float, costs: Mapping[str, float], feeds: Mapping[str, tuple[str, ...]]
) -> frozenset[str]:
    """The operators with a queue, so that a piece costs at most `limit` or little more than its first operator.

    An operator too dear by itself carries along `carried` of its cost: no queue is spent on a trifle behind it.

    From the sinks upwards an operator's piece is itself and what follows it; where that is too much, the dearest of
    what follows is cut off. On a pipeline and on a tree no fewer cuts would do. An operator fed by several is shared
    among them in equal parts.
    """
    feeds = feeds or _pipeline(tuple(costs))
    fed_by: dict[str, int] = {}
    for targets in feeds.values():
        for target in targets:
            fed_by[target] = fed_by.get(target, 0) + 1
    piece: dict[str, float] = {}
    queued: set[str] = set()
    for name in reversed(list(feeds)):
        own = costs.get(name, 0.0)
        uncut = [target for target in feeds[name] if target not in queued]
        total = own + sum(piece[target] / fed_by[target] for target in uncut)
        for target in sorted(uncut, key=piece.__getitem__, reverse=True):
            if total <= max(limit, (1 + carried) * own):
                break
            queued.add(target)
            total -= piece[target] / fed_by[target]
        piece[name] = total
    return frozenset(queued)


def front(costs: Mapping[str, float], feeds: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The operators right behind the sources."""
    feeds = feeds or _pipeline(tuple(costs))
    return frozenset(target for name, targets in feeds.items() if name not in costs for target in targets)


def _pipeline(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    following = ("", *names)
    return {name: following[number + 1 : number + 2] for number, name in enumerate(following)}

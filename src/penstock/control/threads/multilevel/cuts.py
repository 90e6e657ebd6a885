"""Where queues cut an element into pieces that one thread does at a time, none dearer than a limit if possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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

"""Which sets of operators can be one element: convex, and with data flowing between elements one way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.model.costs.flows import Flows


def edges_of(flows: Flows) -> set[tuple[str, str]]:
    """(emits, reads), for operators that the profile has."""
    return {
        (flows.producer[stream], reader)
        for stream, readers in flows.readers.items()
        if stream in flows.producer
        for reader in readers
    }


def convexity_problem(groups: Sequence[Sequence[str]], flows: Flows) -> str | None:
    """A sentence where data would flow between elements in a circle, which a path that leaves one and comes back
    does too; None where it flows one way."""
    place = {name: number for number, group in enumerate(groups) for name in group}
    following: dict[int, set[int]] = {number: set() for number in range(len(groups))}
    for start, end in edges_of(flows):
        if place[start] != place[end]:
            following[place[start]].add(place[end])
    done: set[int] = set()
    for _ in groups:
        done |= {number for number, after in following.items() if number not in done and after <= done}
    stuck = [groups[number][0] for number in following if number not in done]
    if not stuck:
        return None
    return (
        f"data would flow in a circle between the elements {', '.join(stuck)}; an element passes its tuples on when it "
        "is done with them: cut one of them"
    )


class Ideals:
    """The graph as bits, for walks over sets of operators that have all operators before them."""

    def __init__(self, names: Sequence[str], flows: Flows) -> None:
        self.names = tuple(names)
        place = {name: number for number, name in enumerate(names)}
        self.before = [0] * len(names)
        for start, end in edges_of(flows):
            self.before[place[end]] |= 1 << place[start]
        self.everything = (1 << len(names)) - 1

    def next_elements(self, done: int) -> Iterator[int]:
        """Every set of operators that can be the next element when those of `done` have run.

        It is convex, as whatever leads into it is in `done` or in itself.
        """
        yield from self._grown(done, 0, 0)

    def _grown(self, done: int, own: int, start: int) -> Iterator[int]:
        for number in range(start, len(self.names)):
            bit = 1 << number
            if not done & bit and self.before[number] & ~(done | own) == 0:
                yield own | bit
                yield from self._grown(done, own | bit, number + 1)

    def members(self, bits: int) -> tuple[str, ...]:
        return tuple(name for number, name in enumerate(self.names) if bits >> number & 1)

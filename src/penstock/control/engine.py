"""The in-process engine as users have it: on a fixed number of threads, or on as many as a policy finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from weakref import ReferenceType, ref

from penstock.app.graph import Graph
from penstock.control.elastic_threads import ElasticThreads, check_threads
from penstock.control.element_threads import ElementThreads
from penstock.control.fair_share import even_share, fair_max_level
from penstock.control.threads_wish import threads_of
from penstock.element import engine as fixed
from penstock.element.block import Block
from penstock.element.element import Element
from penstock.element.engine import Batches, extend
from penstock.element.live_set import LiveSet
from penstock.element.own_cores import own_cores
from penstock.element.running import running_operator
from penstock.element.threads.schedule import OLDEST_FIRST
from penstock.element.threads.shards import sharded
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.errors import InputError
from penstock.measure.replica_threads import ThreadsLeft

Threads = int | str | ElasticThreads

_side_by_side: LiveSet[ElementThreads] = LiveSet()  # the elastic engines of this process


class Engine(fixed.Engine):
    """An application at work in this process; `feed` it batches, `finish` it, and read what its sinks and taps got.

    Sources may be fed piecemeal: tuples are processed up to the lowest last stamp of all sources that are merged with
    others; a source that was fed nothing for `idle_timeout_s` seconds (None: for ever) does not hold the others back,
    and what it delivers behind them goes to the dead letters.

    On one thread operators are called as functions in program order. With `threads` that many take blocks from queues
    in front of the operators named by `queued` (by default those that read a source), in the order that `schedule`
    says: `oldest_first`, `round_robin` or `nearest_to_sink`. With `threads="elastic"` (or `"elastic:2-16"`,
    `"multilevel"`, `ps.ElasticThreads(...)`) a policy finds how many while blocks come; `found` says what it has found.
    Results are the same, but `feed` gives only what is complete by then, and `finish` the rest. Functions of `map` are
    called on several threads at once.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        block_rows: int = 8192,
        taps: Iterable[str] = (),
        on_error: str = "dead_letter",
        idle_timeout_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        threads: Threads = 1,
        queued: Iterable[str] | None = None,
        schedule: str = OLDEST_FIRST,
    ) -> None:
        wish = threads_of(threads)
        self._threads: ElementThreads | None = None
        self._wish = wish if isinstance(wish, ElasticThreads) else None
        super().__init__(
            graph, block_rows=block_rows, taps=taps, on_error=on_error, idle_timeout_s=idle_timeout_s, clock=clock,
            threads=1 if isinstance(wish, ElasticThreads) else wish, queued=queued, schedule=schedule,
        )  # fmt: skip

    @property
    def found(self) -> ThreadsLeft | None:
        """Level, bound, whether it has settled, and why, where a policy finds the number of threads."""
        return None if self._threads is None else self._threads.left

    @property
    def advice(self) -> tuple[str, ...]:
        """What was found out about the threads, one sentence each."""
        found = self.found
        if found is None:
            return super().advice
        seen, state = found.seen, "settled" if found.settled else "not settled yet"
        return (f"threads: {seen.level} of at most {seen.most}, {state} ({seen.reason})", *super().advice)

    def _made(self, threads: int, queued: Iterable[str] | None, schedule: str) -> Element | ThreadedElement:
        if self._wish is None:
            return super()._made(threads, queued, schedule)
        check_threads(self.graph.name, self._wish)
        if queued is not None:
            raise InputError("queued is for a fixed number of threads; a policy that finds one places queues itself")
        letters = StepLetters(self.letters, {})
        element = Element(self.graph, letters, self.collected, make=sharded(running_operator, None))
        self._threads = own = ElementThreads(self.graph, self.graph, letters, schedule)
        _side_by_side.add(own)
        is_even = self._wish.policy == "multilevel"
        own.begin(element, self._wish, partial(_cores_beside_others, ref(own), is_even=is_even))
        return own.element

    def _step(self, results: Batches, blocks: dict[str, Block]) -> None:
        if self._threads is None:
            super()._step(results, blocks)
        else:
            extend(results, self._threads.feed(blocks, self._steps.frontier))

    def _rest(self) -> Iterable[tuple[object, dict[str, Block]]]:
        if self._threads is None:
            yield from super()._rest()
        else:
            yield from self._threads.rest()
            assert isinstance(self.element, ThreadedElement)
            self.element.close()


def _cores_beside_others(own: ReferenceType[ElementThreads], *, is_even: bool = False) -> int:
    """The cores for one engine: its even share of those of this process, and what others at work leave of theirs.

    `is_even`: only the former, for `multilevel`. It begins anew whenever its bound moves, so two that follow each
    other's trials would never settle.
    """
    threads = own()
    others = [each.computing_threads for each in _side_by_side.now() if each is not threads and each.needs_cores]
    if is_even:
        return even_share(len(others) + 1, own_cores())
    needed = 0 if threads is None else threads.computing_threads
    return fair_max_level([needed, *others], 0, own_cores())

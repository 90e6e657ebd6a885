"""The in-process engine: blocks in, blocks out, on one thread, several, or as many as a policy finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Literal
from weakref import ReferenceType, ref

import pyarrow as pa

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import FUNCTION, NAMES, check_arguments, checked_calls, kind, number, or_none, whole
from penstock.block.block import Block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING
from penstock.control.threads.fair_share import even_share, fair_max_level
from penstock.control.threads.threads_option import threads_of
from penstock.element.element import Element, MakeOperator
from penstock.element.intake import Intake
from penstock.element.source_clock import SourceClock
from penstock.element.steps import Steps
from penstock.element.threads.element_threads import ElementThreads
from penstock.element.threads.schedule import OLDEST_FIRST, schedule_of
from penstock.element.threads.setting_checks import checked_queues, checked_threads, readers_of_sources
from penstock.element.threads.shards import sharded
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.threaded_element import MAX_THREADS, ThreadedElement
from penstock.element.threads.timing.live_set import LiveSet
from penstock.errors import InputError, did_you_mean
from penstock.host.cores import own_cores
from penstock.measure.replica_threads import ThreadsLeft
from penstock.measure.thread_figures import gil_advice
from penstock.operators.factory import make_operator, ticked_operators
from penstock.plan.configuration import MOST_TUPLES
from penstock.plan.elements.order import streams_with_positions
from penstock.plan.elements.watermarks import streams_to_watermarks
from penstock.plan.thread_setting import ElasticThreads, check_threads

Batches = dict[str, list[pa.RecordBatch]]
Threads = int | str | ElasticThreads
AtEnd = Literal["hold", "fire"]
_TABLE = kind("a pyarrow.Table or RecordBatch", pa.Table, pa.RecordBatch)

_side_by_side: LiveSet[ElementThreads] = LiveSet()  # the elastic engines of this process


@checked_calls("Engine")
class Engine:
    """An application that runs in this process: `feed` takes input and returns results, `finish` returns the rest.

    Sources may be fed one at a time.  Where sources are merged, tuples are processed up to the lowest of their last
    stamps.  A source that was fed nothing for `idle_timeout_s` seconds (None: for ever) no longer delays the others;
    tuples that it delivers behind them become dead letters.

    With one thread, operators are called as functions in program order.  With several `threads`, these take blocks from
    queues in front of the operators in `queued` (by default those that read a source), in the order of `schedule`:
    `oldest_first`, `round_robin` or `nearest_to_sink`.  With `threads="elastic"` (or `"elastic:2-16"`, `"multilevel"`,
    `ps.ElasticThreads(...)`) a policy chooses the number while the engine runs, and `found` reports it.  Results are
    the same, but `feed` returns only those that are complete.  Functions of `map` are called on several threads at
    once.

    With `at_end="fire"` windows fire what they hold when the engine finishes.

    >>> app = Application("halves")
    >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    >>> engine = Engine(app)
    >>> engine.feed({"numbers": pa.table({"x": [1, 2]})})["out"][0].column("h").to_pylist()
    [0.5, 1.0]
    """

    def __init__(
        self,
        graph: Application | Graph,
        *,
        block_rows: int = 8192,
        taps: Iterable[str] = (),
        on_error: str = "dead_letter",
        idle_timeout_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        threads: Threads = 1,
        queued: Iterable[str] | None = None,
        schedule: str = OLDEST_FIRST,
        at_end: AtEnd = "hold",
    ) -> None:
        graph = graph_of(graph, "ps.Engine")
        check_block_rows(block_rows)
        check_at_end(at_end)
        check_arguments(
            "ps.Engine", clock=(clock, FUNCTION), idle_timeout_s=(idle_timeout_s, or_none(number(least=0))),
            taps=(taps, NAMES), queued=(queued, or_none(NAMES)),
        )  # fmt: skip
        if on_error not in ("dead_letter", "fail"):
            raise InputError(f"on_error is 'dead_letter' or 'fail'; got {on_error!r}")
        self.graph, self.block_rows = graph, block_rows
        self.letters = DeadLetters(fail=on_error == "fail")
        merged, numbered = streams_with_positions(graph), streams_to_watermarks(graph)
        self.collected = collected_streams(graph, taps)
        self.intakes = {
            s.name: Intake(s, place, s.name in merged, self.letters, numbered=s.name in numbered)
            for place, s in enumerate(graph.sources)
        }
        self._source_clock = SourceClock(graph, self.intakes)
        self._fires_at_end = at_end == "fire"
        self._make: MakeOperator = partial(make_operator, flushes=True) if self._fires_at_end else make_operator
        self._ticked = ticked_operators(graph, flushes=self._fires_at_end)
        self._threads: ElementThreads | None = None  # where a policy finds the number of threads
        self.element = self._made(threads_of(threads), queued, schedule)
        self._timeout_s = {
            s.name: idle_timeout_s if s.idle_timeout_s is None else s.idle_timeout_s for s in graph.sources
        }
        self._clock, self._has_timeouts = clock, any(timeout is not None for timeout in self._timeout_s.values())
        self._fed_at = dict.fromkeys(self.intakes, clock())
        self._steps = Steps(self.intakes, block_rows, self._is_idle if self._has_timeouts else None)

    @property
    def state_bytes(self) -> dict[str, int]:
        """Memory of each operator's state."""
        return {name: operator.state_bytes for name, operator in self.element.runtimes.items()}

    @property
    def found(self) -> ThreadsLeft | None:
        """Level, bound, whether it has settled, and why, where a policy finds the number of threads."""
        return None if self._threads is None else self._threads.left

    @property
    def advice(self) -> tuple[str, ...]:
        """What was found out about the threads, one sentence each."""
        advice = gil_advice(self.element.holds_gil) if isinstance(self.element, ThreadedElement) else ()
        found = self.found
        if found is None:
            return advice
        seen, state = found.seen, "settled" if found.settled else "not settled yet"
        return (f"threads: {seen.level} of at most {seen.most}, {state} ({seen.reason})", *advice)

    def feed(self, inputs: Mapping[str, pa.Table | pa.RecordBatch]) -> Batches:
        """Takes tuples of some sources and gives what can be emitted now, by sink and tap."""
        check_arguments("Engine.feed", inputs=(inputs, kind("a dict of tables by source", Mapping)))
        for name, batch in inputs.items():
            if name not in self.intakes:
                hint = did_you_mean(name, self.intakes)
                known = f"it has: {', '.join(self.intakes)}" + (f"; {hint}" if hint else "")
                raise InputError(f"application '{self.graph.name}' has no source '{name}'; {known}")
            check_arguments("Engine.feed", **{name: (batch, _TABLE)})
            self._fed_at[name] = self._clock()
            self.intakes[name].add(batch)
        return self._drain()

    def finish(self) -> Batches:
        """Says that nothing more comes, and gives the rest."""
        for intake in self.intakes.values():
            intake.finished = True
        results = self._drain()
        self._steps.frontier = EVERYTHING
        if self._fires_at_end:
            self._source_clock.note_end()
        self._step(results, {})
        extend(results, self._rest())
        return results

    def process(self, blocks: dict[str, Block]) -> dict[str, Block]:
        """Runs blocks by source through every operator once and gives the blocks of sinks and taps.

        For callers that cut and order tuples themselves, on one thread; blocks of merged sources carry positions.
        """
        assert isinstance(self.element, Element)
        return self.element.step(blocks, self._steps.frontier)

    def _drain(self) -> Batches:
        results: Batches = {name: [] for name in self.collected}
        self._drop_overtaken()
        if self._has_timeouts and self._source_clock.is_needed:
            idle = [name for name, intake in self.intakes.items() if intake.merged and self._is_idle(intake)]
            self._source_clock.note_idle(idle, self._steps.frontier)
        for blocks in self._steps.take():
            self._step(results, blocks)
        if self._source_clock.has_news:
            self._step(results, {})
        return results

    def _step(self, results: Batches, blocks: dict[str, Block]) -> None:
        if self._ticked:
            blocks = self._source_clock.with_ticks(blocks)
        if self._threads is not None:
            extend(results, self._threads.feed(blocks, self._steps.frontier))
        elif isinstance(self.element, ThreadedElement):
            extend(results, self.element.feed(blocks, self._steps.frontier))
        else:
            extend(results, [(0, self.element.step(blocks, self._steps.frontier))])

    def _rest(self) -> Iterable[tuple[object, dict[str, Block]]]:
        """What threads have not given yet; then they end."""
        if isinstance(self.element, ThreadedElement):
            yield from self.element.drain() if self._threads is None else self._threads.rest()
            self.element.close()

    def _made(
        self, threads: int | ElasticThreads, queued: Iterable[str] | None, schedule: str
    ) -> Element | ThreadedElement:
        if isinstance(threads, ElasticThreads):
            return self._made_elastic(threads, queued, schedule)
        checked_threads(threads, MAX_THREADS, least=1)
        names = None if queued is None else checked_queues(queued, self.graph)
        schedule_of(schedule)
        if threads == 1 and not names:
            return Element(self.graph, self.letters, self.collected, make=self._make, ticked=self._ticked)
        names = readers_of_sources(self.graph) if names is None else names
        return ThreadedElement(
            self.graph, self.letters, self.collected, threads=threads, queued=names, schedule=schedule, make=self._make,
            ticked=self._ticked,
        )  # fmt: skip

    def _made_elastic(
        self, threads: ElasticThreads, queued: Iterable[str] | None, schedule: str
    ) -> Element | ThreadedElement:
        check_threads(self.graph.name, threads)
        if queued is not None:
            raise InputError("queued is for a fixed number of threads; a policy that finds one places queues itself")
        letters = StepLetters(self.letters, {})
        make = self._make if self._fires_at_end else sharded(self._make, None)
        element = Element(self.graph, letters, self.collected, make=make, ticked=self._ticked)
        self._threads = own = ElementThreads(self.graph, self.graph, letters, schedule)
        _side_by_side.add(own)
        own.begin(element, threads, partial(_cores_left_by_others, ref(own), is_even=threads.policy == "multilevel"))
        return own.element

    def _is_idle(self, intake: Intake) -> bool:
        timeout_s = self._timeout_s[intake.source.name]
        if timeout_s is None or intake.finished:
            return False
        return self._clock() - self._fed_at[intake.source.name] > timeout_s

    def _drop_overtaken(self) -> None:
        """Tuples of a source that was idle while the others went past them become dead letters."""
        for name, intake in self.intakes.items() if self._has_timeouts else ():
            timeout_s = self._timeout_s[name]
            if timeout_s is not None and intake.rows and intake.merged:
                intake.drop_overtaken(self._steps.frontier, timeout_s)


def check_at_end(at_end: object) -> None:
    if at_end not in ("hold", "fire"):
        raise InputError(f"at_end is 'hold' or 'fire'; got {at_end!r}")


def check_block_rows(block_rows: object) -> None:
    if problem := whole(1).problem("block_rows", block_rows):
        raise InputError(problem)
    if isinstance(block_rows, int) and block_rows > MOST_TUPLES:
        raise InputError(f"block_rows is at most {MOST_TUPLES:,}; got {block_rows}")


def collected_streams(graph: Graph, taps: Iterable[str]) -> dict[str, str]:
    """Result name -> stream: all sinks, and the streams that are tapped."""
    streams = [stream for o in graph.operators for stream in o.outputs]
    wanted = {sink.name: sink.name for sink in graph.sinks}
    for tap in (taps,) if isinstance(taps, str) else taps:
        if tap not in streams:
            hint = did_you_mean(tap, streams)
            raise InputError(f"application '{graph.name}' has no stream '{tap}' to tap; it has: {', '.join(streams)}"
                             + (f"; {hint}" if hint else ""))  # fmt: skip
        wanted[tap] = tap
    return wanted


def extend(results: Batches, steps: Iterable[tuple[object, dict[str, Block]]]) -> None:
    """Adds what steps gave, but for empty blocks."""
    for _, blocks in steps:
        for name, block in blocks.items():
            if block.rows:
                results.setdefault(name, []).append(block.to_arrow())


def _cores_left_by_others(own: ReferenceType[ElementThreads], *, is_even: bool = False) -> int:
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

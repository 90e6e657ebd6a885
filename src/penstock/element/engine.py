"""The in-process engine: blocks in, blocks out, on one thread or several."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from penstock.app.graph import Graph
from penstock.element.block import Block
from penstock.element.dead_letters import DeadLetters
from penstock.element.element import Element
from penstock.element.intake import Intake
from penstock.element.position import EVERYTHING
from penstock.element.steps import Steps
from penstock.element.threads.figures import gil_advice
from penstock.element.threads.schedule import OLDEST_FIRST, schedule_of
from penstock.element.threads.setting_checks import checked_queues, checked_threads
from penstock.element.threads.threaded_element import MAX_THREADS, ThreadedElement
from penstock.errors import InputError, did_you_mean
from penstock.plan.order import streams_with_positions

Batches = dict[str, list[pa.RecordBatch]]


class Engine:
    """An application at work in this process; `feed` it batches, `finish` it, and read what its sinks and taps got.

    Sources may be fed piecemeal: tuples are processed up to the lowest last stamp of all sources that are merged with
    others; a source that was fed nothing for `idle_timeout_s` seconds (None: for ever) does not hold the others back,
    and what it delivers behind them goes to the dead letters.

    On one thread operators are called as functions in program order. With `threads` that many take blocks from queues
    in front of the operators named by `queued` (by default those that read a source), in the order that `schedule`
    says; results are the same, but `feed` gives only what is complete by then, and `finish` the rest. Functions of
    `map` are then called on several at once.
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
        threads: int = 1,
        queued: Iterable[str] | None = None,
        schedule: str = OLDEST_FIRST,
    ) -> None:
        check_block_rows(block_rows)
        if on_error not in ("dead_letter", "fail"):
            raise InputError(f"on_error is 'dead_letter' or 'fail'; got {on_error!r}")
        self.graph, self.block_rows = graph, block_rows
        self.letters = DeadLetters(fail=on_error == "fail")
        positioned = streams_with_positions(graph)
        self.collected = collected_streams(graph, taps)
        self.intakes = {
            s.name: Intake(s, place, s.name in positioned, self.letters) for place, s in enumerate(graph.sources)
        }
        self.element = self._made(threads, queued, schedule)
        self._idle_timeout_s, self._clock = idle_timeout_s, clock
        self._fed_at = dict.fromkeys(self.intakes, clock())
        self._steps = Steps(self.intakes, block_rows, None if idle_timeout_s is None else self._is_idle)

    @property
    def state_bytes(self) -> dict[str, int]:
        """Memory of each operator's state."""
        return {name: operator.state_bytes for name, operator in self.element.running.items()}

    @property
    def advice(self) -> tuple[str, ...]:
        """What was found out about the threads, one sentence each."""
        return gil_advice(self.element.holds_gil) if isinstance(self.element, ThreadedElement) else ()

    def feed(self, inputs: Mapping[str, pa.Table | pa.RecordBatch]) -> Batches:
        """Takes tuples of some sources and gives what can be emitted now, by sink and tap."""
        for name, batch in inputs.items():
            if name not in self.intakes:
                hint = did_you_mean(name, self.intakes)
                known = f"it has: {', '.join(self.intakes)}" + (f"; {hint}" if hint else "")
                raise InputError(f"application '{self.graph.name}' has no source '{name}'; {known}")
            self._fed_at[name] = self._clock()
            self.intakes[name].add(batch)
        return self._drain()

    def finish(self) -> Batches:
        """Says that nothing more comes, and gives the rest."""
        for intake in self.intakes.values():
            intake.finished = True
        results = self._drain()
        self._steps.frontier = EVERYTHING
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
        for blocks in self._steps.take():
            self._step(results, blocks)
        return results

    def _step(self, results: Batches, blocks: dict[str, Block]) -> None:
        if isinstance(self.element, ThreadedElement):
            extend(results, self.element.feed(blocks, self._steps.frontier))
        else:
            extend(results, [(0, self.element.step(blocks, self._steps.frontier))])

    def _rest(self) -> Iterable[tuple[object, dict[str, Block]]]:
        """What threads have not given yet; then they end."""
        if isinstance(self.element, ThreadedElement):
            yield from self.element.drain()
            self.element.close()

    def _made(self, threads: int, queued: Iterable[str] | None, schedule: str) -> Element | ThreadedElement:
        checked_threads(threads, MAX_THREADS, least=1)
        names = None if queued is None else checked_queues(queued, self.graph)
        schedule_of(schedule)
        if threads == 1 and not names:
            return Element(self.graph, self.letters, self.collected)
        names = readers_of_sources(self.graph) if names is None else names
        return ThreadedElement(
            self.graph, self.letters, self.collected, threads=threads, queued=names, schedule=schedule
        )

    def _is_idle(self, intake: Intake) -> bool:
        if self._idle_timeout_s is None or intake.finished:
            return False
        return self._clock() - self._fed_at[intake.source.name] > self._idle_timeout_s

    def _drop_overtaken(self) -> None:
        """Tuples of a source that was idle while the others went past them become dead letters."""
        for intake in self.intakes.values() if self._idle_timeout_s is not None else ():
            if not intake.rows or not intake.with_positions:
                continue
            block = intake.take(intake.rows)
            assert block.position is not None
            gone = block.position.within(self._steps.frontier)
            reason = f"came after its source was idle for {self._idle_timeout_s:g} s and the others went on"
            self.letters.add_rows(intake.source.name, reason, block, np.arange(gone))
            intake.put_back(block.slice(gone, block.rows))


def check_block_rows(block_rows: object) -> None:
    if not isinstance(block_rows, int) or block_rows < 1:
        raise InputError(f"block_rows is a whole number of at least 1; got {block_rows!r}")


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


def readers_of_sources(graph: Graph) -> frozenset[str]:
    """The operators that read a source: queues in front of them let a source go on while others work."""
    sources = {source.name for source in graph.sources}
    return frozenset(operator.name for operator in graph.operators if sources.intersection(operator.inputs))

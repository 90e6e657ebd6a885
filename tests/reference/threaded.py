"""Holding the threaded element to the one-threaded one: the same steps, in the same order, to the bit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.app.operators import Operator, Source
from penstock.block.block import Block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Frontier
from penstock.element.element import Element, MakeOperator
from penstock.element.engine import Engine
from penstock.element.threads.element_threads import ElementThreads
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.operators.factory import make_operator
from penstock.operators.protocol import OperatorRuntime

Fed = tuple[dict[str, Block], Frontier]
Results = list[tuple[int, dict[str, pa.RecordBatch]]]
Outcome = tuple[Results, list[dict[str, Any]]]
TIME_LIMIT_S = 60.0


class _Recorder:
    """Stands for an engine's element and notes the steps it would take."""

    def __init__(self) -> None:
        self.steps: list[Fed] = []

    def step(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        self.steps.append((dict(blocks), frontier))
        return {}


def steps_of(graph: Graph, tables: Mapping[str, pa.Table], block_rows: int) -> list[Fed]:
    """The steps that an engine makes of tables."""
    engine = Engine(graph, block_rows=block_rows)
    recorder = engine.element = _Recorder()  # type: ignore[assignment]
    engine.feed(tables)
    engine.finish()
    return recorder.steps


def one_threaded(graph: Graph, steps: Sequence[Fed], wanted: Iterable[str]) -> Outcome:
    letters = DeadLetters()
    element = Element(graph, letters, {name: name for name in wanted})
    given = ((number, element.step(*step)) for number, step in enumerate(steps))
    return [(number, _arrow(blocks)) for number, blocks in given if blocks], letters.table().to_pylist()


@dataclass(frozen=True)
class Disorder:
    """What a run is disturbed by: pauses inside operators, and settings changed while it goes on."""

    seed: int = 0
    pause_s: float = 0.0
    settings: Sequence[tuple[int, frozenset[str]]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def many_threads(
    graph: Graph, steps: Sequence[Fed], wanted: Iterable[str], disorder: Disorder, threads: int, queued: Iterable[str]
) -> Outcome:
    """The outcome of a threaded element; fails if it takes longer than the time limit or a queue outgrew its bound."""
    letters = DeadLetters()
    element = ThreadedElement(
        graph, letters, {name: name for name in wanted}, threads=threads, queued=queued,
        make=pausing(disorder.seed, disorder.pause_s), **disorder.options,
    )  # fmt: skip
    finished: Results = []
    over = threading.Event()

    def feed() -> None:
        for step in steps:
            finished.extend((number, _arrow(blocks)) for number, blocks in element.feed(*step))
        finished.extend((number, _arrow(blocks)) for number, blocks in element.drain())
        over.set()

    within_time(lambda: _side_by_side(feed, lambda: _change(element, disorder, over)))
    most_threads = max([threads, *(level for level, _ in disorder.settings)])
    bound = element._blocks_per_thread * (most_threads + 1)
    assert all(most <= bound for most in element.observe().most_in_queue.values())
    within_time(element.close)
    return finished, letters.table().to_pylist()


def pausing(seed: int, pause_s: float) -> MakeOperator:
    """Operators that now and then sleep before a block, so that threads overtake one another."""
    chance = random.Random(seed)

    def make(operator: Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
        return _Pausing(make_operator(operator, graph, letters), chance, pause_s)

    return make if pause_s else make_operator


class Restless(ElementThreads):
    """Changes threads, queues, and how many steps go straight, after each step that does not."""

    changes: Iterator[tuple[int, frozenset[str], int]] = iter(())

    def _look(self, *, is_last: bool = False) -> None:
        threads, queued, inline = next(self.changes, (0, frozenset[str](), 0))
        self._unwatched = 0 if queued else inline
        self.element.set(threads, queued)


def restless(
    graph: Graph,
    steps: Sequence[Fed],
    wanted: Iterable[str],
    make: MakeOperator,
    changes: Sequence[tuple[int, frozenset[str], int]],
) -> tuple[Outcome, int]:
    """The outcome of threads that are never left alone, with how many steps went straight."""
    all_letters = DeadLetters()
    letters = StepLetters(all_letters, {})
    threads = Restless(graph, graph, letters)
    threads.changes = iter(changes)
    given: Results = []
    inline = 0

    def feed() -> None:
        nonlocal inline
        threads.begin(Element(graph, letters, {name: name for name in wanted}, make=make), 1, lambda: 1)
        threads._look()
        for number, step in enumerate(steps):
            inline += threads._inline.left > 0
            given.extend((place[0], _arrow(blocks)) for place, blocks in threads.feed(*step, (number, (0, 0, 0))))
        given.extend((place[0], _arrow(blocks)) for place, blocks in threads.rest())

    within_time(feed)
    assert threads.element.steps == len(steps)
    assert threads.element.observe().tuples == sum(block.rows for blocks, _ in steps for block in blocks.values())
    within_time(threads.close)
    return ([(number, blocks) for number, blocks in given if blocks], all_letters.table().to_pylist()), inline


class _Pausing:
    def __init__(self, running: OperatorRuntime, chance: random.Random, pause_s: float) -> None:
        self._running, self._chance, self._pause_s = running, chance, pause_s

    @property
    def state_bytes(self) -> int:
        return self._running.state_bytes

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        if self._chance.random() < 0.3:
            time.sleep(self._chance.random() * self._pause_s)
        return self._running.process(inputs, frontier)


def queueable(graph: Graph) -> list[str]:
    return [operator.name for operator in graph.operators if not isinstance(operator, Source)]


def within_time(action: Callable[[], object]) -> None:
    """Runs something that must not hang."""
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            action()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(TIME_LIMIT_S)
    assert not thread.is_alive(), "it hangs"
    if raised:
        raise raised[0]


def _side_by_side(feed: Callable[[], None], change: Callable[[], None]) -> None:
    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    feed()
    changing.join()


def _change(element: ThreadedElement, disorder: Disorder, over: threading.Event) -> None:
    chance = random.Random(disorder.seed)
    for threads, queued in disorder.settings:
        if over.wait(chance.random() * 0.002):
            return
        element.set(threads, queued)


def _arrow(blocks: Mapping[str, Block]) -> dict[str, pa.RecordBatch]:
    return {name: block.to_arrow() for name, block in blocks.items()}


def assert_same(found: Outcome, expected: Outcome) -> None:
    """The same steps with the same rows, bit for bit, and the same dead letters, in the same order."""
    assert [number for number, _ in found[0]] == [number for number, _ in expected[0]]
    for (number, some), (_, others) in zip(found[0], expected[0], strict=True):
        assert repr(_plain(some)) == repr(_plain(others)), f"step {number}"
    assert found[1] == expected[1]


def in_order(outcome: Outcome) -> Outcome:
    """Steps by their number, dead letters by what they say."""
    return sorted(outcome[0], key=lambda pair: pair[0]), sorted(outcome[1], key=repr)


def _plain(batches: Mapping[str, pa.RecordBatch]) -> dict[str, list[dict[str, Any]]]:
    return {name: batch.to_pylist() for name, batch in batches.items()}

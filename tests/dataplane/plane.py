"""The data plane without Spark: the same tasks, plans, state and manifests, with tasks run one after the other."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.block.ordering import in_order
from penstock.errors import InputError
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.plan.configuration import Configuration, ElementConfiguration, check_configuration
from penstock.plan.elements.layout import layout_of
from penstock.plan.fusion.groups import Fused, Groups, complete_groups
from penstock.plan.thread_setting import POLICIES, ElasticThreads
from penstock.runtime.driver.batch_result import BatchResult
from penstock.runtime.driver.recording import recorded
from penstock.runtime.exchange import host_exchange, message
from penstock.runtime.exchange.host_exchange import HostExchange
from penstock.runtime.exchange.message import Message
from penstock.runtime.migration.copier import Copier
from penstock.runtime.replica import element_worker as workers
from penstock.runtime.replica.task import ElementTask
from penstock.runtime.slots.hot_key_splitting import splittable
from penstock.runtime.sources.offset_reader import Cuts
from penstock.spark.driver.micro_batch import MicroBatches
from penstock.spark.session.pickling import dumps, dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.memory.host_directory import HostState

SLOTS = 8
Fusions = Literal["none", "one", "all"]  # drawn never, for the first batch, for each batch


def with_words(table: pa.Table) -> pa.Table:
    """The table with texts as codes into dictionaries, as files have them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(place, field.name, table.column(place).dictionary_encode())
    return table


def any_fusion(graph: Graph, chance: random.Random) -> Groups:
    """A random partition of the operators into elements: pairs of them are put together as long as that can be."""
    groups = [(operator.name,) for operator in graph.operators]
    for _ in range(chance.randrange(2 * len(groups))):
        one, two = chance.sample(range(len(groups)), 2) if len(groups) > 1 else (0, 0)
        joined = [group for i, group in enumerate(groups) if i not in (one, two)] + [groups[one] + groups[two]]
        with contextlib.suppress(InputError):
            complete_groups(graph, joined)
            groups = joined
    try:
        return complete_groups(graph, groups)
    except InputError:  # sources that must be in one element
        sources = {source.name for source in graph.sources}
        return complete_groups(graph, [group for group in groups if not sources & set(group)])


class Killed(Exception):
    """A task that dies half-way."""


class Plane(MicroBatches):
    """Runs an application over tables, batch after batch; a seed decides everything that may vary.

    Every batch has its own replicas, routes, fusion, block size, micro-batch size and, with `threads`, threads; tasks
    may die and run again, deliveries come in any order, and worker processes vanish now and then.
    """

    def __init__(
        self,
        graph: Graph,
        tables: Mapping[str, pa.Table] | None,
        directory: Path,
        seed: int,
        kills: float,
        *,
        threads: bool = False,
        fusions: Fusions = "none",
    ) -> None:
        self.random, self.kills, self.threads, self.fusions = random.Random(seed), kills, threads, fusions
        letters = DeadLetters()
        if tables is not None:
            coded = random.Random(seed).random() < 0.5
            given = {name: with_words(table) if coded else table for name, table in tables.items()}
            graph = recorded(graph, given, str(directory / "tables"), letters)
        checkpoint = Checkpoint(directory / "checkpoint")
        fixed = checkpoint.fix(graph, slots=SLOTS, now_s=0.0, dumps=dumps_for_workers)
        super().__init__(checkpoint, fixed, 1, self._any_configuration, self._keep)
        self.cuts, self.attempts = Cuts(graph), itertools.count(1)
        self.exchange: str | None = None  # where tasks hand payloads of any size to each other
        if random.Random(~seed).random() < 0.5:
            self.exchange = str(directory / "exchange")
            Path(self.exchange).mkdir()
        self.blocks: dict[str, list[pa.RecordBatch]] = {sink.name: [] for sink in graph.sinks}
        self.letters = [letters.table()]
        self.rebuilt = 0
        self.unfused: tuple[str, ...] | None = None  # drawn at the first batch
        self.fusion: Groups | None = None
        self._fusions: list[Groups | None] = []
        self.block_rows: int | None = None  # drawn at each
        self._start: dict[str, int] = {}
        self._end: dict[str, int] = {}

    def run_all(self) -> tuple[dict[str, pa.Table], pa.Table]:
        try:
            self._run_batches()
        finally:
            for name in list(workers._workers):
                if name[0] == self.fixed.checkpoint_id:
                    workers._workers.pop(name).end_threads()
            HostState(self.fixed.checkpoint_id, self.fixed.state_directory).end()
        tables = {
            name: pa.Table.from_batches(batches, self.fixed.graph.operator(name).schema)
            for name, batches in self.blocks.items()
        }
        return tables, pa.concat_tables(self.letters)

    def _run_batches(self) -> None:
        self._start = dict.fromkeys(self.cuts.sources, 0)
        for batch in itertools.count():
            cap = self.random.choice([1, 3, 10, 40])
            self._end = self.cuts.ends(self._start, 0.0, cap * len(self.cuts.sources))
            if self._end == self._start and not self.has_waiting:
                return
            self.between_batches()
            while True:
                try:
                    self.run(None, batch)  # type: ignore[arg-type]
                    break
                except Killed:
                    self.epoch += 1  # the driver died with it
            self._start = self._end

    def between_batches(self) -> None:
        """What happens before a batch."""

    def cores(self, frame: object) -> tuple[Mapping[str, int], set[str]]:
        return {}, set()

    def make_copier(self) -> Copier:
        return Copier(self.run_copy, self.run_release)

    def run_tasks(self, frame: object, plan: BatchPlan) -> Iterator[Message]:
        rows = self._rows(plan.configuration.block_rows)
        messages: list[Message] = []
        pipeline = self.layout(plan.configuration).pipeline
        for number, element in enumerate(pipeline.elements):
            replicas = plan.configuration.element(element.name).replicas
            random.Random(self.random.random()).shuffle(messages)  # how many there are changes nothing else
            shares: list[list[Any]] = [[] for _ in range(replicas)]
            if number:
                for m in messages:
                    shares[m.replica % replicas].append(m)  # what only passes goes by the remainder, as in Spark
            else:
                for i, row in enumerate(rows):
                    shares[i * replicas // len(rows)].append(row)
            messages = []
            for replica in self.random.sample(range(replicas), replicas):
                messages += self._task(plan, number, replica, shares[replica])
        assert all(m.element == message.RESULT for m in messages)
        yield from messages

    def _task(self, plan: BatchPlan, number: int, replica: int, share: list[Any]) -> list[Message]:
        """One task, attempt after attempt until one lives to its end."""
        while True:
            with self.on_host(plan, number, replica):
                if self.random.random() < self.kills:
                    self._vanish()
                worker = workers.element_worker(
                    str(self.checkpoint.directory), plan.epoch, plan.configuration.fused, number, dumps=dumps
                )
                attempt = next(self.attempts)
                task = ElementTask(worker, plan, replica, attempt)
                given = host_exchange.arrived(iter(share), number, self.exchange) if number else iter(share)
                output = task.run_next(given) if number else task.run_first(given)  # type: ignore[arg-type]
                if self.exchange is not None:
                    output = HostExchange(self.exchange, f"{number}-{attempt}").outward(output)
                dies = self.random.random() < self.kills
                done = list(itertools.islice(output, self.random.randrange(4))) if dies else list(output)
                self.rebuilt += task.rebuilt
                if not dies:
                    return done
                output.close()
                assert not any(slot.stage for slot in worker._step_letters.thread_slots.values()), "a thread is at work"
            if self.random.random() < 0.3:
                raise Killed

    def on_host(self, plan: BatchPlan, number: int, replica: int) -> AbstractContextManager[None]:
        """Has a task run on some host."""
        return nullcontext()

    def _vanish(self) -> None:
        """The worker processes die, with their threads."""
        for worker in workers._workers.values():
            worker.end_threads()
        workers._workers.clear()

    def _rows(self, block_rows: int) -> list[dict[str, Any]]:
        frontier = self.cuts.frontier(self._end)
        packed = None if frontier is None else message.pack_frontier(frontier)
        rows = []
        for name, end in self._end.items():
            for start in range(self._start[name], end, block_rows):
                row = {"source": name, "start": start, "stop": min(start + block_rows, end)}
                rows.append({**row, "payload": None, "frontier": packed})
        return rows

    def _keep(self, plan: BatchPlan, result: BatchResult, measured: MeasuredBatch) -> None:
        for name, blocks in result.blocks.items():
            ordered = [block for _, block in sorted(blocks, key=lambda pair: pair[0])]
            self.blocks[name].append(in_order(ordered).to_arrow())
        self.letters += result.letters

    def _any_fusion(self) -> Groups | None:
        """A new one, or one that was there before."""
        if len(self._fusions) < 4:
            drawn = None if self.random.random() < 0.1 else any_fusion(self.fixed.graph, self.random)
            self._fusions.append(drawn)
            return drawn
        return self.random.choice(self._fusions)

    def _any_threads(self) -> int | ElasticThreads:
        if not self.threads:
            return 1
        elastic = ElasticThreads(1, 3, self.random.choice(POLICIES), period_s=1e-4)  # type: ignore[arg-type]
        return self.random.choice([1, 2, 3, elastic, elastic])

    def _any_configuration(self) -> Configuration:
        """Any Configuration that the state allows: what is unfused is drawn once, since other slots go by it."""
        graph = self.fixed.graph
        if self.unfused is None:
            names = [o.name for o in graph.operators if o.inputs and o not in graph.sinks]
            names = names if self.fusions == "none" else []
            self.unfused = tuple(sorted(name for name in names if self.random.random() < 0.25))
        if self.fusions == "all" or (self.fusions == "one" and self.fusion is None):
            self.fusion = self._any_fusion()
        fused = Fused(self.unfused, self.fusion)
        layout = layout_of(graph, fused)
        pipeline, can_split = layout.pipeline, splittable(graph, layout)
        elements = []
        for element in pipeline.elements:
            replicas = 1 if element.scope == "stream" else self.random.randint(1, 3)
            route = [self.random.randrange(replicas) for _ in range(SLOTS)] if element.scope == "key" else []
            split = [slot for slot in range(SLOTS) if element.name in can_split and self.random.random() < 0.3]
            threads = self._any_threads()
            elements.append(ElementConfiguration(element.name, replicas, tuple(route), tuple(split), threads))
        configuration = Configuration(
            tuple(elements), block_rows=self.block_rows or self.random.choice([1, 2, 7, 50]), unfused=self.unfused,
            fusion=self.fusion,
        )  # fmt: skip
        check_configuration(configuration, pipeline)
        return configuration

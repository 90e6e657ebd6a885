"""`ps.profile`: what the operators of an application cost, learned by running it at several rates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import FLAG, FUNCTION, TEXT, check_arguments, kind, number, or_none
from penstock.block.dead_letters import DeadLetters
from penstock.element.evaluation import Input, read_inputs
from penstock.host.directories import scratch_folder
from penstock.measure.observation import Observation
from penstock.model.costs.choosing.choice import rates_of
from penstock.model.costs.learning.learned_profile import Measured, Overhead, learned
from penstock.model.costs.learning.operator_facts import OperatorFacts, facts_of
from penstock.model.costs.learning.samples import Sample, middle, samples_of
from penstock.model.costs.profile import Profile
from penstock.model.costs.store import CostStore, node_class
from penstock.plan.configuration import Configuration
from penstock.plan.plan import plan_of
from penstock.runtime.profiling.neighbours import measured_contention
from penstock.runtime.profiling.profiled_graph import apart, profiled, with_first_rate
from penstock.runtime.profiling.rate_plan import FIRST_RATE, checked_rates, doubtful, next_probe, rates_below
from penstock.spark.profiling.communication_run import learned_overhead
from penstock.spark.profiling.rate_run import RateRun
from penstock.spark.session.session import master_of, spark_session

ROUNDS = 3  # in which each rate is visited, so that a drift of the machine falls on all of them
RATIOS = (1.0, 0.5, 2.0)  # of the first source against the others, where operators have several ports
_PROBE_S = 0.5
Progress = Callable[[str, float], None]  # what is being done, and the share of it that is over


def profile(
    app: Application,
    rates: Sequence[float] | None = None,
    master: str = "local[2]",
    seconds: float = 10.0,
    *,
    inputs: Mapping[str, Input] | None = None,
    session: SparkSession | None = None,
    progress: Progress | None = None,
    node: str | None = None,
    contention: bool = False,
) -> Profile:
    """Learns what each operator of an application costs, by running it on local Spark, and stores it.

    The application runs at each of `rates` (source tuples/s, one micro-batch per second) for at most `seconds`, with
    every operator in an element of its own; by default at shares of the highest rate that it sustains.  It ends
    earlier where the fits are good enough.  A profile that was cut short goes on where it was.  Sources give tuples as
    fast as they are taken, those of files (or of `inputs`) again and again; sinks write nothing that stays.  The first
    profile on a machine learns the cost of communication, too.  `node` is the name under which the store keeps what was
    learned, by default the processor's; what two nodes know of the same operators gives their speeds by class.
    `contention`: the application also runs next to a neighbour that writes 10 MB of memory.  `progress` is called with
    what is being done and the share of it that is over; where there is none, a terminal gets a bar.

    >>> import penstock as ps
    >>> app = ps.Application("cheap")
    >>> trades = app.source("trades", ps.sources.trace(rate_tuples_s=1000))
    >>> trades.functor("cheap", where="price < 20").sink("out", ps.sinks.discard())
    >>> p = ps.profile(app)  # doctest: +SKIP
    >>> p.predict({"trades": 50_000}).elements["cheap"].cpu_cores  # doctest: +SKIP
    """
    check_arguments(
        "ps.profile", master=(master, TEXT), seconds=(seconds, number(above=0)),
        inputs=(inputs, or_none(kind("a dict of tables by source", Mapping))),
        session=(session, or_none(kind("a SparkSession", SparkSession))), progress=(progress, or_none(FUNCTION)),
        node=(node, or_none(TEXT)), contention=(contention, FLAG),
    )  # fmt: skip
    graph, own_rates = graph_of(app, "ps.profile"), checked_rates(rates)
    master_of(master, None, 1)
    given = _tables(graph, inputs or {})
    with ExitStack() as stack:
        tell = progress if progress is not None else stack.enter_context(_bar())
        folder = scratch_folder()
        stack.callback(folder.remove)
        as_profiled = profiled(graph, given, Path(folder.path))
        run = _ProfileRun(graph, as_profiled, seconds, tell, contention, node=node or node_class())
        return run.learned(session or spark_session(master), own_rates)


@dataclass(slots=True)
class _ProfileRun:
    """One application's profile: visits to rates, kept in the store as they are made."""

    graph: Graph
    as_profiled: Graph
    seconds: float
    tell: Progress
    contention: bool = False
    store: CostStore = field(default_factory=CostStore)
    node: str = field(default_factory=node_class)

    def learned(self, session: SparkSession, rates: tuple[int, ...] | None) -> Profile:
        overhead = self._overhead(session)
        facts, application = facts_of(self.graph), application_key(self.graph)
        rates = rates or self.store.rates(application, self.node)
        measured: list[Measured] = []
        ratios = _ratios(self.graph)
        for place, ratio in enumerate(ratios):
            changed = self.as_profiled if ratio == 1.0 else with_first_rate(self.as_profiled, ratio)
            configuration = apart(changed)
            with RateRun(changed, replace(configuration, micro_batch_tuples=FIRST_RATE), session) as run:
                if rates is None:
                    rates = self._probed(run, configuration)
                self.store.keep_rates(application, self.node, rates)
                visits = _Visits(self, run, configuration, application, ratio, rates, place / len(ratios), len(ratios))
                measured += visits.made(facts, overhead, measured)
        found = replace(learned(facts, measured, overhead), node=self.node)
        if self.contention and rates:
            found = replace(found, contention=self._contention(session, rates[-1], overhead))
        self.store.keep(found, self.node)
        self.store.forget_samples(application, self.node)
        return replace(found, speeds_by_node=self.store.speeds(self.node))

    def _contention(self, session: SparkSession, highest: int, overhead: Overhead) -> float:
        """What a neighbour adds to the application's CPU at half of the highest rate; the node's overhead keeps it."""
        rate, visits = max(highest // 2, 1), 2 * ROUNDS
        configuration = replace(apart(self.as_profiled), micro_batch_tuples=rate)
        with RateRun(self.as_profiled, configuration, session) as run:

            def visit(number: int) -> Sample:
                def reported(share: float) -> None:
                    self.tell(f"{'with' if number % 2 else 'without'} a neighbour", (number + share) / visits)

                return _middle(run.visit(configuration, rate, self.seconds / ROUNDS, reported))

            factor = measured_contention(visit, ROUNDS)
        self.store.keep_overhead(self.node, replace(overhead, contention=factor))
        return factor

    def _overhead(self, session: SparkSession) -> Overhead:
        """What was learned of this node before, else by the communication learner now."""
        known = self.store.overhead(self.node)
        if known is None:
            known = learned_overhead(session, self.tell)
            self.store.keep_overhead(self.node, known)
        return known

    def _probed(self, run: RateRun, configuration: Configuration) -> tuple[int, ...]:
        """The rates to run at, found by going up until a micro-batch is about half full."""
        probes: list[tuple[int, Sample]] = []
        rate: int | None = FIRST_RATE
        while rate is not None:
            self.tell(f"looking for the highest rate: {rate:,} tuples/s", 0.0)
            probes.append((rate, _middle(run.visit(configuration, rate, _PROBE_S, lambda share: None))))
            rate = next_probe(rate, probes[-1][1])
        return rates_below(probes)


@dataclass(frozen=True, slots=True)
class _Visits:
    """The visits to all rates at one ratio of the sources."""

    owner: _ProfileRun
    run: RateRun
    configuration: Configuration
    application: str
    ratio: float
    rates: tuple[int, ...]
    over: float = 0.0  # of the profile, before them
    parts: int = 1

    def made(
        self, facts: Mapping[str, OperatorFacts], overhead: Overhead, others: Sequence[Measured]
    ) -> list[Measured]:
        """What was measured, after as many rounds as it takes for good fits."""
        owner, planned = self.owner, plan_of(self.owner.as_profiled, self.configuration)
        elements = {element.name: element.operators for element in planned.elements}
        known = {rate: owner.store.samples(self.application, owner.node, self.ratio, rate) for rate in self.rates}
        measured: list[Measured] = []
        for round_ in range(ROUNDS):
            order = self.rates if round_ % 2 else self.rates[::-1]
            for place, rate in enumerate(order):
                if len(known[rate]) <= round_:
                    known[rate].append(self._visit(rate, round_, place))
                    owner.store.keep_samples(self.application, owner.node, self.ratio, rate, known[rate])
            measured = [(middle(known[rate]), elements) for rate in self.rates]
            if round_ and self._is_good(learned(facts, [*others, *measured], overhead)):
                break
        return measured

    def _visit(self, rate: int, round_: int, place: int) -> Sample:
        seconds = self.owner.seconds / ROUNDS

        def reported(share: float) -> None:
            own = (round_ + (place + share) / len(self.rates)) / ROUNDS
            text = f"round {round_ + 1}: {rate:,} tuples/s"
            if self.parts > 1:
                text += f", {self.owner.graph.sources[0].name} x {self.ratio:g}"
            self.owner.tell(text, self.over + own / self.parts)

        return _middle(self.run.visit(self.configuration, rate, seconds, reported))

    def _is_good(self, found: Profile) -> bool:
        return not doubtful(found, rates_of(found, float(self.rates[-1])))


def application_key(graph: Graph) -> str:
    """Names an application in the store, by what its operators do."""
    keys = ";".join(f"{name}={own.key}" for name, own in facts_of(graph).items())
    return f"{graph.name}-{hashlib.sha256(keys.encode()).hexdigest()[:12]}"


def _ratios(graph: Graph) -> tuple[float, ...]:
    has_ports = any(len(own.inputs) > 1 for own in graph.operators)
    return RATIOS if has_ports and len(graph.sources) > 1 else (1.0,)


def _middle(seen: Sequence[Observation]) -> Sample:
    """The sample of a visit: the size that most of its micro-batches had."""
    return max(samples_of(seen, undisturbed=True), key=lambda sample: sample.batches)


def _tables(graph: Graph, inputs: Mapping[str, Input]) -> dict[str, pa.Table]:
    """The tables that a caller gave for sources."""
    given = tuple(own for own in graph.sources if own.name in inputs)
    if len(given) < len(inputs):
        read_inputs(graph, inputs, DeadLetters())  # says which name is none
    return read_inputs(replace(graph, operators=given), inputs, DeadLetters())


@contextmanager
def _bar() -> Iterator[Progress]:
    """A bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    screen = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Bar(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("profile", total=1.0)
        yield lambda text, share: bar.update(task, description=text, completed=share)

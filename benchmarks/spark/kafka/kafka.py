"""Benchmark `kafka`: our engine on a topic of 12 partitions, JSON and Arrow, and what it takes others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from benchmarks.report import Show
from benchmarks.spark.applications import SINK, SOURCE
from benchmarks.spark.batches import committed_at_s
from benchmarks.spark.kafka.bare import bare_tuples_s
from benchmarks.spark.kafka.peer import PeerRun, numbered
from benchmarks.spark.kafka.quix import quix_run
from benchmarks.spark.kafka.stock import Sizes, connector_jars, stock_runs, trades_by_connector
from benchmarks.spark.kafka.topics import fill, is_as_sent, new_topic, send_paced, trades
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.vwap.stock_tuples import Sums
from benchmarks.spark.watching import observations_of, started
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.block.block import Block, block_of
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.control.goals.goal import latency
from penstock.element.engine import Engine
from penstock.errors import InputError
from penstock.kernels.keys.row_checksum import add_checksums, checksum_of
from penstock.measure.observation import Observation, latency_over
from penstock.spark.driver.start import start
from penstock.testing import local_session

if TYPE_CHECKING:
    from tests.services.kafka_server import KafkaServer

T = TypeVar("T")
FORMATS = ("json", "arrow")
PEERS = ("spark", "quix", "connector")
_NAMES = {"spark": "stock PySpark", "quix": "quix-streams", "connector": "ours on Spark's connector"}
_BLOCK_ROWS = 65_536
_WARM_BATCHES, _WARM_BATCH_TUPLES, _WARM_S = 40, 5_000, 12.0  # before the runs: the JVM compiles what it runs often
_REBALANCE_MS = 15_000  # for which a broker waits for all members of a new group


@dataclass(frozen=True, slots=True)
class KafkaEffort:
    """Tuples of a topic, and the rate and time of the run whose latency is measured; `warm` tuples do not count."""

    tuples: int = 6_000_000
    warm: int = 1_500_000
    keys: int = 2836
    cores: int = 2
    rate_tuples_s: float = 20_000.0
    paced_s: float = 40.0
    cap_tuples: int = 1_500_000
    arrow_times: int = 2  # as many tuples of Arrow, in batches as much larger: they are over sooner
    limit_s: float = 300.0
    formats: tuple[str, ...] = FORMATS
    peers: tuple[str, ...] = PEERS
    is_paced: bool = True

    def of(self, format_: str) -> KafkaEffort:
        return self.times(self.arrow_times) if format_ == "arrow" else self

    def with_tuples(self, tuples: int) -> KafkaEffort:
        """As many tuples of JSON; the first quarter is warm-up, and a micro-batch has a quarter."""
        return replace(self, tuples=tuples, warm=tuples // 4, cap_tuples=max(tuples // 4, 1))

    def times(self, factor: int) -> KafkaEffort:
        tuples, warm, cap = (factor * own for own in (self.tuples, self.warm, self.cap_tuples))
        return replace(self, tuples=tuples, warm=warm, cap_tuples=cap)


QUICK = KafkaEffort(tuples=600_000, warm=200_000, rate_tuples_s=5_000.0, paced_s=15.0, cap_tuples=100_000, limit_s=60.0)


@dataclass(frozen=True, slots=True)
class KafkaRun:
    """A run over a topic: its rate once warm, and its results against those of the engine in one process.

    `sent_as_read`: whether the topic has what was to be sent to it, by another client; asked where results are others.
    """

    tuples_s: float
    bare_tuples_s: float
    lost: int
    repeated: int
    equal: bool
    tuples: int = 0
    sent_as_read: bool | None = None
    fetched_ratio: float | None = None  # bytes that the broker sent us, over those it sent the bare consumer


@dataclass(frozen=True, slots=True)
class ConnectorRun:
    """The same application on Spark's own connector."""

    tuples_s: float
    equal: bool


@dataclass(frozen=True, slots=True)
class KafkaResult:
    """Everything that one run of the bench measured; what is not here is left out, peers with a sentence each."""

    runs: Mapping[str, KafkaRun]  # by format
    spark: tuple[PeerRun, ...]
    quix: tuple[PeerRun, ...]
    p95_ms: float | None
    left_out: tuple[str, ...]
    expected: Sums
    by_connector: ConnectorRun | None = None

    @property
    def json_tuples_s(self) -> float | None:
        return self.runs["json"].tuples_s if "json" in self.runs else None

    @property
    def unequal(self) -> tuple[str, ...]:
        """Peers that have not the results of all tuples, or other ones."""
        tuples = self.runs["json"].tuples if "json" in self.runs else 0
        return tuple(run.name for run in (*self.spark, *self.quix) if not run.is_equal(tuples, self.expected))


def run_kafka(effort: KafkaEffort, folder: Path, show: Show) -> KafkaResult:
    _check(effort)
    tables = {kind: trades(effort.of(kind).tuples, effort.keys) for kind in effort.formats}
    words = sorted(tables[effort.formats[0]]["ticker"].unique().to_pylist())
    with broker(show) as server:
        servers = server.servers
        topics = {kind: new_topic(servers) for kind in tables}
        warm = _warm_topics(servers, effort)
        with local_session() as session:
            runs = {
                kind: _run(server, (warm[kind], topic), kind, tables[kind], effort.of(kind), session, folder, show)
                for kind, topic in topics.items()
            }
            paced = _paced(servers, effort, session, folder, show) if effort.is_paced else None
        peers = _Peers(servers, topics.get("json", ""), warm.get("json", ""), words, effort, folder, show)
        spark, quix, connector = peers.stock(), peers.quix(), peers.connector(tables.get("json"))
    left_out = tuple(own for own in (spark, quix, connector) if isinstance(own, str))
    return KafkaResult(
        runs, () if isinstance(spark, str) else tuple(spark), () if isinstance(quix, str) else (quix,), paced,
        left_out, sums_in_process(tables["json"], words) if "json" in tables else Sums(),
        None if isinstance(connector, str) else connector,
    )  # fmt: skip


def _check(effort: KafkaEffort) -> None:
    """InputError where a format or peer is asked for that there is not, or a peer without JSON messages."""
    for option, given, there in (("--format", effort.formats, FORMATS), ("--peer", effort.peers, PEERS)):
        if unknown := [name for name in given if name not in there]:
            raise InputError(f"{option} is one of {', '.join(there)}; got {unknown[0]!r}")
    if effort.peers and "json" not in effort.formats:
        raise InputError("peers read JSON messages; take --format json too, or --no-peers")


@dataclass(frozen=True, slots=True)
class _Peers:
    """Runs of others over the topic of JSON messages; a sentence where one cannot be had, or was not asked for."""

    servers: str
    topic: str
    warm: str
    words: list[str]
    effort: KafkaEffort
    folder: Path
    show: Show

    def stock(self) -> list[PeerRun] | str:
        own = self.effort
        if "spark" not in own.peers:
            return f"{_NAMES['spark']}: not asked for"
        warm = _WARM_BATCHES * _WARM_BATCH_TUPLES, _WARM_BATCH_TUPLES, _WARM_S
        sizes = Sizes(own.tuples, own.cap_tuples, own.limit_s, *warm)
        return stock_runs(self.servers, self.topic, self.warm, self.words, sizes, self.folder, self.show)

    def quix(self) -> PeerRun | str:
        own = self.effort
        if "quix" not in own.peers:
            return f"{_NAMES['quix']}: not asked for"
        return quix_run(self.servers, self.topic, self.words, own.cores, own.limit_s, self.folder, self.show)

    def connector(self, table: pa.Table | None) -> ConnectorRun | str:
        if "connector" not in self.effort.peers or table is None:
            return f"{_NAMES['connector']}: not asked for"
        return _by_connector(self.servers, self.topic, table, self.effort, self.folder, self.show)


def _warm_topics(servers: str, effort: KafkaEffort) -> dict[str, str]:
    """A topic of each format with what the warm-up reads."""
    table, found = trades(_WARM_BATCHES * _WARM_BATCH_TUPLES, effort.keys), dict[str, str]()
    for kind in effort.formats:
        found[kind] = new_topic(servers)
        fill(servers, found[kind], table, kind)
    return found


@contextmanager
def broker(show: Show) -> Iterator[KafkaServer]:
    """A broker of the tests' own, from the jars that `make services` fetches."""
    from tests.services.kafka_server import KafkaServer, fetch

    show("fetching and starting Kafka")
    problem = fetch()
    if problem is not None:
        raise InputError(f"the benchmark needs a Kafka broker; {problem}")
    server = KafkaServer(_REBALANCE_MS)
    try:
        yield server
    finally:
        server.stop()


def application(source: Any) -> Application:
    return vwap_per_ticker("symbol", "symbol", source=source, sink=sinks.discard())


def in_process(table: pa.Table) -> tuple[int, int]:
    """Count and checksum of the results over all tuples, whatever their order among tickers."""
    count = checksum = 0
    for block in _results(table):
        count, checksum = count + block.rows, add_checksums(checksum, checksum_of(block))
    return count, checksum


def sums_in_process(table: pa.Table, words: list[str]) -> Sums:
    """Sums of the same results, as peers have them."""
    return sum((numbered(block.to_arrow(), words) for block in _results(table)), Sums())


def _results(table: pa.Table) -> Iterator[Block]:
    graph = application(None).graph
    engine, schema = Engine(graph, block_rows=_BLOCK_ROWS), graph.sources[0].schema
    for batch in table.drop_columns("partition").to_batches(max_chunksize=_BLOCK_ROWS):
        block = engine.process({SOURCE: block_of(batch, schema)}).get(SINK)
        if block is not None:
            yield block


def _run(
    server: KafkaServer, topics: tuple[str, str], kind: str, table: pa.Table, effort: KafkaEffort, session: Any,
    folder: Path, show: Show,
) -> KafkaRun:  # fmt: skip
    (warm, topic), servers = topics, server.servers
    show(f"filling a topic with {kind} messages")
    expected = in_process(table)
    fill(servers, topic, table, kind)
    show(f"a bare consumer of {kind} messages")
    bare, bare_bytes = _with_bytes(server, lambda: bare_tuples_s(servers, topic, kind, effort.cores))
    small = replace(effort, tuples=_WARM_BATCHES * _WARM_BATCH_TUPLES, cap_tuples=_WARM_BATCH_TUPLES, limit_s=_WARM_S)
    by_kind = partial(sources.kafka, servers, format=kind)
    stream(by_kind(topic=warm), small, session, folder / f"warm-{kind}", f"ours, {kind}, warming up", show)
    source = by_kind(topic=topic)
    checkpoint = folder / f"checkpoint-{kind}"
    (rate, found), own_bytes = _with_bytes(
        server, lambda: stream(source, effort, session, checkpoint, f"ours, {kind}", show)
    )
    lost, repeated = max(expected[0] - found[0], 0), max(found[0] - expected[0], 0)
    equal = found == expected
    sent_as_read = None if equal else is_as_sent(servers, topic, table, kind)
    return KafkaRun(rate, bare, lost, repeated, equal, effort.tuples, sent_as_read, own_bytes / bare_bytes)


def _with_bytes(server: KafkaServer, run: Callable[[], T]) -> tuple[T, int]:
    """What a run gives, and the bytes that the broker sent meanwhile."""
    before = server.written_bytes
    return run(), server.written_bytes - before


def stream(
    source: Any, effort: KafkaEffort, session: Any, checkpoint: Path, name: str, show: Show
) -> tuple[float, tuple[int, int]]:
    """Our engine over a topic: its rate once warm, count and checksum of its results."""
    app = application(source)
    configuration = replace(configuration_of(app), micro_batch_tuples=effort.cap_tuples, block_rows=_BLOCK_ROWS)
    begin = time.monotonic()
    with started(session, app, checkpoint, configuration) as handle:
        while (taken := _taken(observations_of(handle))) < effort.tuples and time.monotonic() - begin < effort.limit_s:
            show(f"{name}: {taken:,} of {effort.tuples:,} tuples")
            handle.wait(0.2)
    found = handle.result.discarded.get(SINK, (0, 0))
    return _rate(handle.result.observations, effort.warm), found


def _by_connector(
    servers: str, topic: str, table: pa.Table, effort: KafkaEffort, folder: Path, show: Show
) -> ConnectorRun | str:
    """Our engine on a DataFrame of Spark's connector, the other way into it; a sentence where there is no connector."""
    found = connector_jars(show)
    if isinstance(found, str):
        return found
    jars, _ = found
    with local_session(conf={"spark.jars": ",".join(map(str, jars))}) as session:
        source = sources.dataframe(trades_by_connector(session, servers, topic, effort.cap_tuples))
        rate, results = stream(source, effort, session, folder / "checkpoint-connector", "ours, connector", show)
    return ConnectorRun(rate, results == in_process(table))


def _taken(seen: list[Observation]) -> int:
    return sum(own.tuples_in for own in seen)


def _rate(seen: list[Observation], warm: int) -> float:
    """Tuples a second from the commit on with which so many were taken, to the last one with tuples."""
    some, taken, first = [own for own in seen if own.tuples_in], 0, 0
    while first + 2 < len(some) and taken < warm:
        taken += some[first].tuples_in
        first += 1
    if first + 1 > len(some) or not first:
        return 0.0
    seconds = committed_at_s(some[-1]) - committed_at_s(some[first - 1])
    return sum(own.tuples_in for own in some[first:]) / seconds if seconds > 0 else 0.0


def _paced(servers: str, effort: KafkaEffort, session: Any, folder: Path, show: Show) -> float | None:
    """p95 of messages that come at a rate, under a latency goal, without the first quarter of the time."""
    table = trades(int(effort.rate_tuples_s * effort.paced_s), effort.keys)
    topic = new_topic(servers)
    handle = start(
        application(sources.kafka(servers, topic)), session=session, checkpoint=folder / "paced",
        goal=latency(p95_ms=500),
    )  # fmt: skip
    arguments = servers, topic, table, effort.rate_tuples_s, effort.paced_s
    sender = threading.Thread(target=send_paced, args=arguments, daemon=True)
    sender.start()
    begin_s = time.time()
    while sender.is_alive():
        show(f"ours, {effort.rate_tuples_s:,.0f} tuples/s: {time.time() - begin_s:.0f} of {effort.paced_s:.0f} s")
        handle.wait(0.5)
    seen = handle.stop().observations
    warm = [own for own in seen if own.started_at_s > begin_s + effort.paced_s / 4]
    found = latency_over(warm)
    return None if found is None else found.p95_ms

"""Benchmark `elastic-map`: a function that calls a service, inside Spark: the elastic pool beside plain and fixed."""

from __future__ import annotations

import http.client
import json
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.elastic_map.arrow_udf import arrow_udf
from benchmarks.elastic_map.figures import KNEES, SPARKS_OWN, Phase, Report, Round, Row, is_in_order, knees_of, level_of
from benchmarks.elastic_map.slow_service import ask, counted, slow_service
from penstock.spark.elastic_map.elastic_map import elastic_map
from penstock.spark.session.session import close_session, spark_session

DELAY_MS = 20.0
LEVELS = (1, 2, 4, 8, 16, 32, 64)
_SCHEMA = "id long, answer long"
_CONCURRENCY = "spark.sql.execution.pythonUDF.arrow.concurrency.level"
_SPARK_LEVELS = (16, 32, 64)
_ARROW_BATCH = {"spark.sql.execution.arrow.maxRecordsPerBatch": "10000"}  # Spark's default, for everybody
_MORE_ROWS = 1.1  # than the best fixed levels could do in all phases
Frame = Any  # a pyspark DataFrame; only penstock.spark imports pyspark
Session = Any


class Client:
    """Asks the service about each row, over kept-alive connections.

    Its threads share them, since Spark's own concurrency has new threads for each Arrow batch.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._idle: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()

    def __reduce__(self) -> tuple[Any, ...]:
        return Client, (self.port,)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"/{row['id']}")
        answer = int(connection.getresponse().read())
        self._idle.put(connection)  # one that failed is not used again
        return {"id": row["id"], "answer": answer}

    def on_batches(self, batches: Any) -> Any:
        """The same as a plain `mapInArrow` function."""
        for batch in batches:
            yield pa.RecordBatch.from_pylist([self(row) for row in batch.to_pylist()])

    def on_frames(self, frames: Any) -> Any:
        """The same as a plain `mapInPandas` function."""
        for frame in frames:
            frame["answer"] = [self({"id": int(n)})["answer"] for n in frame["id"]]
            yield frame


@dataclass(frozen=True, slots=True)
class Effort:
    """Seconds for each fixed level, for each stretch of the elastic pool, and of its periods.

    In each round the best fixed pool and the elastic one have a turn, the first one of them by turns, too.
    """

    fixed_s: float = 5.0
    elastic_s: float = 14.0
    knee_s: float = 40.0
    period_s: float = 0.5
    rounds: int = 7


QUICK = Effort(2.0, 10.0, 18.0, 0.25, 1)  # as many periods at each knee, nearly, as in a full run


def measure(effort: Effort, tell: Callable[[str], None]) -> Report:
    report = Report(period_s=effort.period_s)
    session = spark_session("local[2]", conf=_ARROW_BATCH)
    try:
        with slow_service(DELAY_MS) as port:
            against_others(session, port, effort, report, tell)
        with slow_service(DELAY_MS, KNEES[0]) as port:
            at_moving_knee(session, port, effort, report, tell)
    finally:
        close_session(session)
    return report


def against_others(session: Session, port: int, effort: Effort, report: Report, tell: Callable[[str], None]) -> None:
    """Plain calls, Spark's own threads, fixed pools, and last the best of them and the elastic one in turns.

    A pool of 64 threads that nobody changes makes a third more calls in one half minute than in another, so those two
    are compared within each round.
    """
    client = Client(port)
    plain_rows = max(20, int(effort.fixed_s * 1000 / DELAY_MS))
    plain: dict[str, Callable[[Frame], Frame]] = {
        "plain mapInArrow": lambda df: df.mapInArrow(client.on_batches, _SCHEMA),
        "plain mapInPandas": lambda df: df.mapInPandas(client.on_frames, _SCHEMA),
    }
    timed_run(session, plain_rows // 4, plain["plain mapInArrow"])  # the first run starts workers
    for name, make in plain.items():
        tell(name)
        report.rows.append(_row(name, session, client, plain_rows, make))
    tell("Spark's static concurrency")
    report.rows.append(_arrow_concurrency(session, client, effort))
    for level in LEVELS:
        tell(f"fixed pool of {level}")
        rows = max(50, int(effort.fixed_s * level * 1000 / DELAY_MS * 0.8))
        report.rows.append(_pooled(f"fixed {level}", session, client, rows, level, effort))
    best = max((row for row in report.rows if row.name.startswith("fixed")), key=lambda row: row.tuples_s)
    for number in range(1, effort.rounds + 1):
        tell(f"{best.name} and the elastic pool, round {number} of {effort.rounds}")
        rows = int(best.tuples_s * effort.elastic_s)
        turns = [("elastic", rows, None), (best.name, rows // 2, int(best.level))]
        if number % 2 == 0:
            turns.reverse()
        pools = {name: _pooled(name, session, client, count, level, effort) for name, count, level in turns}
        report.rounds.append(Round(pools[best.name], pools["elastic"]))
    elastic = sorted((turn.elastic for turn in report.rounds), key=lambda row: row.tuples_s)
    report.rows.append(elastic[effort.rounds // 2])


def _row(name: str, session: Session, client: Client, rows: int, make: Callable[[Frame], Frame], level: int = 1) -> Row:
    ask(client.port, "/begin")
    seconds, in_order = timed_run(session, rows, make)
    return Row(name, counted(client.port).tuples_s or 0.0, rows / seconds, in_order, str(level))


def timed_run(session: Session, rows: int, make: Callable[[Frame], Frame]) -> tuple[float, bool]:
    """Seconds for so many rows in one task, and whether they came back in order with the right answers."""
    frame = make(session.range(0, rows, numPartitions=1))
    begin = time.perf_counter()
    table = frame.toArrow()
    seconds = time.perf_counter() - begin
    return seconds, is_in_order(table["id"].to_pylist(), table["answer"].to_pylist(), rows)


def _arrow_concurrency(session: Session, client: Client, effort: Effort) -> Row:
    """Spark's own threads for Arrow-optimised Python UDFs: the best of some levels."""

    def asked(number: int) -> int:
        return int(client({"id": number})["answer"])

    session.udf.register("asked", arrow_udf(asked, "long"))
    rows = []
    for level in _SPARK_LEVELS:
        session.conf.set(_CONCURRENCY, str(level))
        count = max(50, int(effort.fixed_s * level * 1000 / DELAY_MS * 0.5))
        rows.append(
            _row(SPARKS_OWN, session, client, count, lambda df: df.selectExpr("id", "asked(id) as answer"), level)
        )
    session.conf.unset(_CONCURRENCY)
    return max(rows, key=lambda row: row.tuples_s)


def _pooled(name: str, session: Session, client: Client, rows: int, threads: int | None, effort: Effort) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder, "levels.jsonl")
        row = _row(name, session, client, rows, _mapped(client, journal, effort.period_s, threads), threads or 1)
        return row if threads else replace(row, level=str(level_of(_periods(journal)) or 1))


def _mapped(client: Client, journal: Path, period_s: float, threads: int | None = None) -> Callable[[Frame], Frame]:
    return lambda df: elastic_map(
        df, client, _SCHEMA, per_tuple=True, period_s=period_s, journal=journal, threads=threads
    )


def _periods(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []


def at_moving_knee(session: Session, port: int, effort: Effort, report: Report, tell: Callable[[str], None]) -> None:
    """The best level moves while the pool runs; fixed levels are measured at each knee by themselves.

    There are rows for more than all phases; after the last one the service answers at once, so that they soon end.
    """
    client = Client(port)
    best = {}
    for knee in KNEES:
        tell(f"fixed pools at a knee of {knee}")
        ask(port, f"/knee/{knee}")
        best[knee] = max(_knee_rate(session, client, level, effort) for level in (knee // 2, knee, 2 * knee))
    ask(port, f"/knee/{KNEES[0]}")
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder, "levels.jsonl")
        rows = int(_MORE_ROWS * sum(best.values()) * effort.knee_s)
        moves, stop = Moves(port, KNEES, effort.knee_s, tell), threading.Event()
        mover = threading.Thread(target=moves.run, args=(stop,), daemon=True)
        mover.start()
        _, report.knees_in_order = timed_run(session, rows, _mapped(client, journal, effort.period_s))
        stop.set()
        mover.join()
        report.knees += knees_of(moves.phases, _periods(journal), best)


def _knee_rate(session: Session, client: Client, level: int, effort: Effort) -> float:
    rows = max(100, int(effort.fixed_s / 2 * level * 1000 / DELAY_MS * 0.5))
    return _pooled(f"fixed {level}", session, client, rows, level, effort).tuples_s


class Moves:
    """Moves the knee on a schedule, and notes what the service counts; a phase that the job ends in does not count."""

    def __init__(self, port: int, knees: Sequence[int], seconds: float, tell: Callable[[str], None]) -> None:
        self._port, self._knees, self._seconds, self._tell = port, knees, seconds, tell
        self.phases: list[Phase] = []

    def run(self, stop: threading.Event) -> None:
        for knee in self._knees:
            self._tell(f"elastic pool, the knee is at {knee}")
            phase = self._phase(knee, stop)
            if phase is None:
                return
            self.phases.append(phase)
        ask(self._port, "/free")

    def _phase(self, knee: int, stop: threading.Event) -> Phase | None:
        ask(self._port, f"/knee/{knee}")
        begin_s = time.time()
        if stop.wait(self._seconds / 2):
            return None
        middle, middle_s = counted(self._port), time.time()
        if stop.wait(self._seconds / 2):
            return None
        end, end_s = counted(self._port), time.time()
        rate = (end.answered - middle.answered) / (end_s - middle_s)
        return Phase(knee, begin_s, end_s, rate, end.most_at_once, end.past_knee_s / (end_s - begin_s))

"""`ps.evaluate`: finite input in, tables out, on the engine that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import FUNCTION, NAMES, PATH, TEXT, check_arguments, checked_call, kind, or_none
from penstock.element import evaluation as inprocess
from penstock.element.engine import AtEnd, Engine, Threads, check_at_end
from penstock.element.evaluation import Input, Progress, Tables
from penstock.element.threads.schedule import OLDEST_FIRST
from penstock.errors import InputError, did_you_mean
from penstock.host.extras import require
from penstock.host.paths.local_path import local_path
from penstock.plan.configuration import Configuration

if TYPE_CHECKING:
    from penstock.spark.session.session import Session

ENGINES = ("inprocess", "spark")


@checked_call("ps.evaluate")
def evaluate(
    app: Application | Graph,
    inputs: Mapping[str, Input] | None = None,
    *,
    engine: str = "inprocess",
    block_rows: int = 8192,
    taps: Iterable[str] = (),
    data_dir: str | Path | None = None,
    on_error: str = "dead_letter",
    progress: Progress | None = None,
    at_end: AtEnd = "hold",
    threads: Threads = 1,
    queued: Iterable[str] | None = None,
    schedule: str = OLDEST_FIRST,
    configuration: Configuration | None = None,
    master: str = "local[*]",
    session: Session | None = None,
) -> Tables:
    """Runs an application over finite input and returns a table for each sink (and tap), in order.

    `inputs` has the input of each source: a table, a DataFrame, a dict of columns, a list of rows, or a file's path.  A
    source that is not named reads its own connector.  Sinks with a directory (`ps.sinks.parquet`, `ps.sinks.csv`) write
    it, too; sinks with a function call it once, with batch 0.  `progress` is called with (tuples done, tuples in all).
    With `at_end="fire"` windows fire what they hold at the end of the input; by default they do not.

    In this process, `threads` is the number of threads that work at once, or the policy that finds it (`"elastic"`,
    `"multilevel"`, `ps.ElasticThreads(...)`).  They take blocks from queues in front of the operators in `queued` (by
    default those that read a source), in the order that `schedule` says.

    `engine="spark"` gives the same tables, to the bit and in order.  It uses `session`, or a new one on `master`, and
    the replicas, routes and sizes of `configuration`, which need not name every element.

    >>> app = Application("halves")
    >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    >>> evaluate(app, {"numbers": {"x": [1, 2, 3]}})["out"].column("h").to_pylist()
    [0.5, 1.0, 1.5]
    """
    check_arguments(
        "ps.evaluate", inputs=(inputs, or_none(kind("a dict of tables by source", Mapping))), taps=(taps, NAMES),
        data_dir=(data_dir, or_none(PATH)), progress=(progress, or_none(FUNCTION)), master=(master, TEXT),
        configuration=(configuration, or_none(kind("a ps.Configuration", Configuration))),
    )  # fmt: skip
    data_dir = None if data_dir is None else local_path(data_dir, "data_dir of ps.evaluate")
    check_at_end(at_end)
    if engine not in ENGINES:
        hint = did_you_mean(str(engine), ENGINES)
        raise InputError(f"engine is {' or '.join(map(repr, ENGINES))}; got {engine!r}" + (f"; {hint}" if hint else ""))
    if engine == "spark":
        if threads != 1 or queued is not None or schedule != OLDEST_FIRST:
            raise InputError("threads, queued and schedule are for engine='inprocess'; on Spark the Configuration has "
                             "replicas and threads")  # fmt: skip
        require("ps.evaluate(engine='spark')", "spark")
        from penstock.spark.driver.finite import FiniteRun  # pyspark is imported when it is needed

        run = FiniteRun(graph_of(app, "ps.evaluate"), taps, configuration, block_rows)
        return run.evaluate(inputs or {}, data_dir, on_error, progress, master, session, at_end)
    if configuration is not None or session is not None:
        raise InputError("configuration and session are for engine='spark'; got them for engine='inprocess'")
    return inprocess.evaluate(
        app, inputs, block_rows=block_rows, taps=taps, data_dir=data_dir, on_error=on_error, progress=progress,
        at_end=at_end, make_engine=partial(Engine, threads=threads, queued=queued, schedule=schedule),
    )  # fmt: skip

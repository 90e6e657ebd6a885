"""`ps.evaluate`: finite input in, tables out, on the engine that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.app.application import Application
from penstock.app.graph import Graph
from penstock.element import evaluation as inprocess
from penstock.element.evaluation import Input, Progress, Tables
from penstock.errors import InputError, did_you_mean

ENGINES = ("inprocess",)


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
) -> Tables:
    """Runs an application over finite input and gives what each sink (and tap) got, in order.

    `inputs` has a table (or columns, or a file's path) per source; a source that is not in it reads its own connector.
    A sink with a directory of its own (`ps.sinks.parquet`, `ps.sinks.csv`) is written there, too; one that calls back
    is called once, with batch 0.  `progress` is called with (tuples done, tuples in all).
    """
    if engine not in ENGINES:
        hint = did_you_mean(str(engine), ENGINES)
        raise InputError(f"engine is {' or '.join(map(repr, ENGINES))}; got {engine!r}" + (f"; {hint}" if hint else ""))
    return inprocess.evaluate(
        app, inputs, block_rows=block_rows, taps=taps, data_dir=data_dir, on_error=on_error, progress=progress
    )

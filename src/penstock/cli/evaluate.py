"""penstock evaluate: an application over finite input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console

from penstock.app.graph import Graph
from penstock.cli.application import load_application
from penstock.cli.dead_letters import ON_ERROR, show_dead_letters
from penstock.cli.screen import console, progress_bar, rate, rows_table, show_table, size
from penstock.connectors.files.listing import files_of
from penstock.connectors.files.writers import FORMATS, write_table
from penstock.connectors.frames import has_frame
from penstock.connectors.source_kinds import is_endless, path_of_files
from penstock.control.threads.threads_option import threads_of
from penstock.errors import InputError, PenstockError, did_you_mean
from penstock.host.paths.local_path import local_path
from penstock.measure.html_table import amount
from penstock.plan.thread_setting import ElasticThreads, check_threads

if TYPE_CHECKING:
    from penstock.element.evaluation import Tables

DEAD_LETTERS = "dead_letters"
ENGINES = ("inprocess", "spark")


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """The options as the user gave them."""

    application: str
    inputs: tuple[str, ...] = ()
    output: Path | None = None
    taps: tuple[str, ...] = ()
    data_dir: Path | None = None
    format: str = "parquet"
    block_rows: int = 8192
    on_error: str = "dead_letter"
    rows: int = 5
    engine: str = "inprocess"
    master: str = "local[*]"
    threads: str = "1"
    queues: tuple[str, ...] = ()
    schedule: str = "oldest_first"


@dataclass(frozen=True, slots=True)
class Job:
    """The options, understood."""

    graph: Graph
    warnings: tuple[str, ...]
    inputs: dict[str, str]
    taps: dict[str, Path | None]


def evaluate_command(request: EvaluateRequest) -> None:
    """Loads, checks, runs, shows, writes."""
    request = with_local_paths(request)
    job = understand(request)
    screen = console()
    for warning in job.warnings:
        Console(stderr=True, highlight=False).print(f"warning: {warning}", markup=False, soft_wrap=True)
    tables, tuples_in, seconds = run(job, request)
    for name, table in tables.items():
        _show(screen, name, table, request.rows)
    show_dead_letters(screen, tables.dead_letters, tables.dead_letters.num_rows)
    _show_summary(screen, tables, tuples_in, seconds)
    for path in written(request, job, tables):
        screen.print(f"wrote {path}", markup=False, soft_wrap=True)


def with_local_paths(request: EvaluateRequest) -> EvaluateRequest:
    """The options with plain paths of this machine; raises InputError for those of other file systems."""

    def plain(folder: Path | None, option: str) -> Path | None:
        return None if folder is None else Path(local_path(folder, option))

    def of_pair(text: str, option: str) -> str:
        name, equals, path = text.partition("=")
        return f"{name}{equals}{local_path(path, option)}"

    return replace(
        request, output=plain(request.output, "--output"), data_dir=plain(request.data_dir, "--data-dir"),
        inputs=tuple(of_pair(text, "--input") for text in request.inputs),
        taps=tuple(of_pair(text, "--tap") for text in request.taps),
    )  # fmt: skip


def understand(request: EvaluateRequest) -> Job:
    """What the options mean; raises InputError with every mistake in them."""
    problems = list(_problems_of_values(request))
    inputs = dict(_pairs(request.inputs, problems))
    taps = {name: Path(folder) if folder else None for name, _, folder in (tap.partition("=") for tap in request.taps)}
    try:
        app = load_application(request.application)
        graph = app.graph
    except PenstockError as error:
        raise InputError("\n".join([*problems, str(error)])) from error
    problems += _problems_of_inputs(graph, inputs, request)
    problems += _problems_of_taps(graph, taps, request)
    problems += _problems_of_threads(graph, request)
    if problems:
        raise InputError("\n".join(problems))
    return Job(graph, tuple(app.warnings), inputs, taps)


def run(job: Job, request: EvaluateRequest) -> tuple[Tables, int, float]:
    """The results, how many tuples came in, and how many seconds it took (reading and compiling included)."""
    from penstock.engines import evaluate

    tuples_in = 0
    with progress_bar(job.graph.name) as advance:

        def note(done: int, total: int) -> None:
            nonlocal tuples_in
            tuples_in = total
            advance(done, total)

        begin = time.perf_counter()
        tables = evaluate(
            job.graph, job.inputs, taps=tuple(job.taps), data_dir=request.data_dir,
            block_rows=request.block_rows, on_error=request.on_error, progress=note, engine=request.engine,
            master=request.master, threads=threads_of(request.threads), queued=request.queues or None,
            schedule=request.schedule,
        )  # fmt: skip
        return tables, tuples_in, time.perf_counter() - begin


def written(request: EvaluateRequest, job: Job, tables: Tables) -> Iterator[Path]:
    """Writes a file per sink and tap that has a directory, and one for dead letters if there are any.

    Gives them after those that sinks with a directory of their own wrote.
    """
    yield from tables.written
    for name, table in tables.items():
        folder = job.taps.get(name) or request.output
        if folder is not None:
            yield write_table(table, folder, name, request.format)
    if request.output is not None and tables.dead_letters.num_rows:
        yield write_table(tables.dead_letters, request.output, DEAD_LETTERS, request.format)


def _problems_of_values(request: EvaluateRequest) -> Iterator[str]:
    if request.format not in FORMATS:
        yield f"--format is {' or '.join(FORMATS)}; got '{request.format}'"
    if request.on_error not in ON_ERROR:
        yield f"--on-error is {' or '.join(ON_ERROR)}; got '{request.on_error}'"
    if request.engine not in ENGINES:
        yield f"--engine is {' or '.join(ENGINES)}; got '{request.engine}'"
    if request.block_rows < 1:
        yield f"--block-rows is at least 1; got {request.block_rows}"
    if request.rows < 0:
        yield f"--rows is at least 0; got {request.rows}"
    if request.data_dir is not None and not request.data_dir.is_dir():
        yield f"--data-dir is a directory; got {request.data_dir}, which is not"
    for option, folder in (
        ("--output", request.output),
        *(("--tap", Path(t.partition("=")[2])) for t in request.taps if "=" in t),
    ):
        if folder is not None and folder.exists() and not folder.is_dir():
            yield f"{option} is a directory; got {folder}, which is a file"


def _pairs(texts: tuple[str, ...], problems: list[str]) -> Iterator[tuple[str, str]]:
    seen = set()
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            problems.append(f"--input is NAME=FILE; got '{text}'")
        elif name in seen:
            problems.append(f"--input names source '{name}' twice")
        else:
            seen.add(name)
            yield name, path


def named_files(texts: tuple[str, ...]) -> dict[str, str]:
    """What --input options say, by source; InputError with every mistake in them."""
    problems: list[str] = []
    found = {name: str(local_path(path, "--input")) for name, path in _pairs(texts, problems)}
    if problems:
        raise InputError("\n".join(problems))
    return found


def _problems_of_inputs(graph: Graph, inputs: dict[str, str], request: EvaluateRequest) -> Iterator[str]:
    sources = [source.name for source in graph.sources]
    for name, path in inputs.items():
        if name not in sources:
            hint = did_you_mean(name, sources)
            yield f"application '{graph.name}' has no source '{name}'; it has: {', '.join(sources)}" + (
                f"; {hint}" if hint else ""
            )
        elif not files_of(path):
            which = "a folder without files" if Path(path).is_dir() else "not there"
            yield f"source '{name}' reads the file {path}, which is {which}"
    for source in graph.sources:
        if source.name in inputs:
            continue
        if source.connector is None:
            yield f"source '{source.name}' has no file of its own; add --input {source.name}=FILE"
        elif has_frame(source.connector) or is_endless(source.connector):
            yield f"source '{source.name}' reads a stream without end; add --input {source.name}=FILE"
        elif (own := path_of_files(source.connector)) is not None:
            file = (request.data_dir or Path()) / own
            if not file.is_dir() and not files_of(file):
                hint = f"add --data-dir DIR or --input {source.name}=FILE"
                yield f"source '{source.name}' reads the file {file}, which is not there; {hint}"


def _problems_of_taps(graph: Graph, taps: dict[str, Path | None], request: EvaluateRequest) -> Iterator[str]:
    streams = [stream for operator in graph.operators for stream in operator.outputs]
    for name in taps:
        if name not in streams:
            hint = did_you_mean(name, streams)
            yield (
                f"application '{graph.name}' has no stream '{name}' to tap; it has: {', '.join(streams)}"
                + (f"; {hint}" if hint else "")
            )
    if request.output is not None and DEAD_LETTERS in (*taps, *(sink.name for sink in graph.sinks)):
        yield f"a stream called '{DEAD_LETTERS}' would be written over the dead letters; give it another name"
    if not graph.sinks and not taps:
        yield f"application '{graph.name}' has no sink, so it has no results; add --tap STREAM ({', '.join(streams)})"


def _problems_of_threads(graph: Graph, request: EvaluateRequest) -> Iterator[str]:
    from penstock.element.threads.schedule import schedule_of
    from penstock.element.threads.setting_checks import checked_queues, checked_threads
    from penstock.element.threads.threaded_element import MAX_THREADS

    try:
        threads = threads_of(request.threads)
        if isinstance(threads, ElasticThreads):
            check_threads(graph.name, threads)
        else:
            checked_threads(threads, MAX_THREADS, least=1)
        schedule_of(request.schedule)
    except InputError as error:
        sentence = str(error)
        yield f"--{sentence}" if sentence.startswith(("threads ", "schedule ")) else sentence
    for queue in request.queues:
        try:
            checked_queues(queue, graph)
        except InputError as error:
            yield str(error)


def _show(screen: Console, name: str, table: pa.Table, rows: int) -> None:
    if rows:
        more = f"first {rows} of {table.num_rows:,}" if table.num_rows > rows else amount(table.num_rows, "tuple")
        show_table(screen, f"{name} ({more})", rows_table(table, rows))


def _show_summary(screen: Console, tables: Tables, tuples_in: int, seconds: float) -> None:
    out = ", ".join(f"{table.num_rows:,} to {name}" for name, table in tables.items())
    speed = f"{seconds:.2f} s, {rate(tuples_in, seconds)} (reading and compiling included)"
    lines = [f"{amount(tuples_in, 'tuple')} in, {out}; {speed}"]
    sizes = [f"{name} {size(count)}" for name, count in tables.state_bytes.items() if count]
    lines.append(f"state: {', '.join(sizes) or 'none'}")
    lines += tables.advice
    for line in lines:
        screen.print(line, markup=False, soft_wrap=True)

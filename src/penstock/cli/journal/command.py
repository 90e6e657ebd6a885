"""`penstock journal`: a recorded run in tables, as JSON or as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.journal.decisions import show_decisions
from penstock.cli.screen import console, rate, show_table, size
from penstock.control.journal.journal import RecordedRun, read_journal
from penstock.control.journal.plain_values import to_plain
from penstock.control.journal.recorded_decision import judged_decisions
from penstock.errors import InputError
from penstock.host.paths.local_path import local_path
from penstock.measure.html_table import amount
from penstock.measure.observation import Latency
from penstock.measure.run_figures import CpuFigures, ElementFigures, OperatorFigures, RunFigures, run_figures
from penstock.measure.threads_found import ThreadsFound
from penstock.watch.pictures.canvas import check_picture

FILE = "journal.jsonl"


def journal_command(path: Path, picture: Path | None, *, as_json: bool) -> None:
    """Shows a journal, given by itself or by the checkpoint that it lies in."""
    check_picture(picture)
    path = Path(local_path(path, "the journal"))
    run = read_journal(path / FILE if path.is_dir() else path)
    figures = run_figures(run.observations)
    if figures is None:
        raise InputError(f"the journal '{path}' has no micro-batch yet; run the application for longer")
    decisions = judged_decisions(run)
    if as_json:
        body = {"application": run.application, **to_plain(figures), "decisions": to_plain(decisions)}
        print(json.dumps(body))
    else:
        screen = console()
        _show(screen, run.application, figures)
        show_decisions(screen, decisions)
    if picture is not None:
        _draw(run, figures, picture)
        Console(stderr=as_json, highlight=False).print(f"wrote {picture}", markup=False, soft_wrap=True)


def _show(screen: Console, application: str, figures: RunFigures) -> None:
    show_table(screen, f"elements of {application}", _elements(figures))
    for line in thread_lines(figures.elements):
        screen.print(line, markup=False, soft_wrap=True)
    show_table(screen, "operators", _operators(figures.operators))
    for line in _lines(figures):
        screen.print(line, markup=False, soft_wrap=True)


def _elements(figures: RunFigures) -> Table:
    table = _table(
        "element", "replicas", "threads", "in, tuples/s", "out, tuples/s", "in, B/s", "out, B/s", "busy", "waiting",
        "CPU, ns/tuple", "JVM, ns/tuple", "hottest slot", "slots rebuilt",
    )  # fmt: skip
    for element in figures.elements:
        table.add_row(*_element_row(element, max(figures.seconds, 1e-9)))
    return table


def _element_row(element: ElementFigures, seconds: float) -> list[str]:
    low, high = element.replicas_lowest, element.replicas_highest
    return [
        escape(element.name),
        str(low) if low == high else f"{low}-{high}",
        _threads(element),
        f"{element.tuples_in / seconds:,.0f}",
        f"{element.tuples_out / seconds:,.0f}",
        size(round(element.bytes_in / seconds)),
        size(round(element.bytes_out / seconds)),
        f"{element.busy_ratio:.2f}",
        f"{element.waiting_ratio:.2f}",
        _number(element.cpu_ns_per_tuple),
        _number(element.jvm_ns_per_tuple),
        "" if element.hottest_slot_ratio is None else f"{element.hottest_slot_ratio:.1%}",
        f"{element.slots_rebuilt:,}",
    ]


def _threads(element: ElementFigures) -> str:
    low, high = element.threads_lowest, element.threads_highest
    return (str(low) if low == high else f"{low}-{high}") + ("" if element.threads_settled else ", not settled")


def _operators(operators: tuple[OperatorFigures, ...]) -> Table:
    table = _table("operator", "tuples in", "tuples out", "CPU, ns/tuple", "state")
    for own in operators:
        state = size(own.state_bytes) if own.state_bytes else ""
        table.add_row(
            escape(own.name), f"{own.tuples_in:,}", f"{own.tuples_out:,}", _number(own.cpu_ns_per_tuple), state
        )
    return table


def _lines(figures: RunFigures) -> list[str]:
    speed = rate(figures.tuples_in, figures.seconds)
    batches = "micro-batch" if figures.micro_batches == 1 else "micro-batches"
    lines = [
        f"{figures.micro_batches:,} {batches} in {figures.seconds:.1f} s: "
        f"{amount(figures.tuples_in, 'tuple')} in, {figures.tuples_out:,} out, {speed}"
    ]
    if figures.latency is not None:
        lines.append(_latency_line(figures.latency))
    if figures.highest_backlog_tuples is not None:
        age = f", the oldest {figures.highest_backlog_age_s:.2f} s" if figures.highest_backlog_age_s else ""
        lines.append(f"backlog: at most {amount(figures.highest_backlog_tuples, 'tuple')}{age}")
    lines.append(
        f"time: plans {figures.plan_s:.2f} s, tasks {figures.run_s:.2f} s, publishing {figures.publish_s:.2f} s, "
        f"between micro-batches {figures.before_s:.2f} s"
    )
    if figures.cpu is not None:
        lines.append(_cpu_line(figures.cpu))
    if figures.dead_letters:
        lines.append(amount(figures.dead_letters, "dead letter"))
    return [*lines, *figures.advice]


def _latency_line(latency: Latency) -> str:
    mean = "" if latency.mean_ms is None else f", mean {latency.mean_ms:,.0f} ms"
    return (
        f"latency: p50 {latency.p50_ms:,.0f} ms, p95 {latency.p95_ms:,.0f} ms, p99 {latency.p99_ms:,.0f} ms, "
        f"highest {latency.highest_ms:,.0f} ms{mean}"
    )


def _cpu_line(cpu: CpuFigures) -> str:
    ratio = "" if cpu.measuring_ratio is None else f" ({cpu.measuring_ratio:.2%} once warm)"
    return (
        f"CPU: operators {cpu.operators_s:.2f} s, rest of the elements {cpu.element_s:.2f} s, Spark's worker loop "
        f"{cpu.worker_loop_s:.2f} s, driver {cpu.driver_s:.2f} s, JVM {cpu.jvm_s:.2f} s; of that measuring "
        f"{cpu.measuring_s:.2f} s{ratio}"
    )


def _draw(run: RecordedRun, figures: RunFigures, path: Path) -> None:
    from penstock.watch.pictures.timeline_chart import ChartText, save_run

    caption = f"{figures.micro_batches:,} micro-batches, {rate(figures.tuples_in, figures.seconds)}"
    if figures.latency is not None:
        caption += f"; {_latency_line(figures.latency)}"
    configurations = [line.configuration for line in run.lines]
    save_run(run.observations, configurations, ChartText(run.application, caption), [path])


def _table(*names: str) -> Table:
    table = Table()
    for i, name in enumerate(names):
        table.add_column(name, justify="right" if i else "left", overflow="fold")
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def thread_lines(elements: Iterable[ElementFigures]) -> list[str]:
    return [
        f"threads of {element.name}, {_replica_numbers(found.replicas)}: {_thread_level(found)}, "
        f"{'settled' if found.settled else 'not settled'}: {found.reason}"
        for element in elements
        for found in element.threads_found
    ]


def _replica_numbers(numbers: tuple[int, ...]) -> str:
    return ("replica " if len(numbers) == 1 else "replicas ") + ", ".join(str(number) for number in numbers)


def _thread_level(found: ThreadsFound) -> str:
    return f"{amount(found.level, 'thread')} of at most {found.most}" + (", which wait" if found.waits else "")

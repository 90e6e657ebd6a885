"""The parts of the demonstration: its stages, its rate, its comparison, its report."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from penstock import sinks, sources
from penstock.block.block import block_of
from penstock.cli import main
from penstock.cli.demo.check import Counted, counted_in_process
from penstock.cli.demo.command import DemoWish
from penstock.cli.demo.report import Outcome, check_line, draw, show_summary
from penstock.cli.demo.stages import FIRST, MOST_REPLICAS, STAGES, due_stage, skewed_route, staged
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.cli.demo.warm_up import QUICK, WarmUp, rate_for
from penstock.element.evaluation import evaluate
from penstock.plan.configuration import check_configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.state.slots.row_checksum import checksum_of
from tests.unit.observed import BEGIN_S, configuration, latency, run_of

PIPELINE = pipeline_of(vwap_per_ticker().graph)


def test_every_stage_is_a_configuration_that_fits_and_differs_from_the_one_before() -> None:
    configurations = [staged(default_configuration(PIPELINE, 1), FIRST)]
    for stage in STAGES:
        configurations.append(staged(configurations[-1], stage))
        check_configuration(configurations[-1], PIPELINE)
        assert configurations[-1] != configurations[-2]
    assert [c.element("window").replicas for c in configurations] == [2, 4, 3, 3, 2]
    assert max(c.element("window").replicas for c in configurations) <= MOST_REPLICAS
    assert configurations[0] == configurations[-1]


@pytest.mark.parametrize("replicas", [1, 2, 3, 7])
def test_a_skewed_route_serves_every_slot_and_half_of_them_by_one_replica(replicas: int) -> None:
    route = skewed_route(replicas, 512)
    assert len(route) == 512
    assert set(route) == set(range(replicas))
    assert replicas == 1 or route.count(0) == 256


def test_stages_wait_for_their_time_and_for_some_batches() -> None:
    assert due_stage(14.9, 60.0, 0, batches_since=100) is None
    assert due_stage(15.0, 60.0, 0, batches_since=3) is None
    assert due_stage(15.0, 60.0, 0, batches_since=4) == STAGES[0]
    assert due_stage(59.0, 60.0, len(STAGES), batches_since=100) is None


def test_the_rate_leaves_room_for_the_opening_rush() -> None:
    for capacity in (300_000.0, 1_234_567.0, 8_900_000.0):
        arrivals = sources.trace("trading_day", rate_for(capacity), speed_up=100, seed=7).open().arrivals
        assert arrivals is not None
        assert max(arrivals.rate_tuples_s(tenth / 10) for tenth in range(600)) < capacity
    assert rate_for(0.0) == 20_000


def test_the_comparison_counts_what_an_evaluation_gives() -> None:
    app = vwap_per_ticker(source=sources.trace(rate="unbounded", keys=50), sink=sinks.discard())
    steps: list[tuple[int, int]] = []
    counted = counted_in_process(app, 300_000, lambda done, total: steps.append((done, total)))
    table: pa.Table = evaluate(app, {"quotes": sources.trace(rate="unbounded", keys=50).open().table(0, 300_000)})[
        "out"
    ]
    whole = block_of(table.combine_chunks().to_batches()[0], table.schema)
    assert counted == Counted(table.num_rows, checksum_of(whole))
    assert steps == [(262_144, 300_000), (300_000, 300_000)]


def outcome(batches: int, *, complete: bool = True, replicas: Sequence[int] = (2, 2, 2, 4, 4)) -> Outcome:
    configurations = [configuration(replicas[min(i, len(replicas) - 1)]) for i in range(batches)]
    return Outcome("the title", BEGIN_S - 1, run_of(batches), configurations, Counted(500, 0xABC), complete)


def test_equal_is_said_only_where_it_was_compared() -> None:
    assert "equal to the in-process engine's over the same 5,000,000 tuples" in check_line(
        outcome(5), Counted(500, 0xABC)
    )
    assert "NOT EQUAL to the in-process engine's 500 with" in check_line(outcome(5), Counted(500, 0xABD))
    cut = check_line(outcome(5, complete=False), None)
    assert "not compared" in cut
    assert "equal" not in cut


def test_the_summary_names_sums_latency_and_every_change() -> None:
    file = io.StringIO()
    slow_start = replace(run_of(1)[0], latency=latency(5000.0))
    run = outcome(6)
    show_summary(Console(file=file, width=140), replace(run, observations=[slow_start, *run.observations[1:]]))
    text = file.getvalue()
    assert "6,000,000 in, 3,000,000 out over 2.9 s: 2.07 M tuples/s" in text
    late, later = (line for line in text.splitlines() if "p50" in line)
    assert "p99 10.0 s of all results" in late
    assert "p99 408 ms from the first change on" in later
    row = next(line for line in text.splitlines() if "window 2 → 4 replicas" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "2.4 s", "window 2 → 4 replicas", "3", "500 ms", "500 ms", "500 ms", "0",
    ]  # fmt: skip


def test_nothing_done_is_told_and_not_drawn(tmp_path: Path) -> None:
    file = io.StringIO()
    show_summary(Console(file=file), outcome(0, complete=False))
    assert "stopped before the first micro-batch was done" in file.getvalue()
    assert draw(outcome(0, complete=False), None, tmp_path) == ()
    assert [path.name for path in draw(outcome(6), None, tmp_path)] == ["demo.png", "demo.svg"]
    assert "equal" not in (tmp_path / "demo.svg").read_text()


@pytest.mark.parametrize("effort", [WarmUp(), QUICK])
def test_a_warm_up_starts_all_workers_first_and_measures_later_batches(effort: WarmUp) -> None:
    assert 0 < effort.wide_batches < effort.batches - effort.measured_batches


@pytest.mark.parametrize(
    ("arguments", "seconds", "warm_up"),
    [((), 60.0, WarmUp()), (("--quick",), 20.0, QUICK), (("--quick", "--seconds", "8"), 8.0, QUICK)],
)
def test_quick_is_a_shorter_stream_after_a_shorter_warm_up(
    arguments: tuple[str, ...], seconds: float, warm_up: WarmUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[DemoWish] = []
    monkeypatch.setattr("penstock.cli.demo.command.demo_command", asked.append)
    with pytest.raises(SystemExit):
        main(["demo", *arguments])
    assert asked == [DemoWish(seconds, Path("out/demo"), "local[*]", None, warm_up)]

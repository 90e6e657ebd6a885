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
from penstock.cli.demo.command import DemoRequest, day_of
from penstock.cli.demo.limit_prices import ComputedPrices, LimitPrices
from penstock.cli.demo.price_service import price_service
from penstock.cli.demo.report import Outcome, check_line, draw, show_summary
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.control.setting import Setting
from penstock.element.evaluation import evaluate
from penstock.kernels.keys.row_checksum import checksum_of
from tests.unit.observed import BEGIN_S, configuration, latency, run_of


def test_the_day_is_over_when_the_demonstration_is() -> None:
    request = DemoRequest(60.0, Path("out"), "local[2]", 2_000.0)
    source = day_of(request)
    arrivals = source.open().arrivals
    assert arrivals is not None
    assert source.total == arrivals.arrived_by(60.0)
    assert source.total == pytest.approx(60 * 2_000, rel=0.01)
    rates = [arrivals.rate_tuples_s(float(second)) for second in range(60)]
    assert max(rates) > 4 * min(rates)


def test_computed_prices_are_those_of_the_service() -> None:
    block = pa.RecordBatch.from_pydict({"close": [1.0, 2.5], "forecast": [2.0, 2.5]})
    with price_service(0.0) as port:
        asked = LimitPrices(port)(block)
    assert ComputedPrices()(block)["limit_price"] == asked["limit_price"] == [1.5, 2.5]


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
    decisions = [decided(1, 2, 2), decided(2, 2, 4), decided(3, 4, 4, broken=True)]
    counted = Counted(500, 0xABC)
    return Outcome("the title", BEGIN_S - 1, run_of(batches), configurations, decisions, counted, complete, 800.0)


def decided(step: int, before: int, after: int, *, broken: bool = False) -> RecordedDecision:
    settings = Setting(before), Setting(after), Setting(after)
    return RecordedDecision(step, "mpc", *settings, "more is coming", broken=broken, requested=before != after)


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
    assert "p99 10.0 s of all results" in text
    assert "p95 800 ms: met in 2 of 3 control steps" in text
    assert "2.7 on average, 4 at most: 33% fewer than a fixed number for the peak" in text
    row = next(line for line in text.splitlines() if "window 2 → 4 replicas" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "2.4 s", "window 2 → 4 replicas", "500 ms", "500 ms", "more is coming",
    ]  # fmt: skip


def test_nothing_done_is_told_and_not_drawn(tmp_path: Path) -> None:
    file = io.StringIO()
    show_summary(Console(file=file), outcome(0, complete=False))
    assert "stopped before the first micro-batch was done" in file.getvalue()
    assert draw(outcome(0, complete=False), None, tmp_path) == ()
    assert [path.name for path in draw(outcome(6), None, tmp_path)] == ["demo.png", "demo.svg"]
    assert "equal" not in (tmp_path / "demo.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "seconds"), [((), 60.0), (("--quick",), 20.0), (("--quick", "--seconds", "8"), 8.0)]
)
def test_quick_is_a_shorter_stream(arguments: tuple[str, ...], seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[DemoRequest] = []
    monkeypatch.setattr("penstock.cli.demo.command.demo_command", asked.append)
    with pytest.raises(SystemExit):
        main(["demo", *arguments])
    assert asked == [DemoRequest(seconds, Path("out/demo"), "local[*]")]

"""The report of the benchmark: goals, losses, one JSON object at the end."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.kernels.cases.kernel_cases import chosen_cases
from benchmarks.kernels.measurement import QUICK, Measurement
from benchmarks.kernels.report import draw, print_report, summary
from benchmarks.machine import this_machine


def measured(name: str, ours: float, limit: float = 100e6) -> Measurement:
    (case,) = chosen_cases([name])
    rates = (ours, ours * 1.1, ours * 0.9)
    if case.family != "window" or case.goal_ratio is None:
        return Measurement(case, rates, (limit,) * 3, peers_tuples_s={"polars": 5e6})
    return Measurement(case, tuple(rate / 2 for rate in rates), (limit,) * 3, rates, peers_tuples_s={"polars": 5e6})


RESULTS = [
    measured("vwap_int32", 45e6),
    measured("vwap_symbol", 41e6),
    measured("vwap_string", 10e6),
    measured("sliding_4_2836_int32", 71e6),
    measured("sliding_1000_2836_int32", 60e6),
    measured("sliding_4_2836_string", 9e6),
]


def test_figures_are_the_worst_of_their_kind() -> None:
    figures = summary(RESULTS, QUICK)
    assert figures["vwap_ratio_to_limit"] == pytest.approx(0.41)
    assert figures["vwap_strings_ratio_to_limit"] == pytest.approx(0.10)
    assert figures["worst_window_ratio_to_limit"] == figures["sliding_1000_ratio_to_limit"] == pytest.approx(0.60)
    assert figures["worst_window_operator_ratio_to_limit"] == pytest.approx(0.30)
    assert figures["tuples_s"]["sliding_4_2836_string"] == 9_000_000
    assert figures["kernel_tuples_s"] == {"sliding_4_2836_int32": 71_000_000, "sliding_1000_2836_int32": 60_000_000}
    assert figures["goals_missed"] == ["vwap_string", "sliding_1000_2836_int32"]
    assert figures["ratio_to_limit"]["vwap_int32"] == {"operator": {"median": 0.45, "lowest": 0.405, "highest": 0.495}}
    assert set(figures["ratio_to_limit"]["sliding_4_2836_int32"]) == {"kernel", "operator"}


def test_figures_of_cases_that_did_not_run_are_null() -> None:
    figures = summary([measured("filter", 40e6)], QUICK)
    assert figures["vwap_ratio_to_limit"] is None
    assert figures["worst_window_ratio_to_limit"] is None


def test_ratio_is_taken_round_by_round() -> None:
    result = replace(measured("filter", 1.0), operator_tuples_s=(10.0, 30.0, 20.0), limit_tuples_s=(100.0, 100.0, 50.0))
    assert result.ratios == (0.1, 0.3, 0.4)
    assert result.ratio == 0.3
    assert result.reaches_goal is True


def test_table_shows_losses_and_spread() -> None:
    text = io.StringIO()
    print_report(Console(file=text, width=200), RESULTS, this_machine(), QUICK)
    assert "- │ 0.10 (0.09-0.11) │ 0.15 ✗" in text.getvalue()
    assert "0.71 (0.64-0.78) │ 0.35 (0.32-0.39) │ 0.70 ✓" in text.getvalue()
    assert "3 of 5 goals reached" in text.getvalue()
    assert "missed: vwap_string (0.100), sliding_1000_2836_int32 (0.600)" in text.getvalue()


def test_picture_is_written(tmp_path: Path) -> None:
    draw(RESULTS, this_machine(), tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_command_ends_with_one_json_object_and_keeps_it(tmp_path: Path) -> None:
    kept = tmp_path / "kernels.json"
    arguments = ["kernels", "--case", "projection", "--quick", "--no-peers", "--json", str(kept)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    last = json.loads(result.stdout.splitlines()[-1])
    assert last == json.loads(kept.read_text())
    assert set(last["tuples_s"]) == {"projection"}

"""Observations on a time line, what changes did, and the figures of a whole run."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.configuration import ElementConfiguration
from penstock.watch.changes import effect_at, effects_of, first_after
from penstock.watch.element_rows import element_rows, recent
from penstock.watch.figures import change_text, configuration_text, route_text
from penstock.watch.summary import summary_of
from penstock.watch.terminal.console_view import sparkline
from penstock.watch.timeline import Step, highest_by_bin, rates_by_bin, timeline_of
from tests.unit.observed import BEGIN_S, configuration, micro_batch, run_of, with_operators


def test_rates_are_counted_from_commit_to_commit() -> None:
    first, second = timeline_of(run_of(2))
    assert (first.committed_s, first.gap_s, first.arrival_tuples_s) == pytest.approx((0.4, 0.4, None))
    assert (second.committed_s, second.gap_s) == pytest.approx((0.9, 0.5))
    assert (second.in_tuples_s, second.out_tuples_s) == pytest.approx((2e6, 1e6))
    assert second.tuples_by_replica == {"trades": (500_000, 500_000), "window": (250_000, 250_000)}


def test_arrivals_are_what_was_taken_and_the_growth_of_the_backlog() -> None:
    one, two = run_of(2)
    steps = timeline_of([one, replace(two, backlog_tuples=60_000)], BEGIN_S - 0.6)
    assert steps[0].arrival_tuples_s == pytest.approx((1_000_000 + 10_000) / 1.0)
    assert steps[1].arrival_tuples_s == pytest.approx((1_000_000 + 50_000) / 0.5)


def test_nothing_observed_is_an_empty_line() -> None:
    assert timeline_of([]) == ()
    assert summary_of([]) is None
    assert element_rows([]) == []
    assert rates_by_bin([], [0.0, 1.0]) == [None]


def plain_rate(steps: list[Step], begin_s: float, end_s: float) -> float | None:
    """Tuples and seconds of every step's overlap with a bin, added up one by one."""
    tuples = seconds = 0.0
    for step in steps:
        overlap = min(end_s, step.committed_s) - max(begin_s, step.committed_s - step.gap_s)
        if overlap > 0:
            tuples, seconds = tuples + overlap * step.in_tuples_s, seconds + overlap
    return tuples / seconds if seconds > 1e-9 else None


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), min_size=1, max_size=20), st.integers(1, 30))
def test_binned_rates_equal_a_plain_sum_of_overlaps(gaps: list[tuple[int, int]], bins: int) -> None:
    steps, at_s = [], 0.0
    for tenths, rate in gaps:
        at_s += tenths / 10
        steps.append(Step(0, at_s, tenths / 10, 0.1, rate, 0.0, None, None, None, {}, 0))
    edges = [-1.0 + (at_s + 2.0) * i / bins for i in range(bins + 1)]
    wanted = [plain_rate(steps, a, b) for a, b in pairwise(edges)]
    for found, right in zip(rates_by_bin(steps, edges), wanted, strict=True):
        assert (found is None) == (right is None)
        assert found is None or found == pytest.approx(right, abs=1e-6)


def test_the_highest_of_each_bin_is_kept() -> None:
    steps = timeline_of(run_of(4))  # commits at 0.4, 0.9, 1.4, 1.9
    assert highest_by_bin(steps, [-1.0, 0.0, 1.0, 2.0, 3.0], lambda s: s.batch) == [None, 1, 3, 3]


def test_sparklines_go_from_zero_to_the_highest() -> None:
    assert sparkline([0, 5, 10]) == "▁▅█"
    assert sparkline([None, 0, 0]) == " ▁▁"
    assert sparkline([]) == ""


def test_a_change_counts_from_the_first_batch_that_started_after_it() -> None:
    observations = [*run_of(4), micro_batch(4, replicas=4), micro_batch(5, replicas=4)]
    assert first_after(observations, BEGIN_S + 1.7) == 4
    assert first_after(observations, BEGIN_S + 9.0) is None
    late = replace(observations[4], micro_batch_s=0.7)
    effect = effect_at(4, "2 → 4", [*observations[:4], late])
    assert effect is not None
    assert (effect.batch, effect.slots_rebuilt) == (4, 0)
    assert (effect.gap_s, effect.gap_before_s, effect.usual_gap_s) == pytest.approx((0.8, 0.5, 0.5))
    assert effect_at(1, "too early", observations) is None


def test_every_change_of_a_journal_is_found() -> None:
    two, four = configuration(2), configuration(4)
    effects = effects_of(run_of(7), [two, two, two, four, four, two, two])
    assert [(e.batch, e.text) for e in effects] == [(3, "window 2 → 4 replicas"), (5, "window 4 → 2 replicas")]


def test_changes_in_words() -> None:
    even, skewed = configuration(2), configuration(2, [0, 0, 0, 0, 0, 0, 1, 1])
    assert change_text(even, skewed) == "window: slots 6 + 2"
    assert change_text(skewed, even) == "window: even route"
    assert change_text(configuration(4), skewed) == "window 4 → 2 replicas, slots 6 + 2"
    cut = replace(even, elements=(*even.elements, ElementConfiguration("vwap", 2)), unfused=("vwap",))
    assert change_text(even, cut) == "elements trades, window, vwap"
    sizes = replace(even, block_rows=100, micro_batch_tuples=5_000_000)
    assert change_text(even, sizes) == "blocks of 100, at most 5.00 M tuples a micro-batch"


def test_many_replicas_are_summed_up() -> None:
    route = [0, 0, 1, 2, 3, 4, 5, 6]
    assert route_text(configuration(7, route).element("window")) == "even"
    assert route_text(configuration(8, [0, 0, 0, 1, 2, 3, 4, 5]).element("window")) == "0 to 3 slots a replica"
    assert configuration_text(configuration(2)).startswith(
        "trades 2, window 2 (even); blocks of 32,768, at most 8.39 M"
    )


def test_elements_are_averaged_over_the_last_seconds() -> None:
    newest, span_s = recent(run_of(20))
    assert (len(newest), span_s) == (4, pytest.approx(2.0))
    trades, window = element_rows(run_of(20))
    assert (trades.in_tuples_s, trades.out_tuples_s, trades.busy_ratio) == pytest.approx((2e6, 1e6, 0.2))
    assert (window.name, window.tuples_by_replica) == ("window", (250_000, 250_000))
    assert window.cpu_ratio == pytest.approx(0.08)


def test_operators_are_shown_as_far_as_they_were_measured() -> None:
    trades, window = element_rows([with_operators(o) for o in run_of(20)])
    assert [o.name for o in trades.operators] == ["quotes", "filter"]
    assert trades.operators[0].cpu_ratio == pytest.approx(0.02)
    assert trades.operators[1].cpu_ratio is None
    assert window.operators == ()


def test_a_summary_has_sums_medians_and_extremes() -> None:
    observations = run_of(10)
    observations[4] = replace(observations[4], backlog_tuples=99, dead_letters=3)
    observations[5] = replace(observations[5], micro_batch_s=0.9, backlog_tuples=70_000)
    summary = summary_of(observations)
    assert summary is not None
    assert (summary.micro_batches, summary.tuples_in, summary.tuples_out) == (10, 10_000_000, 5_000_000)
    assert (summary.median_gap_s, summary.longest_gap_s) == pytest.approx((0.5, 1.0))
    assert (summary.highest_backlog_tuples, summary.dead_letters, summary.slots_rebuilt) == (70_000, 3, 0)
    assert summary.latency is not None
    assert 198 < summary.latency.p50_ms < 212
    assert 398 < summary.latency.p95_ms < 422

"""`python -m benchmarks saso --engine twin`: what rows say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.saso.loads import trace_load
from benchmarks.saso.made_loads import made_loads
from benchmarks.saso.twin_command import curve, run_saso_twin
from benchmarks.saso.twin_engine import Row, rows_of_case, twin_cases
from benchmarks.saso.twin_report import by_policy, interval, judged, over_seeds
from penstock.errors import InputError


def row(
    policy: str, violations: int, replicas: float, kind: str = "rival", seed: int = 1, restart_s: float = 0.0
) -> Row:
    return Row("t", "computing", "throughput", seed, restart_s, policy, kind, violations, None, replicas, 3, 0.5, None)


def test_mpc_is_judged_by_the_best_rival_and_those_that_keep_the_goal() -> None:
    rows = [
        row("mpc", 3, 5.0, "mpc"), row("oracle", 0, 4.8, "oracle"), row("lazy", 90, 2.0), row("static", 2, 12.0),
        row("mpc", 9, 5.0, "mpc", seed=2), row("oracle", 0, 4.0, "oracle", seed=2), row("static", 2, 12.0, seed=2),
        row("static, other draws", 3, 12.0, "luck"), row("static, other draws", 4, 12.0, "luck", seed=2),
    ]  # fmt: skip
    found = judged(rows, 0.0)
    assert (found["cases"], found["goal_kept"], found["fewest_replicas"]) == (2, 0.5, 1.0)
    assert found["static_kept"] == 0.5
    assert found["within_10_percent_of_oracle"] == 0.5


def test_means_over_seeds_are_judged_as_one_case() -> None:
    """Each seed alone has another rival that was lucky; on average none was better by more than one."""
    rows = [
        row("mpc", 4, 6.0, "mpc"), row("oracle", 0, 4.0, "oracle"), row("ds2", 2, 9.0), row("spl", 6, 5.0),
        row("mpc", 4, 8.0, "mpc", seed=2), row("oracle", 0, 6.0, "oracle", seed=2), row("ds2", 6, 11.0, seed=2),
        row("spl", 2, 5.0, seed=2),
    ]  # fmt: skip
    assert judged(rows, 0.0)["goal_kept"] == 0.0
    found = judged(over_seeds(rows), 0.0)
    assert (found["cases"], found["goal_kept"], found["mpc_replicas"]) == (1, 1.0, 7.0)


def test_only_rivals_with_that_restart_count() -> None:
    rows = [
        row("mpc", 3, 5.0, "mpc"),
        row("oracle", 0, 4.8, "oracle"),
        row("ds2", 1, 9.0),
        row("ds2", 8, 9.0, restart_s=10.0),
    ]
    assert judged(rows, 0.0)["goal_kept"] == 0
    assert judged(rows, 10.0)["goal_kept"] == 1


def test_means_have_their_intervals() -> None:
    middle, half = interval([1.0, 2.0, 3.0])
    assert middle == 2.0
    assert half == pytest.approx(4.30 / np.sqrt(3))
    (found,) = by_policy([row("ds2", 1, 4.0), row("ds2", 3, 6.0, seed=2)])
    assert (found["violations"], found["mean_replicas"], found["seeds"]) == (2.0, 5.0, 2)
    assert curve([row("ds2", 1, 4.0), row("ds2", 3, 6.0)])[0]["violations"] == 2.0


def test_a_case_has_a_row_of_each_policy_and_restart(tmp_path: Path) -> None:
    trace = tmp_path / "load.csv"
    trace.write_text("seconds,rate\n" + "\n".join(f"{n},{900 + 20 * n}" for n in range(12)) + "\n")
    case = next(
        own
        for own in twin_cases([trace], [1], 8, (0.0, 60.0))
        if (own.application, own.goal) == ("service-bound", "throughput")
    )
    rows = rows_of_case(case)
    assert [own.kind for own in rows[:2]] == ["mpc", "oracle"]
    rivals = [own for own in rows if own.kind == "rival"]
    assert {own.restart_s for own in rivals} == {0.0, 60.0}
    assert len({own.policy for own in rivals}) == len(rivals) / 2 >= 8
    (luck,) = [own for own in rows if own.kind == "luck"]
    assert luck.policy == "static, other draws"
    assert luck.mean_replicas == pytest.approx(next(own.mean_replicas for own in rivals if own.policy == "static"), 0.1)
    assert rows == rows_of_case(case)


def test_loads_of_our_own_are_traces_like_others(tmp_path: Path) -> None:
    first, again, other = (made_loads(tmp_path, seed) for seed in (1, 1, 2))
    assert first == again
    assert len({path.read_text() for path in (*first, *other)}) == 10
    for path in first:
        load = trace_load(path, 10_000.0, 300)
        counts = np.diff([load.arrivals.arrived_by(float(second)) for second in range(301)])
        assert load.end_s == 300.0
        assert 0 < np.mean(counts) < np.max(counts)
        assert np.percentile(counts, 99) == pytest.approx(8_500, rel=0.01)


def test_mistakes_are_told() -> None:
    with pytest.raises(InputError, match="--engine twin needs at least one --trace"):
        run_saso_twin([], 1, None, None, quick=True)
    with pytest.raises(InputError, match="--seeds is at least 1; got 0"):
        run_saso_twin([Path("a.csv")], 0, None, None, quick=True)
    with pytest.raises(InputError, match="--steps is at least 1; got 0"):
        run_saso_twin([Path("a.csv")], 1, None, None, quick=True, steps=0)

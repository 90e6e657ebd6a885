"""What the benches of threads are made of: real elements after models, external load, grids, interleaved pairs."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.threads import external_load
from benchmarks.threads.measured.engine_cases import EngineCase, elastic_cases, load_case, taken_cores
from benchmarks.threads.measured.fed_engine import EnginePeriod, FedEngine
from benchmarks.threads.measured.model_graph import graph_of
from benchmarks.threads.measured.pegged_cores import PeggedCores, Phase, phases_of
from benchmarks.threads.measured.real_cases import OneAtATime, real_case, real_multilevel_models
from benchmarks.threads.measured.real_element import RealElement
from benchmarks.threads.measured.real_rows import QUICK, change_run, elastic_runs, exhaustive_runs, load_runs
from benchmarks.threads.measured.real_side_by_side import engines_side_by_side, side_by_side
from benchmarks.threads.pictures import draw_threads
from benchmarks.threads.shared_grid import Gridding
from benchmarks.threads.thread_overhead import in_turns, paired_ratio
from benchmarks.threads.threads_command import Effort, measure_threads, summary
from penstock.control.threads.element_setting import ElementSetting
from penstock.errors import InputError
from penstock.plan.thread_setting import ElasticThreads
from penstock.simulate.element_model import ElementModel, OperatorModel
from penstock.simulate.element_shapes import balanced, bushy, data_parallel, mixed, one_operator, pipeline


@pytest.mark.parametrize(
    "model",
    [data_parallel(5, balanced(1)), mixed(3, 4, balanced(1)), bushy(balanced(1), block_tuples=3)],
    ids=lambda model: model.name,
)
def test_every_tuple_of_a_real_element_comes_to_its_sink_once(model: ElementModel) -> None:
    with RealElement(model, max_level=3, period_s=0.01) as element:
        for threads, queued in ((1, frozenset[str]()), (2, frozenset(model.names)), (3, frozenset(model.names[::3]))):
            element.apply(ElementSetting(threads, queued))
            seen = element.observe()
            assert (seen.level, seen.queued, seen.max_level) == (threads, queued, 3)
    assert element.works["sink"].tuples == element.fed_tuples > 0


def test_a_real_element_tells_what_a_policy_needs() -> None:
    model = pipeline(3, lambda operators: [10.0, 1_000_000.0, 10.0][:operators])
    with RealElement(model, max_level=2, period_s=0.3) as element:
        element.observe()
        seen = element.observe()
    assert seen.throughput_tuples_s > 0
    assert max(seen.operator_costs, key=lambda name: seen.operator_costs[name]) == "op1"
    assert set(seen.operator_costs) == {"op0", "op1", "op2"}
    assert seen.feeds == {"source": ("op0",), "op0": ("op1",), "op1": ("op2",), "op2": ()}


def test_a_real_element_changes_its_costs_while_it_runs() -> None:
    with RealElement(one_operator(10), max_level=1, period_s=0.001) as element:
        element.change(one_operator(777))
        assert element.works["work"].flop == 777


def test_a_model_that_merges_and_deals_at_once_is_told() -> None:
    operators = (
        OperatorModel("source", 0.0, (("a", 0.5), ("b", 0.5))),
        OperatorModel("a", 0.0, (("both", 1.0),)),
        OperatorModel("b", 0.0, (("both", 1.0),)),
        OperatorModel("both", 0.0, (("x", 0.5), ("y", 0.5))),
        OperatorModel("x", 0.0),
        OperatorModel("y", 0.0),
    )
    with pytest.raises(InputError, match="operator 'both' of a model either merges or deals out"):
        graph_of(ElementModel("knot", operators))


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_pegged_cores_are_taken_and_given_back() -> None:
    with PeggedCores() as load:
        load.set(2)
        one, two = load._spinning
        deadline_s = time.monotonic() + 30
        while min(cpu_s(one), cpu_s(two)) < 0.05:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        load.set(1)
        time.sleep(0.05)
        before_s = cpu_s(two)
        time.sleep(0.2)
        assert cpu_s(two) == before_s  # stopped, and still there
        assert two.poll() is None
    assert one.poll() is not None


def test_a_schedule_of_pegged_cores_is_followed() -> None:
    taken = []

    class Noted(PeggedCores):
        def set(self, cores: int) -> None:
            taken.append(cores)

    begin_s = time.monotonic()
    Noted().run([Phase(0.05, 1), Phase(0.0, 2)], until_s=0.1)
    assert taken == [2, 1]
    assert time.monotonic() - begin_s >= 0.1
    assert phases_of("0:1,2.5:0") == [Phase(0.0, 1), Phase(2.5, 0)]


def test_every_way_to_add_up_a_grid_gives_the_same() -> None:
    gridding = Gridding(blocks=8, block_rows=200, side=64)
    expected = gridding.sequential()
    assert expected.sum() > 0
    for way in (gridding.local, gridding.swapped, gridding.locked):
        np.testing.assert_allclose(way(3), expected, rtol=1e-9)


def test_pairs_are_measured_in_turns() -> None:
    calls: list[str] = []

    def noted(name: str) -> str:
        calls.append(name)
        return name

    pairs = in_turns(lambda: noted("one"), lambda: noted("other"), 3)
    assert pairs == [("one", "other")] * 3
    assert calls == ["one", "other", "other", "one", "one", "other"]


def test_a_ratio_of_pairs_has_an_interval_around_it() -> None:
    ratio = paired_ratio([(1.1, 1.0), (1.2, 1.0), (1.0, 1.0), (1.1, 1.0)])
    assert ratio.low < ratio.median < ratio.high
    assert abs(ratio.median - 1.1) < 1e-9


@pytest.mark.slow
def test_the_bench_of_threads_has_its_figures_and_a_picture(tmp_path: Path) -> None:
    tiny = Effort(run_s=0.002, pairs=2, ingestion_pairs=2, ingestion_blocks=2, grid_blocks=2, rounds=1)
    report = measure_threads(tiny, 2, lambda step: None)
    found = summary(report, tiny)
    assert set(found["machinery_share"]) == {"light", "medium", "heavy", "extra heavy"}
    assert all(0 < share < 1 for share in found["outside_operators_share"].values())
    assert all(0 < share < 1 for share in found["calls_outside_operators_share"].values())
    assert all(-1 < share < 1 for share in found["machinery_share"].values())  # a difference of two runs
    assert all(low <= high for low, high in found["machinery_share_interval"].values())
    full = [found["machinery_share"][name] for name in ("medium", "heavy", "extra heavy")]
    assert found["machinery_share_worst"] == max(full)  # a light block is not worth a queue
    assert len(found["goals_missed"]) == sum(share > 0.01 for share in full)
    outside = found["outside_operators_share"]
    assert found["outside_operators_share_worst"] == max(outside[name] for name in ("medium", "heavy", "extra heavy"))
    assert [row["ingestion"] for row in found["ingestion_gain"]] == ["waits", "computes", "computes"]
    assert found["grid_ratio_to_sequential"]["sequential"] == 1.0
    assert len(found["grid_ratio_to_sequential"]) == 4
    assert set(found["queue_us_by_payload_bytes"]) == {8, 128, 1024, 16_384}
    draw_threads(report.overheads, report.ingestions, report.grids, 0.01, tmp_path / "threads.png")
    assert (tmp_path / "threads.png").read_bytes().startswith(b"\x89PNG")


def test_real_cases_give_ports_one_at_a_time_and_rates_of_fixed_settings() -> None:
    model, queued = one_operator(1, block_tuples=64, wait_s=0.02), frozenset({"work"})
    with OneAtATime() as running:
        case = real_case("waits", model, (1, 8), running, cores=2, queued=queued, period_s=0.05)
        one, eight = (case.fixed_tuples_s(ElementSetting(level, queued)) for level in (1, 8))
        assert eight > 3 * one  # it waits, so that eight threads wait at once
        port = case.port_factory(0)
        assert case.port_factory(1) is not port
        assert port.element._runtime.is_closed  # type: ignore[attr-defined]


def test_a_users_engine_is_measured_at_fixed_numbers_of_threads() -> None:
    names = [case.name for case in elastic_cases(cores=2)]
    assert names == [
        "light, real", "medium, real", "heavy, real", "extra heavy, real",
        "waiting 1 ms, real", "waiting 5 ms, real", "waiting 20 ms, real",
    ]  # fmt: skip
    rates = EngineCase("waits", one_operator(1, block_tuples=64, wait_s=0.02), (1, 8), period_s=0.1).fixed_rates()
    assert rates[8] > 3 * rates[1] > 0


def test_a_users_engine_finds_its_threads_while_it_is_measured() -> None:
    with FedEngine(one_operator(1, block_tuples=64, wait_s=0.005), ElasticThreads(most=8, period_s=0.05)) as engine:
        seen = [engine.period(0.1) for _ in range(15)]
    assert engine.level > 1
    assert sum(period.changes for period in seen) >= 2
    assert seen[-1].tuples_s > 1.5 * seen[0].tuples_s
    assert max(period.level for period in seen) <= 8


def test_external_load_is_compared_with_as_many_threads_as_an_engine_may_have() -> None:
    assert load_case(cores=2).levels == (1, 2)


def test_cores_are_taken_phase_by_phase() -> None:
    assert list(taken_cores(external_load.schedule(cores=2, periods=2))) == [0, 0, 1, 1, 2, 2, 1, 1, 0, 0]


TINY = replace(
    QUICK, period_s=0.01, periods=17, phase_periods=11, fixed_phase_periods=2, graph_period_s=0.01, exhaustive_s=0.8
)  # fmt: skip


@pytest.mark.long
def test_the_elastic_operator_is_measured_on_real_elements() -> None:
    runs = elastic_runs(TINY, 2, lambda step: None)
    assert [run.load for run in runs][:2] == ["light, real", "medium, real"]
    assert all(run.best_tuples_s > 0 and run.ratio > 0 for run in runs)
    assert {run.kind for run in runs} == {"measured"}
    assert [len(run.static_tuples_s) for run in runs] == [4] * 4 + [8] * 3


def test_an_elastic_run_is_compared_with_the_best_level_measured_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    around = iter([8.0, 10.0, 14.0] * 7)
    asked: list[tuple[int, int]] = []

    def fixed_rate(case: EngineCase, level: int, periods: int = 3) -> float:
        if periods == 3:
            return 20.0 if level == 2 else 5.0
        asked.append((level, periods))
        return next(around)

    monkeypatch.setattr(EngineCase, "fixed_rate", fixed_rate)
    monkeypatch.setattr(EngineCase, "elastic", lambda case, policy, periods: [EnginePeriod(2, 0, 9.0)] * periods)
    runs = elastic_runs(replace(TINY, periods=40, policies=("leaping", "listing")), 2, lambda step: None)
    assert [(run.best_tuples_s, run.ratio) for run in runs] == [(9.0, 1.0), (12.0, 0.75)] * 7
    assert {run.best_level for run in runs} == {2}
    assert asked == [(2, 4)] * 21


def test_elastic_operators_compete_side_by_side() -> None:
    found = side_by_side("leaping", 2, period_s=0.02, periods=6)
    assert found.ratio > 0
    assert 0.25 <= found.fairness <= 1.0001
    assert len(found.levels) == 4


def test_engines_side_by_side_share_the_cores() -> None:
    found = engines_side_by_side("leaping", ElasticThreads(period_s=0.02), 2, 0.02, 6)
    assert found.ratio > 0
    assert 0.25 <= found.fairness <= 1.0001
    assert len(found.levels) == 4


def test_a_workload_changes_under_a_real_element() -> None:
    found = change_run("pieces", 2, period_s=0.01, periods=8, operators=10)
    assert len(found.rates_tuples_s) == 8
    assert min(found.ratio_before, found.ratio_after, found.ratio_unadapted) > 0


@pytest.mark.slow
def test_external_load_is_measured_on_a_real_element() -> None:
    (run,) = load_runs(TINY, 2, lambda step: None)
    assert [result.phase.taken_cores for result in run.phases] == [0, 1, 2, 1, 0]
    assert (len(run.levels), run.kind) == (55, "measured")


@pytest.mark.slow
def test_multi_level_elasticity_is_measured_beside_every_placement() -> None:
    for run in exhaustive_runs(TINY, 2, lambda step: None):
        assert run.exhaustive_tuples_s is not None
        assert run.exhaustive_tuples_s >= run.best_simple_tuples_s > 0
        assert 0 < run.found["pieces"].throughput_tuples_s <= run.exhaustive_tuples_s
        assert run.tried == (20, 2 * 2**7)


def test_real_graphs_of_many_operators_run_and_are_observed() -> None:
    for model in real_multilevel_models((1,), seed=1, quick=True):
        with RealElement(model, max_level=2, period_s=0.02, queued=frozenset(model.names[::7])) as element:
            assert len(element.observe().operator_costs) == len(model.names)

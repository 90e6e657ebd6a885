"""Profiles learned from micro-batches that were made from a known profile: what was put in comes out."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.measure.observation import (
    CpuObservation,
    Observation,
    OperatorObservation,
    PortObservation,
    ReplicaObservation,
)
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.calibration import CalibrationPoint, calibrated
from penstock.model.costs.learning.drift import DriftWatch
from penstock.model.costs.learning.learned_profile import Measured, Overhead, _function, _width, learned
from penstock.model.costs.learning.operator_facts import facts_of, key_of
from penstock.model.costs.learning.samples import ElementSample, OperatorSample, Sample, samples_of
from penstock.model.costs.profile import FixedCosts, Profile
from penstock.model.costs.store import CostStore

TABLE = Communication((8.0, 64.0), (1e6, 5e5), (0.5, 0.6), (0.3, 0.4))
OVERHEAD = Overhead(FixedCosts(0.0, 0.01, 1e-4), TABLE)
READ, HALF, STATE = 2e-7, 3e-6, 1e-6  # s per tuple: reading, the functor, the window's state


def application() -> ps.Application:
    app = ps.Application("halves")
    halves = app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}, where="x > 0")
    halves.aggregate("window", window=ps.tumbling(count=10), emit={"m": "mean(h)"}).sink("out")
    return app


ELEMENTS = {"numbers": ("numbers",), "half": ("half",), "window": ("window", "out")}


def batch(tuples: int, *, waiting: float = 0.0, factor: float = 1.0) -> Observation:
    """A micro-batch of the unfused application: half of the tuples pass, the window gives a tenth of them."""
    half, out = tuples // 2, tuples // 20

    def envelopes(*counts: int) -> float:
        return sum(math.ceil(count / 32_768) for count in counts) * 1e-4

    def replica(cpu_s: float, ins: list[PortObservation], outs: list[PortObservation], *own: OperatorObservation,
                ) -> tuple[ReplicaObservation, ...]:  # fmt: skip
        return (ReplicaObservation(0, tuples, 0, cpu_s + waiting, cpu_s * 0.8, 0, inputs=tuple(ins),
                                   outputs=tuple(outs), operators=own, jvm_cpu_s=cpu_s * 0.2),)  # fmt: skip

    source = 0.01 + envelopes(tuples) + READ * tuples * factor + TABLE.send(tuples, 8.0)
    functor_s = HALF * tuples * factor
    functor = 0.01 + envelopes(tuples, half) + functor_s + TABLE.receive(tuples, 8.0) + TABLE.send(half, 8.0)
    window_s = 0.002 + 2e-6 * half * factor
    window = 0.01 + envelopes(half) + window_s + STATE * half * factor + TABLE.receive(half, 8.0)
    numbers, halves = PortObservation("numbers", tuples, 8 * tuples), PortObservation("half", half, 8 * half)
    elements = {
        "numbers": replica(source, [numbers], [numbers]),
        "half": replica(functor, [numbers], [halves], OperatorObservation("half", tuples, half, 9, 9, functor_s)),
        "window": replica(window, [halves], [PortObservation("out", out, 8 * out)],
                          OperatorObservation("window", half, out, 9, 9, window_s)),
    }  # fmt: skip
    busiest = source + functor + window
    return Observation(0, 0.0, 0.1 + busiest, tuples, out, elements, cpu=CpuObservation(0, 0, 0, 0.05, None, 0.0))


def measured(*rates: int, **given: float) -> list[Measured]:
    return [(sample, ELEMENTS) for sample in samples_of(batch(rate, **given) for rate in rates)]


RATES = (40_000, 80_000, 120_000, 160_000)


def profile() -> Profile:
    return learned(facts_of(application().graph), measured(*RATES), OVERHEAD)


def test_functions_come_out_as_they_were_put_in() -> None:
    found = profile()
    assert found.operator("numbers").cpu.at([1e5]) == pytest.approx(READ * 1e5, rel=1e-3)
    assert found.operator("half").cpu.at([1e5]) == pytest.approx(HALF * 1e5, rel=1e-3)
    assert found.operator("window").cpu.at([1e5]) == pytest.approx(0.002 + 3e-6 * 1e5, rel=1e-3)
    assert found.operator("out").cpu.terms == ()
    assert found.operator("half").outputs["half"].at([1e5]) == pytest.approx(5e4)
    assert found.operator("half").bytes_per_tuple == {"half": 8.0}
    assert found.fixed.micro_batch_cpu_s == pytest.approx(0.05)
    assert (found.fixed.micro_batch_s, found.fixed.stage_s_per_cpu_s) == pytest.approx((0.1, 1.0))


def test_a_fusion_that_was_never_run_is_predicted() -> None:
    q = profile().predict({"numbers": 1e5}, fusion=[["numbers", "half"], ["window", "out"]])
    own = q.elements["numbers"]
    assert own.parts["operators"] == pytest.approx((READ + HALF) * 1e5, rel=1e-3)
    assert own.parts["send"] == pytest.approx(TABLE.send(5e4, 8.0))
    assert own.parts["receive"] == 0.0


def test_an_operator_costs_what_the_clock_saw_where_the_table_of_communication_is_too_dear() -> None:
    dear = replace(TABLE, send_cores=(0.6, 0.7), receive_cores=(0.4, 0.5))
    found = learned(facts_of(application().graph), measured(*RATES), replace(OVERHEAD, communication=dear))
    assert found.operator("half").cpu.at([1e5]) == pytest.approx(HALF * 1e5, rel=0.01)
    assert found.operator("half").communication_factor < 0.9
    own = found.predict({"numbers": 1e5}).elements["half"]
    truth = 0.01 + 6e-4 + HALF * 1e5 + TABLE.receive(1e5, 8.0) + TABLE.send(5e4, 8.0)
    assert own.cpu_cores == pytest.approx(truth, rel=2e-3)


def test_a_factor_is_not_learned_where_operators_were_not_timed() -> None:
    untimed = []
    for sample, elements in measured(*RATES):
        own = sample.elements["half"]
        if sample.tuples == RATES[0]:
            operators = {"half": replace(own.operators["half"], cpu_s=None)}
            sample = replace(sample, elements={**sample.elements, "half": replace(own, operators=operators)})
        untimed.append((sample, elements))
    assert learned(facts_of(application().graph), untimed, OVERHEAD).operator("half").communication_factor > 0.999


def test_too_few_rates_saturated_ones_and_waiting_operators_are_refused() -> None:
    facts = facts_of(application().graph)
    with pytest.raises(InputError, match="a profile needs points at 3 different rates at least; got 2"):
        learned(facts, measured(40_000, 80_000), OVERHEAD)
    with pytest.raises(InputError, match="every rate is saturated"):
        learned(facts, measured(10_000_000, 20_000_000, 30_000_000), OVERHEAD)
    app = ps.Application("calls")
    app.source("numbers", schema={"x": "int64"}).map("half", lambda block: block, schema={"x": "int64"}).functor(
        "window"
    ).sink("out")
    with pytest.raises(InputError, match=r"operator 'half' blocks: .*of its time is waiting, not CPU"):
        learned(facts_of(app.graph), measured(*RATES, waiting=2.0), OVERHEAD)


def test_the_communication_learner_finds_what_was_put_in() -> None:
    points = []
    for width, cost in ((8.0, 1.0), (64.0, 3.0)):
        for tuples in (1e5, 5e5):
            for blocks in (4.0, 120.0):
                read = 0.01 + 2e-4 * blocks + 1e-7 * cost * tuples
                points += [
                    CalibrationPoint("fused", width, tuples, blocks, 1, read),
                    CalibrationPoint("sends", width, tuples, blocks, 1, read + 1e-4 * blocks + 4e-7 * cost * tuples),
                    CalibrationPoint("receives", width, tuples, blocks, 1, 0.01 + 1e-4 * blocks + 2e-7 * cost * tuples),
                ]  # fmt: skip
    found = calibrated(points)
    assert (found.fixed.task_cpu_s, found.fixed.envelope_cpu_s) == pytest.approx((0.01, 1e-4))
    assert found.communication.send(1e6, 64.0) == pytest.approx(1.2)
    assert found.communication.receive(1e6, 8.0) == pytest.approx(0.2)
    assert found.communication.max_rate_tuples_s[0] == pytest.approx(2e6)
    with pytest.raises(InputError, match="communication is learned from fused, sending and receiving elements"):
        calibrated(points[:2])


def test_the_store_gives_back_what_it_keeps(tmp_path: Path) -> None:
    store, facts = CostStore(tmp_path / "costs.sqlite"), facts_of(application().graph)
    assert store.profile(facts, "n") is None
    store.keep_overhead("n", OVERHEAD)
    store.keep(profile(), "n")
    found = store.profile(facts, "n")
    assert found is not None
    assert found.operators == profile().operators
    assert store.overhead("n") == OVERHEAD
    assert store.profile(facts, "another") is None


def test_samples_are_kept_until_a_profile_is_done(tmp_path: Path) -> None:
    store, (sample, _) = CostStore(tmp_path / "costs.sqlite"), measured(40_000)[0]
    store.keep_rates("app", "n", (40_000,))
    store.keep_samples("app", "n", 1.0, 40_000, [sample, sample])
    assert store.samples("app", "n", 1.0, 40_000) == [sample, sample]
    assert store.rates("app", "n") == (40_000,)
    store.forget_samples("app", "n")
    assert store.samples("app", "n", 1.0, 40_000) == []
    assert store.rates("app", "n") is None


def test_a_function_of_another_code_version_is_refused(tmp_path: Path) -> None:
    store, facts = CostStore(tmp_path / "costs.sqlite"), facts_of(application().graph)
    old = profile()
    operators = tuple(replace(own, key=(own.key or "").replace("-v1", "-v0")) for own in old.operators)
    store.keep_overhead("n", OVERHEAD)
    store.keep(replace(old, operators=operators), "n")
    with pytest.raises(
        InputError, match="operator 'numbers' was learned with version 0 of its code, and this is version"
    ):
        store.profile(facts, "n")


def test_a_store_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "costs.sqlite").write_text("no database")
    with pytest.raises(InputError, match=r"the store of costs .* cannot be used: .*PENSTOCK_COSTS"):
        CostStore(tmp_path / "costs.sqlite").overhead("n")


def test_a_key_changes_with_parameters_and_not_with_names() -> None:
    def functor(name: str, divisor: int) -> str:
        app = ps.Application("a")
        app.source("s", schema={"x": "int64"}).functor(name, emit={"h": f"x / {divisor}"}).sink("out")
        return key_of(app.graph.operator(name))

    assert functor("a", 2) == functor("b", 2)
    assert functor("a", 2) != functor("a", 3)


def test_drift_is_told_after_a_minute_outside_the_band_and_once() -> None:
    watch = DriftWatch(profile(), ELEMENTS, facts_of(application().graph))
    found = []
    for second in range(200):
        drifted = batch(100_000, factor=1.0 if second < 20 else 3.0)
        watch, told = watch.after(replace(drifted, started_at_s=float(second)))
        found += [(second, own.element) for own in told]
    assert [name for _, name in found] == ["numbers", "half", "window"]
    assert all(79 <= second <= 82 for second, _ in found)


def test_a_steady_application_never_drifts() -> None:
    watch = DriftWatch(profile(), ELEMENTS, facts_of(application().graph))
    for second in range(200):
        watch, told = watch.after(replace(batch(100_000), started_at_s=float(second)))
        assert told == ()


def test_undisturbed_samples_leave_out_what_neighbours_add() -> None:
    batches = [batch(40_000, factor=factor) for factor in (1.0, 1.01, 1.6, 1.9, 1.5)]
    (own,), (plain,) = samples_of(batches, undisturbed=True), samples_of(batches)
    expected = samples_of([batch(40_000)])[0].elements["half"]
    assert own.elements["half"].cpu_s == pytest.approx(expected.cpu_s, rel=0.02)
    assert own.elements["half"].tuples_in == expected.tuples_in
    assert plain.elements["half"].cpu_s > 1.2 * expected.cpu_s


def test_a_function_that_falls_with_its_rate_is_noise_and_becomes_a_constant() -> None:
    found = _function([(2_000.0,), (8_000.0,), (20_000.0,)], [0.0009, 0.0006, 0.0005], "the function")
    assert found.degree == 0
    assert 0.0005 < found.at([20_000.0]) < 0.0009
    assert _function([(1.0,), (2.0,), (3.0,)], [2.0, 4.0, 6.0], "the function").at([4.0]) == pytest.approx(8.0)


def test_tuples_of_a_rate_are_means_where_results_come_unevenly() -> None:
    few, many = batch(40_000), batch(40_000)
    window = replace(many.replicas_by_element["window"][0], outputs=(PortObservation("out", 8_000, 64_000),))
    many = replace(many, replicas_by_element={**many.replicas_by_element, "window": (window,)})
    (own,) = samples_of([few, few, many])
    assert own.elements["window"].tuples_out["out"] == pytest.approx((2 * 2_000 + 8_000) / 3)


def test_waiting_for_a_core_is_not_a_micro_batchs_own_time() -> None:
    own = batch(40_000)
    waited = replace(own.replicas_by_element["half"][0], stalled_s=0.3)
    disturbed = replace(own, micro_batch_s=own.micro_batch_s + 0.3,
                        replicas_by_element={**own.replicas_by_element, "half": (waited,)})  # fmt: skip
    (alone,), (plain,) = samples_of([disturbed], undisturbed=True), samples_of([disturbed])
    assert alone.wall_s == pytest.approx(own.micro_batch_s)
    assert plain.wall_s == disturbed.micro_batch_s


def test_the_width_of_a_stream_inside_an_element_is_what_its_operators_saw() -> None:
    facts = facts_of(application().graph)
    inside = {"half": ElementSample(0.1, 0.1, 0.1, 0.1, 1, {}, {}, {}, {},
                                    {"half": OperatorSample(0.05, 1e4, 5e3, 8e4, 1e5)})}  # fmt: skip
    sample = Sample(1e4, 0.2, None, None, inside)
    assert _width("half", facts["half"], [(sample, {"half": ("half", "window")})], facts) == 20.0
    reader = {"half": replace(inside["half"], operators={"window": OperatorSample(0.05, 5e3, 5e2, 6e4, 4e3)})}
    assert _width("half", facts["half"], [(replace(sample, elements=reader), {})], facts) == 12.0
    assert _width("half", facts["half"], [], facts) == 8.0

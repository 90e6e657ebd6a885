"""What threads and queues cost on a machine, fitted to elements whose costs are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.threads.machine_fit import MeasuredSetting, fitted_costs, machine_fit, relative_errors
from penstock.control.threads.element_setting import ElementSetting
from penstock.simulate.element_plant import ElementPlant, Machine
from penstock.simulate.element_shapes import balanced, pipeline
from penstock.simulate.element_throughput import MachineCosts

TRUE = MachineCosts(call_s=4e-6, push_s=1.2e-5, pop_s=1.8e-5, lock_s=1e-6, contention=0.2, switching=0.1)


def measured(flop: int, threads: int, queues: int) -> MeasuredSetting:
    """What a machine of two cores that is 1.7 times as slow as models say would show."""
    model = pipeline(8, balanced(flop), block_tuples=64, ordered=False)
    slow = replace(model, operators=tuple(replace(own, cpu_s=1.7 * own.cpu_s) for own in model.operators))
    setting = ElementSetting(threads, frozenset(model.names[:queues]))
    return MeasuredSetting(
        model, setting, ElementPlant(slow, Machine(2, TRUE), max_level=4).throughput_tuples_s(setting)
    )


def test_costs_of_a_known_machine_predict_other_threads_and_operators() -> None:
    runs = [measured(flop, t, q) for flop in (100, 20_000) for t in (1, 2) for q in (0, 1, 4, 8) if q or t < 2]
    costs, pace = fitted_costs(runs, 2)
    assert pace == pytest.approx(1.7, rel=0.1)
    assert costs.push_s + costs.pop_s == pytest.approx(TRUE.push_s + TRUE.pop_s, rel=0.3)
    others = [measured(5_000, t, q) for t in (1, 2) for q in (4, 8)]
    assert max(map(abs, relative_errors(costs, pace, others, 2))) < 0.05
    defaults = relative_errors(MachineCosts(), 1.0, others, 2)
    assert min(map(abs, defaults)) > 0.1


def test_a_real_machine_is_fitted_and_checked_on_up_to_four_threads() -> None:
    found = machine_fit(2, 0.02, lambda text: None)
    assert found.costs.push_s > 0
    assert 0 <= found.checked_error_median <= found.checked_error_worst

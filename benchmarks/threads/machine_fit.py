"""What threads and queues cost on this machine, fitted to real elements, and checked on other numbers of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import median

from benchmarks.threads.measured.real_element import RealElement
from penstock.control.threads.element_setting import ElementSetting
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import ElementPlant, Machine
from penstock.simulate.element_shapes import balanced, pipeline
from penstock.simulate.element_throughput import MachineCosts

_OPERATORS, _BLOCK = 8, 64
_FLOP_FITTED, _FLOP_CHECKED = (100, 20_000), 5_000
_QUEUES = (0, 1, 4, 8)
MOST_THREADS = 4  # the goal: costs are checked on 1 to 4 threads
_STEPS = (2.0, 1.3, 1.1, 1.03, 1.01)
_MOST_ROUNDS = 40
_FITTED = ("call_s", "push_s", "lock_s", "contention", "handoff")
_LEAST, _MOST = 1e-9, 1e3


@dataclass(frozen=True, slots=True)
class MeasuredSetting:
    """The throughput of a real element with so many threads and these queues (tuples/s)."""

    model: ElementModel
    setting: ElementSetting
    tuples_s: float


@dataclass(frozen=True, slots=True)
class MachineFit:
    """`pace`: how many times as long a floating-point operation takes as models say.  Errors are relative."""

    costs: MachineCosts
    pace: float
    fitted_error: float
    checked_error_median: float
    checked_error_worst: float


def machine_fit(cores: int, period_s: float, show: Callable[[str], object]) -> MachineFit:
    """Fitted on one and two threads with light and heavy operators; checked on one to four with others."""
    light, heavy = (_model(flop) for flop in _FLOP_FITTED)
    fitted = [_measured(m, t, q, period_s, show) for m in (light, heavy) for t in (1, 2) for q in _QUEUES if q or t < 2]
    other = _model(_FLOP_CHECKED)
    checked = [_measured(other, t, q, period_s, show) for t in range(1, MOST_THREADS + 1) for q in _QUEUES[2:]]
    costs, pace = fitted_costs(fitted, cores)
    off = [abs(own) for own in relative_errors(costs, pace, checked, cores)]
    own = [abs(one) for one in relative_errors(costs, pace, fitted, cores)]
    return MachineFit(costs, pace, median(own), median(off), max(off))


def _model(flop: int) -> ElementModel:
    return pipeline(_OPERATORS, balanced(flop), block_tuples=_BLOCK, ordered=False)


def _measured(
    model: ElementModel, threads: int, queues: int, period_s: float, show: Callable[[str], object]
) -> MeasuredSetting:
    """Queues stand as far apart as they can; a period to get going comes first."""
    names = model.names
    queued = frozenset(names[place * len(names) // queues] for place in range(queues))
    setting = ElementSetting(threads, queued)
    show(f"machine costs: {threads} threads, {queues} queues")
    with RealElement(model, max_level=MOST_THREADS, period_s=period_s) as element:
        element.apply(setting)
        element.observe()
        return MeasuredSetting(model, setting, element.observe().throughput_tuples_s)


def fitted_costs(measured: Sequence[MeasuredSetting], cores: int) -> tuple[MachineCosts, float]:
    """The costs, and the pace of operators, with the least absolute deviations of logarithms: one after the other.

    Copying into a queue and taking from it are not told apart: what the two take together is.
    """
    costs, pace = MachineCosts(), 1.0
    best = _loss(costs, pace, measured, cores)
    for step in _STEPS:
        for _ in range(_MOST_ROUNDS):
            before = best
            for name in (*_FITTED, "pace"):
                for factor in (step, 1 / step):
                    other, its_pace = _changed(costs, pace, name, factor)
                    loss = _loss(other, its_pace, measured, cores)
                    if loss < best:
                        costs, pace, best = other, its_pace, loss
            if best == before:
                break
    return costs, pace


def _changed(costs: MachineCosts, pace: float, name: str, factor: float) -> tuple[MachineCosts, float]:
    if name == "pace":
        return costs, pace * factor
    value = min(max(getattr(costs, name) * factor, _LEAST), _MOST)
    costs = replace(costs, **{name: value})
    return (replace(costs, pop_s=costs.pop_s * factor) if name == "push_s" else costs), pace


def _loss(costs: MachineCosts, pace: float, measured: Sequence[MeasuredSetting], cores: int) -> float:
    return sum(abs(log(1 + own)) for own in relative_errors(costs, pace, measured, cores))


def relative_errors(costs: MachineCosts, pace: float, measured: Sequence[MeasuredSetting], cores: int) -> list[float]:
    """Of what ElementPlant says with these costs."""
    return [exp(log(_simulated(costs, pace, own, cores)) - log(max(own.tuples_s, 1e-9))) - 1 for own in measured]


def _simulated(costs: MachineCosts, pace: float, own: MeasuredSetting, cores: int) -> float:
    operators = tuple(replace(each, cpu_s=each.cpu_s * pace) for each in own.model.operators)
    model = replace(own.model, operators=operators)
    most = max(own.setting.threads, cores)
    return ElementPlant(model, Machine(cores, costs), max_level=most).throughput_tuples_s(own.setting)

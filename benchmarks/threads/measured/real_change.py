"""A workload that changes under a real element (MULTILEVEL, Figure 13)."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.threads.measured.real_cases import OneAtATime, real_case
from benchmarks.threads.measured.real_element import RealElement
from benchmarks.threads.multilevel import RULES, ChangeRun
from penstock.control.threads.element_loop import run_periods
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.multilevel.policy import MultiLevel
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import pipeline, skewed


def change_run(
    rules: str, cores: int, *, period_s: float, periods: int, operators: int = 100, seed: int = 1
) -> ChangeRun:
    """10 % heavy operators become 90 % half-way; throughput is relative to the best simple way, measured alike."""
    before, after = (pipeline(operators, skewed(seed, part, 0.05), block_tuples=64) for part in (0.1, 0.9))
    levels = range(1, 2 * cores + 1)
    half = periods // 2
    with RealElement(before, max_level=max(levels), period_s=period_s) as element:
        steps = []
        for step in run_periods(element, MultiLevel(replace(RULES[rules], seed=seed)), periods):
            steps.append(step)
            if step.period == half - 1:
                element.change(after)
    old, new = steps[half - 1].next_setting, steps[-1].next_setting
    with OneAtATime() as running:
        rates = [_rates(model, levels, running, cores, period_s, (old, new)) for model in (before, after)]
    busy = [step.period for step in steps[half:] if not step.settled]
    return ChangeRun(
        rules, seed, rates[0][1] / rates[0][0], rates[1][2] / rates[1][0], rates[1][1] / rates[1][0],
        (busy[-1] + 2 - half if busy else None) if steps[-1].settled else None,
        tuple(step.setting.threads for step in steps), tuple(len(step.setting.queued) for step in steps),
        tuple(step.observation.throughput_tuples_s for step in steps),
    )  # fmt: skip


def _rates(
    model: ElementModel, levels: range, running: OneAtATime, cores: int, period_s: float,
    settings: tuple[ElementSetting, ElementSetting],
) -> tuple[float, float, float]:  # fmt: skip
    """Tuples per second of the best simple way, and of two settings."""
    case = real_case("change", model, levels, running, cores=cores, period_s=period_s)
    simple = [ElementSetting(1), *(ElementSetting(level, frozenset(model.names)) for level in levels)]
    best = max(case.fixed_tuples_s(setting) for setting in simple)
    one, other = settings
    return best, case.fixed_tuples_s(one), case.fixed_tuples_s(other)

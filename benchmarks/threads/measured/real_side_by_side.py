"""Several elastic operators side by side in one process (ELASTIC, Figure 7b-c)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import mean

from benchmarks.threads.elastic_operator import POLICIES, SideBySide
from benchmarks.threads.measured.fed_engine import EnginePeriod, FedEngine
from benchmarks.threads.measured.real_element import RealElement
from penstock.control.threads.element_setting import ElementSetting
from penstock.operators.stateless.load import flop_s, rows_within
from penstock.plan.thread_setting import ElasticThreads
from penstock.simulate.element_shapes import one_operator

_QUEUED = frozenset({"work"})


def side_by_side(policy: str, cores: int, *, period_s: float, periods: int, operators: int = 4) -> SideBySide:
    """Every operator follows its own policy and knows nothing of the others; the kernel shares cores out."""
    rule = POLICIES[policy]
    with contextlib.ExitStack() as stack:
        model = one_operator(10_000, block_tuples=rows_within(10_000, flop_s()))
        elements = [
            stack.enter_context(RealElement(model, max_level=2 * cores, period_s=0.0, queued=_QUEUED))
            for _ in range(operators)
        ]
        best = max(_even(elements, level, period_s) for level in range(1, cores + 1))
        time.sleep(period_s)
        started = [rule.start(element.observe()) for element in elements]
        states, settings = [state for state, _ in started], [setting for _, setting in started]
        rates: list[list[float]] = []
        for _ in range(periods):
            for element, setting in zip(elements, settings, strict=True):
                element.apply(setting)
            time.sleep(period_s)
            seen = [element.observe() for element in elements]
            rates.append([each.throughput_tuples_s for each in seen])
            decided = [rule.decide(state, each) for state, each in zip(states, seen, strict=True)]
            states, settings = [state for state, _, _ in decided], [setting for _, setting, _ in decided]
    late = [mean(own) for own in zip(*rates[periods // 2 :], strict=True)]
    return SideBySide.of(policy, False, cores, late, best, [setting.threads for setting in settings])


def _even(elements: Sequence[RealElement], level: int, period_s: float, periods: int = 3) -> float:
    """Tuples per second of all together, each at the same level."""
    for element in elements:
        element.apply(ElementSetting(level, _QUEUED))
    time.sleep(period_s)
    for element in elements:
        element.observe()
    time.sleep(periods * period_s)
    return sum(element.observe().throughput_tuples_s for element in elements)


def engines_side_by_side(
    policy: str, threads: ElasticThreads, cores: int, period_s: float, periods: int, operators: int = 4
) -> SideBySide:
    """Engines as users have them, each fed by a thread of its own: they share out the cores of the process."""
    model = one_operator(10_000, block_tuples=rows_within(10_000, flop_s()))

    def run(threads: int | ElasticThreads, count: int) -> list[list[EnginePeriod]]:
        def one(_: int) -> list[EnginePeriod]:
            with FedEngine(model, threads) as engine:
                return [engine.period(period_s) for _ in range(count)]

        with ThreadPoolExecutor(operators) as pool:
            return list(pool.map(one, range(operators)))

    best = max(sum(_late_tuples_s(run(level, 6))) for level in range(1, cores + 1))
    seen = run(threads, periods)
    return SideBySide.of(policy, True, cores, _late_tuples_s(seen), best, [own[-1].level for own in seen])


def _late_tuples_s(seen: Sequence[Sequence[EnginePeriod]]) -> list[float]:
    """The rate of each in the second half of its periods."""
    return [mean(period.tuples_s for period in own[len(own) // 2 :]) for own in seen]

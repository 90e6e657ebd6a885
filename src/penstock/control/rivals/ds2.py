"""DS2: true processing rates through the graph give every element's parallelism at once (Kalavri et al., OSDI 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


def optimal_parallelism(elements: Sequence[ElementLoad], source_tuples_s: float) -> dict[str, int]:
    """By element: target rate over the true rate of one replica, rounded up; elements come in the order of the graph.

    True rate: tuples over the time spent on them.  What an element emits at its target is its selectivity times that.
    """
    target: dict[str, float] = {}
    emits: dict[str, float] = {}
    replicas: dict[str, int] = {}
    for element in elements:
        target[element.name] = sum(emits[name] for name in element.inputs) if element.inputs else source_tuples_s
        selectivity = element.tuples_out / element.tuples_in if element.tuples_in > 0 else 1.0
        emits[element.name] = target[element.name] * selectivity
        if element.busy_s > 0 and element.tuples_in > 0:
            true_rate = element.tuples_in / element.busy_s
            replicas[element.name] = max(math.ceil(target[element.name] / true_rate - 1e-9), 1)
        else:
            replicas[element.name] = element.replicas
    return replicas


@dataclass(frozen=True, slots=True)
class Ds2State:
    """Steps gathered since the last decision, all with the same elements, and when decisions are allowed again."""

    gathered: tuple[ControlStep, ...] = ()
    not_before_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Ds2:
    """Every `interval_s`, from what is measured later than `warm_up_s` after a change; `headroom` above the rate."""

    interval_s: float = 10.0
    warm_up_s: float = 30.0
    headroom: float = 1.0
    bounds: Bounds = FULL_RANGE
    name: str = "ds2"

    def start(self) -> Ds2State:
        return Ds2State()

    def decide(self, state: Ds2State, seen: ControlStep) -> tuple[Ds2State, Decision]:
        if seen.ended_at_s <= state.not_before_s + 1e-9:
            return state, Hold("warming up")
        same = not state.gathered or _names(state.gathered[-1]) == _names(seen)  # a change of fusion makes others
        gathered = (*state.gathered, seen) if same else (seen,)
        state = replace(state, gathered=gathered)
        begun_s = gathered[0].ended_at_s - gathered[0].period_s
        if seen.ended_at_s < begun_s + self.interval_s - 1e-9:
            return state, Hold("gathering")
        span_s = sum(s.period_s for s in gathered)
        rate = sum(s.arrived_tuples for s in gathered) / span_s * self.headroom
        wanted = optimal_parallelism(_summed(gathered), rate)
        if not wanted:
            return Ds2State((), seen.ended_at_s), Hold("no element was measured")
        replicas = self.bounds.within(max(wanted.values()))
        decision = self.bounds.to(seen, replicas, f"true rates ask for {replicas} at {rate:.0f} tuples/s")
        pause_s = self.warm_up_s if replicas != seen.setting.replicas else 0.0
        return Ds2State((), seen.ended_at_s + pause_s), decision


def _names(step: ControlStep) -> tuple[str, ...]:
    return tuple(element.name for element in step.elements)


def _summed(steps: Sequence[ControlStep]) -> list[ElementLoad]:
    """Each element over all the steps, which have the same ones."""
    return [
        replace(
            last,
            tuples_in=sum(step.elements[i].tuples_in for step in steps),
            tuples_out=sum(step.elements[i].tuples_out for step in steps),
            busy_s=sum(step.elements[i].busy_s for step in steps),
        )
        for i, last in enumerate(steps[-1].elements)
    ]

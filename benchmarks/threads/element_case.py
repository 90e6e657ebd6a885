"""A case of an element's level, simulated or real: how to make a port for it, and what a fixed setting gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from penstock.control.threads.element_port import ElementPort
from penstock.control.threads.element_setting import ElementSetting
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import Change, ElementPlant, Machine, Noise
from penstock.simulate.element_throughput import DEFAULT_COSTS, MachineCosts

PortFactory = Callable[[int], ElementPort]
"""A new port, with a seed for what is random about it."""


@dataclass(frozen=True, slots=True)
class ElementCase:
    """`fixed_tuples_s` is the throughput of a setting that is not changed; `levels` are those to try it at.

    `queued` is the placement that a policy of threads alone keeps. `glimpsed_tuples_s` is what it gives in so many
    seconds, where measuring all of them would take too long.
    """

    name: str
    kind: Literal["simulated", "measured"]
    port_factory: PortFactory
    fixed_tuples_s: Callable[[ElementSetting], float]
    levels: tuple[int, ...]
    operators: tuple[str, ...]
    queued: frozenset[str] = frozenset()
    cores: int = 0
    period_s: float = 1.0
    glimpsed_tuples_s: Callable[[ElementSetting, float], float] | None = None


def plant_case(
    name: str, model: ElementModel, cores: int, *, max_level: int | None = None, noise: float = 0.01,
    queued: frozenset[str] = frozenset(), period_s: float = 1.0, changes: tuple[Change, ...] = (),
    costs: MachineCosts = DEFAULT_COSTS,
) -> ElementCase:  # fmt: skip
    """The simulated element; a fixed setting's throughput is the truth, without noise."""
    machine = Machine(cores, costs)
    most = max_level or cores

    def port(seed: int) -> ElementPlant:
        return ElementPlant(
            model, machine, max_level=most, period_s=period_s, noise=Noise(noise, 200, seed), changes=changes,
            queued=queued,
        )  # fmt: skip

    truth = ElementPlant(model, machine, max_level=most)
    return ElementCase(
        name, "simulated", port, truth.throughput_tuples_s, tuple(range(1, most + 1)), model.names, queued, cores,
        period_s,
    )  # fmt: skip


def fixed_rates(case: ElementCase) -> dict[int, float]:
    """Throughput by level, of those to try, with the case's own queues."""
    return {level: case.fixed_tuples_s(ElementSetting(level, case.queued)) for level in case.levels}

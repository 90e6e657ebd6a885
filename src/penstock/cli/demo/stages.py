"""What the demonstration changes while it runs, and when."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

ELEMENT = "window"
MOST_REPLICAS = 4
_BATCHES_BETWEEN = 4
_LEAST_BATCHES = 24  # however slow the machine is, so that every stage is seen
_MICRO_BATCH_TUPLES = 4_000_000


@dataclass(frozen=True, slots=True)
class Stage:
    """From a share of the whole time on: so many replicas, and whether one of them serves half of the slots."""

    at_ratio: float
    replicas: int
    skewed: bool = False


FIRST = Stage(0.0, 2)
STAGES = (Stage(0.25, 4), Stage(0.42, 3, skewed=True), Stage(0.62, 3), Stage(0.80, 2))


def most_tuples(total: int) -> int:
    """The most tuples of a micro-batch in a demonstration of so many tuples.

    >>> most_tuples(84_000_000), most_tuples(480_000)
    (3500000, 20000)
    """
    return max(1, min(_MICRO_BATCH_TUPLES, total // _LEAST_BATCHES))


def staged(configuration: Configuration, stage: Stage) -> Configuration:
    """The Configuration of a stage; the source's element always has two replicas."""
    slots = len(configuration.element(ELEMENT).route)
    route = (skewed_route if stage.skewed else even_route)(stage.replicas, slots)
    first = configuration.with_replicas(configuration.elements[0].name, FIRST.replicas)
    return first.with_element(ElementConfiguration(ELEMENT, stage.replicas, route))


def skewed_route(replicas: int, slots: int) -> tuple[int, ...]:
    """Half of the slots for replica 0, the rest evenly for the others.

    >>> skewed_route(3, 8)
    (0, 0, 0, 0, 1, 1, 2, 2)
    """
    if replicas == 1:
        return even_route(1, slots)
    half = slots // 2
    return (0,) * half + tuple(1 + replica for replica in even_route(replicas - 1, slots - half))


def due_stage(elapsed_s: float, whole_s: float, done: int, batches_since: int) -> Stage | None:
    """The next stage if its time has come, with `done` of them behind.

    Some micro-batches must have been done since the last one, so that a slow machine shows each stage too.
    """
    if done >= len(STAGES) or elapsed_s < STAGES[done].at_ratio * whole_s or batches_since < _BATCHES_BETWEEN:
        return None
    return STAGES[done]

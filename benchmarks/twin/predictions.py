"""What the twin predicts of the same runs, by a fit to one journal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.spark.batches import throughput
from benchmarks.twin.live_runs import RateSteps
from benchmarks.twin.scenes import CORES, TASK_SLOTS, Scene
from penstock import twin
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

NODES = twin.Nodes((twin.Node("local", cores=CORES),))
_SATURATED_S, _WARM_BATCHES = 60.0, 5
_MUCH = 20.0  # times the rate of the run that was fitted, which was saturated


def fit_of_run(scene: Scene, checkpoint: Path) -> twin.Fit:
    """The costs that a journal shows, on a machine whose tasks share its cores."""
    found = twin.fit_of(scene.application("unbounded"), from_journal=checkpoint)
    return replace(found, costs=replace(found.costs, tasks_per_core=TASK_SLOTS // CORES))


def fitted_plant(
    fit: twin.Fit, model: twin.Model, configuration: Configuration, end_s: float, seed: int = 1, *, paced: bool = False
) -> twin.Plant:
    """Micro-batches with fitted costs."""
    return twin.Plant(
        model, NODES, configuration, end_s=end_s, seed=seed, costs=fit.costs, elements=fit.elements, paced=paced
    )


def predicted_rate(scene: Scene, fit: twin.Fit, replicas: int, cap: int) -> float:
    """The highest throughput (tuples/s): there always are as many tuples as a micro-batch takes."""
    configuration = replace(_planned(scene, fit, replicas), micro_batch_tuples=cap)
    model = fit.at_rate(_MUCH * fit.rate_tuples_s).model
    plant = fitted_plant(fit, model, configuration, _SATURATED_S)
    return throughput(list(_observed(plant, _SATURATED_S))[_WARM_BATCHES:]).tuples_s


def predicted_latencies(scene: Scene, fit: twin.Fit, cap: int, steps: RateSteps) -> list[float]:
    """p95 of latency in each step of a rate (s)."""
    configuration = replace(_planned(scene, fit, scene.late), micro_batch_tuples=cap)
    counts = [steps.rates_tuples_s[0] * steps.lead_s, *(rate * steps.step_s for rate in steps.rates_tuples_s)]
    lengths_s = [steps.lead_s, *([steps.step_s] * len(steps.rates_tuples_s))]
    plant = fitted_plant(fit, arriving(fit, counts, lengths_s), configuration, steps.end_s)
    return steps.p95_s(list(_observed(plant, steps.end_s)), 0.0)


def arriving(fit: twin.Fit, counts: list[float], lengths_s: list[float], piece_s: float = 0.25) -> twin.Model:
    """The fitted model under counts of tuples in intervals of some lengths, shared by its sources as they were."""
    pieces = list(
        itertools.chain(
            *([n / round(s / piece_s)] * round(s / piece_s) for n, s in zip(counts, lengths_s, strict=True))
        )
    )
    total = fit.rate_tuples_s
    sources = [
        replace(own, arrivals=twin.trace([n * _rate(own) / total for n in pieces], piece_s, random=False))
        for own in fit.model.sources
    ]
    return twin.Model(sources, fit.model.operators)


def _rate(source: twin.Source) -> float:
    return source.arrivals.value


def _planned(scene: Scene, fit: twin.Fit, replicas: int) -> Configuration:
    return fit.configuration.with_replicas(scene.element, replicas)


def _observed(plant: twin.Plant, end_s: float) -> Iterator[Observation]:
    while plant.time_s < end_s:
        yield plant.observation(plant.next_batch())

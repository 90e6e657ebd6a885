"""What a search varies, and how a candidate is judged: partitions of a model, or replicas of an application."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.application import Application
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.nodes import Nodes
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.events.layout import new_state
from penstock.simulate.events.machines import machines_of
from penstock.simulate.events.model import Model, mean_rate, mean_service_s
from penstock.simulate.events.results import Result
from penstock.simulate.events.simulation import run
from penstock.simulate.micro_batch.batch_simulation import run_batches
from penstock.simulate.simulation import batch_plant

Candidate = tuple[int, ...]
_BLOCKS = 400  # of the sources, in one simulation
_BATCHES_S = 60.0  # of micro-batches, in one simulation


class ModelSpace:
    """Partitions of each operator of a model, in continuous mode."""

    def __init__(self, model: Model, nodes: Nodes, goal: str, seed: int, seconds: float | None) -> None:
        self.names = [operator.name for operator in model.operators]
        self.now = tuple(operator.partitions for operator in model.operators)
        self._model, self._nodes, self._goal, self._seed = model, nodes, goal, seed
        self._machines = machines_of(model, nodes, "oldest_first")
        self._seconds = seconds or _long_enough(model)

    def latency_s(self, candidate: Candidate) -> float:
        operators = [replace(o, partitions=p) for o, p in zip(self._model.operators, candidate, strict=True)]
        model = Model(self._model.sources, tuple(operators))
        state = new_state(model, self._machines, self._nodes.network, self._seed)
        return _goal_s(run(model, self._machines, state, self._seconds, self._seconds / 10), self._goal)

    def plan(self, best: Candidate) -> Configuration:
        return Configuration(tuple(ElementConfiguration(n, p) for n, p in zip(self.names, best, strict=True)))


class ApplicationSpace:
    """Replicas of each element of an application, in micro-batches."""

    def __init__(
        self, app: Application, fitted: Fit, nodes: Nodes, goal: str, seed: int, seconds: float | None
    ) -> None:
        usual = Configuration.of(app)
        if [own.name for own in usual.elements] == [own.name for own in fitted.configuration.elements]:
            fitted = replace(fitted, configuration=usual)  # for `ps.run`, with the slots that a run begins with
        self.names = [element.name for element in fitted.elements]
        self.now = tuple(fitted.configuration.element(name).replicas for name in self.names)
        self._fitted, self._nodes, self._goal, self._seed = fitted, nodes, goal, seed
        self._seconds = seconds or _BATCHES_S

    def latency_s(self, candidate: Candidate) -> float:
        plant = batch_plant(
            self._fitted.model, self._nodes, self.plan(candidate), self._seconds, self._seed, fitted=self._fitted
        )
        return _goal_s(run_batches(plant, self._nodes, self._seconds, self._seconds / 10), self._goal)

    def plan(self, best: Candidate) -> Configuration:
        return self._fitted.with_replicas(best).configuration


def _goal_s(result: Result, goal: str) -> float:
    found = result.latency.mean_s if goal == "latency_mean" else result.latency.p95_s
    return float("inf") if found is None else found


def _long_enough(model: Model) -> float:
    """So many blocks of each source, and ten times the work of one on a single core."""
    longest_s = max(_BLOCKS * s.block_tuples / mean_rate(s.arrivals, s.block_tuples) for s in model.sources)
    tuples = max(source.block_tuples for source in model.sources)
    work_s = sum(mean_service_s(operator.service) * tuples for operator in model.operators)
    return longest_s + 10 * work_s

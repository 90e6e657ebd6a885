"""Functions that follow a running application: each sample moves them by as much as they are uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from penstock.model.costs.composition import Composition
from penstock.model.costs.flows import flows_of
from penstock.model.costs.learning.learned_profile import Measured, stream_rate
from penstock.model.costs.learning.operator_facts import OperatorFacts
from penstock.model.costs.learning.samples import Sample
from penstock.model.costs.node_speed import speed_on
from penstock.model.costs.profile import OperatorCost, Profile
from penstock.model.costs.resource_function import ResourceFunction, Term
from penstock.model.costs.task_groups import replicas_of, task_groups, tasks_of

_FORGETTING = 2.0  # by which variances grow before newer samples count
_SURE = 0.02  # of a coefficient: no function is surer of it than that
_NOISE = 0.03  # of an element's CPU: what two equal micro-batches differ by, where functions do not say


def refined(profile: Profile, facts: Mapping[str, OperatorFacts], measured: Sequence[Measured]) -> Profile:
    """The profile after some samples of any fusions: a Kalman filter over the coefficients of all operators.

    An element's CPU is linear in them: y = x b + overhead.  With P their covariance and R the variance of a
    measurement, K = P x / (x P x + R), b + K (y - x b - overhead), P - K x P.  Operators without covariance are exact,
    and stay.
    """
    found = replace(profile, operators=tuple(_widened(own) for own in profile.operators))
    for sample, elements in measured:
        for name, inside in elements.items():
            if name in sample.elements and inside:
                found = _after(found, facts, sample, name, inside)
    return found


def _widened(own: OperatorCost) -> OperatorCost:
    if not own.cpu.covariance:
        return own
    rows = np.asarray(own.cpu.covariance) * _FORGETTING
    least = [(_SURE * term.coefficient) ** 2 for term in own.cpu.terms]
    np.fill_diagonal(rows, np.maximum(np.diag(rows), least))
    return replace(own, cpu=replace(own.cpu, covariance=tuple(tuple(map(float, row)) for row in rows)))


def _after(
    profile: Profile, facts: Mapping[str, OperatorFacts], sample: Sample, name: str, inside: tuple[str, ...]
) -> Profile:
    flows = flows_of(profile, source_rates(sample, facts))
    composition = Composition(profile, flows, speed_on(profile, None))
    element = sample.elements[name]
    replicas = replicas_of(profile, flows, inside, element.tasks)
    predicted, groups = composition.element(inside, replicas), task_groups(profile, flows, inside, replicas)
    own = [profile.operator(operator) for operator in inside]
    tasks = {name: tasks_of(groups, name, replicas) for name in inside}
    rates = {name: [rate / tasks[name] for rate in flows.ports(name)] for name in inside}
    basis = [term.basis(rates[cost.name]) * tasks[cost.name] for cost in own for term in cost.cpu.terms]
    if not basis:
        return profile
    x, spread = np.asarray(basis), _covariance([cost.cpu for cost in own])
    noise = sum(cost.cpu.noise**2 for cost in own) or (_NOISE * max(predicted.cpu_cores, 1e-3)) ** 2
    gain = spread @ x / (x @ spread @ x + noise)
    moved = gain * (element.cpu_s - predicted.cpu_cores)
    return _moved(profile, own, moved, spread - np.outer(gain, x @ spread))


def source_rates(sample: Sample, facts: Mapping[str, OperatorFacts]) -> dict[str, float]:
    """Tuples of each source in a micro-batch."""
    return {own.name: stream_rate(sample, own.outputs[0], facts) for own in facts.values() if own.is_source}


def _covariance(functions: Sequence[ResourceFunction]) -> NDArray[np.float64]:
    """That of all coefficients of several functions, which are independent of each other."""
    size = sum(len(own.terms) for own in functions)
    found, place = np.zeros((size, size)), 0
    for own in functions:
        count = len(own.terms)
        if len(own.covariance) == count:
            found[place : place + count, place : place + count] = own.covariance
        place += count
    return found


def _moved(
    profile: Profile, own: Sequence[OperatorCost], moved: NDArray[np.float64], spread: NDArray[np.float64]
) -> Profile:
    place, changed = 0, dict[str, OperatorCost]()
    for cost in own:
        count = len(cost.cpu.terms)
        part = slice(place, place + count)
        terms = tuple(
            Term(term.powers, term.coefficient + float(by))
            for term, by in zip(cost.cpu.terms, moved[part], strict=True)
        )
        rows = tuple(tuple(map(float, row)) for row in spread[part, part])
        changed[cost.name] = replace(cost, cpu=replace(cost.cpu, terms=terms, covariance=rows))
        place += count
    return replace(profile, operators=tuple(changed.get(each.name, each) for each in profile.operators))

"""Service times, fixed costs, pauses and noise of an application, fitted to the journal of a run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.app.application import Application, graph_of
from penstock.control.journal.journal import JournalLine, read_journal
from penstock.control.loop.observed_steps import COLD_BATCHES, work_s
from penstock.errors import InputError
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of, with_files_recorded
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.calibration.fit_report import ElementFit, FitReport
from penstock.simulate.calibration.lines import fitted_line
from penstock.simulate.events.draws import constant, poisson
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.micro_batch.batch_element import BatchElement
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.plant_shape import even_keys

FILE = "journal.jsonl"
LEAST_BATCHES = 20  # with tuples
_LEAST_TASK_S = 1e-4  # shorter ones say nothing about noise
_PART = 0.6  # of the run, for the fit that predicts the rest of it


def fit_journal(app: Application, path: Path) -> Fit:
    """The application as a run showed it; InputError for too few micro-batches, or a run of another application."""
    run = read_journal(path / FILE if path.is_dir() else path)
    if run.application != app.name:
        raise InputError(f"the journal '{path}' is of application '{run.application}'; got '{app.name}' to simulate")
    warm = [line for part in run.by_start() for line in part[COLD_BATCHES:]]
    _check_enough(path, warm)
    whole = _Learned.of(warm)
    first = warm[: round(_PART * len(warm))]
    errors = _errors(whole, warm)
    later = _errors(_Learned.of(first) if len(_with_tuples(first)) > 2 else whole, warm[len(first) :])
    report = FitReport(
        f"'{path}'", len(_with_tuples(warm)), sum(line.observation.tuples_in for line in warm),
        tuple(own.report for own in whole.elements), float(np.median(errors)), float(np.percentile(errors, 90)),
        float(np.median(later)) if len(later) else None, whole.notes,
    )  # fmt: skip
    return _fit(frozenset(run.single) | _single(app, warm[-1].configuration), warm, whole, report)


def _single(app: Application, configuration: Configuration) -> frozenset[str]:
    """The elements that need the whole stream, where the run had those of the application."""
    graph = with_files_recorded(graph_of(app, "twin.fit_of"))
    pipeline = pipeline_of(graph, configuration.fused)
    return frozenset(own.name for own in pipeline.elements if own.scope == "stream")


def _with_tuples(lines: Sequence[JournalLine]) -> list[JournalLine]:
    return [line for line in lines if line.observation.tuples_in > 0]


def _check_enough(path: Path, lines: Sequence[JournalLine]) -> None:
    found = len(_with_tuples(lines))
    if found < LEAST_BATCHES:
        raise InputError(
            f"the journal '{path}' has {found} micro-batches with tuples after the first {COLD_BATCHES} of a start; a "
            f"fit needs {LEAST_BATCHES}; run the application for longer"
        )


@dataclass(frozen=True, slots=True)
class _Element:
    element: BatchElement
    task_s: float
    noise: float
    busy_s: float
    report: ElementFit


@dataclass(frozen=True, slots=True)
class _Learned:
    """Costs of all elements, and of micro-batches beside them."""

    elements: tuple[_Element, ...]
    costs: MicroBatchCosts
    notes: tuple[str, ...]

    @classmethod
    def of(cls, lines: Sequence[JournalLine]) -> _Learned:
        names = [own.name for own in lines[-1].configuration.elements]
        elements = tuple(_element(name, lines) for name in names)
        steady = [line for line, changed in _with_changes(lines) if not changed]
        batch_s, tuple_s = fitted_line([o.observation.tuples_in for o in steady], [_overhead_s(o) for o in steady])
        if batch_s == 0.0:  # sizes hardly differ: what is fixed cannot be told from the rest
            batch_s, tuple_s = float(np.median([_overhead_s(o) for o in steady])), 0.0
        task_s = float(np.mean([own.task_s for own in elements]))
        # One noise for all elements: that of where time is spent, or short tasks would make long ones stragglers.
        noise = float(np.average([own.noise for own in elements], weights=[own.busy_s for own in elements]))
        costs = MicroBatchCosts(
            batch_s=batch_s, stage_s=0.0, task_s=task_s, tuple_s=tuple_s, between_s=_between_s(lines), noise=noise
        )
        pause_s, notes = _pause_s(lines, costs, elements)
        return cls(elements, replace(costs, reconfigure_s=pause_s, move_s=0.0), notes)

    def predicted_s(self, line: JournalLine) -> float:
        """The time of a micro-batch with the tuples of each task as they were."""
        seen = line.observation
        total = self.costs.batch_s + self.costs.tuple_s * seen.tuples_in
        for own in self.elements:
            tasks = seen.replicas_by_element.get(own.element.name, ())
            total += max((self.costs.task_s + own.element.service_s * r.tuples_in for r in tasks), default=0.0)
        return total


def _with_changes(lines: Sequence[JournalLine]) -> list[tuple[JournalLine, bool]]:
    """Each micro-batch, and whether it is the first under other routes."""
    pairs = itertools.pairwise(lines)
    return [(lines[0], False), *((b, a.configuration.elements != b.configuration.elements) for a, b in pairs)]


def _errors(learned: _Learned, lines: Sequence[JournalLine]) -> Any:
    steady = [line for line, changed in _with_changes(lines) if not changed and line.observation.tuples_in > 0] \
        if lines else []  # fmt: skip
    return np.array([abs(learned.predicted_s(o) / max(o.observation.micro_batch_s, 1e-9) - 1) for o in steady])


def _overhead_s(line: JournalLine) -> float:
    seen = line.observation
    return max(seen.micro_batch_s - work_s(seen, seen.replicas_by_element), 0.0)


def _between_s(lines: Sequence[JournalLine]) -> float:
    """From a commit to the next begin, where tuples were waiting already: known to wait, or a micro-batch was full."""
    found = [
        after.observation.times.before_s
        for before, after in itertools.pairwise(lines)
        if _leaves_some(before) and after.observation.times is not None and after.observation.times.before_s is not None
    ]
    return float(np.percentile(found, 25)) if found else 0.0


def _leaves_some(line: JournalLine) -> bool:
    seen = line.observation
    return bool(seen.backlog_tuples) or seen.tuples_in >= line.configuration.micro_batch_tuples


def _pause_s(
    lines: Sequence[JournalLine], costs: MicroBatchCosts, elements: tuple[_Element, ...]
) -> tuple[float, tuple[str, ...]]:
    known = _Learned(elements, costs, ())
    longer = [
        line.observation.micro_batch_s - known.predicted_s(line) for line, changed in _with_changes(lines) if changed
    ]
    if not longer:
        default_s = MicroBatchCosts().reconfigure_s
        return default_s, (f"a change of routes pauses for {default_s:g} s, since the run had none",)
    return max(float(np.median(longer)), 0.0), ()


def _element(name: str, lines: Sequence[JournalLine]) -> _Element:
    tasks = [r for line in lines for r in line.observation.replicas_by_element.get(name, ()) if r.tuples_in > 0]
    if len(tasks) < LEAST_BATCHES:
        raise InputError(f"element '{name}' had tuples in {len(tasks)} tasks; a fit needs {LEAST_BATCHES}")
    tuples, busy_s = np.array([r.tuples_in for r in tasks], np.float64), np.array([r.busy_s for r in tasks])
    task_s, service_s = fitted_line(tuples, busy_s)
    predicted = task_s + service_s * tuples
    off = busy_s / np.maximum(predicted, 1e-12)
    long = predicted > _LEAST_TASK_S
    noise = float(min(1.4826 * np.median(np.abs(np.log(np.maximum(off[long], 1e-3)))), 1.0)) if long.any() else 0.0
    come, gone = float(tuples.sum()), float(sum(r.tuples_out for r in tasks))
    ran_s = max(float(sum(r.busy_s - r.stalled_s for r in tasks)), 1e-12)
    cpu_ratio = float(np.clip(sum(r.cpu_s for r in tasks) / ran_s, 0.01, 1.0))
    report = ElementFit(name, service_s, cpu_ratio, gone / come, len(tasks), float(np.median(np.abs(off - 1))))
    element = BatchElement(
        name, _inputs(name, lines), service_s, _service_cv(tasks), gone / come, cpu_ratio,
        bytes_per_tuple=_bytes_per_tuple(tasks), shares=_shares(name, lines),
    )  # fmt: skip
    return _Element(element, task_s, noise, max(float(busy_s.sum()), 1e-12), report)


def _service_cv(tasks: Sequence[ReplicaObservation]) -> float:
    squares = [
        r.service_variance_s2 / r.service_s**2 for r in tasks if r.service_variance_s2 is not None and r.service_s
    ]
    return float(np.sqrt(np.median(squares))) if squares else 0.0


def _bytes_per_tuple(tasks: Sequence[ReplicaObservation]) -> float:
    moved = sum(r.bytes_in for r in tasks)
    return moved / sum(r.tuples_in for r in tasks) if moved else 100.0


def _inputs(name: str, lines: Sequence[JournalLine]) -> tuple[str, ...]:
    """The elements whose streams it reads, or a source of its own."""
    seen: Observation = next(
        line.observation for line in reversed(lines) if any(
            r.tuples_in for r in line.observation.replicas_by_element.get(name, ())
        )
    )  # fmt: skip
    made = {port.stream: other for other, own in seen.replicas_by_element.items() for r in own for port in r.outputs}
    read = {port.stream for r in seen.replicas_by_element[name] for port in r.inputs}
    found = tuple(sorted({made[stream] for stream in read if stream in made and made[stream] != name}))
    return found or (_source(name),)


def _source(element: str) -> str:
    return f"{element}@source"


def _shares(name: str, lines: Sequence[JournalLine]) -> Any:
    """Of the tuples by slot, over the run."""
    counts = [line.observation.slot_tuples_by_element.get(name, ()) for line in lines]
    known = [own for own in counts if len(own) == len(counts[-1]) and any(own)]
    if not known or not counts[-1]:
        return even_keys(len(lines[-1].configuration.element(name).route) or 1)
    total = np.asarray(known, np.float64).sum(0)
    shares = total / total.sum()
    return lambda _time_s: shares


def _fit(single: frozenset[str], lines: Sequence[JournalLine], learned: _Learned, report: FitReport) -> Fit:
    elements = tuple(replace(own.element, is_single=own.element.name in single) for own in learned.elements)
    time_s = sum(line.observation.arrivals.period_s for line in lines if line.observation.arrivals is not None)
    taken_s = sum(line.observation.micro_batch_s for line in lines)
    names = {own.name for own in elements}
    sources, configuration = [], lines[-1].configuration
    for own in elements:
        if any(name not in names for name in own.inputs):
            tuples = sum(r.tuples_in for line in lines for r in line.observation.replicas_by_element.get(own.name, ()))
            arrived = sum(line.observation.arrivals.tuples for line in lines if line.observation.arrivals is not None)
            rate = arrived / time_s if arrived and time_s > 0 else tuples / max(taken_s, 1e-9)
            share = tuples / max(sum(line.observation.tuples_in for line in lines), 1)
            arrivals = poisson(max(rate * min(share, 1.0), 1e-9))
            sources.append(Source(_source(own.name), arrivals, bytes_per_tuple=own.bytes_per_tuple))
    return Fit(_model(sources, elements, configuration), elements, learned.costs, configuration, report)


def _model(sources: list[Source], elements: tuple[BatchElement, ...], configuration: Configuration) -> Model:
    operators = [
        Operator(
            own.name, own.inputs, constant(own.service_s), selectivity=own.selectivity, serial=own.is_single,
            replicas=configuration.element(own.name).replicas, bytes_per_tuple=own.bytes_per_tuple,
        )
        for own in elements
    ]  # fmt: skip
    return Model(sources, operators)

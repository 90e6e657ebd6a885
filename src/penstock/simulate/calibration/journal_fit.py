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
from penstock.host.cores import own_cores
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of, with_files_recorded
from penstock.simulate.calibration.element_fit import FittedElement, fit_element, source_name
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.calibration.fit_report import FitReport
from penstock.simulate.calibration.lines import GrowingLine, growing_line
from penstock.simulate.events.draws import constant, poisson
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.micro_batch.batch_element import BatchElement, readers_of
from penstock.simulate.micro_batch.batches import task_parts
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.micro_batch.placing import in_shares

FILE = "journal.jsonl"
LEAST_BATCHES = 20  # with tuples
_MOST_LONGER = 1.5  # of the usual time beside tasks, by micro-batches that take far longer
_MOSTLY_WAITS = 0.5  # of its time computing: an element below it waits most of the time, so that cores hardly matter
_BACKGROUNDS = tuple(0.02 * step for step in range(16))  # that are tried
_NEARLY, _SAMPLES = 1.05, 200
_PART = 0.6  # of the run, for the fit that predicts the rest of it


def fit_journal(app: Application, path: Path) -> Fit:
    """The application as a run showed it; InputError for too few micro-batches, or a run of another application."""
    run = read_journal(path / FILE if path.is_dir() else path)
    if run.application != app.name:
        raise InputError(f"the journal '{path}' is of application '{run.application}'; got '{app.name}' to simulate")
    warm = [line for part in run.by_start() for line in part[COLD_BATCHES:]]
    _check_enough(path, warm)
    cores = run.start.cores or own_cores()
    whole = _Learned.of(warm, cores)
    first = warm[: round(_PART * len(warm))]
    errors = _errors(whole, warm)
    later = _errors(_Learned.of(first, cores) if len(_with_tuples(first)) > 2 else whole, warm[len(first) :])
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
class _Learned:
    """Costs of all elements, and of micro-batches beside them.  `cores` of the run's machines, which tasks share."""

    elements: tuple[FittedElement, ...]
    costs: MicroBatchCosts
    cores: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, lines: Sequence[JournalLine], cores: int) -> _Learned:
        names = [own.name for own in lines[-1].configuration.elements]
        elements = tuple(fit_element(name, lines) for name in names)
        task_s = float(np.mean([own.task_s for own in elements]))
        # One noise for all elements: that of where time is spent, or short tasks would make long ones stragglers.
        noise = float(np.average([own.noise for own in elements], weights=[own.busy_s for own in elements]))
        known = cls(elements, MicroBatchCosts(batch_s=0.0, task_s=task_s, noise=noise), cores, ())
        steady = [line for line, changed in _with_changes(lines) if not changed]
        background = _background_ratio(known, steady)
        known = known.with_background(background)
        overheads_s = [known.overhead_s(line) for line in steady]
        batch_s, tuple_s = _fitted_overhead(
            [line.observation.tuples_in for line in steady], [max(own, 0.0) for own in overheads_s]
        )
        by_tasks_s = np.array([known.deviation_s(line) for line in steady])
        batch_noise = _batch_noise(np.array(overheads_s), by_tasks_s, batch_s)
        costs = MicroBatchCosts(
            batch_s=batch_s, stage_s=0.0, task_s=task_s, tuple_s=tuple_s, between_s=_between_s(lines), noise=noise,
            background_ratio=background, batch_noise=batch_noise,
        )  # fmt: skip
        pause_s, notes = _pause_s(lines, cls(elements, costs, cores, ()))
        return cls(elements, replace(costs, reconfigure_s=pause_s, move_s=0.0), cores, (*notes, *_same_replicas(lines)))

    def predicted_s(self, line: JournalLine) -> float:
        """The time of a micro-batch with the tuples of each task as they were."""
        fixed_s = self.costs.batch_s + self.costs.tuple_s * line.observation.tuples_in
        return fixed_s + sum(self._stage_s(own, line) for own in self.elements)

    def overhead_s(self, line: JournalLine) -> float:
        """What a micro-batch took beside its tasks."""
        return line.observation.micro_batch_s - sum(self._measured_stage_s(own, line) for own in self.elements)

    def _measured_stage_s(self, own: FittedElement, line: JournalLine) -> float:
        """How long a stage's latest task took; where tasks compute and share cores, how long it should have taken."""
        if not own.shares_cores:
            return work_s(line.observation, [own.element.name])
        if own.element.cpu_ratio >= _MOSTLY_WAITS:
            return self._stage_s(own, line)
        tasks = line.observation.replicas_by_element.get(own.element.name, ())
        taken_s = [task.busy_s + (task.jvm_cpu_s or 0.0) for task in tasks]
        return self.costs.task_s + max(taken_s) if taken_s else 0.0

    def deviation_s(self, line: JournalLine) -> float:
        """By how much the stages that are predicted vary by chance, each as its largest task does."""
        squares = 0.0
        for own in self.elements:
            tuples = [r.tuples_in for r in line.observation.replicas_by_element.get(own.element.name, ())]
            if any(tuples) and own.element.cpu_ratio >= _MOSTLY_WAITS:
                share = self.costs.noise**2 + own.element.hidden_cv**2 / max(tuples)
                squares += share * self._stage_s(own, line) ** 2
        return float(np.sqrt(squares))

    def with_background(self, ratio: float) -> _Learned:
        return replace(self, costs=replace(self.costs, background_ratio=ratio))

    def _stage_s(self, fitted: FittedElement, line: JournalLine) -> float:
        element, seen = fitted.element, line.observation
        tuples = np.array([r.tuples_in for r in seen.replicas_by_element.get(element.name, ())], np.float64)
        if not len(tuples):
            return 0.0
        readers = readers_of(element, [own.element for own in self.elements], line.configuration)
        service_s, jvm_s = element.tuple_s(len(tuples), readers)
        parts = task_parts(element, tuples, tuples * (service_s + jvm_s), service_s / max(service_s + jvm_s, 1e-12))
        if not fitted.shares_cores:
            return self.costs.task_s + float(parts.work_s.max())
        one_node = np.array([self.cores * (1.0 - self.costs.background_ratio)]), np.ones(1)
        _, ends_s, _ = in_shares(parts.work_s, self.costs.task_s, parts.cpu_ratio, *one_node, 2.0 * len(tuples))
        return float(ends_s.max())


def _background_ratio(known: _Learned, steady: Sequence[JournalLine]) -> float:
    """Of the cores: with this one, what micro-batches take beside their tasks is most nearly the same for all replicas.

    A stage that needs all cores is slowed by what the driver and the JVM do meanwhile, one that leaves some is not.
    """
    if not any(own.shares_cores for own in known.elements):
        return 0.0
    some = steady[:: max(len(steady) // _SAMPLES, 1)]
    tuples = np.array([line.observation.tuples_in for line in some], np.float64)
    taken_s = np.array([max(line.observation.micro_batch_s, 1e-9) for line in some])
    off = []
    for ratio in _BACKGROUNDS:
        own = known.with_background(ratio)
        beside_s = np.array([own.overhead_s(line) for line in some])
        line = growing_line(tuples, np.maximum(beside_s, 0.0), np.zeros((len(some), 0)))
        off.append(float(np.median(np.abs(beside_s - line.fixed - line.slope * tuples) / taken_s)))
    least = min(off)
    return next(ratio for ratio, own in zip(_BACKGROUNDS, off, strict=True) if own <= _NEARLY * least + 1e-6)


def _fitted_overhead(sizes: Sequence[int], overheads_s: Sequence[float]) -> tuple[float, float]:
    """What is fixed in a micro-batch, and what grows with its tuples; on average what the run had.

    The line is that of usual micro-batches; one in many takes far longer, and that has its share in throughput.
    """
    tuples, beside_s = np.asarray(sizes, np.float64), np.asarray(overheads_s, np.float64)
    line = growing_line(tuples, beside_s, np.zeros((len(tuples), 0)))
    if line.fixed == 0.0:  # sizes hardly differ: what is fixed cannot be told from the rest
        line = GrowingLine(float(np.median(beside_s)), 0.0, ())
    usual_s = float((line.fixed + line.slope * tuples).mean())
    longer = float(np.clip(beside_s.mean() / usual_s, 1.0, _MOST_LONGER)) if usual_s > 0 else 1.0
    return longer * line.fixed, longer * line.slope


def _batch_noise(overheads_s: Any, by_tasks_s: Any, batch_s: float) -> float:
    """The standard deviation of what a micro-batch takes beside its tasks, as a share of it.

    What tasks add by chance is left out.  It comes from the median deviation, which outliers do not move.
    """
    if batch_s <= 0:
        return 0.0
    deviation_s = 1.4826 * float(np.median(np.abs(overheads_s - np.median(overheads_s))))
    square = deviation_s**2 - float(np.median(by_tasks_s**2))
    return float(np.clip(np.sqrt(max(square, 0.0)) / batch_s, 0.0, 1.0))


def _same_replicas(lines: Sequence[JournalLine]) -> tuple[str, ...]:
    """A note about what a run with one Configuration cannot tell."""
    seen = {tuple(own.replicas for own in line.configuration.elements) for line in lines}
    return ("a tuple takes as long with other numbers of replicas, since the run had one",) if len(seen) == 1 else ()


def _with_changes(lines: Sequence[JournalLine]) -> list[tuple[JournalLine, bool]]:
    """Each micro-batch, and whether it is the first under other routes."""
    pairs = itertools.pairwise(lines)
    return [(lines[0], False), *((b, a.configuration.elements != b.configuration.elements) for a, b in pairs)]


def _errors(learned: _Learned, lines: Sequence[JournalLine]) -> Any:
    steady = [line for line, changed in _with_changes(lines) if not changed and line.observation.tuples_in > 0] \
        if lines else []  # fmt: skip
    return np.array([abs(learned.predicted_s(o) / max(o.observation.micro_batch_s, 1e-9) - 1) for o in steady])


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


def _pause_s(lines: Sequence[JournalLine], known: _Learned) -> tuple[float, tuple[str, ...]]:
    longer = [
        line.observation.micro_batch_s - known.predicted_s(line) for line, changed in _with_changes(lines) if changed
    ]
    if not longer:
        default_s = MicroBatchCosts().reconfigure_s
        return default_s, (f"a change of routes pauses for {default_s:g} s, since the run had none",)
    return max(float(np.median(longer)), 0.0), ()


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
            sources.append(Source(source_name(own.name), arrivals, bytes_per_tuple=own.bytes_per_tuple))
    return Fit(_model(sources, elements, configuration), elements, learned.costs, configuration, report)


def _model(sources: list[Source], elements: tuple[BatchElement, ...], configuration: Configuration) -> Model:
    operators = [
        Operator(
            own.name, own.inputs, constant(_usual_s(own, elements, configuration)),
            selectivity=own.selectivity, serial=own.is_single,
            replicas=configuration.element(own.name).replicas, bytes_per_tuple=own.bytes_per_tuple,
        )
        for own in elements
    ]  # fmt: skip
    return Model(sources, operators)


def _usual_s(own: BatchElement, elements: tuple[BatchElement, ...], configuration: Configuration) -> float:
    """The time of a tuple under the run's last Configuration."""
    return sum(own.tuple_s(configuration.element(own.name).replicas, readers_of(own, elements, configuration)))

"""What a tuple costs in one element, fitted to the tasks of a journal.

A task computes in its Python worker and, while that waits, on Spark's side: reading, shuffling, passing columns on.
The two hardly overlap, so a task takes both.  What its thread in the JVM computed is measured in some micro-batches;
where it is known, a worker's time is that without waiting for a core, since the twin has tasks share cores by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.control.journal.journal import JournalLine
from penstock.errors import InputError
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.simulate.calibration.fit_report import ElementFit
from penstock.simulate.calibration.lines import GrowingLine, growing_line, noise_by_size, with_means
from penstock.simulate.micro_batch.batch_element import NO_GROWTH, BatchElement, Growth
from penstock.simulate.plant_shape import even_keys

LEAST_TASKS = 20  # with tuples
_LEAST_TASK_S = 1e-4  # shorter ones say nothing about noise


@dataclass(frozen=True, slots=True)
class FittedElement:
    """`task_s`: what a task takes outside of its worker, and beside its tuples.

    `shares_cores`: its times leave out waiting for a core.
    """

    element: BatchElement
    task_s: float
    noise: float
    busy_s: float
    shares_cores: bool
    report: ElementFit


@dataclass(frozen=True, slots=True)
class _Tasks:
    """Those of an element that had tuples, with the replicas that there were of it and of those that read it."""

    tasks: tuple[ReplicaObservation, ...]
    own: Any
    readers: Any

    @property
    def factors(self) -> Any:
        return np.stack([np.log2(self.own), np.log2(self.readers)], 1)

    def where(self, chosen: Any) -> _Tasks:
        tasks = tuple(task for task, is_one in zip(self.tasks, chosen, strict=True) if is_one)
        return _Tasks(tasks, self.own[chosen], self.readers[chosen])

    def of(self, seconds: Any) -> Any:
        return np.array([seconds(task) for task in self.tasks], np.float64)


def fit_element(name: str, lines: Sequence[JournalLine]) -> FittedElement:
    """InputError where it had tuples in too few tasks."""
    inputs = _inputs(name, lines)
    tasks = _tasks(name, lines)
    if len(tasks.tasks) < LEAST_TASKS:
        raise InputError(f"element '{name}' had tuples in {len(tasks.tasks)} tasks; a fit needs {LEAST_TASKS}")
    told = tasks.where(np.array([task.jvm_cpu_s is not None for task in tasks.tasks]))
    shares_cores = len(told.tasks) >= LEAST_TASKS
    used = told if shares_cores else tasks
    python = _line(used, _ran_s if shares_cores else lambda task: task.busy_s)
    jvm = _line(used, lambda task: task.jvm_cpu_s or 0.0) if shares_cores else GrowingLine(0.0, 0.0, (0.0, 0.0))
    noise, hidden_cv, off = _noise(used, python, jvm, shares_cores=shares_cores)
    come, gone = (float(sum(get(task) for task in tasks.tasks)) for get in (_come, _gone))
    cpu_ratio, task_cpu_ratio = _cpu_ratios(used, python)
    element = BatchElement(
        name, inputs, python.slope, _service_cv(tasks.tasks), gone / come, cpu_ratio,
        bytes_per_tuple=_bytes_per_tuple(tasks.tasks), shares=_shares(name, lines), jvm_s=jvm.slope,
        service_growth=_growth(python, used), jvm_growth=_growth(jvm, used), task_s=python.fixed,
        task_cpu_ratio=task_cpu_ratio, hidden_cv=hidden_cv,
    )  # fmt: skip
    report = ElementFit(
        name, python.slope, cpu_ratio, gone / come, len(used.tasks), off, jvm.slope,
        _doubling(python, jvm, 0), _doubling(python, jvm, 1),
    )  # fmt: skip
    busy_s = max(float(tasks.of(lambda task: task.busy_s + (task.jvm_cpu_s or 0.0)).sum()), 1e-12)
    return FittedElement(element, jvm.fixed, noise, busy_s, shares_cores, report)


def _cpu_ratios(tasks: _Tasks, python: GrowingLine) -> tuple[float, float]:
    """How much of a tuple's time, and of what is fixed in a task, the worker computes."""
    computed = _line(tasks, _computed_s)
    ran_s, cpu_s = (max(float(tasks.of(own).sum()), 1e-12) for own in (_ran_s, _computed_s))
    fixed_s, fixed_cpu_s = python.fixed * len(tasks.tasks), computed.fixed * len(tasks.tasks)
    of_tuples = (cpu_s - min(fixed_cpu_s, cpu_s)) / max(ran_s - fixed_s, 1e-12)
    of_task = fixed_cpu_s / fixed_s if fixed_s > 0 else 1.0
    return float(np.clip(of_tuples, 0.01, 1.0)), float(np.clip(of_task, 0.01, 1.0))


def _tasks(name: str, lines: Sequence[JournalLine]) -> _Tasks:
    found, own, readers = [], [], []
    for line in lines:
        by_element = line.observation.replicas_by_element
        reading = _reading(name, line.observation)
        for task in by_element.get(name, ()):
            if task.tuples_in > 0:
                found.append(task)
                own.append(max(len(by_element[name]), 1))
                readers.append(max((len(by_element[other]) for other in reading), default=1))
    return _Tasks(tuple(found), np.array(own, np.float64), np.array(readers, np.float64))


def _reading(name: str, seen: Observation) -> list[str]:
    """The elements that read what one emits."""
    made = {port.stream for task in seen.replicas_by_element.get(name, ()) for port in task.outputs}
    return [
        other for other, tasks in seen.replicas_by_element.items()
        if other != name and any(port.stream in made for task in tasks for port in task.inputs)
    ]  # fmt: skip


def _line(tasks: _Tasks, seconds: Any) -> GrowingLine:
    tuples, taken_s = tasks.of(_come), tasks.of(seconds)
    return with_means(growing_line(tuples, taken_s, tasks.factors), tuples, taken_s, tasks.factors)


def _ran_s(task: ReplicaObservation) -> float:
    """Of the worker without what the twin finds by itself, waiting for a core while it computes.

    At least what it computed, since its clock counts waiting coarsely.  A task that mostly waits for a service loses
    time, too, where it wakes up and all cores are busy; the twin does not slow it down, so that this stays in its time.
    """
    alone_s = max(task.busy_s - task.stalled_s, task.cpu_s)
    return alone_s + task.stalled_s * (1 - task.cpu_s / alone_s) if alone_s > 0 else alone_s


def _computed_s(task: ReplicaObservation) -> float:
    return task.cpu_s


def _come(task: ReplicaObservation) -> int:
    return task.tuples_in


def _gone(task: ReplicaObservation) -> int:
    return task.tuples_out


def _noise(tasks: _Tasks, python: GrowingLine, jvm: GrowingLine, *, shares_cores: bool) -> tuple[float, float, float]:
    """How much tasks vary that have any number of tuples, how much a tuple does, and how far they are off (median).

    Where some tuples cost far more than others, as one in 25 that asks a service does, small tasks vary more.
    """
    tuples = tasks.of(_come)
    predicted = python.at(tuples, tasks.factors) + jvm.at(tuples, tasks.factors)
    taken_s = tasks.of(lambda task: _ran_s(task) + (task.jvm_cpu_s or 0.0) if shares_cores else task.busy_s)
    off = taken_s / np.maximum(predicted, 1e-12)
    long = predicted > _LEAST_TASK_S
    noise, hidden_cv = noise_by_size(tuples[long], np.log(np.maximum(off[long], 1e-3))) if long.any() else (0.0, 0.0)
    return noise, hidden_cv, float(np.median(np.abs(off - 1)))


def _growth(line: GrowingLine, tasks: _Tasks) -> Growth:
    """Beyond twice of what was seen, nothing is known."""
    if not any(line.growth):
        return NO_GROWTH
    own_s, readers_s = line.growth
    return Growth(own_s, readers_s, 2 * int(tasks.own.max()), 2 * int(tasks.readers.max()))


def _doubling(python: GrowingLine, jvm: GrowingLine, place: int) -> float:
    return python.growth[place] + jvm.growth[place]


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
    with_tuples = [
        line.observation for line in lines
        if any(r.tuples_in for r in line.observation.replicas_by_element.get(name, ()))
    ]  # fmt: skip
    if not with_tuples:
        raise InputError(f"element '{name}' had tuples in 0 tasks; a fit needs {LEAST_TASKS}")
    seen = with_tuples[-1]
    made = {port.stream: other for other, own in seen.replicas_by_element.items() for r in own for port in r.outputs}
    read = {port.stream for r in seen.replicas_by_element[name] for port in r.inputs}
    found = tuple(sorted({made[stream] for stream in read if stream in made and made[stream] != name}))
    return found or (source_name(name),)


def source_name(element: str) -> str:
    """Of the source that an element reads by itself."""
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

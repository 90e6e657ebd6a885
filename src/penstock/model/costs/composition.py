"""Operators' functions -> the CPU of an element that has any of them fused (MODEL, 3.4 and 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.model.costs.flows import Flows
from penstock.model.costs.profile import Profile
from penstock.model.costs.resource_function import BAND_QUANTILE
from penstock.model.costs.task_groups import TaskGroup, task_groups, tasks_of

COMMUNICATION_CLASS = "communication"  # of Spark's and our own work around the operators, in a table of speeds
Speed = Callable[[str | None], float]


@dataclass(frozen=True, slots=True)
class ElementPrediction:
    """What an element is expected to use: cores with a 98 % band, by part, and what flows in and out of it.

    `parts` has fixed, envelopes, operators, send and receive; they add up to `cpu_cores` where nothing else runs on
    the host.  `tasks` are (how many, CPU of each in cores): replicas are equal, but an element that reads several
    sources has tasks for each of them.

    `Profile.predict(...).elements` has one for each element.

    >>> own = ElementPrediction(("half",), 2, 0.5, 0.4, 0.6, {"operators": 0.5}, 1000.0, 500.0)
    >>> own.tuples_out_s / own.tuples_in_s
    0.5
    """

    operators: tuple[str, ...]
    replicas: int
    cpu_cores: float
    low: float
    high: float
    parts: Mapping[str, float]
    tuples_in_s: float
    tuples_out_s: float
    tasks: tuple[tuple[int, float], ...] = ()

    def busiest_cores(self, cores: int | None = None) -> float:
        """CPU of the tasks that run one after another, each the busiest of those at once; all do without `cores`."""
        total, begun, waves = 0.0, 0, 0
        for count, each in sorted(self.tasks, key=lambda own: -own[1]):
            begun += count
            until = 1 if cores is None else math.ceil(begun / cores)
            total, waves = total + (until - waves) * each, until
        return total


@dataclass(frozen=True, slots=True)
class Composition:
    """Composes elements of one profile, at some rates, on one node.

    A node of speed s does at rate r what one of speed 1 does at r / s: u = f(r / s).
    """

    profile: Profile
    flows: Flows
    speed: Speed
    micro_batch_s: float = 1.0
    contention_factor: float = 1.0

    def element(self, operators: Iterable[str], replicas: int = 1) -> ElementPrediction:
        """An element of some operators, its tuples dealt out evenly to its replicas (Equation 6)."""
        inside = tuple(operators)
        inputs, outputs = self.inputs_of(inside), self.outputs_of(inside)
        groups, factor = task_groups(self.profile, self.flows, inside, replicas), self.contention_factor
        cores, variance = self._operators(inside, groups, replicas)
        by_group = [self._parts(own, inputs, outputs, inside, cores) for own in groups]
        parts = {name: sum(own[name] for own in by_group) * factor for name in by_group[0]}
        total, half = sum(parts.values()), BAND_QUANTILE * math.sqrt(variance) * factor
        tasks = [
            (own.tasks, sum(each.values()) * factor / own.tasks) for own, each in zip(groups, by_group, strict=True)
        ]
        return ElementPrediction(
            inside, replicas, total, max(total - half, 0.0), total + half, parts,
            sum(self.flows.rates[stream] for stream in inputs), sum(self.flows.rates[stream] for stream in outputs),
            tuple(tasks),
        )  # fmt: skip

    def _parts(
        self,
        group: TaskGroup,
        inputs: Sequence[str],
        outputs: Sequence[str],
        inside: Sequence[str],
        cores: Mapping[str, float],
    ) -> dict[str, float]:
        """What some equal tasks of an element take; a group of several has no streams from other elements."""
        own_speed, fixed = self.speed(COMMUNICATION_CLASS), self.profile.fixed
        received = [stream for stream in inputs if not stream.startswith("@")]
        sent = {stream: group.shares.get(self.flows.producer[stream], 0.0) for stream in outputs}
        exchanged = [*((stream, 1.0) for stream in received), *sent.items()]
        envelopes = sum(self._envelopes(share * self.flows.rates[stream], group.tasks) for stream, share in exchanged)
        return {
            "fixed": group.tasks * fixed.task_cpu_s / self.micro_batch_s / own_speed,
            "envelopes": envelopes * fixed.envelope_cpu_s / self.micro_batch_s / own_speed,
            "operators": sum(share * cores[name] for name, share in group.shares.items()),
            "send": sum(share * self._sending(stream) for stream, share in sent.items() if share),
            "receive": sum(self._receiving(stream, inside) for stream in received),
        }

    def inputs_of(self, inside: Iterable[str]) -> tuple[str, ...]:
        """The streams that come from outside, once each; a source's own begins with @."""
        own = set(inside)
        read = dict.fromkeys(stream for name in inside for stream in self.flows.inputs[name])
        return tuple(stream for stream in read if self.flows.producer.get(stream) not in own)

    def outputs_of(self, inside: Iterable[str]) -> tuple[str, ...]:
        """The streams that leave: somebody outside reads them, or nobody whom the profile knows."""
        own = set(inside)
        made = [stream for name in inside for stream in self.profile.operator(name).outputs]
        readers = self.flows.readers
        return tuple(stream for stream in made if not readers[stream] or not set(readers[stream]) <= own)

    def _operators(
        self, inside: Iterable[str], groups: Sequence[TaskGroup], replicas: int
    ) -> tuple[dict[str, float], float]:
        """Cores inside each operator, and the variance of their sum."""
        cores, variance = dict[str, float](), 0.0
        for name in inside:
            cost, tasks = self.profile.operator(name), tasks_of(groups, name, replicas)
            scale = tasks * self.speed(cost.operator_class)
            rates = [rate / scale for rate in self.flows.ports(name)]
            cores[name] = tasks * cost.cpu.at(rates)
            variance += tasks**2 * cost.cpu.variance(rates)
        return cores, variance

    def _envelopes(self, tuples_s: float, replicas: int) -> int:
        """Envelopes of a stream in a micro-batch, at one end: each replica fills its own."""
        tuples = tuples_s * self.micro_batch_s / replicas
        return replicas * math.ceil(tuples / self.profile.fixed.envelope_tuples)

    def _sending(self, stream: str) -> float:
        factor = self.profile.operator(self.flows.producer[stream]).communication_factor
        return factor * self.profile.communication.send(*self._sent(stream))

    def _receiving(self, stream: str, inside: Iterable[str]) -> float:
        """Received once, whoever reads it inside."""
        reader = next(name for name in inside if stream in self.flows.inputs[name])
        factor = self.profile.operator(reader).communication_factor
        return factor * self.profile.communication.receive(*self._sent(stream))

    def _sent(self, stream: str) -> tuple[float, float | None]:
        """Tuples/s of a stream on a node of speed 1, and the bytes of a tuple."""
        producer = self.flows.producer.get(stream)
        width = None if producer is None else self.profile.operator(producer).bytes_per_tuple.get(stream)
        return self.flows.rates[stream] / self.speed(COMMUNICATION_CLASS), width

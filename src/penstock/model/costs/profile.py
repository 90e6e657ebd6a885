"""A Profile: what the operators of an application cost, as one value that a file can hold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.arguments import PATH, check_arguments
from penstock.host.atomic_file import write_whole
from penstock.model.costs.communication import Communication
from penstock.model.costs.resource_function import ResourceFunction
from penstock.plan.elements.keys import Scope
from penstock.plan.nodes import Node, Nodes

if TYPE_CHECKING:
    from penstock.model.costs.choosing.choice import Choice
    from penstock.model.costs.prediction import Prediction

ENVELOPE_TUPLES = 32_768  # a Configuration's block_rows
Speeds = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FixedCosts:
    """CPU seconds that do not depend on the number of tuples.

    `micro_batch_cpu_s` is the driver's for each micro-batch, `task_cpu_s` that of each task, `envelope_cpu_s` that of
    each envelope, at either end; an envelope has at most `envelope_tuples`.  `micro_batch_s` is the time of a
    micro-batch besides its stages, and `stage_s_per_cpu_s` that of a stage for a second of its busiest task's CPU: the
    threads of a task overlap.  Where they are not given, time is CPU.

    >>> FixedCosts(task_cpu_s=0.002).envelope_cpu_s
    0.0
    """

    micro_batch_cpu_s: float = 0.0
    task_cpu_s: float = 0.0
    envelope_cpu_s: float = 0.0
    envelope_tuples: int = ENVELOPE_TUPLES
    micro_batch_s: float | None = None
    stage_s_per_cpu_s: float = 1.0


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """An operator's functions: `cpu` over its input ports (a source's: over what it emits), and a rate per output.

    `inputs` are the streams it reads, None where the file does not say: then it reads those before it that nobody
    else reads.  `key` names operator, parameters and code version in the store.  `communication_factor`: sending and
    receiving its streams costs so much of what the table of communication says.

    >>> from penstock.model.costs.least_squares import fit
    >>> OperatorCost("half", fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0], through_origin=True)).scope
    'none'
    """

    name: str
    cpu: ResourceFunction
    outputs: Mapping[str, ResourceFunction] = field(default_factory=dict)
    inputs: tuple[str, ...] | None = None
    operator_class: str | None = None
    key: str | None = None
    scope: Scope = "none"
    by: tuple[str, ...] = ()
    bytes_per_tuple: Mapping[str, float] = field(default_factory=dict)
    communication_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """What operators cost on a node of speed 1, and what it takes to run them as elements.

    `speed` is that of the node it was learned on, by operator class; `speeds_by_node` are those of other nodes.
    `contention` is by how much each busy core of neighbours on the same host raises an element's CPU.

    >>> from penstock.model.costs.resource_function import Term
    >>> cost = ResourceFunction((Term((1,), 2e-6),))
    >>> half = ResourceFunction((Term((1,), 0.5),))
    >>> profile = Profile((OperatorCost("a", cost, {"a": half}), OperatorCost("b", cost)))
    >>> q = profile.predict({"source": 1e5}, fusion=[["a", "b"]])
    >>> round(q.elements["a"].cpu_cores, 6), round(q.max_rate_tuples_s)
    (0.3, 333333)
    """

    operators: tuple[OperatorCost, ...]
    fixed: FixedCosts = field(default_factory=FixedCosts)
    communication: Communication = field(default_factory=Communication)
    speed: Speeds = field(default_factory=dict)
    node: str | None = None
    speeds_by_node: Mapping[str, Speeds] = field(default_factory=dict)
    contention: float = 0.0
    source_shares: Mapping[str, float] = field(default_factory=dict)

    def operator(self, name: str) -> OperatorCost:
        return next(own for own in self.operators if own.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(own.name for own in self.operators)

    @classmethod
    def load(cls, path: str | Path) -> Profile:
        """The profile of a JSON file; InputError with a sentence for each mistake in it, all at once."""
        from penstock.model.costs.profile_file import read_profile

        check_arguments("Profile.load", path=(path, PATH))
        return read_profile(Path(path))

    def save(self, path: str | Path) -> None:
        """Writes it as JSON, whole or not at all."""
        from penstock.model.costs.profile_file import profile_text

        check_arguments("Profile.save", path=(path, PATH))
        write_whole("writing the profile", os.path.abspath(path), profile_text(self).encode())

    def predict(
        self,
        rates: Mapping[str, float],
        fusion: Sequence[Sequence[str]] | None = None,
        node: Node | Nodes | str | Speeds | None = None,
        micro_batch_s: float = 1.0,
        *,
        replicas: Mapping[str, int] | None = None,
        cores: int | None = None,
        neighbours_cores: float = 0.0,
    ) -> Prediction:
        """What a fusion would use of a node at the sources' rates; None: every operator is an element of its own.

        `replicas` by element, 1 where it is not named; `cores` run tasks at once, else all of them.  `neighbours_cores`
        of the same host are busy with something else.
        """
        from penstock.model.costs.prediction import predict

        return predict(self, rates, fusion, node, micro_batch_s, replicas, cores, neighbours_cores)

    def choose(
        self,
        rate: float | Mapping[str, float],
        nodes: Nodes | Node | None = None,
        exact: bool = True,
        *,
        micro_batch_s: float = 1.0,
        together: Sequence[Sequence[str]] = (),
        neighbours_cores: float = 0.0,
    ) -> Choice:
        """The fusion and the replicas with the least CPU that sustain a rate on some nodes.

        `together` are operators that a user wants in one partition.
        """
        from penstock.model.costs.choosing.choice import choose

        return choose(self, rate, nodes, exact, micro_batch_s, together, neighbours_cores)


def speeds_of(node: Node, classes: Sequence[str]) -> dict[str, float]:
    """A node's speed for each class."""
    return {own: node.speed_of(own) for own in classes}


def as_plain(function: ResourceFunction) -> list[dict[str, Any]]:
    return [{"powers": list(term.powers), "coefficient": term.coefficient} for term in function.terms]

"""The ElementModel: an element's operators, what they cost and where their blocks go, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InputError

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OperatorModel:
    """One operator: processor and waiting seconds per tuple, and to whom its blocks go, each a share of 0..1.

    Shares that add up to one deal blocks out, shares of one copy them. A `locked` operator has one thread at a time.
    """

    name: str
    cpu_s: float
    outputs: tuple[tuple[str, float], ...] = ()
    wait_s: float = 0.0
    locked: bool = False


@dataclass(frozen=True)
class ElementModel:
    """A source (the first operator, never queued) and what follows it, every operator before those it feeds.

    `ordered`: one thread at a time takes from a queue, so that order is kept; otherwise any number do.
    """

    name: str
    operators: tuple[OperatorModel, ...]
    block_tuples: int = 1
    ordered: bool = True

    def __post_init__(self) -> None:
        seen = {operator.name for operator in self.operators}
        for operator in self.operators:
            seen.discard(operator.name)
            for target, _ in operator.outputs:
                if target not in seen:
                    raise InputError(
                        f"element '{self.name}': an operator feeds only operators listed after it; "
                        f"'{operator.name}' feeds '{target}'"
                    )

    @property
    def names(self) -> tuple[str, ...]:
        """The operators that can have a queue: all but the source."""
        return tuple(operator.name for operator in self.operators[1:])

    @cached_property
    def feeds(self) -> dict[str, tuple[str, ...]]:
        return {operator.name: tuple(name for name, _ in operator.outputs) for operator in self.operators}

    @cached_property
    def arrays(self) -> ModelArrays:
        return _arrays(self)


@dataclass(frozen=True, slots=True)
class ModelArrays:
    """The model as arrays over operators and edges; seconds are per block, `visits` blocks per block of the source."""

    cpu_s: Numbers
    wait_s: Numbers
    visits: Numbers
    locked: NDArray[np.bool_]
    edge_begin: Integers
    edge_target: Integers
    edge_share: Numbers
    index: Mapping[str, int]

    def mask(self, queued: frozenset[str]) -> NDArray[np.bool_]:
        """Which operators have a queue; raises InputError for a name that cannot have one."""
        mask = np.zeros(len(self.cpu_s), np.bool_)
        for name in queued:
            if self.index.get(name, 0) == 0:
                raise InputError(f"only operators after the source can have a queue; got '{name}'")
            mask[self.index[name]] = True
        return mask


def _arrays(model: ElementModel) -> ModelArrays:
    operators = model.operators
    index = {operator.name: number for number, operator in enumerate(operators)}
    edges = [(index[target], share) for operator in operators for target, share in operator.outputs]
    begin = np.cumsum([0, *(len(operator.outputs) for operator in operators)]).astype(np.int64)
    target = np.array([to for to, _ in edges], np.int64)
    share = np.array([part for _, part in edges], np.float64)
    return ModelArrays(
        np.array([operator.cpu_s for operator in operators]) * model.block_tuples,
        np.array([operator.wait_s for operator in operators]) * model.block_tuples,
        _visits(begin, target, share),
        np.array([operator.locked for operator in operators]),
        begin,
        target,
        share,
        index,
    )


def _visits(begin: Integers, target: Integers, share: Numbers) -> Numbers:
    visits: Sequence[float] = [1.0] + [0.0] * (len(begin) - 2)
    counted = np.array(visits)
    for number in range(len(counted)):
        for edge in range(begin[number], begin[number + 1]):
            counted[target[edge]] += counted[number] * share[edge]
    return counted

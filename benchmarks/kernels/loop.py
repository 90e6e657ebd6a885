"""A limit at work: a compiled loop with its blocks, its state and its preallocated outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Loop:
    """`run(i)` processes block i; the first so many entries of `outputs` are then its result.

    `times` are the arrays among the inputs that hold event times; they move on by `span_us` after each pass over the
    blocks, so that a stream of any length can be made of them.
    """

    function: Callable[..., int]
    inputs: Sequence[tuple[Array, ...]]
    state: tuple[Array, ...]
    outputs: Mapping[str, Array]
    times: Sequence[Array] = ()
    span_us: int = 0
    _buffers: tuple[Array, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_buffers", (*self.state, *self.outputs.values()))

    def run(self, number: int) -> int:
        """Processes one block; gives the number of rows it wrote."""
        return self.function(*self.inputs[number], *self._buffers)

    def columns(self, rows: int) -> dict[str, Array]:
        """Copies of the first rows of the outputs."""
        return {name: np.array(values[:rows]) for name, values in self.outputs.items()}

    def advance(self) -> None:
        """Moves event times on, for the next pass over the same blocks."""
        for values in self.times:
            values += self.span_us

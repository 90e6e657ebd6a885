"""The operators of an application as frozen values; what each means is in docs/semantics.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import pyarrow as pa

from penstock import sinks
from penstock.app.place import Place
from penstock.app.windows import Window
from penstock.connectors.arriving.arrival import Arrival
from penstock.connectors.planned.source_port import SourcePort
from penstock.connectors.sinks.sink_port import SinkPort
from penstock.expressions.tree import Expression

Late = Literal["dead_letter", "drop"]
DEFAULT_MAX_AHEAD_S = 86400.0


@dataclass(frozen=True, slots=True)
class Emit:
    """One attribute of what an operator emits."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """A user's aggregate: `function` gets the window's values as an Arrow array and gives one value."""

    function: Callable[[pa.Array], Any]
    returns: pa.DataType


@dataclass(frozen=True, slots=True)
class Branch:
    """One output of a split; the first branch whose condition holds takes the tuple, None takes the rest."""

    port: str
    where: Expression | None


@dataclass(frozen=True, slots=True)
class SortKey:
    """An attribute to sort by."""

    attribute: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class _Operator:
    """What all operators have: a name, the streams they read, the schema they emit, the place they were written."""

    name: str
    inputs: tuple[str, ...]
    schema: pa.Schema
    place: Place | None = field(default=None, compare=False, kw_only=True)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the streams it emits."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Source(_Operator):
    """Tuples from outside; the order between sources goes by `stamp`, else by sequence / `rate_tuples_s`.

    With `out_of_order_s` its tuples come out of order by up to that many seconds of `event_time`, and it has a
    watermark.  What stands last was added by later versions: checkpoints of older ones have not got it.
    """

    connector: SourcePort | None = None
    stamp: str | None = None
    rate_tuples_s: float | None = None
    event_time: str | None = None
    out_of_order_s: float | None = None
    late: Late = "dead_letter"
    max_ahead_s: float | None = DEFAULT_MAX_AHEAD_S
    idle_timeout_s: float | None = field(default=None, metadata={"shapes_state": False})
    arrival: Arrival = field(default=None, metadata={"shapes_state": False})

    def __setstate__(self, state: Sequence[object]) -> None:
        own = fields(self)
        defaults = [each.default for each in own[len(state) :]]
        for each, value in zip(own, [*state, *defaults], strict=True):
            object.__setattr__(self, each.name, value)


@dataclass(frozen=True, slots=True)
class Functor(_Operator):
    """Filter, projection, new attributes; every member of `emits` gives one tuple per tuple."""

    where: Expression | None = None
    emits: tuple[tuple[Emit, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate(_Operator):
    """Aggregates over windows."""

    window: Window
    by: tuple[str, ...] = ()
    emit: tuple[Emit, ...] = ()
    functions: tuple[tuple[str, AggregateFunction], ...] = ()


@dataclass(frozen=True, slots=True)
class Join(_Operator):
    """Pairs of tuples of two windows."""

    left_window: Window
    right_window: Window
    on: tuple[tuple[str, str], ...] = ()
    where: Expression | None = None
    emit: tuple[Emit, ...] = ()


@dataclass(frozen=True, slots=True)
class Split(_Operator):
    """One input, several outputs."""

    branches: tuple[Branch, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{branch.port}" for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Union(_Operator):
    """Several inputs of one schema merged in order."""


@dataclass(frozen=True, slots=True)
class Sort(_Operator):
    """Tuples put in order within a window."""

    window: Window
    by: tuple[SortKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Punctor(_Operator):
    """A punctuation after (or before) each tuple for which the condition holds."""

    when: Expression
    before: bool = False


@dataclass(frozen=True, slots=True)
class Barrier(_Operator):
    """The n-th tuples of all inputs together, when the last of them is there."""

    ports: tuple[str, ...] = ()
    emit: tuple[Emit, ...] = ()


@dataclass(frozen=True, slots=True)
class Delay(_Operator):
    """Tuples that arrive `delay_s` later than they came."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Throttle(_Operator):
    """Tuples at most `rate_tuples_s` apart."""

    rate_tuples_s: float


@dataclass(frozen=True, slots=True)
class Load(_Operator):
    """Tuples as they came, after so much work: what benchmarks are made of."""

    flop_per_tuple: int = 0
    wait_ms_per_tuple: float = 0.0
    wait_ms_per_block: float = 0.0


@dataclass(frozen=True, slots=True)
class Map(_Operator):
    """A Python function on blocks, or on tuples."""

    function: Callable[..., Any]
    per_tuple: bool = False


@dataclass(frozen=True, slots=True)
class Custom(_Operator):
    """A user-defined operator: an object with `state()` and `process(row, state)`, one state per key or one in all."""

    instance: Any
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sink(_Operator):
    """Where tuples leave."""

    connector: SinkPort = field(default_factory=sinks.memory)


Operator = (
    Source
    | Functor
    | Aggregate
    | Join
    | Split
    | Union
    | Sort
    | Punctor
    | Barrier
    | Delay
    | Throttle
    | Load
    | Map
    | Custom
    | Sink
)

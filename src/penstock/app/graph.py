"""The graph of an application: a frozen value that can be printed, compared and walked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.app.operators import Operator, Sink, Source
from penstock.app.place import Place
from penstock.block.schema import word_of


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for an operator: a partition to be fused into, and a host."""

    operator: str
    partition: str | None = None
    host: str | None = None
    place: Place | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators in the order they were written, which is a topological order.

    `punctuates_by_key`: windows by punctuation may run by key; those of checkpoints of earlier versions may not.
    """

    name: str
    operators: tuple[Operator, ...]
    requests: tuple[Request, ...] = ()
    punctuates_by_key: bool = field(default=True, compare=False, repr=False, kw_only=True)

    def operator(self, name: str) -> Operator:
        return next(o for o in self.operators if o.name == name)

    def producer(self, stream: str) -> Operator:
        """The operator that emits a stream."""
        return next(o for o in self.operators if stream in o.outputs)

    def consumers(self, operator: Operator) -> tuple[Operator, ...]:
        """The operators that read any stream of this one."""
        return tuple(o for o in self.operators if set(o.inputs) & set(operator.outputs))

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(o for o in self.operators if isinstance(o, Source))

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(o for o in self.operators if isinstance(o, Sink))

    def edges(self) -> Iterator[tuple[str, str, str]]:
        """(from operator, stream, to operator), in program order of the reader."""
        for operator in self.operators:
            for stream in operator.inputs:
                yield self.producer(stream).name, stream, operator.name

    def __str__(self) -> str:
        lines = [f"application {self.name}"]
        for o in self.operators:
            reads = f"({', '.join(o.inputs)})" if o.inputs else ""
            attributes = ", ".join(f"{f.name} {word_of(f.type)}" for f in o.schema)
            lines.append(f"  {o.name} := {type(o).__name__}{reads} -> {attributes}")
        return "\n".join(lines)

"""A SPADE program as a frozen value: what was written and where, before any of it is given a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MeasureKind = Literal["count", "time", "delta", "punct"]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A slice of the text that holds one expression; line and column (from 1) of its first character."""

    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class AttributeOf:
    """`name : Type` in a schema."""

    name: str
    type_word: str
    line: int


@dataclass(frozen=True, slots=True)
class SchemaFor:
    """`schemaFor(stream)` in a schema: all attributes of another stream."""

    stream: str
    line: int


SchemaItem = AttributeOf | SchemaFor


@dataclass(frozen=True, slots=True)
class NodePool:
    """`nodepool name[size] := (hosts)`; with no hosts the system chooses them."""

    name: str
    size: int
    hosts: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class NodeOf:
    """`node(pool, index)`: where a stream's operator was asked to run."""

    pool: str
    index: int
    line: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """`stream name(schema)` or `vstream name(schema)`."""

    name: str
    schema: tuple[SchemaItem, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Measure:
    """`count(10)`, `time(60)`, `delta(attribute, 5.0)` or `punct()`; times are in seconds."""

    kind: MeasureKind
    amount: float | None
    attribute: str | None
    line: int


@dataclass(frozen=True, slots=True)
class WindowOf:
    """`<size>` or `<size, every>`, with or without `pergroup`."""

    size: Measure
    every: Measure | None
    per_group: bool
    line: int


@dataclass(frozen=True, slots=True)
class InputPort:
    """The streams that enter one port (merged, when several), and its window."""

    streams: tuple[str, ...]
    window: WindowOf | None
    line: int


@dataclass(frozen=True, slots=True)
class Operation:
    """`stream ... := Kind(inputs)[parameters]{outputs} -> partition, node`; a sink declares no stream."""

    kind: str
    declares: tuple[Declaration, ...]
    inputs: tuple[InputPort, ...]
    parameters: tuple[Snippet, ...]
    outputs: tuple[Snippet, ...]
    partition: str | None
    node: NodeOf | None
    line: int

    @property
    def name(self) -> str:
        """The first stream it declares; a sink is named after what it reads."""
        if self.declares:
            return self.declares[0].name
        return "_".join(stream for port in self.inputs for stream in port.streams) + "_sink"

    @property
    def filter_text(self) -> str | None:
        """What stands between the brackets, or None for `[]`."""
        return ", ".join(snippet.text for snippet in self.parameters) or None


@dataclass(frozen=True, slots=True)
class Repair:
    """A misprint that was read as what was meant: its line, and a sentence that names it and the reading."""

    line: int
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Program:
    """All of a SPADE program, in the order it was written, with the misprints that were repaired in it."""

    file: str
    application: str | None
    typespace: str | None
    node_pools: tuple[NodePool, ...]
    virtual_streams: tuple[Declaration, ...]
    operations: tuple[Operation, ...]
    repairs: tuple[Repair, ...] = ()

    def streams(self) -> Iterator[Declaration]:
        """Every stream that an operation declares."""
        for operation in self.operations:
            yield from operation.declares

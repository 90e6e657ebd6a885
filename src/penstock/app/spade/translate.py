"""Program -> Application: every stream with its declared schema, every operation as the operators it means."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from penstock import sinks
from penstock.app import operators as ops
from penstock.app.application import Application
from penstock.app.checks.merge_checks import union_schema
from penstock.app.graph import Graph, Request
from penstock.app.spade.operators import KINDS
from penstock.app.spade.page import Page, counted
from penstock.app.spade.program import InputPort, NodeOf, Operation, Program
from penstock.app.spade.resolve import resolve
from penstock.app.spade.source_options import columns, file_options
from penstock.app.stream import Stream
from penstock.app.workbook import Workbook
from penstock.block.schema import schema_of
from penstock.connectors.source_kinds import csv_source
from penstock.errors import ApplicationError, InputError, Problem, did_you_mean
from penstock.host.paths.local_path import local_path

_ALL_KINDS = ("Source", "Sink", *KINDS)


def translate(program: Program, data_dir: str | Path | None = None) -> Application:
    """The application that a program means; raises ApplicationError with all its mistakes, each with file and line.

    Files of sources and sinks are looked up in `data_dir`.  Partitions and nodes become the application's requests, and
    repairs its warnings.
    """
    resolved = resolve(program)
    translator = _Translator(program, {name: schema_of(words) for name, words in resolved.schemas.items()}, data_dir)
    made = [translator.operators_of(operation) for operation in program.operations]
    problems = [*resolved.problems, *translator.book.problems]
    operators = [operator for group in made for operator in group]
    if not operators:
        problems.append(Problem(f"{program.file}:", "declares no stream after [Program]"))
    ordered = _in_order(program.file, operators, problems) if not problems else []
    if problems:
        raise ApplicationError(problems)
    requests = [
        request for operation, group in zip(program.operations, made, strict=True)
        for request in _requests(program, operation, group)
    ]  # fmt: skip
    name = program.application or Path(program.file).stem
    app = Application.from_graph(Graph(name, tuple(ordered), tuple(requests)))
    app.warnings += translator.warnings
    return app


class _Translator:
    def __init__(self, program: Program, schemas: dict[str, pa.Schema], data_dir: str | Path | None) -> None:
        self.book = Workbook()
        self.warnings = [f"{program.file}:{repair.line}: {repair.sentence}" for repair in program.repairs]
        self._program, self._schemas = program, schemas
        self._folder = None if data_dir is None else Path(local_path(data_dir, "data_dir of ps.spade.load"))
        self._streams = [declaration.name for declaration in program.streams()]

    def operators_of(self, operation: Operation) -> list[ops.Operator]:
        """The operators that an operation means; none where it is too wrong to go on."""
        schema = self._schemas[operation.name] if operation.declares else pa.schema([])
        page = Page(self._program.file, self.book, operation, (), schema, self._schemas, [], self.warnings)
        if operation.kind not in _ALL_KINDS:
            hint = did_you_mean(operation.kind, _ALL_KINDS)
            page.problem(f"is a {operation.kind}, which does not exist; there are: {', '.join(_ALL_KINDS)}", hint)
            return []
        if not self._declares_enough(page) or not self._reads_enough(page):
            return []
        if operation.kind == "Source":
            self._source(page)
        else:
            self._reader(page)
        return page.made

    def _declares_enough(self, page: Page) -> bool:
        kind, count = page.operation.kind, len(page.operation.declares)
        if kind == "Sink" and count:
            page.problem("is a Sink, which declares no stream", "write Null := Sink(...)")
        elif kind != "Sink" and not count:
            page.problem(f"is a {kind}, which declares a stream; got Null", "write stream Name(...) := ...")
        elif kind not in ("Sink", "Split") and count > 1:
            page.problem(f"declares {count} streams; only a Split does that", "was ':= Operator(...)' left out?")
        else:
            return True
        return False

    def _reads_enough(self, page: Page) -> bool:
        operation = page.operation
        least, most = {"Source": (0, 0), "Sink": (1, 1)}.get(operation.kind) or KINDS[operation.kind][:2]
        ports = len(operation.inputs)
        if ports < least or (most is not None and ports > most):
            wanted = {0: "no input", 1: "one input"}.get(least, "two inputs, separated by ';'")
            more = " or more" if most is None else ""
            page.problem(f"is a {operation.kind}, which has {wanted}{more}; got {ports}")
            return False
        unknown = [name for port in operation.inputs for name in port.streams if name not in self._streams]
        for name in unknown:
            hint = did_you_mean(name, self._streams)
            page.problem(f"reads '{name}', which is no stream of the program", hint, line=operation.inputs[0].line)
        return not unknown

    def _source(self, page: Page) -> None:
        try:
            options, numbers = file_options(page.operation.parameters), columns(page.operation.outputs)
        except InputError as error:
            page.problem(str(error))
            return
        if numbers is not None and len(numbers) != len(page.declared):
            page.problem(
                f"lists {counted(numbers, 'column')} for {counted(page.declared, 'attribute')}",
                line=page.operation.outputs[0].line,
            )
        connector = csv_source(self._path(options.path), numbers)
        page.add(ops.Source(page.name, (), page.declared, connector, None, options.rate_tuples_s, place=page.place))

    def _reader(self, page: Page) -> None:
        operation = page.operation
        if operation.kind == "Union":  # merges by itself what stands in one port or in several
            inputs = [self._stream(name) for port in operation.inputs for name in port.streams]
        else:
            inputs = [self._merged(page, port, number) for number, port in enumerate(operation.inputs, 1)]
        page = page.reading(inputs)
        if operation.kind == "Sink":
            self._sink(page)
        else:
            KINDS[operation.kind][2](page)

    def _merged(self, page: Page, port: InputPort, number: int) -> Stream:
        """The stream of a port; several streams are merged before it."""
        streams = [self._stream(name) for name in port.streams]
        if len(streams) == 1:
            return streams[0]
        schema = union_schema(page.entry(port.line), streams)
        name = f"{page.name}_input{number}"
        page.add(ops.Union(name, tuple(stream.name for stream in streams), schema, place=page.place))
        return Stream(self.book, name, schema)

    def _sink(self, page: Page) -> None:
        stream = page.inputs[0]
        try:
            connector = sinks.csv(self._path(file_options(page.operation.parameters).path))
        except InputError as error:
            page.problem(str(error))
            return
        page.add(ops.Sink(page.name, (stream.name,), stream.schema, connector, place=page.place))

    def _stream(self, name: str) -> Stream:
        return Stream(self.book, name, self._schemas[name])

    def _path(self, path: str) -> str:
        return path if self._folder is None else str(self._folder / path)


def _in_order(file: str, operators: Iterable[ops.Operator], problems: list[Problem]) -> list[ops.Operator]:
    """The operators as written, but none before those it reads; a circle is a problem."""
    waiting, ordered, known = list(operators), list[ops.Operator](), set[str]()
    while waiting:
        ready = next((operator for operator in waiting if known.issuperset(operator.inputs)), None)
        if ready is None:
            names = ", ".join(operator.name for operator in waiting)
            line = waiting[0].place.line if waiting[0].place else 1
            problems.append(Problem(f"{file}:{line}:", f"these streams wait for each other in a circle: {names}"))
            return ordered
        waiting.remove(ready)
        ordered.append(ready)
        known.update(ready.outputs)
    return ordered


def _requests(program: Program, operation: Operation, made: list[ops.Operator]) -> list[Request]:
    if operation.partition is None and operation.node is None:
        return []
    host = None if operation.node is None else _host(program, operation.node)
    return [Request(operator.name, operation.partition, host) for operator in made]


def _host(program: Program, node: NodeOf) -> str:
    """The host's name where its pool lists hosts, else `pool[index]`."""
    pool = next(pool for pool in program.node_pools if pool.name == node.pool)
    return pool.hosts[node.index] if pool.hosts else f"{node.pool}[{node.index}]"

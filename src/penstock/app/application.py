"""An application: what a user writes, as a graph of operators that grows by method calls."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.app.checks.event_time_checks import event_time_problems
from penstock.app.checks.path_checks import path_problems
from penstock.app.checks.source_checks import (
    check_connector,
    check_stamp,
    checked_arrival,
    checked_event_time,
    schema_of_source,
)
from penstock.app.graph import Graph, Request
from penstock.app.graph_picture import svg_of
from penstock.app.operators import DEFAULT_MAX_AHEAD_S, Late, Operator, Source
from penstock.app.place import caller
from penstock.app.serialise import graph_from_json, graph_to_json
from penstock.app.stream import Stream
from penstock.app.workbook import Workbook
from penstock.arguments import TEXT, check_arguments, checked_calls, kind, or_none, shown
from penstock.connectors.arriving.arrival import Arrival
from penstock.connectors.planned.source_port import SourcePort
from penstock.errors import ApplicationError, InputError, Problem, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    from penstock.plan.configuration import Configuration


@checked_calls("Application")
class Application:
    """A streaming application; its mistakes are collected and reported together when it is first used.

    >>> app = Application("halves")
    >>> numbers = app.source("numbers", schema={"x": "int64"})
    >>> numbers.functor("half", where="x > 0", emit={"h": "x / 2"}).sink("out")
    >>> print(app)
    application halves
      numbers := Source -> x int64
      half := Functor(numbers) -> h float64
      out := Sink(half) -> h float64
    """

    def __init__(self, name: str) -> None:
        check_arguments("ps.Application", name=(name, TEXT))
        self.name = name
        self.warnings: list[str] = []
        self._book = Workbook(self)
        self._requests: list[Request] = []

    def source(
        self,
        name: str,
        source: SourcePort | None = None,
        schema: Mapping[str, str | pa.DataType] | pa.Schema | None = None,
        *,
        stamp: str | None = None,
        rate_tuples_s: float | None = None,
        event_time: str | None = None,
        out_of_order_s: float | None = None,
        late: Late = "dead_letter",
        max_ahead_s: float | None = DEFAULT_MAX_AHEAD_S,
        idle_timeout_s: float | None = None,
        arrival: Arrival = None,
    ) -> Stream:
        """A stream from outside; without a connector its tuples come from `evaluate`'s input.

        `stamp` names the attribute that orders its tuples among other sources' (a timestamp or number of seconds);
        without it a tuple's stamp is its sequence number / `rate_tuples_s` (1 where not declared).  A trace, a rate and
        a DataFrame have schemas of their own and need none here.

        `event_time` names the attribute that says when a tuple happened (a timestamp or number of seconds), and is the
        stamp where none is named.  `out_of_order_s` is how much later than a newer one a tuple may come, in seconds of
        event time; time windows then wait that long.  It is 0 for a source without it that meets one with it in such a
        window.  A tuple that comes later still goes to the dead letters, or is dropped with `late="drop"`.  On Spark a
        tuple more than `max_ahead_s` (None: no bound) ahead of the time at which its micro-batch was planned goes to
        the dead letters.  A source that delivers nothing for `idle_timeout_s` seconds (None: for ever) does not hold
        the others back.

        `arrival` says from when on the latency of results counts: `ps.sources.column("name")`, an attribute that is a
        timestamp or a number of seconds since 1970, or "intake", the moment at which a micro-batch was planned.  None:
        what the source itself knows, such as a trace its schedule and files when they came, else the intake.
        """
        entry = self._book.entry(name, "source")
        if schema is None and isinstance(source, Mapping | pa.Schema):
            entry.problem("has its schema where its source goes", "write schema={...}")
            source, schema = None, source
        fields = schema_of_source(entry, source, schema)
        check_stamp(entry, stamp, fields)
        check_connector(entry, source, fields)
        rate = None if rate_tuples_s is None else entry.number(rate_tuples_s, "rate_tuples_s")
        made = Source(
            name, (), fields, source, event_time if stamp is None else stamp, rate, event_time, out_of_order_s, late,
            max_ahead_s, idle_timeout_s, checked_arrival(entry, arrival, fields), place=entry.place,
        )  # fmt: skip
        entry.add(checked_event_time(entry, made))
        return Stream(self._book, name, fields)

    def request(self, operator: str, *, partition: str | None = None, host: str | None = None) -> None:
        """Asks that an operator be fused into a partition, and run on a host."""
        check_arguments(
            "Application.request", operator=(operator, TEXT), partition=(partition, or_none(TEXT)),
            host=(host, or_none(TEXT)),
        )  # fmt: skip
        self._requests.append(Request(operator, partition, host, place=caller()))

    def stream(self, name: str) -> Stream:
        """A stream of the application by its name."""
        for operator in self._book.operators:
            if name in operator.outputs:
                return Stream(self._book, name, operator.schema)
        streams = ", ".join(stream for operator in self._book.operators for stream in operator.outputs)
        raise UnknownNameError(f"application '{self.name}' has no stream '{name}'; it has: {streams}")

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators as written so far."""
        return tuple(self._book.operators)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every mistake found so far."""
        if not self._book.operators:
            return (Problem(f"application '{self.name}'", "has no operators", "start with app.source(...)"),)
        whole = (*path_problems(self._book.operators), *event_time_problems(self._book.operators))
        return (*self._book.problems, *self._problems_of_requests(), *whole)

    def _problems_of_requests(self) -> Iterator[Problem]:
        known = [operator.name for operator in self._book.operators]
        for request in self._requests:
            if request.operator not in known:
                where = f"operator '{request.operator}'" + (f" ({request.place})" if request.place else "")
                yield Problem(where, "is requested but not there", did_you_mean(request.operator, known))

    @property
    def graph(self) -> Graph:
        """The checked graph; raises ApplicationError with all mistakes where there are any."""
        if self.problems:
            raise ApplicationError(self.problems)
        return Graph(self.name, self.operators, tuple(self._requests))

    def configuration(self, replicas: int = 1) -> Configuration:
        """How it runs by default: every element on as many replicas as it may have, up to `replicas`.

        >>> app = Application("halves")
        >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
        >>> [element.name for element in app.configuration().elements]
        ['half']
        """
        plan = importlib.import_module("penstock.plan.configuration")  # a room above this one
        made: Configuration = plan.Configuration.of(self, replicas)
        return made

    def to_json(self) -> str:
        """The application as JSON text; `Application.from_json` reads it back."""
        return graph_to_json(self.graph)

    @classmethod
    def from_json(cls, text: str) -> Application:
        """The application that `to_json` wrote."""
        return cls.from_graph(graph_from_json(text))

    @classmethod
    def from_graph(cls, graph: Graph) -> Application:
        """An application over a graph that was checked before."""
        check_arguments("Application.from_graph", graph=(graph, kind("a Graph, as app.graph gives it", Graph)))
        app = cls(graph.name)
        app._book.operators.extend(graph.operators)
        app._requests.extend(graph.requests)
        return app

    def _repr_html_(self) -> str:
        """What notebooks show: the graph, or the mistakes."""
        if self.problems:
            return f"<pre>{escape(str(ApplicationError(self.problems)))}</pre>"
        return svg_of(self.graph)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Application) and self.graph == other.graph

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return str(self.graph)

    def __repr__(self) -> str:
        return f"<application {self.name}: {', '.join(o.name for o in self.operators) or 'no operators'}>"


def graph_of(app: Application | Graph, where: str) -> Graph:
    """The checked graph of what a call was given."""
    if not isinstance(app, Application | Graph):
        raise InputError(f"{where} needs an application; got {shown(app)}")
    return app.graph if isinstance(app, Application) else app

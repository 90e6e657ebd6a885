"""A stream: what an operator emits, and the operators that can read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from penstock import sinks
from penstock.app import operators as ops
from penstock.app.checks.key_checks import check_added, check_functions, check_key_types, check_origin, sort_keys
from penstock.app.checks.merge_checks import barrier_ports, described, join_keys, join_scope, union_schema
from penstock.app.checks.sink_checks import check_sink
from penstock.app.checks.window_checks import check_bounds, check_sort_window, check_window
from penstock.app.side_table import side_table
from penstock.app.windows import Window
from penstock.app.workbook import UNKNOWN, Entry, Workbook
from penstock.arguments import (
    FLAG,
    FUNCTION,
    check_arguments,
    checked_call,
    checked_calls,
    is_number,
    kind,
    number,
    or_none,
    shown,
)
from penstock.block.schema import schema_of, type_of, word_of
from penstock.connectors.sinks.sink_port import SinkPort
from penstock.errors import InputError, UnknownNameError, did_you_mean
from penstock.expressions.check import Scope
from penstock.expressions.printer import to_text
from penstock.expressions.tree import Attribute

Names = str | Sequence[str] | None
Schema: TypeAlias = "Mapping[str, str | pa.DataType] | pa.Schema"
_BRANCHES = kind("a dict of conditions by name", Mapping)
_FUNCTIONS = kind("a dict of ps.aggregate_function(...) by name", Mapping)


@checked_call("ps.aggregate_function")
def aggregate_function(function: Callable[[pa.Array], Any], returns: str | pa.DataType) -> ops.AggregateFunction:
    """A user-defined aggregate for `stream.aggregate(functions={...})`: an Arrow array of values in, one value out.

    >>> aggregate_function(lambda values: max(values.to_pylist()), returns="float64").returns
    DataType(double)
    """
    check_arguments("ps.aggregate_function", function=(function, FUNCTION))
    return ops.AggregateFunction(function, type_of(returns))


def _unchanged(batch: pa.RecordBatch) -> pa.RecordBatch:
    """In place of a table that cannot be used."""
    return batch


_CALL_BY_OTHER_NAME = {  # what Spark, Flink, Polars and Bytewax call it
    **dict.fromkeys(("filter", "where"), "functor(name, where='...')"),
    **dict.fromkeys(("select", "project", "withcolumn", "withcolumns"), "functor(name, emit={...})"),
    **dict.fromkeys(("groupby", "keyby", "window", "agg"), "aggregate(name, by=..., window=..., emit={...})"),
    **dict.fromkeys(("flatmap", "apply", "mapbatches"), "map(name, function, schema)"),
    **dict.fromkeys(("write", "output", "writestream", "collect"), "sink(name, ps.sinks...)"),
}


@checked_calls("Stream")
class Stream:
    """A named stream with a schema; each method adds an operator that reads it.

    `app.source(...)` gives the first one.

    >>> from penstock.app.application import Application
    >>> trades = Application("vwap").source("trades", schema={"ticker": "symbol", "price": "float64"})
    >>> trades.functor("cheap", where="price < 10", emit={"ticker": "ticker"}).schema.names
    ['ticker']
    """

    def __init__(self, book: Workbook, name: str, schema: pa.Schema) -> None:
        self._book, self.name, self.schema = book, str(name), schema

    @property
    def application(self) -> Any:
        """The application that it belongs to."""
        return self._book.application

    if not TYPE_CHECKING:  # a type checker reports a name that is not there

        def __getattr__(self, name: str) -> Any:
            """Only for names that are not there: what the method is called here."""
            call = _CALL_BY_OTHER_NAME.get(name.lower().replace("_", ""))
            methods = [own for own in dir(Stream) if not own.startswith("_")]
            hint = f"use {call}" if call else None if name.startswith("_") else did_you_mean(name, methods)
            raise AttributeError(f"a stream has no attribute '{name}'" + (f"; {hint}" if hint else ""))

    def __repr__(self) -> str:
        return f"<stream {self.name}: {', '.join(f'{f.name} {word_of(f.type)}' for f in self.schema)}>"

    def functor(
        self,
        name: str,
        where: str | None = None,
        emit: Mapping[str, str] | Sequence[Mapping[str, str]] | None = None,
    ) -> Stream:
        """Keeps the tuples for which `where` is true, and computes the attributes in `emit`.

        Without `emit` tuples are copied.  A list of emits gives one tuple for each of them.
        """
        entry, scope = self._book.entry(name, "functor"), self._scope
        condition = entry.condition(where, scope, "where", numbered=True)
        if emit is None:
            emit = {field: to_text(Attribute(field)) for field in self.schema.names}
        members = [emit] if isinstance(emit, Mapping) or not isinstance(emit, Sequence) else list(emit)
        emits, schema = self._emits(entry, members, scope)
        return self._add(entry, ops.Functor(name, (self.name,), schema, condition, emits, place=entry.place))

    def aggregate(
        self,
        name: str,
        *,
        window: Window,
        emit: Mapping[str, str],
        by: Names = None,
        functions: Mapping[str, ops.AggregateFunction] | None = None,
    ) -> Stream:
        """Computes aggregates over a window; with `by`, for each group of its attributes."""
        entry = self._book.entry(name, "aggregate")
        entry.argument(functions, "functions", or_none(_FUNCTIONS))
        own = dict(functions) if isinstance(functions, Mapping) else {}
        check_window(entry, window, self.schema, has_groups=bool(by))
        keys = entry.attributes(by, self.schema, "by")
        check_key_types(entry, keys, self.schema)
        scope = Scope(((None, self.schema),), check_functions(entry, own))
        emits, schema = entry.emit(emit, scope, aggregates=True)
        check_bounds(entry, window, (emit.expression for emit in emits))
        operator = ops.Aggregate(name, (self.name,), schema, window, keys, emits, tuple(own.items()), place=entry.place)
        return self._add(entry, operator)

    def join(
        self,
        name: str,
        right: Stream,
        *,
        left_window: Window,
        right_window: Window,
        emit: Mapping[str, str],
        on: str | Sequence[str | tuple[str, str]] | None = None,
        where: str | None = None,
    ) -> Stream:
        """Joins this stream (left) with another: pairs of tuples that agree in `on` and satisfy `where`."""
        entry = self._book.entry(name, "join")
        (right,) = self._checked(entry, right)
        for window, side in ((left_window, self), (right_window, right)):
            check_window(entry, window, side.schema, has_groups=bool(on), joins=True)
        pairs = join_keys(entry, on, self.schema, right.schema)
        scope = join_scope(self.schema, right.schema)
        condition = entry.condition(where, scope, "where")
        emits, schema = entry.emit(emit, scope)
        inputs = (self.name, right.name)
        return self._add(
            entry, ops.Join(name, inputs, schema, left_window, right_window, pairs, condition, emits, place=entry.place)
        )

    def split(self, name: str, branches: Mapping[str, str | None] | None = None, **more: str | None) -> Branches:
        """Splits the stream: each tuple goes to the first branch whose condition is true; None takes the rest.

        `cheap, rest = stream.split("by_price", {"cheap": "price < 10", "rest": None})`
        """
        entry, scope = self._book.entry(name, "split"), self._scope
        entry.argument(branches, "branches", or_none(_BRANCHES))
        given = {**(branches if isinstance(branches, Mapping) else {}), **more}
        if not given:
            entry.problem("needs at least one branch", "split('name', {'cheap': 'price < 10', 'rest': None})")
        ports = tuple(
            ops.Branch(port, entry.condition(text, scope, f"branch '{port}'")) for port, text in given.items()
        )
        entry.add(ops.Split(name, (self.name,), self.schema, ports, place=entry.place))
        return Branches({p.port: Stream(self._book, f"{name}.{p.port}", self.schema) for p in ports})

    def union(self, name: str, *others: Stream) -> Stream:
        """Merges this stream and others of the same schema, in order."""
        entry = self._book.entry(name, "union")
        others = self._checked(entry, *others)
        schema = union_schema(entry, (self, *others))
        return self._add(entry, ops.Union(name, (self.name, *(o.name for o in others)), schema, place=entry.place))

    def sort(self, name: str, by: Names, *, window: Window) -> Stream:
        """Sorts the tuples of a window; 'price desc' sorts downwards.

        A tumbling window emits its tuples sorted when it is full; a sliding count window emits its lowest tuple when
        one more arrives than it holds.
        """
        entry = self._book.entry(name, "sort")
        check_sort_window(entry, window, self.schema)
        keys = sort_keys(entry, by, self.schema)
        return self._add(entry, ops.Sort(name, (self.name,), self.schema, window, keys, place=entry.place))

    def punctor(self, name: str, when: str, *, before: bool = False) -> Stream:
        """Puts a punctuation after (or before) each tuple for which `when` holds."""
        entry = self._book.entry(name, "punctor")
        entry.argument(before, "before", FLAG)
        condition = entry.condition(when, self._scope, "when")
        if condition is None:
            entry.problem("needs when='condition'; got none")
            condition, _ = entry.expression("false", self._scope, "when")
        return self._add(entry, ops.Punctor(name, (self.name,), self.schema, condition, before, place=entry.place))

    def barrier(self, name: str, *others: Stream, emit: Mapping[str, str]) -> Stream:
        """Joins the n-th tuples of all streams into one; `emit` reads attributes as `stream.name`."""
        entry = self._book.entry(name, "barrier")
        others = self._checked(entry, *others)
        ports, scope = barrier_ports(entry, (self, *others))
        emits, schema = entry.emit(emit, scope)
        inputs = (self.name, *(o.name for o in others))
        return self._add(entry, ops.Barrier(name, inputs, schema, ports, emits, place=entry.place))

    def delay(self, name: str, delay_s: float) -> Stream:
        """Moves each tuple `delay_s` seconds later in the order of all streams."""
        entry = self._book.entry(name, "delay")
        seconds = entry.number(delay_s, "delay_s", at_least_0=True)
        return self._add(entry, ops.Delay(name, (self.name,), self.schema, seconds, place=entry.place))

    def throttle(self, name: str, rate_tuples_s: float) -> Stream:
        """Passes at most `rate_tuples_s` tuples a second; tuples that come faster get later places in the order."""
        entry = self._book.entry(name, "throttle")
        rate = entry.number(rate_tuples_s, "rate_tuples_s")
        return self._add(entry, ops.Throttle(name, (self.name,), self.schema, rate, place=entry.place))

    def load(
        self, name: str, flop_per_tuple: int = 0, *, wait_ms_per_tuple: float = 0.0, wait_ms_per_block: float = 0.0
    ) -> Stream:
        """For benchmarks: copies each tuple after some floating-point operations, or after waiting."""
        entry = self._book.entry(name, "load")
        flop = entry.number(flop_per_tuple, "flop_per_tuple", at_least_0=True)
        tuple_ms = entry.number(wait_ms_per_tuple, "wait_ms_per_tuple", at_least_0=True)
        block_ms = entry.number(wait_ms_per_block, "wait_ms_per_block", at_least_0=True)
        operator = ops.Load(name, (self.name,), self.schema, int(flop), tuple_ms, block_ms, place=entry.place)
        return self._add(entry, operator)

    def map(self, name: str, function: Callable[..., Any], schema: Schema, *, per_tuple: bool = False) -> Stream:
        """Calls a Python function for each block, or with `per_tuple` for each tuple.

        A block is an Arrow record batch; the result has as many rows.  A tuple is a dict; the result is a dict, a list
        of dicts, or None for no tuple.
        """
        entry = self._book.entry(name, "map")
        if not callable(function):
            entry.problem(f"needs a function; got {function!r}")
        entry.argument(per_tuple, "per_tuple", FLAG)
        fields = entry.schema(schema)
        if not per_tuple:
            check_origin(entry, fields.names)
        return self._add(entry, ops.Map(name, (self.name,), fields, function, per_tuple, place=entry.place))

    def lookup(
        self,
        name: str,
        table: Any,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        inner: bool = False,
        refresh_s: float | None = None,
    ) -> Stream:
        """Adds to each tuple the columns of the table's row with the same key; nulls if there is no such row.

        `table`: an Arrow table, a dict of columns, a batch DataFrame of Spark or pandas, or a path to Parquet.  `on`:
        the key's attributes, by the table's names for them where those differ.  `inner`: tuples whose key the table
        does not have are dropped.  `refresh_s`: a path is looked at again after so long, and read where it has changed.

        >>> from penstock.app.application import Application
        >>> trades = Application("names").source("trades", schema={"ticker": "symbol", "price": "float64"})
        >>> trades.lookup("named", {"ticker": ["IBM"], "company": ["IBM Corp."]}, on="ticker").schema.names
        ['ticker', 'price', 'company']
        """
        entry = self._book.entry(name, "lookup")
        entry.argument(inner, "inner", FLAG)
        entry.argument(refresh_s, "refresh_s", or_none(number(above=0)))
        keys = dict(on) if isinstance(on, Mapping) else {key: key for key in entry.attributes(on, self.schema, "on")}
        fields = list(self.schema)
        try:
            if not keys or not all(isinstance(own, str) for pair in keys.items() for own in pair):
                raise InputError(f"a side table needs the attributes of its key; got on={shown(on)}")
            period_s = refresh_s if is_number(refresh_s) else None
            function: Any = side_table(table, keys, refresh_s=period_s, inner=inner is True)
            added = schema_of(function.columns())
            check_added(entry, function.key_types(), self.schema, added)
            fields += [own for own in added if own.name not in self.schema.names]
        except InputError as error:
            entry.problem(f"cannot use its table: {error}")
            function = _unchanged
        return self._add(entry, ops.Map(name, (self.name,), pa.schema(fields), function, False, place=entry.place))

    def operator(self, name: str, instance: Any, *, schema: Schema, by: Names = None) -> Stream:
        """An operator of your own: `instance.state()` makes a key's state, `process(row, state)` returns tuples."""
        entry = self._book.entry(name, "operator")
        for method in ("state", "process"):
            if not callable(getattr(instance, method, None)):
                entry.problem(f"needs an object with a method '{method}'; got {type(instance).__name__}")
        keys = entry.attributes(by, self.schema, "by")
        check_key_types(entry, keys, self.schema)
        return self._add(entry, ops.Custom(name, (self.name,), entry.schema(schema), instance, keys, place=entry.place))

    def sink(self, name: str, sink: SinkPort | None = None) -> None:
        """Writes the stream's tuples to a sink; without one they stay in memory, for the caller."""
        entry = self._book.entry(name, "sink")
        check_sink(entry, sink, self.schema)
        entry.add(
            ops.Sink(name, (self.name,), self.schema, sinks.memory() if sink is None else sink, place=entry.place)
        )

    @property
    def _scope(self) -> Scope:
        return Scope(((None, self.schema),))

    def _checked(self, entry: Entry, *others: Stream) -> tuple[Stream, ...]:
        """The other inputs; what is no stream of this application is noted, what is no stream at all replaced."""
        for other in others:
            if not isinstance(other, Stream):
                entry.problem(f"reads streams; got {shown(other)}")
            elif other._book is not self._book:
                entry.problem(f"reads '{other.name}', which is a stream of another application")
        return tuple(other if isinstance(other, Stream) else self for other in others)

    def _add(self, entry: Entry, operator: ops.Operator) -> Stream:
        entry.add(operator)
        return Stream(self._book, operator.name, operator.schema)

    def _emits(
        self, entry: Entry, members: list[Any], scope: Scope
    ) -> tuple[tuple[tuple[ops.Emit, ...], ...], pa.Schema]:
        checked = [entry.emit(member, scope, numbered=True) for member in members]
        if not checked:
            entry.problem("needs at least one emit; got an empty list")
            return (), pa.schema([])
        schema = checked[0][1]
        for _, other in checked[1:]:
            if other != schema and UNKNOWN not in (*schema.types, *other.types):
                words = f"{described(schema)} and {described(other)}"
                entry.problem(f"emits tuples of different schemas: {words}", "use cast(x as type)")
        return tuple(emits for emits, _ in checked), schema


class Branches:
    """The outputs of a split: `branches["cheap"]`, `branches.cheap`, or `cheap, rest = branches`."""

    def __init__(self, streams: Mapping[str, Stream]) -> None:
        self._streams = dict(streams)

    def __getitem__(self, port: str) -> Stream:
        if port not in self._streams:
            raise UnknownNameError(f"there is no branch '{port}'; there are: {', '.join(self._streams)}")
        return self._streams[port]

    def __getattr__(self, port: str) -> Stream:
        if port.startswith("_") or port not in self._streams:
            raise AttributeError(
                f"there is no branch '{port}'; there are: {', '.join(self.__dict__.get('_streams', ()))}"
            )
        return self._streams[port]

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._streams.values())

    def __len__(self) -> int:
        return len(self._streams)

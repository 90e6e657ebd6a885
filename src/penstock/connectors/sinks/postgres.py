"""A PostgreSQL table as a sink: one transaction a batch, in which a row of run and sink says which batch was the last.

The transaction locks that row, refuses an older driver, skips what is there, copies the parts that replicas staged, and
moves the row on.  The connection's text, which may have a password, is in the driver's memory alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.arguments import NAMES, TEXT, check_arguments, checked_call, or_none, secret
from penstock.block.block import Block
from penstock.connectors.sinks.arrow_part import ArrowPart
from penstock.connectors.sinks.copy_text import column_type, copy_text
from penstock.connectors.sinks.plain_types import plain_schema
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, SinkPromise, Sweep
from penstock.errors import InputError, OperatorError, Problem, StateError, did_you_mean
from penstock.host.extras import require

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

MARKERS = "penstock_sinks"
_TRIES, _PAUSE_S = 4, 0.5
_ROWS = 1 << 14
_SECRET = {"stored": False, "shapes_state": False}


@dataclass(frozen=True, slots=True)
class PostgresSink:
    """A table that rows are added to or, by key, replaced in; a stored application has no connection's text."""

    table: str
    upsert_by: tuple[str, ...] = ()
    dsn: str = field(default="", repr=False, compare=False, metadata=_SECRET)

    def __reduce__(self) -> tuple[object, ...]:
        return PostgresSink, (self.table, self.upsert_by)

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once", "replicas", in_order=bool(self.upsert_by))

    def schema_problems(self, schema: pa.Schema) -> Iterator[Problem]:
        for name in (own for own in self.upsert_by if own not in schema.names):
            yield Problem("", f"is upserted by '{name}', which its stream does not have; it has: "
                          f"{', '.join(schema.names)}", did_you_mean(name, schema.names))  # fmt: skip

    def claim(self, claim: Claim) -> None:
        """Checks that the table takes the stream's rows; makes it where it is not there."""
        require("ps.sinks.postgres", "postgres")
        if claim.only_checks or claim.schema is None:
            return
        with self._connected(claim.sink) as connection:
            for statement in self._preparation(claim.schema):
                connection.execute(statement)
            self._check(connection, claim.sink, claim.schema)

    def open(self, part: Part) -> ArrowPart:
        return part.stage()

    def write(self, opened: ArrowPart, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> None:
        """Delivers a batch; after a broken connection it tries again, since the marker says what is there."""
        if not delivery.parts:
            return
        require("ps.sinks.postgres", "postgres")
        from psycopg import OperationalError

        for tried in range(_TRIES):
            delivery.fence()
            try:
                with self._connected(delivery.sink) as connection:
                    if self._is_new(connection, delivery):
                        self._copy(connection, delivery)
                return
            except OperatorError as error:
                if tried == _TRIES - 1 or not isinstance(error.__cause__, OperationalError):
                    raise
                time.sleep(_PAUSE_S * 2**tried)

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""

    @contextlib.contextmanager
    def _connected(self, sink: str) -> Iterator[Connection[Any]]:
        """A transaction: all of it counts, or nothing; errors of the server become one sentence."""
        import psycopg

        if not self.dsn:
            raise InputError(f"sink '{sink}' lost its connection when the application was stored as text; build the "
                             "application again in Python")  # fmt: skip
        try:
            with psycopg.connect(self.dsn, application_name=f"penstock {sink}") as connection:
                yield connection
        except psycopg.Error as error:
            reason = str(error).strip().split("\n")[0]
            raise OperatorError(f"sink '{sink}' cannot write to the table '{self.table}' of PostgreSQL: "
                                f"{reason}") from error  # fmt: skip

    def _is_new(self, connection: Connection[Any], delivery: Delivery) -> bool:
        """Locks the marker, and says whether it is before this batch; StateError where a later driver has moved it."""
        key = (delivery.batch.run_id, delivery.sink)
        connection.execute(_sql("create table if not exists {} (application text, sink text, epoch bigint not null, "
                                "batch bigint not null, primary key (application, sink))", MARKERS))  # fmt: skip
        connection.execute(_sql("insert into {} values (%s, %s, 0, -1) on conflict do nothing", MARKERS), key)
        found = connection.execute(
            _sql("select epoch, batch from {} where application = %s and sink = %s for update", MARKERS), key
        ).fetchone()
        assert found is not None
        if found[0] > delivery.epoch:
            raise StateError(f"sink '{delivery.sink}' was taken over by a later driver of this checkpoint; this driver "
                             "stops, and nothing more of it counts")  # fmt: skip
        if found[1] >= delivery.batch:
            return False
        connection.execute(
            _sql("update {} set epoch = %s, batch = %s where application = %s and sink = %s", MARKERS),
            (delivery.epoch, int(delivery.batch), *key),
        )
        return True

    def _copy(self, connection: Connection[Any], delivery: Delivery) -> None:
        names = delivery.schema.names
        if not self.upsert_by:
            self._copy_to(connection, _sql("copy {} ({}) from stdin (format csv)", self.table, names), delivery)
            return
        # Of the batch's rows of a key the last counts: a statement must not touch a row twice.
        columns = _sql("select {} from {} with no data", names, self.table)
        connection.execute(_sql("create temp table penstock_batch on commit drop as ") + columns)
        connection.execute(_sql("alter table penstock_batch add column penstock_place bigserial"))
        self._copy_to(connection, _sql("copy penstock_batch ({}) from stdin (format csv)", names), delivery)
        connection.execute(self._upsert(names))

    def _upsert(self, names: Sequence[str]) -> Composed:
        from psycopg.sql import SQL, Identifier

        rest = [name for name in names if name not in self.upsert_by]
        keys = list(self.upsert_by)
        sets = SQL(", ").join(SQL("{0} = excluded.{0}").format(Identifier(name)) for name in rest)
        what = SQL("do update set ") + sets if rest else SQL("do nothing")
        return (
            _sql("insert into {} ({}) select distinct on ({}) {} from penstock_batch ", self.table, names, keys, names)
            + _sql("order by {}, penstock_place desc on conflict ({}) ", keys, keys)
            + what
        )

    @staticmethod
    def _copy_to(connection: Connection[Any], statement: Composed, delivery: Delivery) -> None:
        with connection.cursor().copy(statement) as copy:
            for batch in delivery.batches(_ROWS):
                copy.write(copy_text(batch))

    def _preparation(self, schema: pa.Schema) -> Iterator[Composed]:
        from psycopg.sql import SQL, Identifier

        columns = [
            SQL("{} {}").format(Identifier(own.name), SQL(column_type(own.type))) for own in plain_schema(schema)
        ]
        if self.upsert_by:
            columns.append(_sql("primary key ({})", list(self.upsert_by)))
        yield _sql("create table if not exists {} (", self.table) + SQL(", ").join(columns) + SQL(")")

    def _check(self, connection: Connection[Any], sink: str, schema: pa.Schema) -> None:
        """Raises where rows of the stream do not fit the table, or nothing in it is unique by the keys."""
        connection.execute(_sql("create temp table penstock_batch on commit drop as ") +
                           _sql("select {} from {} with no data", schema.names, self.table))  # fmt: skip
        if self.upsert_by:
            connection.execute(_sql("alter table penstock_batch add column penstock_place bigserial"))
            connection.execute(_sql("explain ") + self._upsert(schema.names))


@checked_call("ps.sinks.postgres")
def postgres(dsn: str, table: str, *, upsert_by: str | Sequence[str] | None = None) -> PostgresSink:
    """A PostgreSQL table, written exactly once, a transaction a batch.  Needs the extra `postgres`.

    `dsn`: as psycopg takes it, `postgresql://user:password@host/database` or `host=... dbname=...`.  It is kept in the
    driver alone, never stored, logged or shown.  `table`: a name, with its schema if need be; made where it is not
    there.  `upsert_by`: the attributes by which a row replaces the one there is; of several in a batch the last counts.

    >>> postgres("host=localhost password=secret", "prices", upsert_by="ticker")
    PostgresSink(table='prices', upsert_by=('ticker',))
    """
    check_arguments(
        "ps.sinks.postgres", dsn=(dsn, secret(TEXT)), table=(table, TEXT),
        upsert_by=(upsert_by, or_none(NAMES)),
    )  # fmt: skip
    if not table:
        raise InputError("table of ps.sinks.postgres is a text; got an empty one")
    require("ps.sinks.postgres", "postgres")
    keys = () if upsert_by is None else (upsert_by,) if isinstance(upsert_by, str) else tuple(upsert_by)
    return PostgresSink(table, keys, dsn)


def _sql(text: str, *names: str | Sequence[str]) -> Composed:
    """A statement with names put in: a text is a table's, in its schema if it has a dot; a list is of columns."""
    from psycopg.sql import SQL, Composable, Identifier

    found: list[Composable] = [
        Identifier(*own.split(".")) if isinstance(own, str) else SQL(", ").join(map(Identifier, own)) for own in names
    ]
    return SQL(text).format(*found)

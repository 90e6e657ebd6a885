"""For tests of applications: rows as a source, results as rows, a small Spark session, a cluster on this machine.

`check_policy` tries a policy of your own under several loads.

>>> from penstock import Application, evaluate
>>> results = collected()
>>> app = Application("halves")
>>> numbers = app.source("numbers", source_of([{"x": 1}, {"x": 3}]))
>>> numbers.functor("half", emit={"h": "x / 2"}).sink("out", results)
>>> _ = evaluate(app)
>>> results.rows
[{'h': 0.5}, {'h': 1.5}]

`ps.run(app)` and `ps.evaluate(app, engine="spark")` give the same rows on Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.arguments import check_arguments, kind, or_none, shown, whole
from penstock.block.block import Block
from penstock.block.schema import schema_of
from penstock.connectors.sinks.arrow_part import ArrowPart
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, SinkPromise, Sweep
from penstock.connectors.source_kinds import ReplayableSource, tuples_by_function
from penstock.errors import InputError
from penstock.host.extras import require
from penstock.host.loopback_cluster import Cluster, loopback_cluster
from penstock.simulate.policy_check import policy_problems

if TYPE_CHECKING:
    from penstock.control.policy import Policy
    from penstock.spark.session.session import Session

__all__ = ["source_of", "collected", "check_policy", "local_session", "loopback_cluster", "Cluster"]


def source_of(
    rows: Sequence[Mapping[str, Any]] | pa.Table, schema: Mapping[str, str | pa.DataType] | pa.Schema | None = None
) -> ReplayableSource:
    """A source of these rows in this order, for every engine; it ends after the last row.

    Types are Arrow's guess where no `schema` is given; an attribute that is null in all rows needs one.

    >>> source_of([{"name": "a", "x": 1.5}]).table().to_pylist()
    [{'name': 'a', 'x': 1.5}]
    """
    schemas = or_none(kind("a dict of types, or a pyarrow.Schema", Mapping, pa.Schema))
    check_arguments("ps.testing.source_of", schema=(schema, schemas))
    given = None if schema is None else schema_of(schema)
    try:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), given)
        table = table.cast(schema_of(table.schema) if given is None else given)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError) as error:
        rule = "rows of ps.testing.source_of are a list of dicts, or a pyarrow.Table, that fit the schema"
        raise InputError(f"{rule}; got {shown(rows)}: {error}") from error
    return tuples_by_function(_RowsAt(table.combine_chunks()), table.num_rows)


@dataclass(frozen=True, slots=True, eq=False)
class _RowsAt:
    """The rows at some offsets; nulls where there are none, as a trace asks for the first to learn its schema."""

    table: pa.Table

    def __call__(self, offsets: npt.NDArray[np.int64]) -> pa.Table:
        if not self.table.num_rows:
            schema = self.table.schema
            return pa.table([pa.nulls(len(offsets), field.type) for field in schema], schema=schema)
        return self.table.take(pa.array(offsets))


class Collected:
    """A sink that keeps its tuples as `rows`, in order; take a new one for each run."""

    __slots__ = ("_table_by_batch",)
    _table_by_batch: dict[int, pa.Table]
    promise = SinkPromise("at least once")

    def __init__(self) -> None:
        self._table_by_batch = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Collected, ()

    def claim(self, claim: Claim) -> None:
        """Every test has its own."""

    def open(self, part: Part) -> ArrowPart:
        return part.stage()

    def write(self, opened: ArrowPart, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> None:
        if delivery.parts:
            self._table_by_batch[delivery.batch] = delivery.table()

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What has come so far; a batch that came again counts once."""
        return [row for _, table in sorted(self._table_by_batch.items()) for row in table.to_pylist()]


def collected() -> Collected:
    """A sink whose `rows` has what it got, while an application runs and afterwards.

    >>> collected().rows
    []
    """
    return Collected()


def check_policy(policy: Policy) -> None:
    """Raises AssertionError with a sentence for each rule of policies that this one breaks.

    It runs on a simulated application under several loads.  The rules: an answer is a new state and a Change or a Hold
    with a reason; nothing is remembered but the state, so that a replay of the run decides the same; missing
    measurements and no load at all are survived.

    >>> from penstock.policies import Hold
    >>> class Lazy:
    ...     name = "lazy"
    ...     def start(self): return None
    ...     def decide(self, state, seen): return state, Hold("")
    >>> check_policy(Lazy())
    Traceback (most recent call last):
    AssertionError: policy 'lazy' under a steady load, a decision has no reason; fill in because=
    """
    name = shown(getattr(policy, "name", type(policy).__name__))
    if problems := policy_problems(policy):
        raise AssertionError("\n".join(f"policy {name} {problem}" for problem in problems))


@contextmanager
def local_session(
    cores: int = 2, *, task_slots: int | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """A Spark session on some cores of this machine, closed with all that belongs to it at the end.

    As a fixture, one for all tests, since it takes seconds:

        @pytest.fixture(scope="session")
        def spark():
            with ps.testing.local_session() as session:
                yield session

    `task_slots`: how many tasks may run at once; `conf`: settings of Spark's.

    >>> with local_session() as session:  # doctest: +SKIP
    ...     session.range(3).count()
    3
    """
    check_arguments("ps.testing.local_session", cores=(cores, whole(1)))
    require("ps.testing.local_session", "spark")
    from penstock.spark.session.session import close_session, spark_session

    session = spark_session(f"local[{cores}]", task_slots, conf, name="penstock-testing")
    try:
        yield session
    finally:
        close_session(session)

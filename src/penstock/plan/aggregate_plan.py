"""How an aggregate's calls are computed: which by a kernel, which from held rows, which are just the key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.expressions.check import Scope, aggregate_calls, replace_calls, type_of_expression
from penstock.expressions.tree import Attribute, Call, Expression

T = TypeVar("T")
_KERNEL_FUNCTIONS = {"count", "sum", "avg", "min", "max", "stddev", "any", "first", "last"}
_KEY_FUNCTIONS = {"any", "first", "last", "min", "max"}
_WINDOW_FUNCTIONS = {"mcnt", "window_start", "window_end"}


@dataclass(frozen=True, slots=True)
class Plan:
    """The distinct calls of an aggregate and how each is computed; numbers are indices into `calls`."""

    calls: tuple[Call, ...]
    arguments: tuple[Expression, ...]
    argument_types: tuple[pa.DataType, ...]
    outputs: tuple[Expression, ...]  # emits with each call replaced by the attribute '#number'
    call_schema: pa.Schema
    of_key: tuple[tuple[int, int], ...]  # (call, index into `by`)
    of_trigger: tuple[tuple[int, int], ...]  # (call, argument): the newest tuple's own value
    of_window: tuple[int, ...]
    by_kernel: tuple[tuple[int, str, int | None], ...]
    by_rows: tuple[tuple[int, str, int | None], ...]

    @property
    def row_arguments(self) -> tuple[int, ...]:
        """The arguments of the calls that need the rows."""
        return _distinct(argument for _, _, argument in self.by_rows if argument is not None)

    @property
    def is_bare(self) -> bool:
        """Whether every emit is a call and nothing else."""
        return all(isinstance(o, Attribute) for o in self.outputs)


def has_own_windows(operator: Aggregate) -> bool:
    """Whether each group (or the ungrouped stream) has a count window of its own, for which there is a kernel."""
    return operator.window.measure == "count" and (operator.window.per_group or not operator.by)


def keeps_numbers(operator: Aggregate, plan: Plan) -> bool:
    """Whether the rows that its calls need are numbers, which the kernel of own windows keeps next to its terms."""
    numbers = (pa.types.is_primitive(plan.argument_types[argument]) for argument in plan.row_arguments)
    return has_own_windows(operator) and bool(plan.row_arguments) and all(numbers)


def can_be_stored(operator: Aggregate, schema: pa.Schema) -> bool:
    """Whether all of an aggregate's state is rows of words by key."""
    plan = plan_aggregate(operator, schema)
    return has_own_windows(operator) and (not plan.by_rows or keeps_numbers(operator, plan))


def plan_aggregate(operator: Aggregate, schema: pa.Schema) -> Plan:
    """Sorts the calls of an aggregate by how they are computed."""
    own = {name.lower(): function.returns for name, function in operator.functions}
    scope = Scope(((None, schema),), own)
    calls = _distinct(call for emit in operator.emit for call in aggregate_calls(emit.expression, own))
    arguments = _distinct(call.arguments[0] for call in calls if call.arguments)
    types = tuple(type_of_expression(a, scope) for a in arguments)
    numbers = {call: Attribute(f"#{i}") for i, call in enumerate(calls)}
    own_windows = has_own_windows(operator)
    kinds: dict[str, list[tuple[int, str, int | None]]] = {
        k: [] for k in ("key", "trigger", "window", "kernel", "rows")
    }
    for i, call in enumerate(calls):
        argument = arguments.index(call.arguments[0]) if call.arguments and call.function != "mcnt" else None
        kind = _kind(call, operator, own_windows, None if argument is None else types[argument])
        kinds[kind].append((i, call.function, argument))
    if operator.window.measure == "time" and kinds["rows"]:  # one way for a whole time window
        kinds["rows"] += kinds["kernel"]
        kinds["kernel"] = []
    return Plan(
        calls,
        arguments,
        types,
        tuple(replace_calls(emit.expression, numbers) for emit in operator.emit),
        pa.schema([pa.field(f"#{i}", type_of_expression(call, scope)) for i, call in enumerate(calls)]),
        tuple((i, operator.by.index(calls[i].arguments[0].name)) for i, _, _ in kinds["key"]),  # type: ignore[union-attr]
        tuple((i, argument) for i, _, argument in kinds["trigger"] if argument is not None),
        tuple(i for i, _, _ in kinds["window"]),
        tuple(kinds["kernel"]),
        tuple(kinds["rows"]),
    )


def _kind(call: Call, operator: Aggregate, own_windows: bool, argument: pa.DataType | None) -> str:
    window_is_the_groups = own_windows or operator.window.per_group  # which then has no tuples of others
    if call.function in _WINDOW_FUNCTIONS and not (window_is_the_groups and call.function == "mcnt"):
        return "window"
    of_key = bool(call.arguments) and isinstance(call.arguments[0], Attribute) and call.arguments[0].name in operator.by
    if of_key and call.function in _KEY_FUNCTIONS:
        return "key"
    if own_windows and call.function == "last":
        return "trigger"
    fixed = argument is None or pa.types.is_primitive(argument)
    has_kernel = own_windows or operator.window.measure == "time"
    if has_kernel and fixed and (call.function in _KERNEL_FUNCTIONS or call.function == "mcnt"):
        return "kernel"
    return "rows"


def _distinct(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))

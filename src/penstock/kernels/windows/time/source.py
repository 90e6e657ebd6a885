"""The source text of a time window's kernel, written for one shape: aggregates, column types, tumbling or sliding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.kernels.windows.aggregates import AggregateCall, result_type, sum_number
from penstock.kernels.windows.time.text import (
    ENTER_SLIDING,
    ENTER_TUMBLING,
    HEADER,
    MARK,
    NEXT_MARK,
    SLIDING,
    TUMBLING,
)

DType = np.dtype[Any]

_PLACES = ("head", "tail", "open_first", "block_first", "pane_head", "pane_tail")
COUNTERS = ("started", "pane", "pane_start", *_PLACES, "held", "filled", "late")  # all int64


@dataclass(frozen=True, slots=True)
class Part:
    """One field of an entry: what it starts as, takes from a value `x`, from a newer entry, from a null, in statements.

    `n` is the number of values so far, without `x`; in a merge `a` and `b` are the numbers of values on either side.
    """

    name: str
    type: DType
    start: str
    update: tuple[str, ...]
    merge: tuple[str, ...]
    absent: tuple[str, ...] = ()


def parts_of(calls: Sequence[AggregateCall], types: Sequence[DType]) -> dict[int, tuple[Part, ...]]:
    """The distinct fields that the calls need of each column they read, by column."""
    parts: dict[int, dict[Part, None]] = {}
    for call in calls:
        if call.argument is not None:
            needed = _parts_of_call(call, call.argument, types[call.argument])
            parts.setdefault(call.argument, {}).update(dict.fromkeys(needed))
    return {column: tuple(parts[column]) for column in sorted(parts)}


def entry_type(calls: Sequence[AggregateCall], types: Sequence[DType]) -> DType:
    """What one group holds of one pane."""
    fields: list[tuple[str, DType]] = [("group", np.dtype(np.uint32)), ("ahead", np.dtype(np.uint32))]
    fields.append(("rows", np.dtype(np.int64)))
    for column, parts in parts_of(calls, types).items():
        fields.append((f"nulls{column}", np.dtype(np.int64)))
        fields += [(part.name, part.type) for part in parts]
    return np.dtype(fields, align=True)


def result_arrays(calls: Sequence[AggregateCall], types: Sequence[DType]) -> list[tuple[str, DType]]:
    """Names and types of the arrays that results go to: one per call, and its validity where it can be null."""
    arrays = []
    for place, call in enumerate(calls):
        arrays.append((f"result{place}", result_type(call, types)))
        if call.function != "count":
            arrays.append((f"known{place}", np.dtype(np.bool_)))
    return arrays


def kernel_source(calls: Sequence[AggregateCall], types: Sequence[DType], tumbling: bool) -> str:
    """The module text; its `process` takes the result arrays, then values and validity of each column read."""
    parts = parts_of(calls, types)
    copy, merge = _copy(parts), _merge(parts)
    blocks = {
        "@ENTER": (ENTER_TUMBLING if tumbling else ENTER_SLIDING).splitlines(),
        "@NEXT_MARK": NEXT_MARK.splitlines(),
        "@MARK": MARK.splitlines(),
        "@START": _start(parts),
        "@COPY": copy,
        "@MERGE": merge,
        "@UPDATE": _update(parts),
        # a window's entry in local variables, which LLVM keeps in registers
        "@LOAD": [line.replace("into.", "both_") for line in copy],
        "@BOTH": [line.replace("older.", "both_").replace("newer.", "running.") for line in merge],
        "@FINISH": [line.replace("entry.", "both_") for line in _finish(calls, types)],
    }
    text = HEADER + (TUMBLING if tumbling else SLIDING)
    for word, lines in blocks.items():
        text = _insert(text, word, lines)
    text = text.replace("@OUT", "".join(f", {name}" for name, _ in result_arrays(calls, types)))
    return text.replace("@COLUMNS", "".join(f", values{column}, valid{column}" for column in parts))


def _parts_of_call(call: AggregateCall, column: int, type_: DType) -> list[Part]:
    float64 = np.dtype(np.float64)
    match call.function:
        case "sum" | "avg" if sum_number(call, type_) == "f":
            # only -0.0 leaves every float as it is, -0.0 included
            return [_sum(f"float_sum{column}", float64, "-0.0", "np.float64(x)")]
        case "sum" | "avg":
            return [_sum(f"int_sum{column}", np.dtype(np.int64), "0", "np.int64(x)")]
        case "min":
            return [_extreme(f"least{column}", type_, "<=", largest=True)]
        case "max":
            return [_extreme(f"most{column}", type_, ">=", largest=False)]
        case "stddev":
            return _moments(column)
        case "first":
            return _oldest(column, type_)
        case "last":
            return _newest(column, type_)
    return []


def _oldest(column: int, type_: DType) -> list[Part]:
    """The oldest tuple's value, which may be null; the older of two entries has it."""
    value, known = f"first{column}", f"first_known{column}"
    update = ("if entry.rows == 0:", f"    entry.{value} = x", f"    entry.{known} = True")
    return [Part(value, type_, "0", update, ()), Part(known, np.dtype(np.bool_), "False", (), ())]


def _newest(column: int, type_: DType) -> list[Part]:
    """The newest tuple's value, which may be null; the newer of two entries has it."""
    value, known = f"last{column}", f"last_known{column}"
    is_known = Part(
        known, np.dtype(np.bool_), "False", (f"entry.{known} = True",), (f"older.{known} = newer.{known}",),
        absent=(f"entry.{known} = False",),
    )  # fmt: skip
    return [Part(value, type_, "0", (f"entry.{value} = x",), (f"older.{value} = newer.{value}",)), is_known]


def _sum(name: str, type_: DType, start: str, value: str) -> Part:
    return Part(name, type_, start, (f"entry.{name} += {value}",), (f"older.{name} += newer.{name}",))


def _extreme(name: str, type_: DType, order: str, largest: bool) -> Part:
    """Keeps the older of equals, and the oldest NaN before anything."""

    def replace(held: str, other: str) -> tuple[str, ...]:
        nan = f" or {held} != {held}" if type_.kind == "f" else ""
        return (f"if not ({held} {order} {other}{nan}):", f"    {held} = {other}")

    return Part(
        name, type_, _bound(type_, largest), replace(f"entry.{name}", "x"), replace(f"older.{name}", f"newer.{name}")
    )


def _bound(type_: DType, largest: bool) -> str:
    if type_.kind == "f":
        return "np.inf" if largest else "-np.inf"
    if type_.kind == "b":
        return str(largest)
    limits = np.iinfo(type_)
    return str(limits.max if largest else limits.min)


def _moments(column: int) -> list[Part]:
    mean, spread, float64 = f"mean{column}", f"spread{column}", np.dtype(np.float64)
    # Welford: d = x - mean; mean += d / n; M2 += d * (x - mean), with n values, x among them; spread is M2
    update = (
        f"apart = np.float64(x) - entry.{mean}",
        f"entry.{mean} += apart / np.float64(n + 1)",
        f"entry.{spread} += apart * (np.float64(x) - entry.{mean})",
    )
    # Chan, Golub, LeVeque: d = mean_b - mean_a; mean = mean_a + d b / (a + b); M2 = M2_a + M2_b + d^2 a b / (a + b)
    merge = (
        "if a == 0:",
        f"    older.{mean} = newer.{mean}",
        f"    older.{spread} = newer.{spread}",
        "elif b > 0:",
        f"    apart = newer.{mean} - older.{mean}",
        "    share = np.float64(b) / np.float64(a + b)",
        f"    older.{spread} += newer.{spread} + apart * apart * np.float64(a) * share",
        f"    older.{mean} += apart * share",
    )
    return [Part(mean, float64, "0.0", update, merge), Part(spread, float64, "0.0", (), ())]


def _start(parts: dict[int, tuple[Part, ...]]) -> list[str]:
    lines = ["entry.rows = 0"]
    for column, fields in parts.items():
        lines += [f"entry.nulls{column} = 0", *(f"entry.{part.name} = {part.start}" for part in fields)]
    return lines


def _copy(parts: dict[int, tuple[Part, ...]]) -> list[str]:
    names = ["rows"]
    for column, fields in parts.items():
        names += [f"nulls{column}", *(part.name for part in fields)]
    return [f"into.{name} = entry.{name}" for name in names]


def _merge(parts: dict[int, tuple[Part, ...]]) -> list[str]:
    lines = []
    for column, fields in parts.items():
        lines += [f"a = older.rows - older.nulls{column}", f"b = newer.rows - newer.nulls{column}"]
        for part in fields:
            lines += part.merge
        lines.append(f"older.nulls{column} += newer.nulls{column}")
    return [*lines, "older.rows += newer.rows"]


def _update(parts: dict[int, tuple[Part, ...]]) -> list[str]:
    lines = []
    for column, fields in parts.items():
        # numba drops the branch that the type of `valid` rules out
        lines += [f"if valid{column} is None:", "    present = True", "else:", f"    present = valid{column}[row]"]
        lines += ["if present:", f"    x = values{column}[row]", f"    n = entry.rows - entry.nulls{column}"]
        lines += ["    " + line for part in fields for line in part.update]
        lines += ["else:", f"    entry.nulls{column} += 1"]
        lines += ["    " + line for part in fields for line in part.absent]
    return [*lines, "entry.rows += 1"]


def _finish(calls: Sequence[AggregateCall], types: Sequence[DType]) -> list[str]:
    lines = []
    for place, call in enumerate(calls):
        column = call.argument
        lines.append("n = entry.rows" if column is None else f"n = entry.rows - entry.nulls{column}")
        if column is None or call.function == "count":
            lines.append(f"result{place}[at] = n")
            continue
        known = "n >= 2" if call.function == "stddev" else "n >= 1"
        if call.function in ("first", "last"):
            known = f"entry.{call.function}_known{column}"
        lines += [f"known{place}[at] = {known}", f"result{place}[at] = 0", f"if {known}:"]
        lines.append(f"    result{place}[at] = {_result(call, column, types[column])}")
    return lines


def _result(call: AggregateCall, column: int, type_: DType) -> str:
    total = f"entry.{'float' if sum_number(call, type_) == 'f' else 'int'}_sum{column}"
    return {
        "sum": total,
        "avg": f"np.float64({total}) / np.float64(n)",
        "min": f"entry.least{column}",
        "max": f"entry.most{column}",
        "stddev": f"np.sqrt(entry.spread{column} / np.float64(n - 1))",
        "first": f"entry.first{column}",
        "last": f"entry.last{column}",
    }[call.function]


def _insert(text: str, word: str, lines: Sequence[str]) -> str:
    """Puts lines where a line of the text is but a word, with that word's indentation."""
    done = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        done += [indent + inserted for inserted in lines] if line.strip() == word else [line]
    return "\n".join(done) + "\n"

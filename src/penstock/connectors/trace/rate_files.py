"""CSV traces: how many tuples came in each interval of a recorded stream."""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from penstock.connectors.trace.market import Floats
from penstock.errors import InputError

COUNTED = ("timestamp", "value")  # a moment, and how many tuples came from it to the next
RATED = ("seconds", "rate")  # seconds since the beginning, and tuples per second from there on
_DELIMITERS = ",|;\t"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_MOMENT = r"^\s*\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?\s*$"
_SHOWN = 20

Clock = Literal["dates", "numbered timestamps", "seconds since its beginning"]


@dataclass(frozen=True, slots=True, eq=False)
class TraceFile:
    """A recorded stream: edges in seconds on its own clock, and how many tuples came between them."""

    path: str
    edges_s: Floats
    counts: Floats
    clock: Clock


def read_traces(paths: Sequence[str]) -> tuple[TraceFile, ...]:
    """The traces of all files; raises one InputError with the mistakes of all of them."""
    problems: list[str] = []
    files = tuple(file for path in paths if (file := _Reader(path, problems).read()) is not None)
    others = [file for file in files if file.clock != files[0].clock]
    if not problems and others:
        one, other = files[0], others[0]
        problems.append(f"traces need one kind of clock; {one.path} has {one.clock}, {other.path} has {other.clock}")
    if not problems and not any(file.counts.any() for file in files):
        problems.append(f"a trace needs some tuples; {' and '.join(paths)} count none")
    if problems:
        raise InputError("\n".join(problems))
    return files


class _Reader:
    """One file being read; its mistakes are noted, all of them."""

    def __init__(self, path: str, problems: list[str]) -> None:
        self.path, self.problems, self.is_good = path, problems, True

    def read(self) -> TraceFile | None:
        fields = self._fields()
        if fields is None:
            return None
        names, moments, amounts = fields
        seconds, clock = self._seconds(names[0], moments)
        values = self._values(names[1], amounts)
        if self.is_good and len(seconds) < 2:
            self._problem(f"needs two rows at least; it has {len(seconds)}")
        if not self.is_good:
            return None
        edges_s = np.append(seconds, 2 * seconds[-1] - seconds[-2])  # the last interval is as long as the one before
        counts = values if names == COUNTED else values * np.diff(edges_s)
        return TraceFile(self.path, edges_s, counts, clock)

    def _fields(self) -> tuple[tuple[str, str], pa.Array, pa.Array] | None:
        """Which of the two forms it has, and its two columns as texts."""
        try:
            with Path(self.path).open(encoding="utf-8-sig", errors="replace") as file:
                header = file.readline()
        except OSError as error:
            self._problem(f"cannot be read: {error.strerror}")
            return None
        delimiter = next((mark for mark in _DELIMITERS if mark in header), ",")
        columns = [name.strip().strip('"').lower() for name in header.split(delimiter)]
        names = next((form for form in (COUNTED, RATED) if set(form) <= set(columns)), None)
        if names is None:
            got = ", ".join(columns) if header.strip() else "an empty file"
            self._problem(
                f"needs the columns {' and '.join(COUNTED)}, or {' and '.join(RATED)}, in its first line; got {got}"
            )
            return None
        table = self._texts(columns, delimiter)
        if table is None:
            return None
        return names, table.column(names[0]).combine_chunks(), table.column(names[1]).combine_chunks()

    def _texts(self, columns: list[str], delimiter: str) -> pa.Table | None:
        uneven: list[str] = []

        def skip(row: pa.csv.InvalidRow) -> str:
            uneven.append(row.text)
            return "skip"

        read = pyarrow.csv.ReadOptions(column_names=columns, skip_rows=1, use_threads=False)
        parse = pyarrow.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip)
        convert = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()))
        try:
            table = pyarrow.csv.read_csv(self.path, read, parse, convert)
        except pa.ArrowInvalid as error:
            is_empty = "Empty CSV" in str(error)
            self._problem("needs two rows at least; it has 0" if is_empty else f"does not parse: {error}")
            return None
        if uneven:
            self._problem(f"needs {len(columns)} fields in every row; got '{uneven[0][:_SHOWN]}'{_more(uneven)}")
        return table

    def _seconds(self, name: str, texts: pa.Array) -> tuple[Floats, Clock]:
        is_number = pc.match_substring_regex(texts, _NUMBER)
        clock: Clock = "numbered timestamps" if name == COUNTED[0] else "seconds since its beginning"
        if name == COUNTED[0] and len(texts) and not is_number[0].as_py():
            clock = "dates"
            seconds = self._dates(name, texts)
        else:
            seconds = _numbers(texts) if self._all(texts, is_number, f"needs a number in '{name}'") else np.empty(0)
        if len(seconds) and name == RATED[0]:
            self._all(texts, pa.array(seconds >= 0), f"needs a number of at least 0 in '{name}'")
        if len(seconds):
            is_ascending = np.diff(seconds, prepend=-np.inf) > 0
            self._all(texts, pa.array(is_ascending), f"needs a '{name}' above the one before it in every row")
        return seconds, clock

    def _dates(self, name: str, texts: pa.Array) -> Floats:
        is_moment = pc.match_substring_regex(texts, _MOMENT)
        if not self._all(texts, is_moment, f"needs a date such as 2024-05-01 09:30:00 in '{name}'"):
            return np.empty(0)
        try:
            moments = pc.utf8_trim_whitespace(texts).cast(pa.timestamp("us"))
        except pa.ArrowInvalid as error:  # the form of a date, but not one of the calendar
            self._problem(f"needs a date of the calendar in '{name}': {str(error).splitlines()[0]}")
            return np.empty(0)
        return np.asarray(moments.cast(pa.int64()).to_numpy() / 1e6)

    def _values(self, name: str, texts: pa.Array) -> Floats:
        is_number = pc.match_substring_regex(texts, _NUMBER)
        if not self._all(texts, is_number, f"needs a number in '{name}'"):
            return np.empty(0)
        values = _numbers(texts)
        self._all(texts, pa.array(values >= 0), f"needs a number of at least 0 in '{name}'")
        return values

    def _all(self, texts: pa.Array, is_right: pa.Array, rule: str) -> bool:
        """Whether all rows keep a rule; if not, the first that does not is shown."""
        wrong: npt.NDArray[Any] = np.flatnonzero(~np.asarray(is_right.fill_null(False)))
        if not len(wrong):
            return True
        text = re.sub(r"\s+", " ", texts[int(wrong[0])].as_py() or "")[:_SHOWN]
        self._problem(f"{rule}; got '{text}' in row {wrong[0] + 1}{_more(wrong)}")
        return False

    def _problem(self, sentence: str) -> None:
        self.is_good = False
        self.problems.append(f"trace {self.path} {sentence}")


def _more(wrong: Sized) -> str:
    return f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""


def _numbers(texts: pa.Array) -> Floats:
    return np.asarray(pc.utf8_trim_whitespace(texts).cast(pa.float64()).to_numpy())

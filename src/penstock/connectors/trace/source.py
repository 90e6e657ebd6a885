"""The settings of a replayable trace, as a plain value that can be compared, pickled and written as JSON."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.arguments import is_number, is_whole
from penstock.connectors.offsets import KnownOffsets
from penstock.connectors.planned.source_port import Offset
from penstock.connectors.port import SourceSpec
from penstock.connectors.trace.rates import SHAPES, UNBOUNDED
from penstock.connectors.trace.trades import TickerType
from penstock.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from penstock.connectors.trace.block import TraceBlock
    from penstock.connectors.trace.offsets import TraceOffsets
    from penstock.connectors.trace.trace import Trace

TupleFunction = Callable[[npt.NDArray[np.int64]], pa.RecordBatch | pa.Table | Mapping[str, Any]]
RATES = (*SHAPES, UNBOUNDED)
DISTRIBUTIONS = ("uniform", "zipf", "traces")
_KEYS_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TraceSource(KnownOffsets):
    """A stream in which the tuple at offset n is always the same, and that arrives at a rate of its own.

    `rate` is a name, or CSV files: `timestamp,value` (tuples counted from then on) or `seconds,rate` (tuples/s).
    `rate_tuples_s` is the mean rate as it reaches the engine; None takes a file's own, times `speed_up`.  `speed_up`
    plays the trace's clock faster, `period_s` is how long a named rate takes to repeat on that clock.
    """

    rate: str | tuple[str, ...] = "constant"
    rate_tuples_s: float | None = 150_000.0
    speed_up: float = 1.0
    period_s: float | None = None
    keys: int = 2836
    key_distribution: str = "uniform"
    seed: int = 7
    total: int | None = None
    ticker: TickerType = "symbol"
    function: TupleFunction | None = None

    def __post_init__(self) -> None:
        problems = [*_rate_problems(self), *_key_problems(self), *_tuple_problems(self)]
        if problems:
            raise InputError("\n".join(problems))

    @property
    def schema(self) -> pa.Schema:
        """Names and types of its tuples; a function's are those that it gives for offset 0."""
        return self.open().schema if self.function is not None else tuple_schema(self.ticker)

    @property
    def has_schedule(self) -> bool:
        """Whether its tuples arrive one after the other, and not as fast as they are taken."""
        return self.rate != UNBOUNDED

    @property
    def promise(self) -> str:
        return "Exactly once: the tuple at an offset is always the same, and the checkpoint has the offsets."

    def by_offset(self, source: SourceSpec, place: int) -> TraceOffsets:
        from penstock.connectors.trace.offsets import TraceOffsets

        return TraceOffsets(self, source, place)

    def there_by(self, time_s: float) -> int | None:
        arrived = self.open().arrived_by(time_s)
        return None if arrived is None else int(arrived)

    def backlog(self, after: Offset, path: Path) -> float | None:
        return None if self.has_schedule or self.total is None else float(self.total - (after or 0))

    def open(self) -> Trace:
        """Everything needed to make its tuples; made once per process, and files are read again once they change."""
        return _opened(self, () if isinstance(self.rate, str) else tuple(map(_file_version, self.rate)))

    def block(self, start: int, stop: int) -> TraceBlock:
        """The tuples at offsets start..stop as arrays, strings as codes."""
        return self.open().block(start, stop)

    def table(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """The tuples at offsets start..stop (to the end, where there is one) as an Arrow table.

        >>> TraceSource(keys=3, seed=1).table(5, 7).column("seq").to_pylist()
        [5, 6]
        """
        return self.open().table(start, stop)


def tuple_schema(ticker: TickerType) -> pa.Schema:
    """seq, ticker, ttype, price, volume; types are plain strings where tickers are, else dictionary-coded."""
    symbol = pa.dictionary(pa.int32(), pa.string())
    types = {"symbol": (symbol, symbol), "string": (pa.string(), pa.string()), "int32": (pa.int32(), symbol)}
    ticker_type, kind_type = types[ticker]
    fields = [("seq", pa.int64()), ("ticker", ticker_type), ("ttype", kind_type)]
    return pa.schema([*fields, ("price", pa.float64()), ("volume", pa.float64())])


@functools.lru_cache(maxsize=16)
def _opened(source: TraceSource, versions: tuple[tuple[int, int], ...]) -> Trace:
    from penstock.connectors.trace.trace import (
        Trace,  # numba takes most of a second, which writing an application need not wait for
    )

    return Trace.of(source)


def _file_version(path: str) -> tuple[int, int]:
    try:
        status = Path(path).stat()
    except OSError:  # reading it says why
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _rate_problems(source: TraceSource) -> list[str]:
    problems = []
    if isinstance(source.rate, str) and source.rate not in RATES:
        hint = did_you_mean(source.rate, RATES)
        rule = f"a trace's rate is one of {', '.join(RATES)}, or CSV files"
        problems.append(f"{rule}; got {source.rate!r}" + (f"; {hint}" if hint else ""))
    if not source.rate:
        problems.append("a trace's rate is a name or one CSV file at least; got none")
    if isinstance(source.rate, str) and source.rate != UNBOUNDED and source.rate_tuples_s is None:
        problems.append(f"a trace with the rate {source.rate!r} needs a rate_tuples_s; got None")
    if not isinstance(source.rate, str) and source.period_s is not None:
        problems.append(f"a trace from files has no period_s, since it does not repeat; got {source.period_s!r}")
    for name in ("rate_tuples_s", "speed_up", "period_s"):
        value = getattr(source, name)
        if value is not None and not (is_number(value) and value > 0):
            problems.append(f"a trace needs a positive number as {name}; got {value!r}")
    return problems


def _key_problems(source: TraceSource) -> list[str]:
    problems = []
    if not is_whole(source.keys, 1) or source.keys > _KEYS_MAX:
        problems.append(f"a trace needs a whole number of keys from 1 to {_KEYS_MAX}; got {source.keys!r}")
    if source.key_distribution not in DISTRIBUTIONS:
        hint = did_you_mean(str(source.key_distribution), DISTRIBUTIONS)
        rule = f"a trace's key_distribution is one of {', '.join(DISTRIBUTIONS)}"
        problems.append(f"{rule}; got {source.key_distribution!r}" + (f"; {hint}" if hint else ""))
    if source.key_distribution == "traces":
        files = 0 if isinstance(source.rate, str) else len(source.rate)
        if not files:
            problems.append(f"the key_distribution 'traces' needs a CSV file per key as rate; got {source.rate!r}")
        elif files != source.keys:
            problems.append(f"the key_distribution 'traces' has one key per file, {files}; got keys={source.keys!r}")
    return problems


def _tuple_problems(source: TraceSource) -> list[str]:
    problems = []
    if not is_whole(source.seed, 0):
        problems.append(f"a trace's seed is a whole number of at least 0; got {source.seed!r}")
    if source.total is not None and not is_whole(source.total, 0):
        problems.append(f"a trace's total is a whole number of tuples, or None for no end; got {source.total!r}")
    if source.ticker not in get_args(TickerType):
        problems.append(f"tickers are written as one of {', '.join(get_args(TickerType))}; got {source.ticker!r}")
    if source.function is not None and not callable(source.function):
        problems.append(f"a trace's function takes an array of offsets; got {source.function!r}")
    return problems

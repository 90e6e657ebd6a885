"""What engines ask of a source's connector, whatever its class: nothing above `connectors` names one."""

from __future__ import annotations

from dataclasses import replace

from penstock.connectors.csv import CsvSource
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.rate import RateSource
from penstock.connectors.recorded import RecordedSource
from penstock.connectors.trace.rates import UNBOUNDED
from penstock.connectors.trace.source import TraceSource, TupleFunction

ReplayableSource = TraceSource  # what `ps.sources.trace` gives: the tuple at offset n is always the same


def csv_source(path: str, columns: tuple[int, ...] | None) -> CsvSource:
    """Lines of a CSV file without a header."""
    return CsvSource(path, header=False, columns=columns)


def recorded_source(path: str) -> RecordedSource:
    """Tuples with their positions in an Arrow file; the path is empty where only the plan counts."""
    return RecordedSource(path)


def recorded_path(connector: object) -> str | None:
    """The file in which its tuples were recorded with their positions; None where they were not."""
    return connector.path if isinstance(connector, RecordedSource) else None


def replayable(connector: object) -> ReplayableSource | None:
    """A connector whose tuples are made by their offsets, on a clock of its own; None where it is another one."""
    return connector if isinstance(connector, TraceSource) else None


def is_endless(connector: object) -> bool:
    """Whether it makes tuples for ever."""
    return isinstance(connector, TraceSource) and connector.open().total is None


def endless(connector: ReplayableSource) -> ReplayableSource:
    """The same tuples, as fast as they are taken, and without an end."""
    distribution = "uniform" if connector.key_distribution == "traces" else connector.key_distribution
    return replace(connector, rate=UNBOUNDED, period_s=None, total=None, key_distribution=distribution)


def tuples_by_function(function: TupleFunction, total: int | None = None) -> ReplayableSource:
    """Tuples that a function makes of their offsets, as fast as they are taken."""
    return TraceSource(UNBOUNDED, total=total, function=function)


def makes_timestamps(connector: object) -> bool:
    """Whether it gives each row the moment at which it was made, as `timestamp`."""
    return isinstance(connector, RateSource)


def path_of_files(connector: object) -> str | None:
    """The file, folder or pattern that it reads; None where it reads something else."""
    return connector.path if isinstance(connector, CsvSource | ParquetSource) else None


def can_be_read_whole(connector: object) -> bool:
    """Whether all its tuples can be read as a table now."""
    return isinstance(connector, CsvSource | ParquetSource | RecordedSource)

"""Sources by short names: `ps.sources.csv(...)`."""

from __future__ import annotations

from penstock.app.connectors import CsvSource, ParquetSource


def csv(path: str, *, header: bool = True, columns: tuple[int, ...] | None = None) -> CsvSource:
    """Lines of a CSV file, attributes by name (header) or by number from 1 (`columns`)."""
    return CsvSource(str(path), header, None if columns is None else tuple(columns))


def parquet(path: str) -> ParquetSource:
    """Rows of a Parquet file, attributes by name."""
    return ParquetSource(str(path))

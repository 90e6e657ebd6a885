"""Sinks by short names: `ps.sinks.memory()`."""

from __future__ import annotations

from penstock.app.connectors import CsvSink, DiscardSink, MemorySink, ParquetSink


def memory() -> MemorySink:
    """Tuples kept for the caller of `ps.evaluate`."""
    return MemorySink()


def parquet(path: str) -> ParquetSink:
    """A directory of Parquet files."""
    return ParquetSink(str(path))


def csv(path: str) -> CsvSink:
    """A directory of CSV files."""
    return CsvSink(str(path))


def discard() -> DiscardSink:
    """Tuples that are only counted and summed up in a checksum."""
    return DiscardSink()

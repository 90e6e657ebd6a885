"""Sources whose tuples are known by their offsets: offset n always gives the same tuple, with the same position."""

from __future__ import annotations

from penstock.connectors.port import OffsetSource, SourceSpec
from penstock.connectors.recorded import RecordedOffsets, RecordedSource
from penstock.connectors.trace.offsets import TraceOffsets
from penstock.connectors.trace.source import TraceSource


def offset_source(source: SourceSpec, place: int) -> OffsetSource | None:
    """The source by its offsets; None where it has none, as rows come from elsewhere."""
    match source.connector:
        case TraceSource() as trace:
            return TraceOffsets(trace, source, place)
        case RecordedSource() as recorded:
            return RecordedOffsets(recorded, source)
        case _:
            return None

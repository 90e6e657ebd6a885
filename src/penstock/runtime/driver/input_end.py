"""Whether all that finite sources have was read, by Spark's log of offsets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.connectors.offsets import offset_source
from penstock.errors import InputError
from penstock.operators.windows.flushing import can_flush
from penstock.plan.elements.watermarks import watermarks
from penstock.runtime.planning.source_planner import path_of
from penstock.state.checkpoint.checkpoint import Checkpoint


def check_at_end_fires(graph: Graph) -> None:
    """InputError where `at_end='fire'` cannot be: a source has no end, or a window does not go by a watermark."""
    for source in graph.sources:
        opened = offset_source(source, 0)
        if (opened is None and not _can_end(source)) or (opened is not None and opened.total is None):
            raise InputError(f"at_end='fire' needs sources that end; source '{source.name}' has no end; give a trace a "
                             "total, read files, or leave it out")  # fmt: skip
    named = watermarks(graph)
    for operator in graph.operators:
        if can_flush(operator) and operator.name not in named:
            raise InputError(f"at_end='fire' fires windows that go by a watermark on Spark; that of operator "
                             f"'{operator.name}' does not; give its sources event_time=\"...\" and out_of_order_s=..., "
                             "or take ps.evaluate(at_end='fire')")  # fmt: skip


class InputEnd:
    """Looks at what a micro-batch ended with; files that were there and not taken are still to come."""

    def __init__(self, graph: Graph, checkpoint: Checkpoint) -> None:
        self._spark, self._directory = Path(checkpoint.spark), checkpoint.directory
        self._totals, self._others = dict[str, int](), list[Source]()
        for source in graph.sources:
            opened = offset_source(source, 0)
            if opened is None:
                self._others.append(source)
            elif opened.total is not None:
                self._totals[source.name] = opened.total

    def is_reached(self, batch: int) -> bool:
        """Whether nothing is left after a batch."""
        offsets = offsets_of(self._spark, batch)
        if len(offsets) != 1 or offsets[0] is None:
            return False
        if any(offsets[0][name] < total for name, total in self._totals.items()):
            return False
        return all(self._is_at_end(source, offsets[0].get(source.name)) for source in self._others)

    def _is_at_end(self, source: Source, offset: Any) -> bool:
        connector: Any = source.connector
        return bool(connector.is_at_end(offset, path_of(self._directory, source.name)))


def _can_end(source: Source) -> bool:
    """Whether a source that is read by splits says when nothing is left; those of files do."""
    return hasattr(source.connector, "is_at_end")


def offsets_of(spark: Path, batch: int) -> list[Any]:
    """The offsets that a batch ends with, in the order of Spark's sources; none where they cannot be read.

    A source that has not begun has None.
    """
    try:
        version, _, *lines = (spark / "offsets" / str(batch)).read_text().split("\n")
        return [None if line == "-" else json.loads(line) for line in lines] if version == "v1" else []
    except (OSError, ValueError):
        return []

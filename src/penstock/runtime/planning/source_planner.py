"""Plans micro-batches of sources behind the port: how far each goes, and which task reads which split."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.arguments import is_number, shown
from penstock.connectors.offsets import offset_source
from penstock.connectors.planned.source_port import Planning, SourcePort, Split, planned_source
from penstock.errors import InputError
from penstock.host.atomic_file import write_whole
from penstock.host.paths.file_names import file_name


def planned_sources(graph: Graph) -> dict[str, SourcePort]:
    """The sources of an application that are read by splits, by name."""
    found = {s.name: planned_source(s.connector) for s in graph.sources if offset_source(s, 0) is None}
    return {name: port for name, port in found.items() if port is not None}


def is_planned(source: Source) -> bool:
    """Whether a source is read by splits."""
    return offset_source(source, 0) is None and planned_source(source.connector) is not None


def path_of(directory: Path, source: str) -> Path:
    """Where a source keeps what it needs in a checkpoint."""
    return directory / "files" / file_name(source)


class SourcePlanner:
    """Asks the planned sources of an application; offsets are by source."""

    def __init__(self, graph: Graph, directory: Path) -> None:
        self.sources, self._directory = planned_sources(graph), directory

    def latest(self, start: Mapping[str, Any], time_s: float, most_tuples: int) -> dict[str, Any]:
        """Where a micro-batch ends that takes at most so many tuples of each source."""
        return {
            name: port.latest(start.get(name), Planning(path_of(self._directory, name), most_tuples, time_s))
            for name, port in self.sources.items()
        }

    def splits(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> dict[str, Sequence[Split]]:
        """What each source delivers between two offsets."""
        moved = {name: port for name, port in self.sources.items() if end.get(name) != start.get(name)}
        found = {
            name: port.splits(start.get(name), end[name], path_of(self._directory, name))
            for name, port in moved.items()
        }
        for name, splits in found.items():
            _check(name, splits)
        return found

    def reads_ahead(self, names: Iterable[str]) -> bool:
        """Whether any of these sources fetches ahead in the process that has read a partition."""
        return any(getattr(self.sources[name], "reads_ahead", False) for name in names)

    def arrivals(self, name: str, splits: Sequence[Split]) -> Sequence[float | None]:
        """When each split of a source arrived, as far as it tells."""
        port = self.sources[name]
        found = list(port.arrivals(splits, path_of(self._directory, name)))
        if len(found) != len(splits) or not all(own is None or is_number(own) for own in found):
            raise InputError(f"source '{name}' gives from arrivals the seconds since 1970, or None, of each split; got "
                             f"{shown(found)} of {len(splits)}")  # fmt: skip
        return [None if own is None else float(own) for own in found]


def dealt(splits: Sequence[Split], tasks: int) -> Iterator[tuple[Split, ...]]:
    """Splits dealt out in order to at most so many tasks, of about equal tuples."""
    total = sum(split.tuples + 1 for split in splits)
    own: list[Split] = []
    share, done = 0, 0
    for split in splits:
        middle = done + (split.tuples + 1) / 2
        if own and int(middle * tasks / total) > share:
            yield tuple(own)
            own = []
        share = int(middle * tasks / total)
        own.append(split)
        done += split.tuples + 1
    if own:
        yield tuple(own)


def _check(name: str, splits: Iterable[Split]) -> None:
    for split in splits:
        if not isinstance(split, Split):
            raise InputError(f"source '{name}' gives ps.sources.Split objects from splits; got {split!r}")


def join_offsets(graph: Graph, spark: Path) -> None:
    """Moves the offsets of files in Spark's log into its first line, which has those of all planned sources.

    Earlier versions had a line for each source of files.  The second time it does nothing.
    """
    others = [source for source in graph.sources if offset_source(source, 0) is None]
    planned = [source.name for source in others if is_planned(source)]
    if not planned or not (spark / "offsets").is_dir():
        return
    names = [source.name for source in others]
    for path in (spark / "offsets").iterdir():
        if path.name.isdigit():
            _join(path, names, planned)
    places = {name: place for place, name in enumerate((name for name in names if name not in planned), 1)}
    for before, name in enumerate(names, 1):  # Spark keeps when a rate began in a folder by number
        folder = spark / "sources" / str(before)
        if name in places and places[name] != before and folder.is_dir():
            folder.rename(spark / "sources" / str(places[name]))


def _join(path: Path, names: list[str], planned: list[str]) -> None:
    version, metadata, first, *rest = path.read_text().split("\n")
    if version != "v1" or len(rest) != len(names) or first == "-":
        return
    offsets = dict(zip(names, rest, strict=True))
    own = {name: None if offsets[name] == "-" else json.loads(offsets[name]) for name in planned}
    lines = [json.dumps(json.loads(first) | own), *(offsets[name] for name in names if name not in planned)]
    text = "\n".join([version, metadata, *lines])
    write_whole("joining the offsets of sources", str(path), text.encode(), durable=True)

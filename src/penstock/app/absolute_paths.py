"""The paths of a graph's sources and sinks, absolute: they mean the same wherever a driver or task works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.app.graph import Graph
from penstock.app.operators import Operator, Sink, Source
from penstock.connectors.files.paths import paths_of, with_paths
from penstock.host.paths.local_path import local_path


def with_absolute_paths(graph: Graph) -> Graph:
    """The graph whose relative paths begin where this process works."""
    operators = tuple(_changed(o, lambda path, name=o.name: _absolute(path, name)) for o in graph.operators)  # type: ignore[misc]
    return replace(graph, operators=operators)


def without_paths(graph: Graph) -> Graph:
    """The graph as it is wherever its files are."""
    return replace(graph, operators=tuple(_changed(o, lambda path: "") for o in graph.operators))


def with_folders_of(graph: Graph, stored: Graph) -> Graph:
    """The graph whose sinks write their files where those of another version of it do."""
    folders = paths_by_operator(stored)

    def moved(operator: Operator) -> Operator:
        is_moved = isinstance(operator, Sink) and operator.name in folders
        return _changed(operator, lambda path: folders[operator.name][0]) if is_moved else operator

    return replace(graph, operators=tuple(map(moved, graph.operators)))


def paths_by_operator(graph: Graph) -> dict[str, list[str]]:
    """The paths of all sources and sinks that have any."""
    own = {o.name: list(paths_of(o.connector)) for o in graph.operators if isinstance(o, Source | Sink)}
    return {name: paths for name, paths in own.items() if paths}


def _changed(operator: Operator, change: Callable[[str], str]) -> Operator:
    if isinstance(operator, Source | Sink) and paths_of(operator.connector):
        return replace(operator, connector=with_paths(operator.connector, change))  # type: ignore[arg-type]
    return operator


def _absolute(path: str, operator: str) -> str:
    """Not by os.path.abspath: behind a symlink, .. leads elsewhere than it looks."""
    return str(Path(local_path(path, f"the path of operator '{operator}'")).absolute())

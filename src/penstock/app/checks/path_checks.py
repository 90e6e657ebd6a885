"""What must hold of the paths of an application: they are of this machine, and each sink has a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.app.graph import Graph
from penstock.app.operators import Operator, Sink, Source
from penstock.connectors.files.paths import paths_of
from penstock.errors import ApplicationError, InputError, Problem
from penstock.host.paths.local_path import local_path

_HINT = "give each a folder of its own"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that files are written to: of whom, the verb that goes with it, and the path given."""

    owner: str
    verb: str
    path: str

    @property
    def real(self) -> str:
        """The folder itself, whatever leads to it."""
        return os.path.realpath(self.path)


def check_paths(graph: Graph, dead_letters: str | os.PathLike[str] | None = None) -> None:
    """ApplicationError with everything that is wrong about the paths of a graph, and of a run's dead letters."""
    letters = [] if dead_letters is None else [Folder("the dead letters", "go", str(dead_letters))]
    problems = [*path_problems(graph.operators)] or [*_overlaps([*_sink_folders(graph.operators), *letters])]
    if problems:
        raise ApplicationError(problems)


def path_problems(operators: Iterable[Operator]) -> Iterator[Problem]:
    """The mistakes in the paths of sources and sinks."""
    operators, found = tuple(operators), False
    for operator in operators:
        for path in paths_of(operator.connector) if isinstance(operator, Source | Sink) else ():
            try:
                local_path(path, "its path")
            except InputError as error:
                found = True
                yield Problem(_where(operator), f"cannot use its path: {error}")
    if not found:
        yield from _overlaps(_sink_folders(operators))


def _sink_folders(operators: Iterable[Operator]) -> list[Folder]:
    return [
        Folder(_where(o), "writes", local_path(path, "its path"))
        for o in operators
        if isinstance(o, Sink)
        for path in paths_of(o.connector)
    ]


def _overlaps(folders: list[Folder]) -> Iterator[Problem]:
    """Folders that are another's, or inside of another: one would overwrite the other's files, or be read with them."""
    for number, later in enumerate(folders):
        for earlier in folders[:number]:
            one, other = earlier.real, later.real
            if one == other:
                what = f"the folder '{later.path}', which is that of"
            elif other.startswith(os.path.join(one, "")):
                what = f"'{later.path}', inside of the folder '{earlier.path}' of"
            elif one.startswith(os.path.join(other, "")):
                what = f"'{later.path}', around the folder '{earlier.path}' of"
            else:
                continue
            yield Problem(later.owner, f"{later.verb} to {what} {earlier.owner}", _HINT)


def _where(operator: Operator) -> str:
    return f"operator '{operator.name}'" + (f" ({operator.place})" if operator.place else "")

"""ARCHITECTURE.md is true: its drawing has the rooms in the order that lint enforces, its walks follow imports."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.cli.commands import app
from tests.checkout import ROOT

SOURCE = ROOT / "src"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SPARK = "(Spark)"
WALKS = {"How a tuple travels": 25, "How a decision is made": 15}  # the most files that each may have
STEP = re.compile(r"^(\d+)\. `([^`]+)`: \S|^ +\*(\(Spark\))\* \S", re.MULTILINE)


def walk(title: str) -> list[str]:
    """The files of a walk in order, with a mark where Spark carries on."""
    section = TEXT.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    found = list(STEP.finditer(section))
    assert [int(m[1]) for m in found if m[1]] == list(range(1, 1 + sum(bool(m[1]) for m in found)))
    return [m[2] or m[3] for m in found]


def files(title: str) -> list[str]:
    return [file for file in walk(title) if file != SPARK]


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of penstock that a module imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(_path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            inside = {f"{node.module}.{name.name}" for name in node.names}
            found |= {name for name in inside if _path(name).is_file()} or {node.module}
    return frozenset(name for name in found if _path(name).is_file())


def _path(module: str) -> Path:
    path = SOURCE / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def reaches(module: str, other: str) -> bool:
    """Whether a module imports another, itself or through one more."""
    return other in imports(module) or any(other in imports(between) for between in imports(module))


def rooms() -> list[list[str]]:
    """The rooms of the drawing from top to bottom; those in one line must not import each other."""
    lines = re.findall(r"^│ ([a-z]+(?: \| [a-z]+)*) {2,}\S", TEXT, re.MULTILINE)
    return [line.split(" | ") for line in lines]


def layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (own,) = [c["layers"] for c in contracts if c["type"] == "layers" and c["containers"] == ["penstock"]]
    return [layer.replace("(", "").replace(")", "").split(" | ") for layer in own]


def test_the_drawing_has_the_layers_of_lint_in_their_order() -> None:
    assert rooms() == layers()


def test_every_room_of_the_package_is_in_the_drawing() -> None:
    inside = {path.stem for path in (SOURCE / "penstock").iterdir() if path.suffix in {"", ".py"}}
    inside = {name for name in inside if not name.startswith("__")}
    assert inside - {room for line in rooms() for room in line} == set()


def test_the_drawing_names_the_commands_there_are() -> None:
    commands = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    (listed,) = re.findall(r"commands: ([a-z, ]+)", TEXT)
    assert set(listed.strip().split(", ")) == commands


@pytest.mark.parametrize("title", WALKS)
def test_the_files_of_a_walk_exist_and_none_comes_twice(title: str) -> None:
    named = files(title)
    assert 10 <= len(named) <= WALKS[title]
    assert [file for file in named if not (SOURCE / "penstock" / file).is_file()] == []
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("title", WALKS)
def test_each_file_of_a_walk_imports_its_neighbour_or_is_imported_by_it(title: str) -> None:
    steps = walk(title)
    pairs = [pair for pair in pairwise(steps) if SPARK not in pair]
    named = [tuple("penstock." + file.removesuffix(".py").replace("/", ".") for file in pair) for pair in pairs]
    assert len(pairs) >= len(files(title)) - 4  # Spark carries on three times at most
    assert [pair for pair in named if not reaches(*pair) and not reaches(*reversed(pair))] == []


@pytest.mark.parametrize("title", WALKS)
def test_no_step_of_a_walk_is_overlooked(title: str) -> None:
    section = TEXT.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    assert len(files(title)) == len(re.findall(r"^\s*\d+\.", section, re.MULTILINE))


def folders() -> list[Path]:
    found = {path.parent for root in (SOURCE / "penstock", ROOT / "benchmarks") for path in root.rglob("*.py")}
    return sorted(found - {SOURCE / "penstock"})


def docstring(folder: Path) -> str:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    return " ".join((text or "").split())


def may_import(folder: Path) -> str:
    (sentence,) = re.findall(r"[Mm]ay import ((?:[^.;:]|\.(?! ))+)", docstring(folder)) or [""]
    return sentence


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_says_what_it_may_import_and_where_to_begin(folder: Path) -> None:
    assert may_import(folder)
    assert re.search(r"Begin with `", docstring(folder))
    named = re.findall(r"`([\w/]+\.py)`", docstring(folder))
    assert [name for name in named if not (folder / name).is_file()] == []


@pytest.mark.parametrize("folder", [f for f in folders() if f.parent == SOURCE / "penstock"], ids=lambda f: f.name)
def test_a_room_says_which_room_is_directly_below_it(folder: Path) -> None:
    order = layers()
    (place,) = [number for number, line in enumerate(order) if folder.name in line]
    if not place:
        assert may_import(folder) == "every other one"
    else:
        assert [room for room in order[place + 1] if f"`{room}`" not in may_import(folder)] == []


def inner_folders() -> list[Path]:
    return [folder for folder in folders() if SOURCE / "penstock" in folder.parent.parents]


@pytest.mark.parametrize("folder", inner_folders(), ids=lambda folder: str(folder.relative_to(SOURCE)))
def test_a_folder_inside_a_room_names_the_room_whose_imports_it_shares(folder: Path) -> None:
    room = folder.relative_to(SOURCE / "penstock").parts[0]
    assert may_import(folder) == ("every room" if room == layers()[0][0] else f"what `{room}` may")

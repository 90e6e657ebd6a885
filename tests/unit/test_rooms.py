"""No module imports itself through others: what stands at the top of modules can be read in some order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.checkout import ROOT

FOLDERS = {"penstock": ROOT / "src" / "penstock", "benchmarks": ROOT / "benchmarks"}


def modules(folders: dict[str, Path] = FOLDERS) -> dict[str, Path]:
    found = {}
    for root, folder in folders.items():
        for path in folder.rglob("*.py"):
            parts = (root, *path.relative_to(folder).with_suffix("").parts)
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imports_of(path: Path, known: set[str]) -> set[str]:
    """Modules that are imported when this one is: not those for type checkers, nor those inside functions."""
    found = set()
    for node in at_import(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module is not None:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= members if members <= known else {*members, node.module}
    return found & known


def at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "finalbody"):
                yield from at_import(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from at_import(handler.body)


def cycle(found: dict[str, Path]) -> list[str]:
    """Modules that import each other in a ring, if there are any."""
    graph = {name: imports_of(path, set(found)) - {name} for name, path in found.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_through_others() -> None:
    found = modules()
    assert {"penstock.app.stream", "penstock.testing", "benchmarks.__main__"} <= set(found)
    assert cycle(found) == []


@pytest.mark.parametrize(
    ("text", "is_cycle"),
    [
        ("from ring.a import x", True),
        ("try:\n    import ring.a\nexcept ImportError:\n    pass", True),
        ("class B:\n    from ring import a", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ring.a import x", False),
        ("def late():\n    from ring.a import x", False),
    ],
)
def test_a_ring_is_found(tmp_path: Path, text: str, is_cycle: bool) -> None:
    (tmp_path / "a.py").write_text("from ring.b import y\n")
    (tmp_path / "b.py").write_text(text)
    assert bool(cycle(modules({"ring": tmp_path}))) == is_cycle

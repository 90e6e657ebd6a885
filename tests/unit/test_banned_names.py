"""Names in plain English: words that say nothing to a newcomer name no module, class, function, parameter or option."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkout import ROOT

FOLDERS = (ROOT / "src" / "penstock", ROOT / "benchmarks", ROOT / "examples")
BANNED = frozenset({
    "told", "kept", "wish", "wishes", "beside", "room", "rooms", "quiet", "seat", "seats", "gate", "gates", "fitting",
    "running", "slotted", "straight", "willingness",
})  # fmt: skip
WHOLE = frozenset({"learned_by_replica"})
DEPRECATED = frozenset({"willingness", "--willingness"})  # warn for one release

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def is_banned(name: str) -> bool:
    return name in WHOLE or any(word.lower() in BANNED for word in _WORD.findall(name))


def names_of(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """(line, kind, name) of everything that is named for others to use: not what is local to a function."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.Module():
                yield from _assigned(node)
            case ast.arg():
                yield node.lineno, "parameter", node.arg
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, "attribute", node.attr
            case ast.Constant(value=str() as text) if re.fullmatch(r"--[a-z-]+(/--[a-z-]+)?", text):
                yield node.lineno, "option", text
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, "class" if isinstance(node, ast.ClassDef) else "function", node.name


def _assigned(body: ast.ClassDef | ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in body.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for name in (own for target in targets if target is not None for own in ast.walk(target)):
            if isinstance(name, ast.Name):
                yield node.lineno, "field", name.id


def banned_in(path: Path, root: Path) -> list[str]:
    place = path.relative_to(root)
    found = [f"{place}: module {part}" for part in place.with_suffix("").parts if is_banned(part)]
    names = names_of(ast.parse(path.read_text(encoding="utf-8")))
    return found + [
        f"{place}:{line}: {kind} {name}" for line, kind, name in names if is_banned(name) and name not in DEPRECATED
    ]


def test_nothing_has_a_banned_name() -> None:
    found = [line for folder in FOLDERS for path in sorted(folder.rglob("*.py")) for line in banned_in(path, folder)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def is_kept(): ...", "function is_kept"),
        ("class GateKeeper: ...", "class GateKeeper"),
        ("def f(*, wish=1): ...", "parameter wish"),
        ("class A:\n    told: int = 0", "field told"),
        ("KEPT_S = 1", "field KEPT_S"),
        ("class A:\n    def f(self):\n        self._quiet = 1", "attribute _quiet"),
        ("Option('--beside')", "option --beside"),
    ],
)
def test_each_kind_of_name_is_seen(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "fine.py").write_text(text)
    assert [line.split(": ", 1)[1] for line in banned_in(tmp_path / "fine.py", tmp_path)] == [expected]


def test_words_are_not_found_inside_other_words_and_locals_are_free(tmp_path: Path) -> None:
    (tmp_path / "aggregate.py").write_text("def propagate(mushroom, bequeathed):\n    kept = 1\n    return kept")
    assert banned_in(tmp_path / "aggregate.py", tmp_path) == []
    (tmp_path / "fitting.py").write_text("")
    assert banned_in(tmp_path / "fitting.py", tmp_path) == ["fitting.py: module fitting"]

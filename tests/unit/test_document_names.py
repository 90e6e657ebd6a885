"""Modules, files and commands that documents name are there."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import penstock
from benchmarks.__main__ import app as benchmarks_app
from penstock.app.application import Application
from penstock.cli.commands import app as penstock_app
from tests.checkout import ROOT
from tests.unit import test_readme as documents

PACKAGE = ROOT / "src" / "penstock"
DOCUMENTS = [*documents.DOCUMENTS, ROOT / "ARCHITECTURE.md"]
ROOMS = sorted({path.stem for path in PACKAGE.iterdir() if path.suffix in {"", ".py"} and path.stem[0] != "_"})
FIRST = "|".join(ROOMS)
SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
DOTTED = re.compile(rf"(?<![\w./])((?:penstock|benchmarks|{FIRST})(?:\.(?!py\b|md\b|json)[A-Za-z_]\w*)+)(?![\w/])")
FILE = re.compile(r"(?<![\w./*])((?:[\w-]+/)*[\w-]+\.py)\b")
FOLDER = re.compile(rf"^((?:(?:src/)?penstock/)?(?:{FIRST}|benchmarks|tests|docs|examples|tools)(?:/[\w-]+)+)/?$")
COMMAND = re.compile(
    r"(?:^|`)(?:\.venv/bin/)?(penstock|python -m benchmarks) ([a-z][a-z-]*(?: \| [a-z-]+)*)", re.MULTILINE
)
IN_TREE = re.compile(r"(?<![\w/.-])(?:tests|docs|src|benchmarks|examples)/[\w/-]+\.(?:py|md)\b")
TEST = re.compile(r"^def (test_[a-z0-9_]+)", re.MULTILINE)
HISTORY = " (history)"  # stands behind a name that is gone on purpose
OF_SPARK = {"decommission", "dynamicAllocation", "locality", "shuffle", "sql"}  # settings, not modules
SETTINGS = {"spark.driver.maxResultSize"}  # whose first part is a room of ours, too
OF_THE_READER = {"app.py", "prices.py"}  # files that documents have the reader write


def unfound(text: str, document: Path) -> list[str]:
    """The names in backticks that stand for nothing in this checkout."""
    spans = [span[1] for span in SPAN.finditer(FENCE.sub("", text)) if not span.string.startswith(HISTORY, span.end())]
    dotted = [name for span in spans for name in DOTTED.findall(span) if not is_name(name)]
    files = [name for span in spans for name in FILE.findall(span) if not is_file(name, document)]
    folders = [span for span in spans if (found := FOLDER.match(span)) and not is_folder(found[1])]
    return sorted({*dotted, *files, *folders})


def is_name(name: str) -> bool:
    """Whether a dotted name is a module, or something in one; `app` may be the user's own application."""
    first, second = name.split(".")[:2]
    if (
        name in SETTINGS
        or (first == "spark" and second in OF_SPARK)
        or (first == "app" and hasattr(Application, second))
    ):
        return True
    return is_inside(name if first in {"penstock", "benchmarks"} else f"penstock.{name}")


def is_inside(name: str) -> bool:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            if not hasattr(found, attribute):
                return attribute in getattr(found, "__annotations__", {})
            found = getattr(found, attribute)
        return True
    return False


def is_file(name: str, document: Path) -> bool:
    """Whether a path is there: from the checkout, the package, the tests or the document; or a file's bare name."""
    if any((root / name).is_file() for root in (ROOT, PACKAGE.parent, PACKAGE, ROOT / "tests", document.parent)):
        return True
    roots = (PACKAGE, ROOT / "benchmarks", ROOT / "tests")
    return name in OF_THE_READER or ("/" not in name and any(next(root.rglob(name), None) for root in roots))


def is_folder(name: str) -> bool:
    paths = [root / name for root in (ROOT, PACKAGE.parent, PACKAGE)]
    return any(path.exists() or path.with_suffix(".py").is_file() for path in paths)


def commands_of(app: typer.Typer) -> set[str]:
    names = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
    names += [group.name or "" for group in app.registered_groups]
    return {name.replace("_", "-") for name in names}


def named_commands(text: str) -> Iterator[tuple[str, str]]:
    for program, names in COMMAND.findall(text):
        for name in names.split(" | "):
            yield program, name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_modules_and_files_that_a_document_names_are_there(document: Path) -> None:
    assert unfound(document.read_text(encoding="utf-8"), document) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_commands_that_a_document_names_are_there(document: Path) -> None:
    known = {"penstock": commands_of(penstock_app), "python -m benchmarks": commands_of(benchmarks_app)}
    named = named_commands(document.read_text(encoding="utf-8"))
    assert [(program, name) for program, name in named if name not in known[program]] == []


@pytest.mark.parametrize("root", ["src", "benchmarks", "tests", "examples", "tools"])
def test_files_of_the_checkout_that_code_names_are_there(root: str) -> None:
    named = {(path, name) for path in (ROOT / root).rglob("*.py") for name in IN_TREE.findall(path.read_text())}
    assert sorted(f"{path.relative_to(ROOT)}: {name}" for path, name in named if not (ROOT / name).is_file()) == []


def test_tests_that_documents_name_are_there() -> None:
    there = {name for path in (ROOT / "tests").rglob("*.py") for name in TEST.findall(path.read_text())}
    named = {(d.name, name) for d in DOCUMENTS for name in re.findall(r"`(test_[a-z0-9_]+)`", d.read_text())}
    assert len(named) > 50
    assert sorted(own for own in named if own[1] not in there) == []


def test_the_documents_name_many() -> None:
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    spans = SPAN.findall(FENCE.sub("", text))
    assert len([name for span in spans for name in DOTTED.findall(span)]) > 30
    assert len([name for span in spans for name in FILE.findall(span)]) > 50
    assert {program for program, _ in named_commands(text)} == {"penstock", "python -m benchmarks"}


def test_names_that_are_not_there_are_found() -> None:
    there = "`control.policy.Policy`, `element/engine.py`, `app.source`, `spark.sql.shuffle`, `app/spade`"
    gone = ["app.nothing", "app/gone", "control.nowhere", "element/old.py", "penstock.bench", "spark.driver.start.no"]
    text = there + "".join(f", `{name}`" for name in gone) + "; `state.gone` (history)"
    assert unfound(text, ROOT / "README.md") == gone


def test_every_design_record_has_the_status_that_the_index_gives() -> None:
    folder = ROOT / "docs" / "design"
    rows = re.findall(r"^\| \[\d{4}\]\(([^)]+)\) \| .*? \| (.*) \|$", (folder / "index.md").read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == sorted(path.name for path in folder.glob("0*.md"))
    for name, status in rows:
        assert (folder / name).read_text().split("\n")[2] == f"Status: {status}.", name


def test_documents_import_public_modules_alone() -> None:
    found = {
        (document.name, module)
        for document in documents.DOCUMENTS
        for module in re.findall(r"^\s*(?:from|import) penstock\.([\w.]+)", document.read_text(), re.MULTILINE)
        if "design" not in document.parts
    }
    assert {module for _, module in found} <= set(penstock.__all__), found

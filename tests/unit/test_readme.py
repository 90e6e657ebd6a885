"""What the documents show is true: their Python blocks run, and so do the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path
from typing import NamedTuple

import pytest

import penstock
from tests.checkout import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NOT_RUN = "# not run"
ON_SPARK = "# on Spark"  # run by tests/spark/commands/test_documents.py
MODULES = sorted(found.name for found in pkgutil.walk_packages(penstock.__path__, "penstock."))


class Block(NamedTuple):
    """Python of a document at its lines, so that a failure names them; what the document says that it prints."""

    code: str
    printed: str | None


def blocks(document: Path, *, on_spark: bool = False) -> list[Block]:
    """Python blocks without a mark, or those for Spark.  A block of text right behind one is what it prints."""
    text = document.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, match.start(1)), match[1], match[2]) for match in BLOCK.finditer(text)]
    wanted = [own for own in found if own[1].startswith(ON_SPARK) == on_spark and not own[1].startswith(NOT_RUN)]
    return [Block("\n" * line + code, printed) for line, code, printed in wanted]


def run_block(block: Block, document: Path, namespace: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    """Runs it, and compares what it prints where the document says so."""
    capsys.readouterr()
    exec(compile(block.code, str(document), "exec", dont_inherit=True), namespace)
    printed = capsys.readouterr().out
    if block.printed is not None:
        assert printed == block.printed


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if blocks(d)], ids=lambda d: str(d.relative_to(ROOT)))
def test_the_python_of_a_document_runs(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "document"}
    for block in blocks(document):
        run_block(block, document, namespace, capsys)


def test_the_readme_has_a_program_that_runs() -> None:
    assert blocks(ROOT / "README.md")


def test_the_mistake_in_the_readme_is_said_as_shown(tmp_path: Path) -> None:
    (program, *_), path = blocks(ROOT / "README.md"), tmp_path / "vwap.py"
    lines = program.code.strip().splitlines()
    path.write_text("\n".join(lines).replace("price * volume)", "price * volum)"))
    with pytest.raises(penstock.errors.ApplicationError) as raised:
        runpy.run_path(str(path))
    assert f"\n```\n{raised.value}\n```\n" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len([line for line in lines if line]) <= 12


LINKING = [*DOCUMENTS, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


@pytest.mark.parametrize("document", LINKING, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]
    assert missing == []


def anchors_of(document: Path) -> set[str]:
    """What its headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()) for heading in headings]
    return {re.sub(r"[ -]+", "-", heading.strip()) for heading in plain}


@pytest.mark.parametrize("document", LINKING, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_lead_to_headings_that_are_there(document: Path) -> None:
    links = re.findall(r"\]\(([^):#]*)#([^)]*)\)", document.read_text(encoding="utf-8"))
    own = [(document.parent / path if path else document, anchor) for path, anchor in links]
    assert [
        (path.name, anchor) for path, anchor in own if path.suffix == ".md" and anchor not in anchors_of(path)
    ] == []


def test_there_are_examples_in_docstrings() -> None:
    assert doctest.testmod(penstock).attempted


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_the_examples_of_a_module_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0

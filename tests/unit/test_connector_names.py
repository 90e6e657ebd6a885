"""What varies stands behind a port: nothing outside `connectors`, `sources.py` and `sinks.py` names a connector."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.checkout import ROOT

PACKAGE = ROOT / "src" / "penstock"
CONNECTORS = PACKAGE / "connectors"
MAY_NAME = (CONNECTORS, PACKAGE / "sources.py", PACKAGE / "sinks.py")


def trees(folder: Path) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}


def connector_classes() -> set[str]:
    """Classes called `...Source` or `...Sink` that are no protocol."""
    return {
        node.name
        for tree in trees(CONNECTORS).values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and node.name.endswith(("Source", "Sink"))
        and "Protocol" not in [ast.unparse(base) for base in node.bases]
    }


def named_in(tree: ast.Module, classes: set[str]) -> set[str]:
    """The classes that are imported, used as a name, or reached through a module."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names):
                found |= {alias.name for alias in names}
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
    return found & classes


def imports(tree: ast.Module) -> set[str]:
    """Also those inside functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_connectors_are_found() -> None:
    assert {"CsvSource", "TraceSource", "DataFrameSource", "JsonLinesSink", "MemorySink"} <= connector_classes()
    assert not {"OffsetSource", "SourcePort", "SinkPort"} & connector_classes()


def test_nothing_else_names_a_connector() -> None:
    classes = connector_classes()
    found = {
        str(path.relative_to(PACKAGE)): sorted(names)
        for path, tree in trees(PACKAGE).items()
        if not any(path.is_relative_to(own) for own in MAY_NAME) and (names := named_in(tree, classes))
    }
    assert not found


def test_no_connector_imports_pyspark() -> None:
    found = [path for path, tree in trees(CONNECTORS).items() if imports(tree) & {"pyspark", "py4j"}]
    assert not found


def test_each_way_to_name_one_is_seen() -> None:
    for program in ("from a import CsvSink", "import a\na.CsvSink", "x: CsvSink", "isinstance(x, CsvSink)"):
        assert named_in(ast.parse(program), {"CsvSink"}) == {"CsvSink"}

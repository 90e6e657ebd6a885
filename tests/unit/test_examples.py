"""Every public name has an example that the tests run: in its docstring, its module's, or a document."""

from __future__ import annotations

import importlib
import inspect
import re

import penstock
from penstock.sinks import SinkPort
from tests.unit.test_readme import DOCUMENTS, blocks

MODULES = (
    "penstock", "penstock.policies", "penstock.sources", "penstock.slots", "penstock.testing", "penstock.twin",
    "penstock.costs",
)  # fmt: skip


def public_names() -> list[tuple[str, str, object]]:
    """(module, name, value) of what users import; of sinks, whose module lists none, functions and the port."""
    found = [
        (module, name, getattr(importlib.import_module(module), name))
        for module in MODULES
        for name in importlib.import_module(module).__all__
    ]
    sinks = [
        ("penstock.sinks", name, own)
        for name, own in vars(penstock.sinks).items()
        if not name.startswith("__")
        and (
            getattr(own, "__module__", "") in ("penstock.sinks", SinkPort.__module__)
            or (inspect.isfunction(own) and own.__module__.startswith("penstock.connectors.sinks."))
        )
    ]
    return [own for own in found + sinks if not inspect.ismodule(own[2])]


def shown_in_documents() -> str:
    return "\n".join(block.code for page in DOCUMENTS for own in (False, True) for block in blocks(page, on_spark=own))


def test_every_public_name_has_an_example_that_runs() -> None:
    documents, lacking = shown_in_documents(), []
    for module, name, value in public_names():
        own, around = inspect.getdoc(value) or "", importlib.import_module(module).__doc__ or ""
        word = re.compile(rf"\b{name}\b")
        in_module = any(word.search(line) for line in around.splitlines() if line.startswith((">>>", "...")))
        if ">>>" not in own and not in_module and not word.search(documents):
            lacking.append(f"{module}.{name}")
    assert not lacking


def test_public_names_are_found() -> None:
    names = {f"{module}.{name}" for module, name, _ in public_names()}
    assert {
        "penstock.Application",
        "penstock.sinks.json_lines",
        "penstock.sinks.SinkPort",
        "penstock.twin.Fit",
    } <= names
    assert len(names) > 90

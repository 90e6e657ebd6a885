"""The glossary and the code say the same: its names exist, and every class that a user meets is in it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache

import penstock
from penstock.sinks import SinkPort
from tests.checkout import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
FOR_USERS = ("penstock", "penstock.policies", "penstock.sources", "penstock.slots")


def rows() -> list[tuple[str, str, tuple[str, ...]]]:
    """(word, meaning, names in code)"""
    lines = [line for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return [(word, means, tuple(re.findall(r"`([^`]+)`", code))) for word, means, code in cells]


@cache
def defined() -> frozenset[str]:
    """The classes and functions of the package, and names at the top of a module."""
    found = set()
    for path in (ROOT / "src" / "penstock").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def classes_for_users() -> set[str]:
    """What the public modules give; of sinks, whose module lists none, those of the port."""
    found = {
        own.__name__ for own in vars(penstock.sinks).values() if getattr(own, "__module__", "") == SinkPort.__module__
    }
    for name in FOR_USERS:
        module = importlib.import_module(name)
        values = [getattr(module, own) for own in module.__all__]
        found |= {value.__name__ for value in values if inspect.isclass(value)}
    return found


def test_every_name_of_the_glossary_is_in_the_code() -> None:
    missing = [(word, name) for word, _, names in rows() for name in names if name not in defined()]
    assert not missing


def test_every_class_that_a_user_meets_is_in_the_glossary() -> None:
    named = {name for _, _, names in rows() for name in names}
    assert classes_for_users() <= named, sorted(classes_for_users() - named)


def test_each_word_stands_once_and_means_something() -> None:
    words = [word for word, _, _ in rows()]
    assert len(words) == len(set(words)) > 60
    assert all(means for _, means, _ in rows())


def test_a_setting_or_configuration_is_one_of_these_ideas_and_has_a_row_of_its_own() -> None:
    word_by_name = {name: word for word, _, names in rows() for name in names}
    found = {name for name in defined() if name.endswith(("Setting", "Configuration"))}
    assert found == {"Configuration", "ElementConfiguration", "RequestedConfiguration", "Setting", "ElementSetting"}
    assert len({word_by_name[name] for name in found}) == len(found)

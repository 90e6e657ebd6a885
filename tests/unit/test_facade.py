"""`import penstock as ps` has what users need and nothing else, and is quick."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
import warnings

import pytest

import penstock as ps
from tests.checkout import ROOT

NAMES = [
    "Application", "Stream", "sliding", "tumbling", "aggregate_function", "evaluate", "run",
    "start", "copy_checkpoint", "Engine", "elastic_map", "spark_session", "latency", "throughput", "Price",
    "Limits", "JournalSettings", "Configuration", "ElasticThreads", "plan_of", "Handle", "RunResult", "Observation",
    "Profile", "profile", "Tables", "to_dataframe",
]  # fmt: skip
MODULES = ["sources", "sinks", "policies", "errors", "testing", "spade", "slots", "twin", "costs"]
LATER = set[str]()  # functions that are to come
GONE = [
    "Window", "schema_of", "type_of", "ElementConfiguration", "Goal", "HashSlots", "RangeSlots",
    "GridSlots", "PenstockError", "ApplicationError", "ExpressionError", "InputError", "OperatorError",
    "SpadeSyntaxError",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(ps.__all__) == sorted([*NAMES, *MODULES])
    assert set(ps.__all__) <= set(dir(ps))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is_with_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(getattr(ps, name)) or "")


def test_the_documents_name_them_all_and_say_what_to_use_instead_of_old_ones() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in [*NAMES, *MODULES, *GONE] if f"`ps.{name}`" not in page] == []


def test_the_reference_has_a_heading_for_each_of_them_and_lists_it() -> None:
    folder = ROOT / "docs" / "reference"
    pages = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
    index = (folder / "index.md").read_text(encoding="utf-8")
    names = [*NAMES, *MODULES]
    assert [name for name in names if f"\n## ps.{name}\n\n::: penstock." not in pages] == []
    assert [name for name in names if f"`ps.{name}`" not in index] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_imported_as_any_other(name: str) -> None:
    module = importlib.import_module(f"penstock.{name}")
    assert module is getattr(ps, name)
    assert module.__doc__


@pytest.mark.parametrize("name", ["sources", "sinks", "testing", "policies", "spade", "slots", "twin", "costs"])
def test_what_a_public_module_has_is_documented(name: str) -> None:
    module = getattr(ps, name)
    own = getattr(module, "__all__", None) or [
        key for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    assert own
    found = [getattr(module, key) for key in own if not key.startswith("_")]
    assert all(inspect.getdoc(value) for value in found if callable(value))


def test_a_program_needs_nothing_but_the_facade() -> None:
    app = ps.Application("halves")
    app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    assert ps.evaluate(app, {"numbers": {"x": [1, 2, 3]}})["out"].column("h").to_pylist() == [0.5, 1.0, 1.5]


@pytest.mark.parametrize("name", GONE)
def test_a_name_that_was_public_warns_and_says_what_to_use(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^penstock\.{name} is now .+; the old name goes in 0\.2$") as caught:
        assert getattr(ps, name).__name__ == name
    assert caught[0].filename == __file__
    assert name not in vars(ps)  # it warns again


@pytest.mark.parametrize(("name", "instead"), [("PolicySetting", "PolicyParameter"), ("settings", "parameters")])
def test_an_old_name_of_policies_warns_and_is_the_new_one(name: str, instead: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^penstock\.policies\.{name} is now .+\.{instead}; the old name"):
        assert getattr(ps.policies, name) is getattr(ps.policies, instead)


def test_a_name_with_a_new_place_is_there() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ps.InputError is ps.errors.InputError
        assert ps.RangeSlots is ps.slots.RangeSlots


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Aplication", "; did you mean 'Application'?"), ("sorces", "; did you mean 'sources'?"), ("zzz", ""),
     ("open_session", "; did you mean 'spark_session'?"), ("_MISSING", "")],
)  # fmt: skip
def test_a_name_that_is_not_there_is_told(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(ps, name)
    assert str(raised.value) == f"module 'penstock' has no attribute '{name}'{hint}"


def test_no_room_has_the_name_of_a_function() -> None:
    """Importing it would put the module in the function's place."""
    functions = {name for name in NAMES if inspect.isfunction(getattr(ps, name))} | LATER
    assert {"run", "evaluate", "elastic_map"} <= functions
    assert functions.isdisjoint(found.name for found in pkgutil.iter_modules(ps.__path__))


def test_importing_penstock_imports_nothing_heavy() -> None:
    script = "import sys, penstock; sys.exit(any(m in sys.modules for m in ('pyarrow', 'numpy', 'numba')))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

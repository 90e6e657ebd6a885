"""APP on the command line -> Application."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.app.application import Application
from penstock.cli.user_module import existing_file, file_of, in_one_sentence, kind_of, module_by_name, module_of_file
from penstock.errors import InputError, did_you_mean

_FORMS = "an application is FILE.py[:NAME], MODULE:NAME, FILE.spade or FILE.json"


def load_application(text: str) -> Application:
    """The application that the user named; raises PenstockError with a sentence for whatever is wrong with it."""
    path, _, name = text.partition(":")
    suffix = Path(path).suffix.lower()
    if suffix == ".py":
        return _from_module(module_of_file(existing_file(path, "application"), "application"), name, path)
    if suffix in (".spade", ".json") and not name:
        return _read(existing_file(path, "application"))
    if name and suffix not in (".spade", ".json"):
        return _from_module(module_by_name(path), name, path)
    raise InputError(f"{_FORMS}; got '{text}'" + _instead(Path(path)))


def _instead(path: Path) -> str:
    """A file that was perhaps meant: the same with .py, or one of the folder."""
    near = [path.with_suffix(".py")] if path.name and path.suffix == "" else []
    near += sorted(path.glob("app*.py")) if os.path.isdir(path) else []
    found = [str(own) for own in near if os.path.isfile(own)]  # False, too, for names that the system refuses
    return f"; did you mean '{found[0]}'?" if found else ""


def _read(path: Path) -> Application:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file in UTF-8: {error.reason} at byte {error.start}") from error
    if path.suffix.lower() == ".json":
        try:
            with in_one_sentence(str(path), path):
                return Application.from_json(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    from penstock.app import spade

    return spade.load(text, file=str(path))


def _from_module(module: ModuleType, name: str, where: str) -> Application:
    found = _named(module, name, where) if name else _only_one(module, where)
    if isinstance(found, Application):
        return found
    with in_one_sentence(f"{where}:{found.__name__}()", file_of(module)):
        made = found()
    if not isinstance(made, Application):
        raise InputError(f"{where}:{found.__name__}() gave {kind_of(made)}, not an Application; add `return app`")
    return made


def _named(module: ModuleType, name: str, where: str) -> Application | Callable[[], Any]:
    known = {**_instances(module), **_functions(module)}
    if not hasattr(module, name):
        hint = did_you_mean(name, known)
        raise InputError(
            f"{where} has no application '{name}'; it has: {', '.join(known) or 'none'}" + (f"; {hint}" if hint else "")
        )
    found = getattr(module, name)
    if isinstance(found, Application):
        return found
    if not inspect.isfunction(found):
        raise InputError(
            f"{where}:{name} is {kind_of(found)}; it must be an Application or a function that returns one"
        )
    needed = _needed(found)
    if needed:
        raise InputError(
            f"{where}:{name} needs the arguments {', '.join(needed)}; give them defaults, or write a function without"
        )
    return found


def _only_one(module: ModuleType, where: str) -> Application | Callable[[], Any]:
    """The module's applications count first, then its functions that say they return one."""
    candidates: dict[str, Any] = _instances(module) or _functions(module)
    if len(candidates) == 1:
        found: Application | Callable[[], Any] = next(iter(candidates.values()))
        return found
    if not candidates:
        raise InputError(
            f"{where} has no Application, and no function annotated `-> Application`; add app = ps.Application(...)"
        )
    raise InputError(
        f"{where} has several applications: {', '.join(candidates)}; choose one: {where}:{next(iter(candidates))}"
    )


def _instances(module: ModuleType) -> dict[str, Application]:
    """Applications by name, each once."""
    by_identity = {id(v): (n, v) for n, v in reversed(vars(module).items()) if isinstance(v, Application)}
    return dict(reversed(by_identity.values()))


def _functions(module: ModuleType) -> dict[str, Callable[[], Any]]:
    own = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    return {
        name: f for name, f in own.items() if not name.startswith("_") and _returns_application(f) and not _needed(f)
    }


def _returns_application(function: Callable[..., Any]) -> bool:
    returns = function.__annotations__.get("return")
    return returns is Application or (isinstance(returns, str) and returns.split(".")[-1] == "Application")


def _needed(function: Callable[..., Any]) -> list[str]:
    """Parameters without a default."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in variadic]

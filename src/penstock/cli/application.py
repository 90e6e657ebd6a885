"""APP on the command line -> Application."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.app.application import Application
from penstock.errors import InputError, PenstockError, did_you_mean

_FORMS = "an application is FILE.py[:NAME], MODULE:NAME, FILE.spade or FILE.json"


def load_application(text: str) -> Application:
    """The application that the user named; raises PenstockError with a sentence for whatever is wrong with it."""
    path, _, name = text.partition(":")
    suffix = Path(path).suffix.lower()
    if suffix == ".py":
        return _from_module(_module_of_file(_existing(path)), name, path)
    if suffix in (".spade", ".json") and not name:
        return _read(_existing(path))
    if name and suffix not in (".spade", ".json"):
        return _from_module(_module_by_name(path), name, path)
    raise InputError(f"{_FORMS}; got '{text}'")


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise InputError(f"there is no application file {path}")
    return Path(path)


def _read(path: Path) -> Application:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file in UTF-8: {error.reason} at byte {error.start}") from error
    if path.suffix.lower() == ".json":
        with _in_one_sentence(str(path), path):
            return Application.from_json(text)
    from penstock.app import spade

    return spade.load(text, file=str(path))


def _module_of_file(path: Path) -> ModuleType:
    """The file as a module; files beside it can be imported by it, as when Python runs it."""
    name = f"penstock_application_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling and dataclasses look modules up by name
    with _searching(path.resolve().parent), _in_one_sentence(str(path), path):
        spec.loader.exec_module(module)
    return module


def _module_by_name(name: str) -> ModuleType:
    with _searching(Path.cwd()), _in_one_sentence(f"module '{name}'", None):
        return importlib.import_module(name)


def _from_module(module: ModuleType, name: str, where: str) -> Application:
    found = _named(module, name, where) if name else _only_one(module, where)
    if isinstance(found, Application):
        return found
    with _in_one_sentence(f"{where}:{found.__name__}()", _file_of(module)):
        made = found()
    if not isinstance(made, Application):
        raise InputError(f"{where}:{found.__name__}() gave {_kind(made)}, not an Application; add `return app`")
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
        raise InputError(f"{where}:{name} is {_kind(found)}; it must be an Application or a function that returns one")
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


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def _file_of(module: ModuleType) -> Path | None:
    return Path(module.__file__) if module.__file__ else None


@contextmanager
def _searching(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


@contextmanager
def _in_one_sentence(what: str, file: Path | None) -> Iterator[None]:
    """Turns whatever the user's own code raises into an InputError that says what and where."""
    try:
        yield
    except PenstockError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{what} cannot be used: {_sentence(error, file)}") from error


def _sentence(error: BaseException, file: Path | None) -> str:
    text = f"{type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({Path(error.filename or '').name}:{error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is not None and Path(frame.filename) == file.resolve()]
    return f"{text} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else text

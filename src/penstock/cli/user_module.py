"""Python files and modules of users, named on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from penstock.errors import InputError, PenstockError, did_you_mean


def existing_file(path: str, what: str) -> Path:
    """The path of a file that must be there."""
    if Path(path).is_file():
        return Path(path)
    folder = Path(path).parent
    near = [str(own) for own in folder.glob(f"*{Path(path).suffix}")] if folder.is_dir() else []
    hint = did_you_mean(path, near)
    raise InputError(f"there is no {what} file {path}" + (f"; {hint}" if hint else ""))


def module_of_file(path: Path, what: str) -> ModuleType:
    """The file as a module; files next to it can be imported by it, as when Python runs it."""
    name = f"penstock_{what}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling and dataclasses look modules up by name
    with _searching(path.resolve().parent), in_one_sentence(str(path), path):
        spec.loader.exec_module(module)
    return module


def module_by_name(name: str) -> ModuleType:
    """A module on Python's path or in the working directory."""
    with _searching(Path.cwd()), in_one_sentence(f"module '{name}'", None):
        return importlib.import_module(name)


def kind_of(value: object) -> str:
    """What a value is, with its article."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def file_of(module: ModuleType) -> Path | None:
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
def in_one_sentence(what: str, file: Path | None) -> Iterator[None]:
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
        where = f" ({Path(error.filename or '').name}:{error.lineno})" if error.lineno is not None else ""
        return f"SyntaxError: {error.msg}{where}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is not None and Path(frame.filename) == file.resolve()]
    return f"{text} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else text

"""Generated kernels: source text becomes a module in the kernel cache, so that numba keeps its machine code on disk."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import numba

from penstock.host.directories import cache_directory, temporary_directory

_modules: dict[str, ModuleType] = {}


def load(source: str) -> ModuleType:
    """The module of a kernel's source text; the same text gives the same module, compiled once per machine."""
    digest = hashlib.sha256(f"{numba.__version__}\n{source}".encode()).hexdigest()[:24]
    if digest not in _modules:
        _modules[digest] = _import(f"penstock_kernel_{digest}", _write(digest, source))
    return _modules[digest]


def _write(digest: str, source: str) -> Path:
    """Puts the text at its path once; numba's index goes by the time stamp, so an existing file stays as it is."""
    try:
        return _write_in(cache_directory() / "kernels", digest, source)
    except OSError:  # a read-only home: the cache then lasts as long as the machine's temporary files
        return _write_in(Path(temporary_directory()) / "kernels", digest, source)


def _write_in(folder: Path, digest: str, source: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"penstock_kernel_{digest}.py"
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=folder, suffix=".draft")
        with os.fdopen(handle, "w") as file:
            file.write(source)
        try:
            os.link(draft, path)
        except FileExistsError:  # another process was first, with the same text
            pass
        finally:
            os.unlink(draft)
    return path


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no loader for {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba's cache finds the module of a kernel by its name
    spec.loader.exec_module(module)
    return module

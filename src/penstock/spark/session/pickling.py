"""Users' functions on their way to workers: by name where a worker can import them, else by value."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

import pyspark.cloudpickle

from penstock.errors import InputError

cloudpickle: Any = pyspark.cloudpickle  # without types


def dumps(value: Any, what: str) -> bytes:
    """The bytes of a value that `pickle` reads; `what` it is, for the sentence where it cannot be pickled."""
    try:
        data: bytes = cloudpickle.dumps(value)
    except Exception as error:  # whatever the user's objects raise
        raise InputError(f"{what} cannot be pickled: {type(error).__name__}: {error}; keep open files, locks and "
                         "connections out of it") from error  # fmt: skip
    return data


def dumps_for_workers(value: Any, what: str) -> bytes:
    """The same with functions and classes by value that workers could not import."""
    places: dict[str, str | None] = {}
    modules = [module for module in list(sys.modules.values()) if _is_out_of_reach(module, places)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return dumps(value, what)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _is_out_of_reach(module: ModuleType, places: dict[str, str | None]) -> bool:
    """Whether it is a module of the user's that was imported from a place that workers do not search.

    `places` keeps where workers find packages: there are hundreds of modules, of a few packages.
    """
    name, file = getattr(module, "__name__", ""), str(getattr(module, "__file__", None) or "")
    if not file or name == "__main__" or name not in sys.modules or file.startswith((sys.prefix, sys.base_prefix)):
        return False
    package = name.partition(".")[0]
    if package not in places:
        places[package] = _place_of(package)
    place = places[package]
    return place is None or not (file == place or file.startswith(place + os.sep))


def _place_of(package: str) -> str | None:
    """The folder or file that an import of a package finds."""
    found = PathFinder.find_spec(package)
    if found is None or found.origin is None:
        return None
    return os.path.dirname(found.origin) if found.submodule_search_locations else found.origin

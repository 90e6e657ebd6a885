"""`--policy`: the name of a policy, with parameters if need be, or a policy of the user's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.cli.user_module import existing_file, file_of, in_one_sentence, kind_of, module_by_name, module_of_file
from penstock.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from penstock.control.policy import Policy

_PARTS = ("name", "start", "decide")


def policy_of_option(text: str) -> str | Policy:
    """A text for a policy of Penstock; MODULE:NAME and FILE.py:NAME give the user's, made without arguments.

    >>> policy_of_option("ds2:headroom=1.2")
    'ds2:headroom=1.2'
    """
    from penstock.control.policy_parameters import POLICY_NAMES

    where, _, name = text.rpartition(":")
    if not name.isidentifier() or not where or where.strip() in POLICY_NAMES:
        return text
    if Path(where).suffix == ".py":
        return _policy(module_of_file(existing_file(where, "policy"), "policy"), name, where)
    return _policy(module_by_name(where), name, where)


def _policy(module: ModuleType, name: str, where: str) -> Policy:
    if not hasattr(module, name):
        own = [n for n, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__]
        hint = did_you_mean(name, own)
        raise InputError(f"{where} has no policy '{name}'; " + (hint or f"it has: {', '.join(own) or 'no class'}"))
    found: Any = getattr(module, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        with in_one_sentence(f"policy {where}:{name}", file_of(module)):
            found = found()
    missing = [part for part in _PARTS if not hasattr(found, part)]
    if missing:
        raise InputError(f"{where}:{name} gave {kind_of(found)}, and a policy has name, start() and "
                         f"decide(state, seen); it has no {', '.join(missing)}")  # fmt: skip
    return found  # type: ignore[no-any-return]

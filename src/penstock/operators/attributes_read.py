"""Which attributes of its row a user's function reads: where its code leaves no doubt, no others are made for it."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

_SEES_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"})
_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})


def attributes_read(function: Callable[..., Any]) -> frozenset[str] | None:
    """The attributes that a function reads of its first argument, a dict; None where it may read any, or change it.

    A function is sure where all it does with the row is `row["name"]`, the names written out.

    >>> sorted(attributes_read(lambda row: {"total": row["price"] * row["volume"]}))
    ['price', 'volume']
    >>> attributes_read(lambda row: row | {"total": 1.0}) is None
    True
    """
    is_bound = isinstance(function, MethodType)
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType):
        return None
    code = plain.__code__
    if code.co_argcount <= is_bound or _SEES_LOCALS & set(code.co_names):
        return None
    row = code.co_varnames[int(is_bound)]
    return None if row in code.co_cellvars else _subscripts(code, row)


def method_attributes_read(instance: Any, name: str) -> frozenset[str] | None:
    """The same of a method; None, too, where the class names it: it may put another in its place."""
    methods = [own for kind in type(instance).__mro__ for own in vars(kind).values() if isinstance(own, FunctionType)]
    if any(name in method.__code__.co_names for method in methods):
        return None
    return attributes_read(getattr(instance, name))


@functools.lru_cache(maxsize=64)
def _subscripts(code: CodeType, row: str) -> frozenset[str] | None:
    steps, read = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"], set[str]()
    for place, step in enumerate(steps):
        if step.argval != row and not (isinstance(step.argval, tuple) and row in step.argval):
            continue
        behind = steps[place + 1 : place + 3]
        if step.opname not in _LOADS or len(behind) < 2 or not _is_subscript(*behind):
            return None
        read.add(behind[0].argval)
    return frozenset(read)


def _is_subscript(name: dis.Instruction, subscript: dis.Instruction) -> bool:
    if name.opname != "LOAD_CONST" or type(name.argval) is not str or name.is_jump_target or subscript.is_jump_target:
        return False
    return subscript.opname == "BINARY_SUBSCR" or (subscript.opname, subscript.argrepr) == ("BINARY_OP", "[]")
